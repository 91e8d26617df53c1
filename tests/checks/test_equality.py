"""Equalities by worst cases: two inequalities, and neither alone is called the equality."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory.checks.certificate_file import is_proof, of_evidence
from dpfl_theory.checks.power import detected_by_checks
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import main
from dpfl_theory.core import Check, Expected, Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.evidence import HALF, Evidence
from dpfl_theory.errors import InputError
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Iteration

SYMBOLS = (
    Symbol("K", "rounds", (0, 0), "integer"),
    Symbol("d", "dimension", (0, 0), "integer"),
    Symbol("L", "smoothness", (1, -2)),
    Symbol("eta", "step", (-1, 2)),
    Symbol("sigma", "of the noise", (0, 1), "nonnegative"),
    Symbol("D", "distance", (0, 1), "nonnegative"),
)
SQUARE = Expected("square", (("distance-squared", 1),), (0, 2), "S", "squared distance", "end")
LEAST = Expected("least", (("gradient-norm-squared", 1),), (2, -2), "G", "least squared gradient", "least")


def drift(o: Oracle, x: Any, s: Symbols) -> Any:
    """Noise alone, at which a gradient looks without moving by it."""
    x = x + o.noise(s.sigma)
    o.gradient(x)
    return x


def descent(o: Oracle, x: Any, s: Symbols) -> Any:
    return x - s.eta * o.gradient(x)


def made(step: Any, sides: Any, symbol: Expected = SQUARE, relation: str = "==", K: int = 2) -> Statement:
    iteration = Iteration(step, {"L": "smoothness", "d": "dimension", "D": "start-distance"})
    instance = {"K": K, "d": 3, "eta": "1/2", "sigma": "1/4"}
    checks = (Check("worst-case", "a", iteration.build("worst-case"), instance),)
    about = {"symbols": SYMBOLS, "expectations": (symbol,), "relation": relation, "checks": checks}
    return Statement("mine.equal", "lemma", "t", Source("mine", "here"), "text", sides=sides, **about)  # type: ignore[arg-type]


def found(statement: Statement) -> Evidence:
    return run_plan(plan([statement], ("worst-case",))).evidence[0]


@pytest.mark.parametrize(("factor", "verdict"), [("1", "holds"), ("33/32", "inconclusive"), ("31/32", "inconclusive")])
def test_an_equality_holds_where_both_halves_do(factor: str, verdict: str) -> None:
    """E ||x_K - x*||^2 = D^2 + K d sigma^2, where the noise has this variance and no less: with one that has at most
    this, the other half would be refuted. (No function is verified that meets a variance exactly.)"""

    def sides(s: Symbols) -> Sides:
        return Sides({"square": s.square}, {"start": s.D**2, "noise": Fraction(factor) * s.K * s.d * s.sigma**2})

    statement = made(drift, sides)
    e = found(statement)
    assert e.verdict == verdict
    if verdict == "holds":
        assert "left <= right: " in e.reason
        assert "right <= left: " in e.reason
        assert HALF not in e.notes
        certificates = of_evidence([e.to_json()])
        assert [c["claim"].partition(": ")[2].split()[1] for c in certificates] == ["left", "right"]
        assert all(map(is_proof, certificates))
        assert certificates[0]["left"] != certificates[1]["left"]
        power = detected_by_checks(statement, [e])
        assert power is not None
        assert power.share == 0.0


def shrunk(s: Symbols) -> Sides:
    return Sides({"square": s.square}, {"start": s.D**2})


def test_a_bound_is_no_equality() -> None:
    """||x_K - x*||^2 <= D^2 holds with ratio 1, and no equality is made of it: some function shrinks the distance."""
    assert found(made(descent, shrunk, relation="<=")).verdict == "holds"
    e = found(made(descent, shrunk))
    assert e.verdict == "violated"
    assert e.reason.startswith("of the equality, right <= left: ")
    assert "its right side is the larger one" in e.reason


def test_one_half_alone_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a build names a half, the evidence is marked, and detects the smaller right sides that this half detects."""
    statement = made(descent, shrunk)
    (check,) = statement.checks
    loose = replace(
        statement,
        sides=lambda s: Sides({"square": s.square}, {"start": 4 * s.D**2}),
        checks=(replace(check, build=lambda of, at: replace(check.build(of, at), direction="<=")),),
    )
    report = run_plan(plan([loose], ("worst-case",)))
    (e,) = report.evidence
    assert (e.verdict, e.notes[HALF]) == ("holds", "<=")
    assert report.to_json()["summary"]["statements"]["mine.equal"]["verdict"] == "inconclusive"
    power = detected_by_checks(loose, [e])
    assert power is not None
    assert power.share == pytest.approx(0.75, abs=1e-5)
    from dpfl_theory.cli._check_output import evidence_lines

    assert "one half: left <= right" in evidence_lines([e])
    other = replace(loose, checks=(replace(check, build=lambda of, at: replace(check.build(of, at), direction=">=")),))
    assert detected_by_checks(other, [replace(e, notes={HALF: ">="})]).share is None  # type: ignore[union-attr]


def test_the_least_of_several_is_known_from_above_alone() -> None:
    """Of an equality with it nothing but one half is decided; on the larger side it is refused."""

    def smaller(s: Symbols) -> Sides:
        return Sides({"least": s.least}, {"start": s.L**2 * s.D**2})

    e = found(made(descent, smaller, LEAST))
    assert e.verdict == "inconclusive"
    assert "right <= left was not decided, for least is known only from above here" in e.reason

    def larger(s: Symbols) -> Sides:
        return Sides({"start": s.L**2 * s.D**2}, {"least": s.least})

    with pytest.raises(InputError, match="least is known only from above here, as the least of several values is"):
        found(made(descent, larger, LEAST, "<="))


def test_the_power_line_claims_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The template with == in place of <=: one half holds with ratio 1/3, and nothing is called noticed by it."""
    assert main(["new", "theorem", "sharper-rate", "--output", str(tmp_path / "mine.py")]) == 0
    text = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(text.replace("    sides=sides,", '    sides=sides,\n    relation="==",'))
    line = ["check", "--file", str(tmp_path / "mine.py"), "--method", "worst-case", "--store", "off", "--jobs", "1"]
    assert main(line) in (1, 3)
    out = capsys.readouterr().out
    assert "holds" not in out.split("mine.sharper-rate")[0]
    assert "would be detected" not in out
