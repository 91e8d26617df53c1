"""Verdicts, summaries and exit codes, on which other people's scripts rely."""

from __future__ import annotations

import json
import math

import pytest

from dpfl_theory.core.evidence import Evidence, Interval, document, exit_code, statement_verdict, summarise


def evidence(statement: str = "a", verdict: str = "holds", expected: str = "holds", **more: object) -> Evidence:
    return Evidence(statement, "algebra", "trial", verdict, expected, "because", **more)  # type: ignore[arg-type]


def test_a_ratio_is_shown_to_four_digits() -> None:
    assert evidence(lhs=Interval.exact(1.0), rhs=3.0).shown_ratio == "0.3333"
    assert evidence().shown_ratio == evidence(lhs=Interval.exact(1.0), rhs=0.0).shown_ratio == "-"


@pytest.mark.parametrize(
    ("verdicts", "formed"),
    [
        (["holds", "violated", "inconclusive"], "violated"),
        (["inconclusive", "holds"], "holds"),
        (["not-applicable", "holds"], "holds"),
        (["not-applicable"], "inconclusive"),
        (["inconclusive", "not-applicable"], "inconclusive"),
        ([], "inconclusive"),
    ],
)
def test_verdict_of_a_statement(verdicts: list[str], formed: str) -> None:
    assert statement_verdict([("exact", v) for v in verdicts]) == formed


@pytest.mark.parametrize(
    ("algebra", "other", "formed"),
    [
        ("holds", "inconclusive", "inconclusive"),  # correct units do not make a bound true
        ("holds", "not-applicable", "inconclusive"),
        ("violated", "holds", "violated"),
        ("inconclusive", "holds", "holds"),
    ],
)
def test_algebra_alone_does_not_decide_where_other_methods_were_applied(algebra: str, other: str, formed: str) -> None:
    assert statement_verdict([("algebra", algebra), ("monte-carlo", other)]) == formed


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        ([("holds", "holds")], 0),
        ([("violated", "violated")], 0),
        ([("violated", "holds")], 1),
        ([("holds", "violated")], 1),
        ([("inconclusive", "holds")], 3),
        ([("inconclusive", "holds"), ("holds", "violated")], 1),
        ([("inconclusive", "holds"), ("violated", "violated")], 3),
        ([("inconclusive", "inconclusive")], 0),
    ],
)
def test_exit_code_says_whether_verdicts_are_the_recorded_ones(pairs: list[tuple[str, str]], code: int) -> None:
    made = [evidence(f"s{i}", *pair) for i, pair in enumerate(pairs)]
    expected = {f"s{i}": recorded for i, (_, recorded) in enumerate(pairs)}
    assert exit_code(summarise(made, expected, 1e-6, 0.0)) == code


@pytest.mark.parametrize(
    ("verdict", "expected", "code"),
    [
        ("holds", "violated", 1),  # a counterexample that stopped working
        ("violated", "holds", 1),  # one that another refutation would hide
        ("inconclusive", "holds", 3),
        ("inconclusive", "violated", 3),
        ("holds", "not-applicable", 1),  # a hypothesis that is met now
        ("not-applicable", "holds", 1),  # one that is not met any more
        ("holds", "inconclusive", 1),
        ("not-applicable", "not-applicable", 0),
        ("inconclusive", "inconclusive", 0),
    ],
)
@pytest.mark.parametrize("statement", ["holds", "violated"])
def test_a_check_that_differs_is_told_where_the_statements_verdict_stays(
    statement: str, verdict: str, expected: str, code: int
) -> None:
    if statement == "holds" and "violated" in (verdict, expected):
        statement = "violated"
    made = [evidence("a", statement, statement), evidence("a", verdict, expected)]
    summary = summarise(made, {"a": statement}, 1e-6, 0.0)
    if "violated" in (statement, verdict):
        assert summary["statements"]["a"]["verdict"] in (statement, "inconclusive")
    assert exit_code(summary) == code
    assert summary["counts"]["checks"]["as_expected"] == 1 + (verdict == expected)


def test_a_verdict_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of"):
        evidence(verdict="true")


def test_ratio_needs_both_sides() -> None:
    assert evidence(lhs=Interval.exact(1.0), rhs=4.0).ratio == 0.25
    assert evidence(lhs=Interval.exact(1.0), rhs=0.0).ratio is None
    assert evidence(rhs=1.0).ratio is None


def test_document_is_strict_json_with_every_promised_field() -> None:
    made = evidence(
        lhs=Interval(1.0, 0.5, math.inf), rhs=2.0, terms={"x": 2.0}, instance={"grid": (1, 2)}, notes={"bad": math.nan}
    )
    text = json.dumps(document([made], {"a": "holds"}, 1e-6, 0.1), allow_nan=False)
    read = json.loads(text)
    assert read["schema"] == "dpfl-theory/1"
    assert set(read) == {"schema", "summary", "evidence"}
    (entry,) = read["evidence"]
    promised = (
        "statement method verdict expected lhs rhs ratio terms vacuous reason instance seed replicates alpha device "
        "versions seconds check asymptotic detectable agreement"
    )
    assert set(promised.split()) <= set(entry)
    assert entry["lhs"] == {"estimate": 1.0, "low": 0.5, "high": None}
    assert entry["notes"] == {"bad": None}
    assert entry["instance"] == {"grid": [1, 2]}
    assert {"python", "numpy", "dpfl-theory"} <= set(entry["versions"])


def test_summary_keeps_statements_apart() -> None:
    made = [evidence("a"), evidence("b", "violated"), evidence("a", "inconclusive")]
    summary = summarise(made, {"a": "holds", "b": "holds"}, 1e-6, 2.0)
    stands = {"verdict": "holds", "expected": "holds", "agreement": "as expected"}
    assert summary["statements"]["a"] == {**stands, "methods": ["algebra"]}
    assert summary["statements"]["b"]["verdict"] == "violated"
    assert summary["counts"]["as_expected"] == 1
    assert summary["counts"]["evidence"] == {"holds": 1, "violated": 1, "inconclusive": 1, "not-applicable": 0}


def test_a_statement_is_not_holding_while_its_refutation_is_undecided() -> None:
    """This happens when the budget ended before the check that refutes it."""
    found = [evidence(), Evidence("a", "monte-carlo", "counterexample", "inconclusive", "violated", "budget")]
    found.append(Evidence("a", "monte-carlo", "harmless", "holds", "holds", "fine"))
    summary = summarise(found, {"a": "violated"}, 1e-6, 1.0)
    assert summary["statements"]["a"]["verdict"] == "inconclusive"
    assert exit_code(summary) == 3
