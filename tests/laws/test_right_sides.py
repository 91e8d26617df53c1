"""The law of right sides, for every statement that holds.

Each method detects a right side that is smaller than the largest left side that the method has seen. Otherwise each of
its checks says that it decides only a part.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from each import of_each

from dpfl_theory import statements
from dpfl_theory.checks import power
from dpfl_theory.checks.runner import checks_of, plan, run_one, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values, methods
from dpfl_theory.core.formula import sides_of, total
from dpfl_theory.runtime.evidence_table import check_seconds
from dpfl_theory.statements.power import Power, recorded

CPU = Settings(device="cpu")
METHODS = tuple(methods.known())
HOLDING = tuple(s for s in statements.all_statements() if s.sides is not None and s.expected == "holds")


def compared(statement: Statement, method: str) -> tuple[Check, ...]:
    """A method's checks inside the hypotheses, without the units check, which concerns only units."""
    return tuple(c for c in statement.checks if c.method == method and c.expected != "not-applicable")


PAIRS = [(s, method) for s in HOLDING for method in METHODS if compared(s, method)]
ZERO = {("das2022.clow", "exact"), ("das2022.clow", "monte-carlo"), ("hou2023.eq3", "exact")}
"""Checks whose right side is 0, of which no fraction is smaller: here a number is subtracted instead."""
EVERY = of_each(PAIRS, lambda pair: f"{pair[0].id} {pair[1]}")


def law(statement: Statement, method: str, found: Power) -> str:
    """A method's result on smaller right sides: ``noticed``, ``parts``, or ``neither``, which breaks the law."""
    share, by = found.least[method]
    if share is not None and by != "units":
        return "noticed"
    return "parts" if all(c.part for c in compared(statement, method)) else "neither"


def test_every_statement_has_a_row() -> None:
    missing = [s.id for s in HOLDING if recorded(s.id) is None]
    assert not missing, f"no power is on record for {', '.join(missing)}: run `make power ID={missing[0]}`"


def on_record(statement: Statement) -> Power:
    found = recorded(statement.id)
    if found is None:
        pytest.skip(f"no power is on record for {statement.id}, for which another test fails")
    return found


RECORDED = tuple(s for s in HOLDING if recorded(s.id) is not None)


@EVERY
def test_a_smaller_right_side_is_noticed_or_every_check_names_its_part(statement: Statement, method: str) -> None:
    expected = {"neither"} if (statement.id, method) in ZERO else {"noticed", "parts"}
    assert law(statement, method, on_record(statement)) in expected


NOTHING_RIGHT = {
    ("das2022.clow", "exact"): 2,
    ("hou2023.eq3", "exact"): 1,
    ("shulgin2025.table1", "worst-case"): 2,
    ("zhang2021.eq13", "exact"): 1,
}
"""How many checks decide with a right side of 0, of which any fraction is also 0."""


@pytest.mark.parametrize("method", ["exact", "worst-case"])
def test_every_comparison_changes_with_the_right_side(method: str) -> None:
    """The evidence of each check changes with a thousandth of the right side."""
    short = {}
    for statement in RECORDED:
        whole = [c for c in compared(statement, method) if not c.part]
        missing = len(whole) - on_record(statement).reading[method][0] if whole else 0
        if missing > 0:
            short[statement.id, method] = missing
    assert short == {pair: number for pair, number in NOTHING_RIGHT.items() if pair[1] == method}


@of_each(HOLDING, lambda s: s.id)
def test_what_lies_below_the_best_measured_ratio_is_noticed(statement: Statement) -> None:
    """The ratio is that of the two sides themselves: in rational arithmetic, by a check that decides more than a part.

    (A worst case moves negative terms to the other side; a simulation detects changes beyond its limits.)
    """
    found = on_record(statement)
    method, _, name = found.ratio_by.partition(": ")
    by = [c for c in compared(statement, "exact") if c.name == name and not c.part]
    if found.ratio is None or method != "exact" or not by:
        return
    share, _ = found.least["exact"]
    assert share is not None
    assert share <= min(s for s in power.SHRINKAGES if s > 1.001 * (1.0 - found.ratio))


SEVERAL = [s for s in RECORDED if on_record(s).terms]
"""Statements with several recorded terms on the right; the next test compares the record with the statements."""


