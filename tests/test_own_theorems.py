"""A user theorem from its first file on: the output of `new` and `plot`, the evidence and the page."""

from __future__ import annotations

import csv
import html
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from patience import given_time

from dpfl_theory.checks.curve import check_of, curve, place_of, values_of
from dpfl_theory.checks.power import Detected, detected_by_checks
from dpfl_theory.cli import main
from dpfl_theory.cli._check_output import evidence_lines
from dpfl_theory.core import Hypothesis, Statement
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.errors import InputError
from dpfl_theory.report.build import build
from dpfl_theory.report.curve import draw
from dpfl_theory.report.user_statements import described, shown_lines
from dpfl_theory.statements import load_file

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> Statement:
    return load_file(EXAMPLES / f"{name}.py")[0]


# new


def test_what_new_writes_is_checked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three methods check one formula and one round, and all three find an omitted dimension."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "theorem", "sharper-rate"]) == 0
    file = tmp_path / "sharper_rate.py"
    assert "check --file sharper_rate.py" in file.read_text()
    assert "theorem-name" not in file.read_text()
    assert load_file(file)[0].id == "mine.sharper-rate"
    line = ["check", "--file", str(file), "--format", "json", "--store", "off", "--limit", "5m"]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)["evidence"]
    assert {e["method"] for e in found} == {"algebra", "exact", "worst-case", "monte-carlo"}
    assert [e["check"] for e in found if e["vacuous"]] == []
    text = file.read_text()
    assert text.count("s.eta * s.d * s.sigma**2}") == 1
    file.write_text(text.replace("s.eta * s.d * s.sigma**2}", "s.eta * s.sigma**2 / 4}"))
    assert main(line) == 1
    found = json.loads(capsys.readouterr().out)["evidence"]
    assert {e["method"] for e in found if e["verdict"] == "violated"} == {"exact", "worst-case", "monte-carlo"}


