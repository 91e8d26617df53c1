"""How near checks come to the edges of hypotheses, and what is said of what they did not try."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory.checks.hypotheses import Edge, edges, untested_text
from dpfl_theory.cli import main
from dpfl_theory.core import Check, Hypothesis, Statement, by_construction
from dpfl_theory.statements import load_file
from dpfl_theory.templates import statement as template

GIVEN = tuple(c for c in template.THEOREM.checks if "rounds" in c.name)
THEOREM = replace(template.THEOREM, checks=GIVEN)
"""Without the instances at the boundaries of its own hypotheses."""


def with_step(text: str, most: float) -> Statement:
    def test(_: Any, v: Mapping[str, Any]) -> str | None:
        return None if v["eta"] * v["L"] <= most else "too long"

    return replace(THEOREM, hypotheses=(Hypothesis.custom(text, test),))


@pytest.mark.parametrize(("most", "factor"), [(1.0, 2.0), (4.0, 8.0), (0.5, 1.0)])
def test_the_nearest_instance_tells_how_far_the_edge_is(most: float, factor: float) -> None:
    """The template's instances have eta L = 1/2, and sigma = 1/4 and 1/8."""
    (edge,) = edges(with_step("short", most))
    assert (edge.symbol, edge.by) == ("eta", "worst-case: two rounds")
    assert edge.factor == pytest.approx(factor, rel=1e-4)
    assert edge.reached == (factor == 1.0)


def test_an_edge_below_is_one_too() -> None:
    def test(_: Any, v: Mapping[str, Any]) -> str | None:
        return None if v["sigma"] >= 0.0625 else "too little noise"

    (edge,) = edges(replace(THEOREM, hypotheses=(Hypothesis.custom("noisy", test),)))
    assert edge.sentence() == "'noisy' allows sigma 2 times smaller than in any check"


def test_an_instance_is_at_an_edge_within_a_twentieth() -> None:
    for factor, reached in ((1.0, True), (1.05, True), (1 / 1.05, True), (1.06, False), (0.94, False)):
        assert Edge("a", "eta", factor, "b").reached == reached
    assert Edge("a", "eta", 1.5, "b").sentence() == "'a' allows eta 1.5 times larger than in any check"
    assert Edge("a", "eta", 1.0, "b").sentence() == "'a' allows eta 1 times smaller than in any check"


def test_the_nearest_of_several_edges_is_told() -> None:
    """sigma is 1/4 and 1/8: 4 and 2 times 1/16, and 5/8 is 5/2 and 5 times as large. The smallest factor counts."""

    def test(_: Any, v: Mapping[str, Any]) -> str | None:
        return None if 0.0625 <= v["sigma"] <= 0.625 else "out of range"

    (edge,) = edges(replace(THEOREM, hypotheses=(Hypothesis.custom("noise in range", test),)))
    assert (edge.symbol, edge.factor) == ("sigma", pytest.approx(0.5, rel=1e-4))


def test_of_instances_without_known_symbols_no_edge_is_told() -> None:
    class Build:
        def __init__(self, known: bool) -> None:
            self.known = known

        def __call__(self, *_: Any) -> Any:
            return None

        def symbols(self, *_: Any) -> Any:
            if not self.known:
                raise ZeroDivisionError
            return {"eta": 0.25, "L": 2.0}, ("eta",)

    for known, instance, count in ((True, {}, 1), (True, {"stated": 1}, 0), (False, {}, 0)):
        check = Check("exact", "c", Build(known), instance)
        assert len(edges(replace(with_step("short", 1.0), checks=(check,)))) == count


def test_what_no_chosen_letter_decides_has_no_edge() -> None:
    convex = Hypothesis.custom("convex", by_construction)
    unknown = Hypothesis.custom("far", lambda _, v: None if v["D"] < 3 else "near")  # D is found from the problem
    assert edges(replace(THEOREM, hypotheses=(convex, unknown))) == []
    assert edges(replace(THEOREM, checks=())) == []


def test_what_was_not_tried_names_the_command_that_tries_it() -> None:
    reported = untested_text(with_step("short", 4.0), edges(with_step("short", 4.0)), "my file.py", 2)
    assert "nor at the boundaries of its hypotheses ('short' allows eta 8 times larger than in any check)" in reported
    assert "'dpfl-theory falsify mine.theorem-name --file 'my file.py'' searches there" in reported
    at_edge = with_step("short", 0.5)
    reported = untested_text(at_edge, edges(at_edge), "f.py", 1)
    assert reported == "nothing was tried between these instances: 'dpfl-theory falsify --file f.py' searches there"
    convex = replace(THEOREM, hypotheses=(Hypothesis.custom("convex", by_construction),))
    reported = untested_text(convex, [], "f.py", 1)
    assert reported.startswith("nothing was tried between these instances, nor at the boundaries of its hypotheses: ")
    reported = untested_text(replace(THEOREM, hypotheses=()), [], "f.py", 1)
    assert reported.startswith("nothing was tried between these instances: ")
    without = replace(THEOREM, checks=tuple(c for c in THEOREM.checks if c.method != "monte-carlo"))
    assert "falsify" not in untested_text(without, edges(without), "f.py", 1)
    existing = replace(THEOREM, universal=False)
    reported = untested_text(existing, edges(existing), "f.py", 1)
    assert reported.endswith(": give it instances there, or runs that can be varied")


def test_the_command_says_it_where_all_holds_and_nowhere_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    assert main(["new", "theorem", "mine", "--output", str(file)]) == 0
    line = ["check", "--file", str(file), "--method", "exact", "--store", "off", "--jobs", "1"]
    assert main(line) == 0
    out = capsys.readouterr().out
    assert f"'dpfl-theory falsify --file {file}' searches there" in out
    assert "allows eta" not in out  # an instance just inside is among the checks
    assert main([*line, "--format", "json"]) == 0
    own = json.loads(capsys.readouterr().out)["own"]["mine.mine"]
    assert own["edges"][0]["hypothesis"] == "eta <= 1/L"
    assert own["untried"].startswith("nothing was tried between these instances")
    file.write_text(file.read_text().replace("s.eta * s.d * s.sigma**2}", "s.eta * s.sigma**2 / 4}"))
    assert load_file(file)
    assert main(line) == 1
    assert "searches there" not in capsys.readouterr().out
