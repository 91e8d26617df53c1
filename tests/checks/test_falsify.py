"""The falsifier: what it finds, what it must not call found, and how instances are varied."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from patience import given_time

from dpfl_theory import statements
from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.falsify import falsify, rules_of
from dpfl_theory.checks.perturb_instance import numbers, varied
from dpfl_theory.checks.settings import Settings
from dpfl_theory.cli import main
from dpfl_theory.cli.falsify import as_text
from dpfl_theory.core import Sides, Statement
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.errors import InputError

THEOREM = statements.get("hou2023.theorem1")


def planted() -> Statement:
    """Theorem 1 with the noise of one iteration only: right for the recorded run of one iteration, wrong for more."""

    def sides(_: Any) -> Sides:
        import sympy as sp

        s = symbols_of(faulty)
        theta = sp.Max(1 - s["mu"] * s["eta"], 1 - s["p"] ** 2)
        printed = sides_of(THEOREM).rhs  # type: ignore[misc]
        noise = next(term for name, term in printed.items() if "noise" in name)
        start = next(term for name, term in printed.items() if "noise" not in name)
        return Sides(lhs={"psi": s["E_psi"]}, rhs={"start": start, "noise": noise * (1 - theta)})

    runs = tuple(c for c in THEOREM.checks if c.name == "quadratics, one iteration")
    assert runs
    faulty = replace(THEOREM, id="test.planted", sides=sides, checks=runs)
    return faulty


@pytest.mark.slow
def test_a_planted_fault_that_the_recorded_run_cannot_see_is_found() -> None:
    found = falsify(planted(), instances=150, seed=2, device="cpu")
    assert found.recorded < 0.0
    assert found.evidence.verdict == "violated"
    assert found.evidence.instance["T"] > 1
    assert found.evidence.lhs is not None
    assert found.evidence.lhs.low > found.evidence.rhs


@pytest.mark.slow
def test_the_true_theorem_withstands_the_same_search() -> None:
    """From the run, and with the draws, that lead to the planted fault."""
    found = falsify(replace(THEOREM, checks=planted().checks), instances=150, seed=2, device="cpu")
    assert found.evidence.verdict != "violated"
    assert found.largest >= found.recorded
    assert found.variations == 149
    assert "0 < eta <= 1/L" in found.outside
    assert found.inside + sum(found.outside.values()) == found.tried == 150


@pytest.mark.slow
def test_a_number_of_instances_always_finds_the_same() -> None:
    first, second = (falsify(planted(), instances=30, seed=4, device="cpu").to_json() for _ in range(2))
    for found in (first, second):
        found.pop("seconds")
        found["evidence"].pop("seconds")
        found["evidence"]["notes"].pop("replicate_seconds")
    assert first == second
    assert falsify(planted(), instances=30, seed=5, device="cpu").evidence.instance != first["evidence"]["instance"]


@pytest.mark.parametrize("name", [f"hou2023.observation{k}" for k in (1, 2, 3, 4)] + ["zhang2021.claim2.2b"])
def test_where_only_existence_is_claimed_nothing_is_searched(name: str) -> None:
    with pytest.raises(InputError, match="is not claimed wherever its hypotheses hold"):
        falsify(statements.get(name), instances=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "instances"), [("noble2022.lemmaC.8.repaired", 16), ("noble2022.lemmaC.9.repaired", 36)]
)
def test_variations_keep_the_prescribed_letters(name: str, instances: int) -> None:
    """With another step than the prescribed one these bounds fail: such runs are outside. A few rounds and replicates
    are enough, since it is the values that decide."""
    statement = statements.get(name)
    runs = [c for c in statement.checks if c.method == "monte-carlo"]
    short = tuple(replace(c, instance={**c.instance, "T": min(40, c.instance["T"]), "replicates": 8}) for c in runs)
    found = falsify(replace(statement, checks=short), instances=instances, seed=3, device="cpu")
    assert found.outside["the prescribed eta"] > 0
    assert found.evidence.verdict != "violated"


def test_a_rule_is_the_prescription_and_no_number_where_it_has_no_value() -> None:
    statement = statements.get("noble2022.lemmaC.9.repaired")
    assert statement.prescription is not None
    (check,) = (c for c in statement.checks if "noise dominates" in c.name)
    run = check.make(statement, {**check.instance, "T": 7})
    (rule,) = rules_of(statement, [run]).values()
    symbols = {s: run.values[name] for name, s in symbols_of(statement).items() if name in run.values}
    for change in ({}, {"T": 90.0}, {"F0": 1e-9}, {"K": 3.0, "nu": 40.0}):
        values = {**run.values, **change}
        numbers = {s: values[s.name] for s in symbols}
        assert rule(values) == pytest.approx(float(prescription_of(statement)["eta"].subs(numbers)), rel=1e-14)
    assert math.isnan(rule({**run.values, "T": 0.0}))  # a division by zero
    assert math.isnan(rule({**run.values, "F0": -1.0}))  # a root of a negative number
    assert math.isnan(rule({name: v for name, v in run.values.items() if name != "nu"}))


@pytest.mark.parametrize("factor", [0.6, 1.5])
def test_an_equality_is_searched_on_both_sides_and_with_any_sign(factor: float) -> None:
    """zhang2021's (14) repaired has a negative right side; times a factor it is wrong wherever the gradient moves."""
    true = statements.get("zhang2021.eq14.repaired")

    def sides(_: Any) -> Sides:
        printed = sides_of(true)  # type: ignore[misc]
        return Sides(lhs=printed.lhs, rhs={name: factor * term for name, term in printed.rhs.items()})

    found = falsify(replace(true, id="test.equality", sides=sides), instances=6, seed=2, device="cpu")
    assert found.largest >= found.recorded > 0.1
    assert found.evidence.verdict == "violated"
    assert found.certifiable