def test_an_instance_that_cannot_be_used_is_pointed_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the line of the instance, not the one in which the round starts."""
    file = tmp_path / "mine.py"
    assert main(["new", "theorem", "mine", "--output", str(file)]) == 0
    text = file.read_text()
    file.write_text(text.replace('"K": 2, "d": 3, "eta": "1/2"', '"K": 2, "d": 3'))
    line = text[: text.index('"two rounds"')].count("\n") + 1
    assert main(["check", "--file", str(file)]) == 2
    sentence = capsys.readouterr().err
    assert "add it, as 'eta': '1/2', or name it among the constants" in sentence
    assert f"; correct that instance (mine.py, line {line})" in sentence


def test_vacuous_is_explained_once() -> None:
    text = evidence_lines([replace(evidence("monte-carlo", 0.5, {}, name), vacuous=True) for name in ("one", "two")])
    assert text.count("vacuous: the bound is above the value at the start") == 1
    assert len([line for line in text.splitlines() if line.endswith("vacuous")]) == 2
    assert "vacuous" not in evidence_lines([evidence("monte-carlo", 0.5, {})])


def test_what_new_writes_is_formatted_and_marked(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    assert main(["new", "theorem", "sharper-rate", "--output", str(file)]) == 0
    assert "check --file mine.py" in file.read_text()
    config = str(EXAMPLES.parent / "pyproject.toml")
    for verb in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *verb, "--config", config, str(file)], check=True)
    assert file.read_text().count("<-") >= 10  # the type checker reads the template itself, as a module


@pytest.mark.parametrize("name", ["", "Two Words", "../x", "2nd", "a" * 61, "x--y", "é"])
def test_a_bad_name_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "theorem", name, "--output", str(tmp_path / "x.py")]) == 2
    assert "is not a name for a theorem: write words of small letters" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.py"
    file.write_text("mine")
    (tmp_path / "link.py").symlink_to(tmp_path / "nowhere.py")
    for there in (file, tmp_path / "link.py"):
        assert main(["new", "theorem", "x", "--output", str(there)]) == 2
        assert "exists already: choose another name" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert main(["new", "theorem", "x", "--output", str(tmp_path / "x.txt")]) == 2
    assert main(["new", "theorem", "x", "--output", str(tmp_path / "no" / "x.py")]) == 0  # its folder is created
    assert (tmp_path / "no" / "x.py").is_file()


# errors that checks could detect


def evidence(method: str, ratio: float, terms: dict[str, float], name: str = "c", low: float | None = None) -> Evidence:
    lhs = Interval(ratio, ratio if low is None else low, ratio if low is None else 2 * ratio - low)
    return Evidence("outside.private-gradient-descent", method, name, "holds", "holds", "r", lhs, 1.0, terms)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "no check here compares both sides of your formula and holds: no error in it could be detected"),
        (
            [evidence("exact", 0.9, {"start": 0.75, "noise": 0.25})],
            "a right side smaller by 10 % would be detected (exact: c); the single term 'start' smaller by 13.3 %, too "
            "(exact: c); the single term 'noise' smaller by 40 %, too (exact: c)",
        ),
        (
            [evidence("exact", 0.5, {"start": 0.25, "noise": 0.75}), evidence("monte-carlo", 0.8, {}, low=0.7)],
            "a right side smaller by 10 % would be detected (monte-carlo: c); the single term 'noise' smaller by "
            "66.7 %, too (exact: c)",
        ),
        (
            [evidence("exact", 0.025, {"start": 0.25, "noise": 0.75}), evidence("worst-case", 0.02, {})],
            "your bound is 40 times larger than any observed value (exact: c): no check here could detect a factor 2",
        ),
    ],
)
def test_what_could_be_noticed_is_told(found: list[Evidence], message: str) -> None:
    power = detected_by_checks(example("private_gradient_descent"), found)
    assert power is not None
    assert power.sentence() == message


def test_the_shares_that_are_told_turn_the_verdict() -> None:
    """For exact evidence, a right side or a term that is smaller by a little more is refuted. A right side that is
    smaller by a little less is not."""
    from dpfl_theory.checks.runner import plan, run_plan
    from dpfl_theory.core import Sides, Symbols

    statement = example("stochastic_gradient_descent")
    power = detected_by_checks(statement, run_plan(plan([statement], ("exact",))).evidence)
    assert power is not None
    assert power.share is not None
    for term in (None, *power.terms):
        share = power.share if term is None else power.terms[term][0]
        assert share is not None
        for factor, verdict in ((0.99, {"holds"}), (1.01, {"holds", "violated"})):

            def sides(s: Symbols, term: str | None = term, by: float = 1 - factor * share) -> Sides:
                assert statement.sides is not None
                made = statement.sides(s)
                rhs = {n: t * (by if term in (None, n) else 1) for n, t in made.rhs.items()}
                return Sides(made.lhs, rhs)

            changed = replace(statement, sides=sides)
            found = {e.verdict for e in run_plan(plan([changed], ("exact",))).evidence} - {"not-applicable"}
            assert found == verdict or (term is not None and factor < 1.0), (term, factor)


@pytest.mark.slow
def test_terms_that_no_check_would_miss_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Either of local gradient descent's two small terms could be left out, at twenty times the largest ratio. None of
    private gradient descent's terms could."""
    line = ["check", "--method", "exact", "--store", "off", "--sensitivity", "--file"]
    assert main([*line, str(EXAMPLES / "local_gradient_descent.py")]) == 0
    message = "no check here would detect if 'heterogeneity' or 'drift' were left out"
    assert message in capsys.readouterr().out
    assert main([*line, str(EXAMPLES / "private_gradient_descent.py")]) == 0
    assert "left out" not in capsys.readouterr().out