@of_each(HOLDING, lambda s: s.id)
def test_the_absence_of_each_term_is_noticed_or_the_statement_says_why_not(statement: Statement) -> None:
    terms, rhs = on_record(statement).terms, sides_of(statement).rhs
    assert set(terms) == (set(rhs) if len(rhs) > 1 else set())
    assert {name for name, by in terms.items() if not by} == set(statement.unnoticed)


def noticing_sample(most: int = 6, seconds: float = 3.0) -> list[tuple[Statement, str, Check]]:
    """Random terms with a fixed seed, each with the recorded check that detects its absence, without simulations."""
    found = []
    for statement in SEVERAL:
        for term, by in on_record(statement).terms.items():
            method, _, name = by.partition(": ")
            if by and not methods.get(method).simulates and check_seconds(statement.id, method, name) <= seconds:
                (check,) = (c for c in statement.checks if (c.method, c.name) == (method, name))
                found.append((statement, term, check))
    return random.Random(11).sample(found, min(most, len(found)))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("statement", "term", "check"), noticing_sample(), ids=lambda v: getattr(v, "id", None))
def test_a_term_left_out_turns_the_verdict(statement: Statement, term: str, check: Check) -> None:
    assert run_one(statement, check, CPU).verdict == check.expected
    assert power._attempt(power.stronger_by(statement, term), check)["verdict"] != check.expected


def lowered(statement: Statement) -> Statement:
    """The statement with 1 subtracted on the right."""
    made = sides_of(statement)
    return dataclasses.replace(statement, sides=lambda _: Sides(made.lhs, {**made.rhs, "planted": sp.Integer(-1)}))


@pytest.mark.parametrize(("id_", "method"), sorted(ZERO))
def test_less_than_a_right_side_of_zero_is_noticed(id_: str, method: str) -> None:
    statement = statements.get(id_)
    for check in compared(statement, method):
        before, after = (run_one(s, check, CPU) for s in (statement, lowered(statement)))
        assert (before.verdict, before.rhs) == ("holds", 0.0)
        assert after.verdict == "violated"


def sample(method: str, most: int = 4, seconds: float = 3.0) -> list[tuple[Statement, Check, float]]:
    """A few random statements with a fixed seed, each with its least sensitive fast check and the sensitivity."""
    found = []
    for statement in RECORDED:
        if not compared(statement, method):
            continue
        power_ = on_record(statement)
        share, name = power_.least[method]
        # Where a noise is prescribed (==, >=) the limits belong to its epsilon, not to the right side.
        reading = power_.reading[method][0] == len(compared(statement, method)) and statement.relation == "<="
        if share is None or (method == "privacy" and not reading):
            continue
        (check,) = (c for c in compared(statement, method) if c.name == name)
        if check_seconds(statement.id, method, name) <= seconds:
            found.append((statement, check, share))
    return random.Random(7).sample(found, min(most, len(found)))


SAMPLE = [(*found, method) for method in METHODS for found in sample(method)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("statement", "check", "share", "method"), SAMPLE, ids=[f"{s.id} {m} {c.name}" for s, c, _, m in SAMPLE]
)
def test_a_planted_smaller_right_side_turns_the_verdict(
    statement: Statement, check: Check, share: float, method: str
) -> None:
    """The recorded sensitivities are reproduced.

    Limits come from other random numbers and are not sharp, so half of the remaining share is planted for them.
    """
    planted = share if method in ("algebra", "exact", "worst-case") else (1.0 + share) / 2.0
    assert run_one(statement, check, CPU).verdict == "holds"
    assert power._attempt(power.stronger(statement, planted), check)["verdict"] != "holds"


def test_the_sample_has_every_method() -> None:
    assert Counter(method for *_, method in SAMPLE) == dict.fromkeys(METHODS, 4)


# The law can be broken: artificial statements for it.


def sides(s: Symbols) -> Sides:
    """x^2 <= x^2 + y^2."""
    return Sides({"left": s.x**2}, {"right": s.x**2 + s.y**2})


def typed(_: Statement, __: Mapping[str, Any]) -> Outcome:
    x, y = sp.symbols("x y", positive=True)
    return Outcome((x**2 + y**2 - x**2).is_positive, "the right side, typed here, exceeds the left one")


