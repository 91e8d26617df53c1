"""The power of checks on statements of one number, where the smallest share that is noticed is a line of algebra."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from dpfl_theory.checks import power
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.core import Case, Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values
from dpfl_theory.core.evidence import ENDED, UNSOLVED, Evidence, Interval
from dpfl_theory.core.formula import sides_of
from dpfl_theory.runtime.time_limits import WorkerDied
from dpfl_theory.statements.power import Power


def sides(s: Symbols) -> Sides:
    """9 x <= 10 x."""
    return Sides({"left": 9 * s.x}, {"right": 10 * s.x})


def entered(_: Statement, instance: Mapping[str, Any]) -> Values:
    return Values({"x": Fraction(1)})


def typed_again(_: Statement, instance: Mapping[str, Any]) -> Case:
    return Case({"x": 1}, Fraction(99), Fraction(100))


def statement(*checks: Check, **more: Any) -> Statement:
    about = {"symbols": (Symbol("x", "a number"),), "sides": sides, "checks": checks, **more}
    return Statement(more.pop("id", "mine.one"), "lemma", "t", Source("mine", "here"), "text", **about)


ENTERED = Check("exact", "entered", entered)
TYPED = Check("exact", "typed again", typed_again, part="a number alone")
ONE = statement(ENTERED, TYPED)


def evidence(
    verdict: str = "holds", rhs: float | None = 2.0, limits: Any = (1.0, 0.5, 1.5), **more: Any
) -> dict[str, Any]:
    made = Evidence(
        "mine.one", more.pop("method", "monte-carlo"), more.pop("check", "c"), verdict, "holds", "why", rhs=rhs, **more
    )
    if limits is not None:
        made = replace(made, lhs=Interval(*limits))
    return made.to_json()


@pytest.mark.parametrize(
    ("verdict", "rhs", "limits", "equality", "left"),
    [
        ("holds", 2.0, (1.0, 0.5, 1.5), False, 0.25),  # the bound may shrink to the upper limit
        ("holds", 2.0, (1.0, 0.5, 1.5), True, 0.75),  # an equality fails once the lower limit is above
        ("holds", 2.0, (2.0, 1.0, 3.0), False, 0.0),
        ("holds", 2.0, (-1.0, -2.0, 0.0), False, 1.0),
        ("holds", 2.0, (-1.0, -2.0, -0.5), False, 1.25),
        ("holds", 0.5, (0.3, 0.2, 0.4), False, 0.2),
        ("holds", -1.0, (-4.0, -5.0, -4.0), False, 0.75),  # -1 may grow to -4
        ("holds", -0.5, (-3.0, -4.0, -2.0), False, 0.75),
        ("holds", -1.0, (-4.0, -5.0, -4.0), True, 0.8),
        ("holds", -1.0, (-0.5, -1.0, 0.0), False, None),
        ("holds", -1.0, (0.5, 0.0, 1.0), False, None),
        ("holds", 0.0, (-1.0, -2.0, -0.5), False, None),
        ("holds", None, (1.0, 0.5, 1.5), False, None),
        ("holds", 2.0, None, False, None),
        ("holds", 2.0, (1.0, -math.inf, math.inf), False, None),
        ("holds", 2.0, (1.0, -math.inf, 1.5), True, None),
        ("inconclusive", 2.0, (1.0, 0.5, 1.5), False, None),
        ("violated", 2.0, (1.0, 0.5, 1.5), False, None),
    ],
)
def test_how_much_stronger_a_bound_may_become(
    verdict: str, rhs: float | None, limits: Any, equality: bool, left: float | None
) -> None:
    found = power.margin(evidence(verdict, rhs, limits), equality)
    assert found == (None if left is None else pytest.approx(left))


def test_what_counts_as_reading_the_formula() -> None:
    same = evidence()
    assert not power.changes_evidence(same, dict(same))
    assert not power.changes_evidence(same, {**same, "seconds": 5.0, "notes": {"a": 1}, "detectable": 2.0})
    for key, value in (("verdict", "violated"), ("reason", "other"), ("lhs", None), ("rhs", 3.0), ("ratio", 0.1),
                       ("terms", {"a": 1})):  # fmt: skip
        assert power.changes_evidence(same, {**same, key: value})


@pytest.mark.parametrize(
    ("value", "short"), [(None, None), (math.inf, None), (math.nan, None), (0.123456, 0.123), (-1234.5, -1230.0)]
)
def test_three_digits(value: float | None, short: float | None) -> None:
    assert power._short(value) == short


def test_what_a_share_turns() -> None:
    before, after = evidence(), evidence("violated")
    assert power._turned(before, after)
    assert not power._turned(before, before)
    assert not power._turned(before, None)


def test_the_nearest_three_of_each_method_are_tried_on() -> None:
    """Of five checks that notice, those with the largest ratios; all without a ratio; those of other methods too."""
    found = {("exact", f"c{k}"): evidence(rhs=10.0, limits=(k, k, k), method="exact") for k in range(1, 6)}
    found |= {("algebra", "a"): evidence(rhs=None, limits=None, method="algebra")}
    found |= {("worst-case", "w"): evidence(rhs=10.0, limits=(1, 1, 1), method="worst-case")}
    found |= {("exact", "stays"): evidence(rhs=10.0, limits=(9, 9, 9), method="exact")}
    after = {key: {**e, "verdict": "violated" if key[1] != "stays" else "holds"} for key, e in found.items()}
    assert power._turns(found, after) == {
        *(("exact", f"c{k}") for k in (3, 4, 5)), ("algebra", "a"), ("worst-case", "w")
    }  # fmt: skip
    assert power._turns(found, found) == frozenset()
    new = {("exact", "new"): evidence()}
    assert power._turns({}, new) == frozenset()


@pytest.mark.parametrize(
    ("share", "relation", "made", "terms"),
    [
        (0.9, "<=", ({"l": 1}, {"a": 1, "b": -1}), ({"l": 1}, {"a": Fraction(1, 10), "b": -10})),
        (0.001, "<=", ({"l": 1}, {"a": 1}), ({"l": 1}, {"a": Fraction(999, 1000)})),
        (0.9, ">=", ({"l": 1}, {"a": 1, "b": -1}), ({"l": 1}, {"a": 10, "b": Fraction(-1, 10)})),
        (0.9, "==", ({"l": 1}, {"a": 1}), ({"l": 1}, {"a": Fraction(1, 10)})),
        (0.9, "<=", ({"l": 1, "m": -1}, {"a": 0, "b": 0}), ({"l": 10, "m": Fraction(-1, 10)}, {"a": 0, "b": 0})),
        (0.9, "<=", ({"l": 1}, {"a": 1, "b": 0}), ({"l": 1}, {"a": Fraction(1, 10), "b": 0})),
    ],
)
def test_a_stronger_statement_is_so_by_a_share(share: float, relation: str, made: Any, terms: Any) -> None:
    x = sp.Symbol("x", positive=True)
    given = Sides(*({k: v * x for k, v in side.items()} for side in made))
    changed = sides_of(power.stronger(statement(sides=lambda _: given, relation=relation), share))
    expected = [{k: sp.Rational(v) * x for k, v in side.items()} for side in terms]
    assert [changed.lhs, changed.rhs] == expected


def test_planted_changes_leave_simulations_out() -> None:
    runs = statement(ENTERED, TYPED, Check("monte-carlo", "run", entered))
    assert set(power.planted(runs, 0.5)) == {("algebra", "units"), ("exact", "entered"), ("exact", "typed again")}
    assert set(power.planted(runs, 0.5, frozenset({("exact", "entered"), ("monte-carlo", "run")}))) == {
        ("exact", "entered")
    }
    assert power.planted(runs, 0.05)["exact", "entered"]["verdict"] == "holds"
    assert power.planted(runs, 0.2)["exact", "entered"]["verdict"] == "violated"
    assert power._attempt(runs, ENTERED)["ratio"] == 0.9


def test_what_a_check_raises_is_evidence() -> None:
    def fails(_: Statement, instance: Mapping[str, Any]) -> Outcome:
        raise ArithmeticError("too small")

    check = Check("exact", "fails", fails, expected="violated")
    found = power._attempt(statement(check), check)
    assert (found["method"], found["check"]) == ("exact", "fails")
    assert (found["verdict"], found["expected"]) == ("inconclusive", "violated")
    assert "ArithmeticError: too small" in found["reason"]
    assert found["reason"].startswith("CheckError: ")


def measured(stated: Statement, *extra: tuple[tuple[str, str], dict[str, Any]]) -> Power:
    found = {(e.method, e.check): e.to_json() for e in run_plan(plan([stated])).evidence if e.method != "monte-carlo"}
    found |= dict(extra)
    return power.power_of(stated, found, {share: power.planted(stated, share) for share in power.SHRINKAGES})


def test_the_power_of_a_statement_of_one_number() -> None:
    """9 x <= 10 x: a right side smaller by half fails, one smaller by a tenth is an equality and holds."""
    found = measured(ONE)
    assert power.SHRINKAGES == (0.999, 0.99, 0.9, 0.5, 0.1, 0.01, 0.001)
    assert (found.ratio, found.ratio_by, found.idle) == (0.9, "exact: entered", None)
    assert found.reading == {"algebra": (0, 1), "exact": (1, 2)}
    assert found.least == {"algebra": (None, ""), "exact": (0.5, "entered")}
    assert found.fingerprint == power.fingerprint(ONE)


def test_runs_add_what_their_limits_leave() -> None:
    near = (("monte-carlo", "near"), evidence(limits=(1.9, 1.8, 1.96), vacuous=False))
    far = (("monte-carlo", "far"), evidence(limits=(0.1, 0.05, 0.2), vacuous=True))
    found = measured(ONE, near, far)
    assert found.least["monte-carlo"] == (0.02, "near")
    assert (found.ratio, found.ratio_by) == (0.95, "monte-carlo: near")
    assert found.reading["monte-carlo"] == (2, 2)
    assert found.idle is False
    assert measured(ONE, far).idle is True
    later = (("monte-carlo", "z"), evidence(limits=(0.5, 0.4, 0.6), vacuous=False))
    assert measured(ONE, near, later).ratio_by == "monte-carlo: near"
    for high in (-0.5, 0.0):
        nothing = (("monte-carlo", "none"), evidence(limits=(-1.0, -2.0, high)))
        assert measured(ONE, nothing).least["monte-carlo"] == (None, "")  # no smaller positive bound fails
    equal = (("monte-carlo", "near"), evidence(limits=(1.9, 1.8, 2.1), vacuous=False))
    assert measured(replace(ONE, relation="=="), equal).least["monte-carlo"] == (0.1, "near")
    claim = (("privacy", "p"), evidence(limits=(1.7, 1.6, 1.8), method="privacy"))
    assert measured(replace(ONE, relation="=="), claim).least["privacy"] == (0.1, "p")  # 1.8 of 2, not 1.6


def test_a_statement_without_a_formula_notices_by_its_checks_own_sides() -> None:
    bare = statement(TYPED, sides=None, symbols=())
    found = power.power_of(
        bare, {("exact", "typed again"): evidence(rhs=100.0, limits=(99.0,) * 3, method="exact")}, {}
    )
    assert found.least == {"exact": (0.01, "typed again")}
    assert (found.ratio, found.ratio_by) == (0.99, "exact: typed again")
    for ratio, verdict in ((101.0, "violated"), (0.0, "holds"), (101.0, "holds")):
        e = evidence(verdict, 100.0, (ratio,) * 3, method="exact")
        assert power.power_of(bare, {("exact", "c"): e}, {}).least == {"exact": (None, "")}
    tight = evidence(rhs=100.0, limits=(100.0,) * 3, method="exact")
    assert power.power_of(bare, {("exact", "c"): tight}, {}).least == {"exact": (0.0, "c")}


def test_a_measurement_of_two_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    two = replace(ONE, id="mine.two", sides=lambda s: Sides({"left": 99 * s.x}, {"right": 100 * s.x}))
    bare = replace(statement(TYPED, sides=None, symbols=()), id="mine.three")
    lines: list[tuple[float, str]] = []
    found = [e.to_json() for e in run_plan(plan([ONE, two, bare])).evidence]
    assert {e["statement"] for e in found} == {"mine.one", "mine.two", "mine.three"}
    other = statement(ENTERED, sides=sides)
    result = power.measure(found, [ONE, two, bare, replace(other, id="mine.none")], progress=lambda *a: lines.append(a))
    assert set(result) == {"mine.one", "mine.two", "mine.three"}
    assert result["mine.one"] == measured(ONE)
    assert result["mine.two"].least["exact"] == (0.1, "entered")
    assert result["mine.three"].least["exact"] == (0.01, "typed again")
    shares = [share for share, _ in lines]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.5 < shares[-1] < 1.0
    assert lines[0][1] == "mine.one, its right side smaller by 99.9 %"
    assert list(dict.fromkeys(text for _, text in lines if "mine.one" in text)) == [
        *(f"mine.one, its right side smaller by {percent} %" for percent in ("99.9", "99", "90", "50", "10")),
        "mine.one, without a term",
    ]
    # The terms come last, after six of seven parts.
    without = [share for share, text in lines if text.endswith(", without a term")]
    assert without == pytest.approx([(6 + k / 3) / 7 for k in range(3)])
    assert max(share for share, text in lines if text.endswith("99.9 %")) < 1 / 7  # the first of seven shares, once
    assert any(text == "mine.two, its right side smaller by 1 %" for _, text in lines)
    assert not any("mine.one" in text and text.endswith(" 1 %") for _, text in lines)  # unnoticed at 10 %


def test_a_check_that_reads_the_formula_may_never_turn() -> None:
    """-9 x <= 10 x holds for every positive right side."""
    stated = replace(ONE, sides=lambda s: Sides({"left": -9 * s.x}, {"right": 10 * s.x}))
    found = [e.to_json() for e in run_plan(plan([stated])).evidence]
    power_ = power.measure(found, [stated])["mine.one"]
    assert power_.reading["exact"] == (1, 2)
    assert power_.least["exact"] == (None, "")


CALLS: list[int] = []


def test_every_planted_change_has_a_process_of_its_own() -> None:
    """A check that fails once in each process notices every change."""

    def fails_once(_: Statement, instance: Mapping[str, Any]) -> Outcome:
        CALLS.append(1)
        return Outcome(len(CALLS) > 1, "so")

    stated = statement(Check("algebra", "once", fails_once, part="a test"))
    before = evidence(rhs=None, limits=None, method="algebra", check="once")
    assert power.measure([before], [stated])["mine.one"].least["algebra"] == (0.001, "once")
    assert CALLS == []


def test_a_process_that_ends_early_ends_the_measurement() -> None:
    """A pool of processes would wait for its result for ever."""

    def ends(changed: Statement, _: Mapping[str, Any]) -> Outcome:
        os._exit(3)

    before = evidence(rhs=None, limits=None, method="algebra", check="ends")
    with pytest.raises(WorkerDied, match="ended with code 3"):
        power.measure([before], [statement(Check("algebra", "ends", ends, part="a test"))], jobs=2)


def test_a_planted_change_that_takes_too_long_shows_nothing() -> None:
    def slow(changed: Statement, _: Mapping[str, Any]) -> Outcome:
        time.sleep(60.0)
        return Outcome(True, "so")

    before = evidence(rhs=None, limits=None, method="algebra", check="slow")
    check = Check("algebra", "slow", slow, part="a test")
    found = power.measure([before], [statement(check)], limit=0.2)["mine.one"]
    assert found.least["algebra"] == (None, "")


@pytest.mark.parametrize(("note", "counts"), [({}, True), ({UNSOLVED: True}, False), ({ENDED: True}, False)])
def test_a_failed_solver_detects_nothing(note: dict[str, Any], counts: bool) -> None:
    before = evidence()
    assert power._turned(before, {**before, "verdict": "inconclusive", "notes": note}) == counts


def test_a_fingerprint_counts_relation_terms_and_checks() -> None:
    prints = [power.fingerprint(ONE)]
    prints += [power.fingerprint(replace(ONE, **change)) for change in (
        {"relation": "=="}, {"checks": (ENTERED,)}, {"sides": None},
        {"checks": (replace(ENTERED, expected="violated"), TYPED)},
        {"checks": (replace(ENTERED, instance={"a": 1}), TYPED)}, {"checks": (replace(ENTERED, name="d"), TYPED)},
        {"sides": lambda s: Sides({"left": 9 * s.x}, {"right": 11 * s.x})},
        {"sides": lambda s: Sides({"left": 8 * s.x}, {"right": 10 * s.x})},
        {"sides": lambda s: Sides({"left": 9 * s.x}, {"other": 10 * s.x})})]  # fmt: skip
    assert len(set(prints)) == len(prints)
    assert all(len(p) == 16 for p in prints)
    one, other = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    orders = [power.fingerprint(statement(replace(ENTERED, instance=i))) for i in (one, other)]
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("relation", "term", "left"),
    [
        ("<=", "added", {"taken": -2}),
        ("<=", "taken", {"added": 3, "taken": -4}),
        (">=", "added", {"added": 6, "taken": -2}),
        (">=", "taken", {"added": 3}),
        ("==", "added", {"taken": -2}),
        ("==", "taken", {"added": 3}),
    ],
)
def test_a_term_makes_a_statement_stronger(relation: str, term: str, left: Mapping[str, int]) -> None:
    """For <= without what is added, or with twice what is subtracted; for >= the other way round; == without it."""
    x = sp.Symbol("x", positive=True)
    given = Sides({"left": x}, {"added": 3 * x, "taken": -2 * x})
    changed = sides_of(power.stronger_by(statement(sides=lambda _: given, relation=relation), term))
    assert changed.rhs == {name: factor * x for name, factor in left.items()}
    assert changed.lhs == {"left": x}


@pytest.mark.parametrize(
    ("value", "found", "equality", "exceeds"),
    [
        (0.6, evidence(), False, True),  # 0.5 is left of a bound of 2, whose upper limit is 1.5
        (-0.6, evidence(), False, True),
        (0.5, evidence(), False, False),
        (0.3, evidence(), False, False),
        (None, evidence(), False, False),
        (0.6, evidence(), True, False),  # an equality has 1.5 left
        (1.6, evidence(), True, True),
        (0.6, evidence("violated"), False, False),
        (0.6, evidence(limits=None), False, False),
        (-0.6, evidence(rhs=-1.0, limits=(-1.6, -2.0, -1.5)), False, True),
    ],
)
def test_a_term_may_exceed_what_limits_leave(
    value: float | None, found: dict[str, Any], equality: bool, exceeds: bool
) -> None:
    assert power._exceeds({**found, "terms": {"term": value, "other": 9.0}}, "term", equality) is exceeds
    assert power._exceeds({**found, "terms": {}}, "term", equality) is False


def test_which_check_notices_that_a_term_is_missing() -> None:
    """5 x <= 6 x + 4 x needs the first term alone; a simulation with 3 left of 10 notices both."""
    two = statement(ENTERED, sides=lambda s: Sides({"left": 5 * s.x}, {"six": 6 * s.x, "four": 4 * s.x}))
    found = {(e.method, e.check): e.to_json() for e in run_plan(plan([two])).evidence}
    assert set(found) == {("algebra", "units"), ("exact", "entered")}
    assert power.noticed_terms(two, found) == {"six": "exact: entered", "four": ""}

    def drawn(high: float) -> dict[tuple[str, str], Any]:
        terms = {"six": 6.0, "four": 4.0}
        return {("monte-carlo", "run"): {**evidence(rhs=10.0, limits=(5.0, 4.0, high), check="run"), "terms": terms}}

    assert power.noticed_terms(two, {**found, **drawn(7.0)}) == dict.fromkeys(("six", "four"), "monte-carlo: run")
    assert power.noticed_terms(two, {**found, **drawn(5.0)}) == {"six": "monte-carlo: run", "four": ""}
    assert power.noticed_terms(two, drawn(2.0)) == {"six": "", "four": ""}
    equal = replace(two, relation="==")
    assert power.noticed_terms(equal, drawn(5.0)) == {"six": "", "four": ""}  # the lower limit leaves 6
    assert power.noticed_terms(ONE, found) == {}
    assert power.noticed_terms(statement(TYPED, sides=None, symbols=()), found) == {}
