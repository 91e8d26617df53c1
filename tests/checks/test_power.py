"""The power of checks: what reads the formula, what notices a change, what an idle algorithm passes; and its record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from each import of_each

from dpfl_theory import statements
from dpfl_theory.checks import power
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.core import Case, Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.core.formula import sides_of
from dpfl_theory.runtime.evidence_table import section
from dpfl_theory.statements.power import recorded

X, Y = sp.symbols("x y", positive=True)


def sides(s: Symbols) -> Sides:
    """9 x <= 10 x."""
    return Sides({"left": 9 * s.x}, {"right": 10 * s.x})


def entered(_: Statement, instance: Mapping[str, Any]) -> Values:
    return Values({"x": Fraction(1)})


def typed_again(_: Statement, instance: Mapping[str, Any]) -> Case:
    return Case({"x": 1}, Fraction(99), Fraction(100))


def fails(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    if "10*x" not in str(sides_of(statement).rhs["right"]):
        raise ArithmeticError("another formula")
    return Outcome(True, "the same")


STATEMENT = Statement(
    "mine.one",
    "lemma",
    "t",
    Source("mine", "here"),
    "text",
    symbols=(Symbol("x", "a number"),),
    sides=sides,
    checks=(Check("exact", "entered", entered), Check("exact", "typed again", typed_again, part="a number alone")),
)


def measured(statement: Statement) -> Any:
    report = run_plan(plan([statement]))
    found = {(e.method, e.check): e.to_json() for e in report.evidence}
    return power.power_of(statement, found, {share: power.planted(statement, share) for share in power.SHRINKAGES})


def test_a_share_is_planted_where_a_larger_one_was_noticed() -> None:
    assert set(power.planted(STATEMENT, 0.1, frozenset({("exact", "entered")}))) == {("exact", "entered")}


def test_a_privacy_check_notices_what_its_claim_leaves() -> None:
    claim = Evidence("mine.one", "privacy", "p", "holds", "holds", "why", rhs=1e-5, lhs=Interval(8e-6, 7.9e-6, 8.1e-6))
    found = power.power_of(STATEMENT, {("privacy", "p"): claim.to_json()}, {})
    assert (found.smallest_detected, found.detecting_check) == (pytest.approx(0.19), "privacy: p")
    assert found.reading == {"privacy": (0, 1)}


def test_of_a_refuted_statement_no_smaller_right_side_is_told() -> None:
    blind = power.power_of(STATEMENT, {}, {})
    assert "no change of the right side" in blind.sentence()
    assert "right side" not in blind.sentence(refuted=True)


def test_only_checks_that_read_the_formula_count() -> None:
    found = measured(STATEMENT)
    assert (found.ratio, found.ratio_by) == (0.9, "exact: entered")  # and not the 0.99 of what was typed again
    assert found.reading == {"algebra": (0, 1), "exact": (1, 2)}
    assert (found.smallest_detected, found.detecting_check) == (
        0.5,
        "exact: entered",
    )  # 0.1 leaves equality, which holds
    assert found.least == {"algebra": (None, ""), "exact": (0.5, "entered")}
    assert found.idle is None
    assert "1 of 3 checks read the formula" in found.sentence()


def test_where_nothing_reads_the_formula_nothing_is_noticed() -> None:
    blind = dataclasses.replace(STATEMENT, checks=STATEMENT.checks[1:])
    found = measured(blind)
    assert (found.ratio, found.smallest_detected) == (None, None)
    assert "no change of the right side that was tried is detected" in found.sentence()


@pytest.mark.parametrize(
    ("relation", "made", "terms"),
    [
        ("<=", Sides({"l": 1}, {"a": X, "b": -Y}), ({"l": 1}, {"a": X / 2, "b": -2 * Y})),
        (">=", Sides({"l": 1}, {"a": X, "b": -Y}), ({"l": 1}, {"a": 2 * X, "b": -Y / 2})),
        ("<=", Sides({"a": X, "b": -Y}, {"r": 0}), ({"a": 2 * X, "b": -Y / 2}, {"r": 0})),
    ],
)
def test_a_stronger_statement(relation: str, made: Sides, terms: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """What is subtracted grows, so that a right side which may be negative is smaller too."""
    changed = sides_of(power.stronger(dataclasses.replace(STATEMENT, relation=relation, sides=lambda s: made), 0.5))
    assert (changed.lhs, changed.rhs) == terms


def test_a_check_that_raises_has_noticed() -> None:
    careful = dataclasses.replace(STATEMENT, checks=(Check("algebra", "fails", fails),))
    assert measured(careful).smallest_detected == power.SHRINKAGES[-1]


def run(ratio: float, vacuous: bool | None = False, low: float | None = None, verdict: str = "holds") -> dict[str, Any]:
    made = Evidence("mine.one", "monte-carlo", "run", verdict, "holds", "why", vacuous=vacuous, rhs=2.0)
    limits = Interval(2.0 * ratio, 2.0 * (ratio - 0.05 if low is None else low), 2.0 * (ratio + 0.05))
    return dataclasses.replace(made, lhs=limits).to_json()


def test_a_run_notices_what_its_limits_leave() -> None:
    assert power.margin(run(0.7), False) == pytest.approx(0.25)
    assert power.margin(run(1.0, low=0.98), True) == pytest.approx(0.02)
    assert power.margin(run(0.7, verdict="violated"), False) is None


@pytest.mark.parametrize(
    ("runs", "idle", "ratio"),
    [
        ([run(0.7)], False, 0.7),
        ([run(0.7), run(0.9, vacuous=True)], False, 0.7),
        ([run(0.9, vacuous=True)], True, None),
        ([run(0.9, vacuous=None)], None, 0.9),
        ([run(0.7), run(0.9, verdict="not-applicable")], False, 0.7),
    ],
)
def test_vacuous_runs_are_no_power(runs: list[dict[str, Any]], idle: bool | None, ratio: float | None) -> None:
    found = power.power_of(STATEMENT, {("monte-carlo", str(i)): e for i, e in enumerate(runs)}, {})
    assert (found.idle, found.ratio) == (idle, ratio)
    assert ("never moves would pass" in found.sentence()) == bool(idle)


def test_a_fingerprint_is_of_formula_and_checks() -> None:
    other = dataclasses.replace(STATEMENT, sides=lambda s: Sides(sides(s).lhs, sides(s).lhs))
    fewer = dataclasses.replace(STATEMENT, checks=STATEMENT.checks[1:])
    assert len({power.fingerprint(s) for s in (STATEMENT, other, fewer)}) == 3
    assert power.fingerprint(STATEMENT) == power.fingerprint(dataclasses.replace(STATEMENT, title="another"))


@of_each(statements.all_statements(), lambda s: s.id)
def test_what_is_on_record_is_of_this_statement(statement: Statement) -> None:
    on_record = recorded(statement.id)
    assert on_record is not None, f"run `make power ID={statement.id}`"
    assert on_record.fingerprint == power.fingerprint(statement), f"run `make power ID={statement.id}`"


@pytest.mark.parametrize(
    "id_",
    [
        *(
            f"noble2022.theoremC.{i}.{part}.repaired"
            for i in (1, 2)
            for part in ("convex", "strongly-convex", "non-convex")
        ),
        *(f"noble2022.{i}" for i in ("theoremC.1.explicit", "lemmaC.8.repaired", "lemmaC.9.repaired")),
        *(f"noble2022.theorem4.2.{method}" for method in ("scaffold", "fedavg")),
        "zhang2021.corollary3.2.1.repaired",
        *(f"li2020.theorem{n}" for n in (1, 2, 3)),
    ],
)
def test_an_idle_algorithm_fails_these(id_: str) -> None:
    """Some run's bound lies below what an algorithm that never moves leaves."""
    on_record = recorded(id_)
    assert on_record is not None
    assert on_record.idle is False