def looked_at(statement: Statement, __: Mapping[str, Any]) -> Outcome:
    sides_of(statement)
    return typed(statement, __)


def read(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    return Outcome((total(statement) - total(statement, "lhs")).is_positive, "right less left")


def mine(build: Callable[..., Any], part: str = "") -> Statement:
    check = Check("algebra", "larger", build, part=part)
    symbols = (Symbol("x", "a length", (0, 1)), Symbol("y", "another", (0, 1)))
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", symbols, sides=sides, checks=(check,))


def measured(statement: Statement) -> Power:
    found = {(e.method, e.check): e.to_json() for e in run_plan(plan([statement])).evidence}
    return power.power_of(statement, found, {share: power.planted(statement, share) for share in power.SHRINKAGES})


@pytest.mark.parametrize(
    ("build", "part", "verdict"),
    [(read, "", "noticed"), (looked_at, "", "neither"), (looked_at, "a step", "parts"), (typed, "a step", "parts")],
)
def test_the_law_tells_who_reads_the_formula(build: Callable[..., Any], part: str, verdict: str) -> None:
    statement = mine(build, part)
    assert law(statement, "algebra", measured(statement)) == verdict


def test_an_algebra_check_that_never_looks_at_the_sides_is_refused() -> None:
    statement = mine(typed)
    with pytest.raises(ValueError, match="the check 'larger' never reads the statement's sides: read them, or set"):
        run_one(dataclasses.replace(statement, source=Source("das2022", "here")), statement.checks[0], CPU)


# The units check, to which the law does not apply.


def loose(statement: Statement, _: Mapping[str, Any]) -> Values:
    return Values({"x": Fraction(2), "y": Fraction(1, 2)})


@pytest.mark.parametrize(
    ("relation", "rhs", "expected"),
    [
        ("<=", {"first": 1, "second": 1}, {"first": "exact: loose", "second": ""}),
        ("==", {"first": Fraction(1, 2), "second": 4}, {"first": "exact: loose", "second": "exact: loose"}),
        ("<=", {"first": 2, "second": -8}, {"first": "exact: loose", "second": "exact: loose"}),
        ("<=", {"first": 2, "second": -1}, {"first": "exact: loose", "second": ""}),
    ],
)
def test_terms_that_decide_are_told_from_those_that_do_not(
    relation: str, rhs: dict[str, Any], expected: dict[str, str]
) -> None:
    """At x = 2 and y = 1/2: 4 <= 4 + 1/2 without its second term, 4 == 2 + 2, and 4 <= 8 - 4 with it twice."""

    def made(s: Symbols) -> Sides:
        symbols = {"first": s.x**2, "second": s.y}
        return Sides({"left": s.x**2}, {name: sp.nsimplify(factor) * symbols[name] for name, factor in rhs.items()})

    statement = dataclasses.replace(mine(read), sides=made, relation=relation, checks=(Check("exact", "loose", loose),))
    found = {(e.method, e.check): e.to_json() for e in run_plan(plan([statement])).evidence}
    assert power.noticed_terms(statement, found) == expected


def in_another_unit(statement: Statement) -> Statement | None:
    """With a factor of unit F on one term of several; None where there is nothing else with a unit."""
    made = sides_of(statement)
    terms = {(side, name): t for side in ("lhs", "rhs") for name, t in getattr(made, side).items() if t != 0}
    if len(terms) < 2:
        return None
    (side, name), term = list(terms.items())[-1]
    factor = sp.Symbol("planted", positive=True)
    changed = {**getattr(made, side), name: factor * term}
    return dataclasses.replace(
        statement,
        symbols=(*statement.symbols, Symbol("planted", "a factor", (1, 0))),
        sides=lambda _: dataclasses.replace(made, **{side: changed}),
    )


def test_a_wrong_unit_turns_every_units_check() -> None:
    turned = 0
    for statement in HOLDING:
        planted = in_another_unit(statement)
        if planted is None or not statement.homogeneous:
            continue
        check = checks_of(planted)[0]
        assert (check.name, run_one(planted, check, CPU).verdict) == ("units", "violated"), statement.id
        turned += 1
    assert turned >= 140
