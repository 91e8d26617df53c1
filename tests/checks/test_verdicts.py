"""A statement's verdict, the exit code, and what is written of evidence, by tables of all cases."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import pytest

from dpfl_theory.core import evidence as module
from dpfl_theory.core.evidence import (
    HALF,
    Evidence,
    Interval,
    agreement,
    document,
    exit_code,
    kind_of,
    of_outcome,
    outside,
    statement_verdict,
    summarise,
    summary_line,
    verdict_of,
    versions,
)

STRONG, WEAK, UNITS = "monte-carlo", "algebra", "units"
VERDICTS = ("holds", "violated", "inconclusive", "not-applicable")


def by_hand(outcomes: tuple[tuple[str, str], ...]) -> str:
    """The rule in other words: one violation refutes; runs, proofs and exact values go before algebra; units say
    nothing."""
    kinds = {kind for kind, _ in outcomes}
    if any(v == "violated" for _, v in outcomes):
        return "violated"
    if kinds == {UNITS}:
        return "unchecked"
    decides = STRONG if STRONG in kinds else WEAK
    return "holds" if (decides, "holds") in outcomes else "inconclusive"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_combination_of_outcomes(count: int) -> None:
    one = list(itertools.product((STRONG, WEAK, UNITS), VERDICTS))
    for outcomes in itertools.product(one, repeat=count):
        assert statement_verdict(outcomes) == by_hand(outcomes), outcomes


def test_each_method_is_decisive_but_algebra() -> None:
    for method in ("monte-carlo", "exact", "worst-case", "privacy"):
        assert statement_verdict([(method, "inconclusive"), ("algebra", "holds")]) == "inconclusive", method
        assert statement_verdict([(method, "holds"), ("algebra", "inconclusive")]) == "holds", method


def plain(verdict: str, expected: str = "holds", method: str = STRONG, half: str | None = None) -> dict[str, Any]:
    notes = {} if half is None else {HALF: half}
    return {"method": method, "check": "c", "verdict": verdict, "expected": expected, "notes": notes}


def test_an_open_refutation_keeps_a_statement_from_holding() -> None:
    assert verdict_of([plain("holds")]) == "holds"
    assert verdict_of([plain("holds"), plain("inconclusive", "violated")]) == "inconclusive"
    assert verdict_of([plain("holds"), plain("inconclusive", "holds")]) == "holds"
    assert verdict_of([plain("holds"), plain("not-applicable", "violated")]) == "holds"
    assert verdict_of([plain("violated"), plain("inconclusive", "violated")]) == "violated"
    assert verdict_of([{**plain("holds", method="algebra"), "check": "units"}]) == "unchecked"
    assert verdict_of([plain("holds", method="algebra")]) == "holds"


def test_one_half_of_an_equality_is_no_equality() -> None:
    up, down = plain("holds", half="upper"), plain("holds", half="lower")
    assert verdict_of([up, down]) == "holds"
    assert verdict_of([up]) == verdict_of([down]) == verdict_of([up, dict(up)]) == "inconclusive"
    assert verdict_of([up, {**down, "verdict": "inconclusive"}]) == "inconclusive"
    assert verdict_of([up, plain("holds")]) == "holds"  # a check of the whole equality
    assert verdict_of([up, {k: v for k, v in plain("holds").items() if k != "notes"}]) == "holds"
    assert verdict_of([up, plain("holds", method="algebra")]) == "inconclusive"
    assert verdict_of([up, plain("holds", method="of another version")]) == "inconclusive"
    assert verdict_of([{**up, "verdict": "violated"}, down]) == "violated"


def test_units_are_a_kind_of_their_own() -> None:
    assert kind_of("algebra", "units") == "units"
    assert kind_of("algebra", "optimum") == "algebra"
    assert kind_of("exact", "units") == "exact"


@pytest.mark.parametrize("expected", [*VERDICTS, "unchecked"])
@pytest.mark.parametrize("verdict", [*VERDICTS, "unchecked"])
def test_agreement(verdict: str, expected: str) -> None:
    if verdict == "unchecked":
        wanted = "unchecked"
    elif verdict == expected:
        wanted = "as expected"
    else:
        wanted = "undecided" if verdict == "inconclusive" else "differs"
    assert agreement(verdict, expected) == wanted


def made(statement: str = "a", verdict: str = "holds", expected: str = "holds", **more: Any) -> Evidence:
    return Evidence(
        statement, **{"method": "exact", "check": "c", **more}, verdict=verdict, expected=expected, reason="r"
    )


def test_a_summary_counts_statements_and_checks() -> None:
    evidence = [
        made("a"),
        made("a", check="d"),
        made("b", "violated", "violated"),
        made("b", "inconclusive", method="monte-carlo"),
        made("c", "not-applicable"),
        made("d", method="algebra", check="units"),
    ]
    found = summarise(evidence, {"a": "holds", "b": "holds", "c": "inconclusive", "d": "holds"}, 1e-6, 1.23456)
    assert list(found["statements"]) == ["a", "b", "c", "d"]
    assert found["statements"]["b"] == {
        **{"verdict": "violated", "expected": "holds", "agreement": "differs"},
        "methods": ["exact", "monte-carlo"],
    }
    assert found["statements"]["c"]["agreement"] == "as expected"
    assert found["statements"]["d"]["verdict"] == "unchecked"
    assert found["counts"] == {
        "evidence": {"holds": 3, "violated": 1, "inconclusive": 1, "not-applicable": 1},
        "statements": {"holds": 1, "violated": 1, "inconclusive": 1, "unchecked": 1},
        "as_expected": 2,
        "checks": {"as_expected": 4, "differs": 1, "undecided": 1},
        "warnings": 0,
    }
    assert (found["alpha"], found["seconds"]) == (1e-6, 1.235)
    whole = document(evidence, {"a": "holds", "b": "holds", "c": "inconclusive", "d": "holds"}, 1e-6, 2.0)
    assert (whole["schema"], whole["summary"]["counts"]) == ("dpfl-theory/1", found["counts"])
    assert [e["statement"] for e in whole["evidence"]] == ["a", "a", "b", "b", "c", "d"]
    reported = summary_line(found)
    assert reported == (
        "4 statements (1 holds, 1 violated, 1 inconclusive, 1 unchecked), 2 as expected, checks not as expected: 1, "
        "checks undecided: 1, 1.2 s"
    )
    assert (
        summary_line(summarise([made()], {"a": "holds"}, 1e-6, 0.04)) == "1 statement (1 holds), 1 as expected, 0.0 s"
    )
    assert summary_line(summarise([], {}, 1e-6, 0.0)) == "0 statements, 0 as expected, 0.0 s"


def test_a_summary_counts_warnings_with_repetitions() -> None:
    def warned(count: int) -> dict[str, Any]:
        return {"kind": "RuntimeWarning", "text": "overflow", "count": count}

    evidence = [made(warnings=(warned(2), warned(1))), made(check="d", warnings=(warned(4),))]
    found = summarise(evidence, {"a": "holds"}, 1e-6, 0.0)
    assert found["counts"]["warnings"] == 7
    assert summary_line(found) == "1 statement (1 holds), 1 as expected, 7 warnings recorded, 0.0 s"
    del found["counts"]["warnings"]  # as in documents of former versions
    assert summary_line(found) == "1 statement (1 holds), 1 as expected, 0.0 s"


def test_the_exit_code_of_every_agreement() -> None:
    """1 where something differs; else 3 where something is open; else 0."""

    def summary(statements: tuple[str, ...], **checks: int) -> dict[str, Any]:
        return {
            "statements": {str(i): {"agreement": a} for i, a in enumerate(statements)},
            "counts": {"checks": {"as_expected": 1, "differs": 0, "undecided": 0} | checks},
        }

    assert exit_code(summary(("as expected",))) == 0
    assert exit_code(summary(())) == 0
    assert exit_code(summary(("as expected", "differs"))) == 1
    assert exit_code(summary(("undecided", "differs"))) == 1
    assert exit_code(summary(("as expected",), differs=1, undecided=1)) == 1
    assert exit_code(summary(("undecided",))) == 3
    assert exit_code(summary(("unchecked",))) == 3
    assert exit_code(summary(("as expected",), undecided=2)) == 3


def test_the_ratio_is_of_the_estimate_over_a_positive_bound() -> None:
    assert made(lhs=Interval(3.0, 1.0, 5.0), rhs=4.0).ratio == 0.75
    assert made(lhs=Interval(3.0, 1.0, 5.0), rhs=0.5).ratio == 6.0
    assert made(lhs=Interval.exact(3.0), rhs=-4.0).ratio is None
    assert made(lhs=Interval.exact(3.0), rhs=0.0).ratio is None
    assert made(lhs=None, rhs=1.0).ratio is None
    assert made(lhs=Interval.exact(3.0), rhs=None).ratio is None
    assert Interval.exact(2.0) == Interval(2.0, 2.0, 2.0)


def test_plain_data() -> None:
    found = made(
        lhs=Interval(1.0, -math.inf, 2.0),
        rhs=math.nan,
        notes={"a": (1, 2.5, None, True, "x"), 3: [math.inf]},
        seconds=1.23456,
    ).to_json()
    assert found["lhs"] == {"estimate": 1.0, "low": None, "high": 2.0}
    assert found["rhs"] is None
    assert found["notes"] == {"a": [1, 2.5, None, True, "x"], "3": [None]}
    assert found["notes"]["a"][3] is True
    assert found["seconds"] == 1.2346
    assert found["part"] is None
    assert made(part="a step").to_json()["part"] == "a step"
    assert (found["asymptotic"], found["seed"], found["device"], found["vacuous"]) == (False, None, "cpu", None)
    assert found["versions"] == versions()
    assert made().to_json()["lhs"] is None
    assert made().to_json()["seconds"] == 0.0
    assert made().to_json()["agreement"] == "as expected"


def test_versions_leave_out_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def version(name: str) -> str:
        if name == "scipy":
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    versions.cache_clear()
    try:
        found = versions()
    finally:
        versions.cache_clear()
    assert "scipy" not in found
    assert found["clarabel"] == found["dp-accounting"] == "1.0"  # those after it are there


def test_evidence_of_a_check_that_decides_by_itself_and_of_one_outside() -> None:
    statement = SimpleNamespace(id="t.s")
    check = SimpleNamespace(method="exact", name="c", expected="violated", instance={"K": 1})
    outcome = SimpleNamespace(verdict="holds", reason="why", notes={"n": 1})
    found = of_outcome(statement, check, outcome, "cuda", 2.0)  # type: ignore[arg-type]
    assert (found.statement, found.method, found.check) == ("t.s", "exact", "c")
    assert (found.verdict, found.expected, found.reason, found.notes) == ("holds", "violated", "why", {"n": 1})
    assert (found.instance, found.device, found.seconds) == ({"K": 1}, "cuda", 2.0)
    none = outside(statement, check, ("eta < 1", "eta = 2"), 3.0)  # type: ignore[arg-type]
    assert (none.verdict, none.expected) == ("not-applicable", "violated")
    assert none.reason == "the hypothesis 'eta < 1' is not met: eta = 2"
    assert (none.statement, none.method, none.check, none.instance, none.seconds) == (
        "t.s",
        "exact",
        "c",
        {"K": 1},
        3.0,
    )


def test_unknown_verdicts_are_refused() -> None:
    assert module.OF_STATEMENTS == ("holds", "violated", "inconclusive", "unchecked")
    assert module.VERDICTS == VERDICTS
    for verdict in ("unchecked", "true", ""):
        with pytest.raises(ValueError, match="is not one of"):
            made(verdict=verdict)