def test_the_record_has_no_other_statement() -> None:
    assert set(section("power")) == {s.id for s in statements.all_statements()}


AGAIN = (
    "das2022.fact1",
    "hou2023.contraction",
    "li2020.theorem4",
    "noble2022.lemmaC.2",
    "shulgin2025.lemma1",
    "zhang2021.claim2.2a",
)
"""Statements whose checks are fast, one from every paper; among them all methods that ratios are measured by."""


@pytest.mark.slow
@pytest.mark.parametrize("id_", AGAIN)
def test_the_record_is_what_is_measured_again(id_: str) -> None:
    statement, on_record = statements.get(id_), recorded(id_)
    found = [e.to_json() for e in run_plan(plan([statement])).evidence]
    measured_ = power.measure(found, [statement], jobs=1)[id_]
    assert on_record is not None
    assert measured_.reading == on_record.reading
    assert measured_.idle == on_record.idle
    # Simulations stop after a number of replicates that depends on how many share the false-alarm budget.
    assert _near(measured_.ratio, on_record.ratio, rel=0.05)
    drawn = measured_.detecting_check.startswith("monte-carlo")
    assert _near(measured_.smallest_detected, on_record.smallest_detected, abs=0.05 if drawn else 0.0)


def _near(measured: float | None, on_record: float | None, **width: float) -> bool:
    return measured is on_record is None or (
        None not in (measured, on_record) and measured == pytest.approx(on_record, **width)
    )