def test_what_no_limit_can_certify_is_told_and_not_called_clean(capsys: pytest.CaptureFixture[str]) -> None:
    from dpfl_theory.core import Check

    found = statements.get("hou2023.observation2")
    duel = next(c for c in found.checks if c.method == "monte-carlo")
    swapped = {**duel.instance, "choice": duel.instance["against"], "against": duel.instance["choice"]}
    wrong = replace(found, universal=True, checks=(Check("monte-carlo", duel.name, duel.build, swapped),))
    search = falsify(wrong, instances=1, device="cpu")
    assert not search.certifiable
    assert search.suspicious
    assert search.variations == 0
    text = as_text({"recorded_verdict": "holds", **search.to_json()})
    assert text.startswith("undecided: the best instance looks like a counterexample")
    assert "none is valid at finite sample size" in text


def test_what_has_no_runs_is_told_where_to_go() -> None:
    with pytest.raises(InputError, match=r"das2022\.fact2 has no runs to vary: check it by its other methods"):
        falsify(statements.get("das2022.fact2"), instances=1)


def test_without_a_run_inside_the_hypotheses_there_is_no_start() -> None:
    outside = tuple(c for c in statements.get("das2022.theorem6").checks if c.expected == "not-applicable")
    with pytest.raises(InputError, match=r"no run of das2022\.theorem6 is inside its hypotheses"):
        falsify(replace(statements.get("das2022.theorem6"), checks=outside), instances=3)


INSTANCE: dict[str, Any] = {
    "problem": {"family": "huber", "parameters": {"clients": 4, "heterogeneity": 0.0, "seed": 3, "name": "1st"}},
    "eta": "1/2",
    "q": [[1.5, -2.0], [0, 7]],
    "on": True,
    "none": None,
    "replicates": 512,
}


def test_variations_keep_kinds_signs_and_the_original() -> None:
    before = json.dumps(INSTANCE)
    draw = random.Random(3)
    places = set(numbers(INSTANCE))
    assert ("replicates",) not in places
    changed: set[tuple[Any, ...]] = set()
    for _ in range(300):
        found = varied(INSTANCE, draw)
        assert found["problem"]["family"] == "huber"
        assert (found["on"], found["none"], found["replicates"]) == (True, None, 512)
        clients = found["problem"]["parameters"]["clients"]
        assert isinstance(clients, int)
        assert clients >= 1
        assert isinstance(found["eta"], str)
        assert found["q"][0][1] < 0 < found["q"][0][0]
        assert found["problem"]["parameters"]["heterogeneity"] >= 0.0
        different = {place for place in places if _at(found, place) != _at(INSTANCE, place)}
        assert len(different) <= 3
        changed |= different
    assert changed == places, "some number never changes"
    assert json.dumps(INSTANCE) == before


