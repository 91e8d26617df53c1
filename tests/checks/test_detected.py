"""What the checks of a statement could detect, as its author reads it: shares by a line of algebra, and the words."""

from __future__ import annotations

from typing import Any

import pytest

from dpfl_theory.checks.power import Detected, detected_by_checks, undetected_terms
from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, Symbols, Values
from dpfl_theory.core.evidence import HALF, Evidence, Interval


def stated(relation: str = "<=", sides: Any = lambda s: Sides({"x": s.x}, {"large": 3 * s.x, "small": s.x})) -> Any:
    about: dict[str, Any] = {"symbols": (Symbol("x", "a number"),), "sides": sides, "relation": relation}
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", **about)


def evidence(
    ratio: float | None, name: str = "c", method: str = "exact", verdict: str = "holds", **more: Any
) -> Evidence:
    """Of a check with the right side 4 = 3 + 1."""
    about = {"rhs": 4.0, "terms": {"large": 3.0, "small": 1.0}, "statement": "mine.one", **more}
    lhs = None if ratio is None else Interval.exact(4.0 * ratio)
    return Evidence(about.pop("statement"), method, name, verdict, "holds", "why", lhs, **about)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ((None, "a", None, "b", {}), "no check here compares both sides of your formula and holds: no error in it"),
        ((0.9, "a", None, "b", {}), "no check here compares both sides"),
        ((None, "a", 0.1, "b", {}), "no check here compares both sides"),
        ((0.25, "a", 0.75, "b", {}), "your bound is 4 times larger than any observed value (a): no check here could"),
        ((0.001, "a", 0.999, "b", {}), "your bound is 1e+03 times larger than any observed value (a)"),
        ((0.00099, "a", 0.99901, "b", {}), "your bound is far more than 1000 times larger than any observed value (a)"),
        ((0.5, "a", 0.5, "b", {}), "a right side smaller by 50 % would be detected (b)"),
        ((0.49, "a", 0.51, "b", {}), "your bound is 2.04 times larger"),
        ((1.0, "a", 0.000004, "b", {}), "a right side smaller by any amount would be detected (b)"),
        ((1.0, "a", 0.000005, "b", {}), "a right side smaller by 0.0005 % would be detected (b)"),
    ],
)
def test_what_is_detected_in_words(known: Any, words: str) -> None:
    found = Detected(*known)
    assert found.sentence().startswith(words)
    assert found.to_json()["notices_a_factor_2"] is (known[2] is not None and known[2] <= 0.5)


def test_terms_are_named_where_less_than_all_of_them_is_detected() -> None:
    terms = {"t": (0.3, "x"), "u": (1.0, "y"), "v": (0.0, "z")}
    assert Detected(0.9, "a", 0.1, "b", terms).sentence() == (
        "a right side smaller by 10 % would be detected (b); the single term 't' smaller by 30 %, too (x); "
        "the single term 'v' smaller by any amount, too (z)"
    )
    assert "single term" not in Detected(0.1, "a", 0.9, "b", terms).sentence()


def test_only_checks_that_read_the_whole_formula_and_hold_count() -> None:
    counted = [evidence(0.6, "first"), evidence(0.9, "best"), evidence(0.2, "a third")]
    others = [
        evidence(0.99, "elsewhere", statement="mine.two"),
        evidence(0.98, "open", verdict="inconclusive"),
        evidence(0.97, "of a step", part="a step"),
        evidence(0.96, "by algebra", method="algebra"),
        evidence(None, "without sides"),
    ]
    found = detected_by_checks(stated(), [*others, *counted])
    assert found is not None
    assert (found.ratio, found.ratio_by) == (pytest.approx(0.9), "exact: best")
    assert (found.share, found.share_by) == (pytest.approx(0.1), "exact: best")
    assert found.terms == {
        "large": (pytest.approx(0.4 / 3), "exact: best"),
        "small": (pytest.approx(0.4), "exact: best"),
    }
    nothing = detected_by_checks(stated(), others)
    assert nothing == Detected(None, "", None, "", {})
    vacuous = detected_by_checks(stated(), [evidence(0.9, "best", vacuous=True)])
    assert vacuous is not None
    assert (vacuous.ratio, vacuous.share) == (None, pytest.approx(0.1))