def test_sensitivity_says_what_it_tries_and_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its progress names the statement and the share, its seconds count, and its table states its resolution."""
    monkeypatch.setattr("dpfl_theory.runtime.console.QUIET_SECONDS", 0.0)
    monkeypatch.setattr("dpfl_theory.runtime.console.SPARSE_SECONDS", 0.0)
    file = str(EXAMPLES / "private_gradient_descent.py")
    line = ["check", "--method", "exact", "--store", "off", "--jobs", "1", "--sensitivity", "--file", file]
    started = time.monotonic()
    assert main(line) == 0
    whole = time.monotonic() - started
    out, said = capsys.readouterr()
    assert "detected from: the first of right sides smaller by 0.1, 1, 10, 50, 90, 99, 99.9 %" in out
    assert "also to undecided" in out
    lines = [x for x in said.splitlines() if x.startswith("sensitivity:")]
    assert any("outside.private-gradient-descent, its right side smaller by 99.9 %" in x for x in lines)
    assert any("smaller by 0.1 %" in x for x in lines)
    shares = [int(x.split("%")[0].split()[-1]) for x in lines]
    assert shares == sorted(shares)
    seconds = float(out.rstrip().removesuffix(" s").rsplit(", ", 1)[1])
    checked = re.findall(r"holds +[\d.-]+ +\S+ +exact .* (\d+\.\d+)", out)
    assert sum(map(float, checked)) < seconds <= whole + 0.1


def test_nothing_is_said_of_what_is_refuted_or_has_no_sides() -> None:
    wrong = Evidence("outside.private-gradient-descent", "exact", "c", "violated", "holds", "r")
    assert detected_by_checks(example("private_gradient_descent"), [wrong]) is None
    assert Detected(0.4, "exact: c", 0.6, "exact: c", {}).loose
    assert not Detected(0.6, "exact: c", 0.4, "exact: c", {}).loose


# the formula on the page


def test_the_page_shows_the_formula_of_an_own_theorem(tmp_path: Path) -> None:
    place = tmp_path / "evidence"
    place.mkdir()
    file = EXAMPLES / "private_gradient_descent.py"
    line = ["check", "--file", str(file), "--method", "exact", "--format", "json", "--output", str(place / "c.json")]
    assert main(line) == 0

    def page() -> str:
        build(tmp_path, redraw=False)
        found = [p.read_text() for p in tmp_path.rglob("*.html") if "outside.private-gradient-descent" in p.stem]
        assert len(found) == 1
        return html.unescape(found[0])

    shown = page()
    (place / "c.json").write_text((place / "c.json").read_text().replace('"own"', '"other"'))
    without = page()
    formula = "<msup><mi>η</mi><mn>2</mn></msup>"
    for part in ("Private gradient descent, strongly convex", formula, "would be detected"):
        assert part in shown, part
        assert part not in without, part


@pytest.mark.parametrize(
    "latex", [r"\text{<img src=x onerror=alert(1)>}", r"\href{javascript:alert(1)}{x}", r"\text{<script>x</script>}"]
)
def test_a_formula_from_a_file_is_a_formula_alone(latex: str) -> None:
    statement = example("private_gradient_descent")
    own = described([statement], [])[statement.id]
    assert [line.name for line in shown_lines(own)] == ["distance", "start", "noise"]
    own["terms"][1]["latex"] = latex
    markup = shown_lines(own)[1].mathml
    names = [e.tag.rpartition("}")[2] for e in ElementTree.fromstring(markup).iter()]
    assert set(names) <= {"math", "mrow", "mtext", "mo"}
    assert "href=" not in markup


# plot


def test_a_curve_has_the_bound_its_terms_and_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For private gradient descent, the left side is exactly (1 - eta mu)^2 D^2 + eta^2 d sigma^2 with mu = 1/4."""
    out = tmp_path / "curve.svg"
    line = ["plot", "--file", str(EXAMPLES / "private_gradient_descent.py"), "--over", "eta", "--check", "K = 1"]
    assert main([*line, "--method", "exact", "--values", "1/4,1/2,1,7/4", "--output", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "1 of 4 values are outside: the hypothesis 'eta <= 2/(L + mu)' is not met: eta = 1.75 exceeds" in shown
    assert out.read_text().lstrip().startswith("<?xml")
    rows = list(csv.DictReader((tmp_path / "curve.csv").read_text().splitlines()))
    assert [row["verdict"] for row in rows] == ["holds"] * 3 + ["not-applicable"]
    for row in rows[:3]:
        eta = float(row["eta"])
        start, noise = (1 - eta / 4) ** 2, eta**2 * 3 / 16
        assert float(row["term: start"]) == pytest.approx(start)
        assert float(row["term: noise"]) == pytest.approx(noise)
        assert float(row["left"]) == pytest.approx(start + noise) == pytest.approx(float(row["bound"]))
    assert rows[3]["left"] == rows[3]["bound"] == ""
    document = json.loads((tmp_path / "curve.json").read_text())
    assert document["schema"] == "dpfl-theory/curve/1"
    assert [p["evidence"]["verdict"] for p in document["points"]] == [row["verdict"] for row in rows]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "while True: __import__('time').sleep(0.01)",
            "it took longer than {} s and was ended: give a larger --limit, or fewer values",
        ),
        ("sys.exit(0)", "cannot be run: SystemExit: 0; correct its build (mine.py, line "),
        ("None.x", "cannot be run: AttributeError: 'NoneType' object has no attribute 'x'; correct its build (mine.py"),
    ],
)
def test_a_build_that_cannot_be_drawn_is_told(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, begin = tmp_path / "mine.py", "    import numpy as np\n"
    text = (EXAMPLES / "my_statements.py").read_text()
    file.write_text(text.replace(begin, f"    import sys, numpy as np\n    {line}\n"))
    command = ["plot", "--file", str(file), "--over", "eta", "--output", str(tmp_path / "x.svg")]

    def refused(seconds: float) -> None:
        assert main([*command, "--limit", f"{seconds:g}s"]) == 2
        assert message.format(f"{seconds:g}") in capsys.readouterr().err

    given_time(refused, 2.0)
    assert [p.name for p in tmp_path.iterdir() if p.name != "__pycache__"] == ["mine.py"]


def test_runs_are_drawn_with_limits_on_the_users_own_records(tmp_path: Path) -> None:
    """The file has 60 records: the symbols are the constants of the regression on them."""
    import numpy as np

    random = np.random.default_rng(0)
    x = random.standard_normal((60, 3))
    y = (x[:, 0] + 0.3 * random.standard_normal(60) > 0).astype(int)
    np.savez(tmp_path / "mine.npz", x=x, y=y)
    line = ["plot", "--file", str(EXAMPLES / "private_gradient_descent.py"), "--over", "sigma", "--values", "0.1,0.4"]
    own = ["--check", "K = 50", "--data", str(tmp_path / "mine.npz"), "--clients", "2", "--ridge", "0.1"]
    assert main([*line, *own, "--output", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    found = [p["evidence"] for p in json.loads((tmp_path / "a.json").read_text())["points"]]
    assert all(e["lhs"]["low"] < e["lhs"]["estimate"] < e["lhs"]["high"] for e in found)
    assert all(e["notes"]["problem"]["dimension"] == 4 for e in found)  # three features and the bias
    assert all(e["instance"]["values"]["mu"] >= 0.1 for e in found)
    assert found[1]["instance"]["values"]["sigma"] == pytest.approx(4 * found[0]["instance"]["values"]["sigma"])


def test_the_edge_of_a_hypothesis_is_found_between_two_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For eta <= 2/(mu + L) with mu = 1/4 and L = 1 the edge is 8/5, and half way would be 1, or half a round."""
    statement = example("private_gradient_descent")
    check = check_of(statement, "K = 1", "exact")
    lines: list[str] = []
    found = curve(statement, check, "eta", "1/4,7/4,2", tell=lambda _, what: lines.append(what))
    assert lines == ["eta = 0.25", "eta = 1.75", "eta = 2"]
    assert found.edges == {0: pytest.approx(1.6, abs=1e-5)}
    assert found.edges[0] <= 1.6, "it is inside"
    (ax,) = draw(found).axes
    (grey,) = (patch for patch in ax.patches if patch.get_label() == "outside the hypotheses")
    assert grey.get_x() == pytest.approx(1.6, abs=1e-5)
    assert grey.get_x() + grey.get_width() == pytest.approx(2.0)

    line = ["plot", "--file", str(EXAMPLES / "private_gradient_descent.py"), "--over", "eta", "--check", "K = 1"]
    line += ["--method", "exact", "--values", "1,2", "--output", str(tmp_path / "c.svg")]
    assert main(line) == 0
    assert "; the edge is at eta = 1.6\n" in capsys.readouterr().out
    (edge,) = json.loads((tmp_path / "c.json").read_text())["edges"]
    assert edge == pytest.approx(1.6, abs=1e-5)

    few = replace(statement, hypotheses=(Hypothesis.custom("K <= 4", lambda _, v: None if v["K"] <= 4 else "more"),))
    assert curve(few, check, "K", "1,9").edges == {0: 4.5}


def test_what_is_outside_and_what_fails_can_be_seen() -> None:
    statement = example("private_gradient_descent")
    check = check_of(statement, "K = 1", "exact")

    def artists(of: Statement, values: str) -> dict[str, Any]:
        (ax,) = draw(curve(of, check, "eta", values)).axes
        return dict(zip(*reversed(ax.get_legend_handles_labels())))

    assert "outside the hypotheses" in artists(statement, "1/2,1,2")
    inside = artists(statement, "1/2,1")
    assert "outside the hypotheses" not in inside
    assert "left side, above the bound" not in inside
    assert set(inside) == {"bound (right side)", "its term: start", "its term: noise", "left side, exact"}

    def smaller(s: Any) -> Any:
        assert statement.sides is not None
        made = statement.sides(s)
        return type(made)(made.lhs, {name: term * 9 / 10 for name, term in made.rhs.items()})

    assert "left side, above the bound" in artists(replace(statement, sides=smaller), "1/2,1")


def test_a_letter_is_found_under_another_name() -> None:
    """In `my_statements` the instance has eta L and sigma/G; the number of rounds is K."""
    statement = example("my_statements")
    check = check_of(statement)
    assert check.name == "the start dominates"
    places = {symbol: place_of(statement, check, symbol) for symbol in ("eta", "sigma", "K")}
    assert places == {"eta": ("eta L",), "sigma": ("sigma/G",), "K": ("rounds",)}
    with pytest.raises(InputError, match="no number of the instance of 'the start dominates' changes D: it has eta L"):
        place_of(statement, check, "D")
    with pytest.raises(InputError, match=r"unknown symbol of mine\.noisy-gradient-descent 'etta': did you mean"):
        place_of(statement, check, "etta")


@pytest.mark.parametrize(
    ("text", "recorded", "found"),
    [
        ("1:100:3", 7, [1, 10, 100]),
        ("-1:1:3", 0.5, [-1.0, 0.0, 1.0]),
        ("4,1,1/2", "1/3", ["1/2", "1", "4"]),
        ("1:3:9", 2, [1, 2, 3]),
    ],
)
def test_values(text: str, recorded: Any, found: list[Any]) -> None:
    assert values_of(text, recorded) == pytest.approx(found) if isinstance(recorded, float) else found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["das2022.theorem4a"], "no symbol is named: add --over"),
        (["das2022.theorem4a", "--over", "etta"], "unknown symbol of das2022.theorem4a"),
        (["das2022.theorem4a", "--over", "rho", "--output", "x.pdf"], "must end in .svg or .png"),
        (["das2022.theorem4a", "--over", "rho", "--method", "algebra"], "compute both sides as numbers"),
        (["das2022.theorem4a", "--over", "rho", "--check", "x"], "unknown check"),
        (["das2022.definition5", "--over", "rho"], "das2022.definition5"),
        (["--over", "rho"], "no statement is named"),
        (["das2022.theorem4a", "--over", "rho", "--values", "1:2"], "--values is '1:2': write first:last:how many"),
        (
            ["das2022.theorem4a", "--over", "rho", "--data", "x.npz"],
            "cannot be run on other data: it constructs its own problem",
        ),
    ],
)
def test_what_cannot_be_drawn_is_told(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_departs_from_the_prescription_is_outside() -> None:
    """The heavy ball's momentum is prescribed: it follows a varied step, and a varied momentum is reported."""
    statement = example("heavy_ball")
    check = check_of(statement)
    points = curve(statement, check, "alpha", "1/4,1/2,2").points
    assert [p.outside for p in points] == [False, False, True]
    assert "the prescribed beta is not a real number at" in points[2].evidence.reason
    given = replace(check, instance={**check.instance, "beta": "11/16"})
    points = curve(statement, given, "beta", "1/2,11/16").points
    assert [p.outside for p in points] == [True, False]
    assert "the hypothesis 'beta is as prescribed' is not met: it is 0.5, not 0.6875" in points[0].evidence.reason