def _at(instance: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        instance = instance[key]
    return instance


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    arguments = ["falsify", "hou2023.theorem1", "--instances", "14", "--device", "cpu", "--format", "json"]
    assert main([*arguments, "--output", str(target)]) == 0
    document = json.loads(target.read_text())
    assert document["schema"] == "dpfl-theory/falsify/1"
    assert document["tried"] == 14
    assert document["evidence"]["verdict"] in ("holds", "inconclusive")
    assert "no counterexample to hou2023.theorem1 was found" in capsys.readouterr().err
    assert main(["falsify", "das2022.theorem7", "--instances", "9", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.startswith("das2022.theorem7 is violated\n")  # as recorded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody.theorem"], "statement 'nobody.theorem'"),
        (["hou2023.theorem1", "--instances", "0"], "the number '0' is not a whole number"),
        (["das2022.fact2"], "has no runs to vary"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["falsify", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_what_is_known_of_the_recorded_run_is_not_asked_of_a_variation() -> None:
    """The mean gap of these runs is known as long as nothing is clipped, which a variation may change."""
    statement = statements.get("das2022.theorem6")
    runs = tuple(c for c in statement.checks if c.name == "equal quadratics at w*, noise alone, 2 of 4 clients")
    instance = {**runs[0].instance, "rho": 0.4}
    clipped = replace(runs[0], instance=instance)
    assert monte_carlo.run(statement, clipped, Settings(device="cpu")).verdict == "inconclusive"
    found = falsify(replace(statement, checks=(clipped,)), instances=1, device="cpu")
    assert found.evidence.verdict == "holds"


OWN = (Path(__file__).parents[2] / "examples" / "my_statements.py").read_text()
FAULTS = {
    "endless": ("while True: pass", "it took longer than {} s and was ended"),
    "exit": ("sys.exit(0)", "cannot be run: SystemExit: 0; correct its build (mine.py, line "),
    "raises": ("None.x", "cannot be run: AttributeError: 'NoneType' object has no attribute 'x'; correct its build"),
    "only the second": ("instance['rounds'] == 2000 and None.x", "check 'the noise dominates' of mine"),
}


def troubled(line: str, tmp_path: Path) -> str:
    file, begin = tmp_path / "mine.py", "    import numpy as np\n"
    assert OWN.count(begin) == 1
    file.write_text(OWN.replace(begin, f"    import sys, time, numpy as np\n    {line}\n"))
    return str(file)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("line", "message"), FAULTS.values(), ids=FAULTS)
def test_a_users_instance_that_cannot_be_run_is_told_as_check_does(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["falsify", "--file", troubled(line, tmp_path)]

    def refused(seconds: float) -> None:
        limit = f"{seconds:g}s" if line == FAULTS["endless"][0] else "5m"
        assert main([*command, "--budget", f"{2 * seconds:g}s", "--limit", limit]) == 2
        out, said = capsys.readouterr()
        assert (out, said.count("\n")) == ("", 1)
        assert message.format(f"{seconds:g}") in said

    given_time(refused, 2.5)


@pytest.mark.slow
def test_what_a_variation_does_to_a_users_file_only_keeps_it_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that never ends, or ends the process."""
    begin = "k = instance['rounds']; k in (20, 2000) or "
    line = begin + "(time.sleep(999) if k % 4 == 1 else k % 2 or sys.exit(0))"
    command = ["falsify", "--file", troubled(line, tmp_path), "--instances", "10", "--format", "json"]

    def looked(seconds: float) -> None:
        assert main([*command, "--limit", f"{seconds:g}s"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["statement"] == "mine.noisy-gradient-descent"
        assert set(found["outside"]) >= {"took too long", "cannot be built or run"}
        assert found["inside"] >= 2

    given_time(looked, 8.0)


@pytest.mark.slow
def test_the_text_says_what_its_numbers_are_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The largest of noisy estimates is too large; recorded are the runs alone; and why a variation cannot be built."""
    mine = tmp_path / "mine.py"
    assert main(["new", "theorem", "mine", "--output", str(mine)]) == 0
    text = mine.read_text().replace('"K": 50, "d": 10', '"K": 5, "d": 4')
    mine.write_text(text)
    line = ["falsify", "--instances", "6", "--device", "cpu", "--limit", "5m"]
    assert main([*line, "--file", str(mine)]) == 0
    out = capsys.readouterr().out
    assert "on the recorded runs (its checks by exact and worst-case are not among them)" in out
    inside = re.search(r"(\d+) inside the hypotheses", out)
    assert inside is not None
    assert f"the largest of {inside[1]} noisy estimates is biased upwards" in out
    fault = "k = instance['rounds']; k in (20, 2000) or int('a half')"
    assert main([*line, "--file", troubled(fault, tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "cannot be built, the first because: ValueError: invalid literal for int() with base 10: 'a half'\n" in out
    assert "are not among them" not in out, "this statement has runs alone"


def test_a_file_of_several_statements_needs_the_one_that_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    more = "\nfrom dataclasses import replace\nSTATEMENTS += (replace(STATEMENTS[0], id='mine.two'),)\n"
    file.write_text(OWN + more)
    assert main(["falsify", "--file", str(file)]) == 2
    assert "has 2 statements: name one of mine.noisy-gradient-descent, mine.two" in capsys.readouterr().err
    assert main(["falsify"]) == 2
    assert "give an ID" in capsys.readouterr().err