def test_a_left_side_of_zero_detects_no_smaller_right_side() -> None:
    found = detected_by_checks(stated(), [evidence(0.0)])
    assert found is not None
    assert (found.ratio, found.share) == (0.0, None)


@pytest.mark.parametrize(
    ("ratio", "terms"),
    [
        (0.25, {"large": 1.0}),  # all of 3 of 4; leaving the 1 out is not enough
        (0.24, {}),
        (0.75, {"large": 1 / 3, "small": 1.0}),
        (1.0, {"large": 0.0, "small": 0.0}),
        (1.5, {"large": 0.0, "small": 0.0}),  # within the tolerance of its method
    ],
)
def test_the_share_of_a_term_is_that_of_the_slack(ratio: float, terms: dict[str, float]) -> None:
    found = detected_by_checks(stated(), [evidence(ratio)])
    assert found is not None
    assert {name: share for name, (share, _) in found.terms.items()} == pytest.approx(terms)
    negative = detected_by_checks(stated(), [evidence(0.75, terms={"large": 5.0, "small": -1.0, "none": 0.0})])
    assert negative is not None
    assert {name: share for name, (share, _) in negative.terms.items()} == pytest.approx({"large": 0.2})


def test_limits_count_where_a_method_has_some() -> None:
    run = Evidence(
        "mine.one",
        "monte-carlo",
        "c",
        "holds",
        "holds",
        "why",
        Interval(2.0, 1.0, 3.0),
        4.0,
        {"large": 3.0, "small": 1.0},
    )
    found = detected_by_checks(stated(), [run])
    assert found is not None
    assert (found.ratio, found.share) == (0.5, 0.25)
    equal = detected_by_checks(stated("=="), [run])
    assert equal is not None
    assert equal.share == 0.75


def test_an_equality_that_is_met_exactly_detects_any_amount_but_for_its_other_half() -> None:
    for half, share in ((None, 0.0), ("<=", 0.25), (">=", None)):
        notes = {} if half is None else {HALF: half}
        found = detected_by_checks(stated("=="), [evidence(0.75, notes=notes)])
        assert found is not None
        assert found.share == share


def test_nothing_is_told_of_a_statement_without_sides_or_one_that_is_refuted() -> None:
    assert detected_by_checks(stated(sides=None), [evidence(0.9)]) is None
    assert detected_by_checks(stated(), [evidence(0.9), evidence(1.2, "refutes", verdict="violated")]) is None
    assert detected_by_checks(stated(), [evidence(1.2, verdict="violated", statement="mine.two")]) is not None


def test_which_terms_no_check_would_miss() -> None:
    """x <= 3 x + x and x = 1: neither term is needed; with 3/4 x the small one is needed nowhere, the large one is."""

    def large(s: Symbols) -> Sides:
        return Sides({"x": s.x}, {"large": 5 * s.x / 4, "small": s.x / 8})

    check = Check("exact", "c", lambda *_: Values({"x": 1}))
    statement = Statement(
        "mine.one", "lemma", "t", Source("mine", "here"), "text", relation="<=", symbols=(Symbol("x", "a number"),),
        sides=large, checks=(check,),
    )  # fmt: skip
    read = evidence(8 / 11, rhs=1.375, terms={"large": 1.25, "small": 0.125})
    assert undetected_terms(statement, [read]) == ["small"]
    for ignored in (
        evidence(0.9, statement="mine.two"),
        evidence(0.9, verdict="inconclusive"),
        evidence(0.9, part="a step"),
        evidence(0.9, method="algebra"),
    ):
        assert undetected_terms(statement, [ignored]) == ["large", "small"]
    assert undetected_terms(stated(sides=lambda s: Sides({"x": s.x}, {"x": s.x})), [read]) == []
