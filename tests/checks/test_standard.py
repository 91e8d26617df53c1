"""The standard profile: what it leaves out decides nothing that is on record, and what it keeps is chosen by rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.execute import checks_of
from dpfl_theory.checks.profiles import chosen, left_out, standard
from dpfl_theory.checks.runner import plan
from dpfl_theory.core import Check, Hypothesis, Statement, by_construction
from dpfl_theory.core.evidence import HALF, UNMET, kind_of, statement_verdict
from dpfl_theory.runtime.evidence_table import section
from dpfl_theory.statements.power import Power, recorded

EVERY = plan(statements.all_statements())
KEPT = {(s.id, c.method, c.name) for s, c in standard(EVERY)}


def kept(statement: Statement) -> list[Check]:
    return [c for c in checks_of(statement) if (statement.id, c.method, c.name) in KEPT]


def test_each_statement_has_its_recorded_verdict_in_both_profiles() -> None:
    """From the recorded verdicts of its checks."""
    for statement in statements.all_statements():
        for checks in (checks_of(statement), kept(statement)):
            formed = statement_verdict((kind_of(c.method, c.name), c.expected) for c in checks)
            assert formed == statement.expected, statement.id


def test_the_table_names_checks_of_the_catalogue() -> None:
    known = {(s.id, c.method, c.name) for s, c in EVERY}
    for id_, methods in section("standard").items():
        assert known >= {(id_, method, name) for method, names in methods.items() for name in names}, id_


def test_every_method_every_refutation_every_smoke_check_and_every_term_is_kept() -> None:
    for statement in statements.all_statements():
        every, own = checks_of(statement), kept(statement)
        holding = {c.method for c in every if c.expected == "holds"}
        assert {c.method for c in own if c.expected == "holds"} >= (holding if len(holding) > 1 else set())
        for c in every:
            if c.smoke or c.expected in ("violated", "inconclusive"):
                assert c in own, (statement.id, c.name)
        power = recorded(statement.id)
        names = {f"{c.method}: {c.name}" for c in own}
        known = {f"{c.method}: {c.name}" for c in every}
        assert power is None or set(power.terms.values()) & known <= names, statement.id


def test_most_checks_are_left_out_of_the_statements_that_have_most() -> None:
    counts = left_out(EVERY, standard(EVERY))
    assert sum(counts.values()) == len(EVERY) - len(KEPT) > len(EVERY) / 2
    assert all(count > 0 for count in counts.values())
    largest = max(statements.all_statements(), key=lambda s: len(checks_of(s)))
    assert counts[largest.id] > len(checks_of(largest)) / 2


def test_a_new_check_is_run() -> None:
    statement = statements.get("das2022.theorem4a")
    new = Check("exact", "not on record", lambda s, i: None)
    pairs = [(statement, new), *((statement, c) for c in checks_of(statement))]
    assert standard(pairs)[0] == (statement, new)


# The rule, on a statement that is made up


def found(verdict: str = "holds", seconds: float = 1.0, **more: Any) -> dict[str, Any]:
    high = more.pop("high", None)
    lhs = None if high is None else {"estimate": high, "low": high, "high": high}
    rhs = None if high is None else 1.0
    return {"verdict": verdict, "seconds": seconds, "reason": "", "lhs": lhs, "rhs": rhs, "notes": {}, **more}


def choice(
    evidence: dict[tuple[str, str], dict[str, Any]],
    least: dict[str, tuple[float | None, str]] | None = None,
    terms: dict[str, str] | None = None,
    hypotheses: tuple[str, ...] = (),
    smoke: tuple[str, ...] = (),
) -> set[str]:
    statement = replace(
        statements.get("das2022.lemma10"),
        hypotheses=tuple(Hypothesis.custom(text, by_construction) for text in hypotheses),
        relation="<=",
    )
    checks = [
        Check(method, name, lambda s, i: None, expected=e["verdict"], smoke=name in smoke)
        for (method, name), e in evidence.items()
    ]
    full = {k: {**e, "method": k[0], "check": k[1], "expected": e["verdict"]} for k, e in evidence.items()}
    power = Power(None, "", {}, None, least or {}, "0", terms or {})
    return {name for _, name in chosen(statement, checks, full, power)}


def test_the_fastest_of_those_that_notice_as_small_changes() -> None:
    evidence = {
        ("exact", "tight and slow"): found(high=0.9995, seconds=9.0),
        ("exact", "tight and fast"): found(high=0.9992, seconds=2.0),
        ("exact", "loose and faster"): found(high=0.5, seconds=0.1),
    }
    assert choice(evidence, {"exact": (0.0005, "tight and slow")}) == {"tight and fast"}
    evidence["exact", "tight and fast"]["lhs"]["high"] = 0.99
    assert choice(evidence, {"exact": (0.0005, "tight and slow")}) == {"tight and slow"}


def test_a_method_that_notices_nothing_is_there_once() -> None:
    evidence = {("exact", "a"): found(seconds=2.0), ("exact", "b"): found(seconds=1.0)}
    assert choice(evidence, {"exact": (None, "")}) == {"b"}
    assert choice(evidence, {"exact": (None, "")}, smoke=("a",)) == {"a"}


def test_refutations_smoke_checks_and_terms_are_there() -> None:
    evidence = {
        ("exact", "refutes"): found("violated", 100.0),
        ("exact", "open"): found("inconclusive", 100.0),
        ("exact", "fast"): found(seconds=0.1),
        ("monte-carlo", "smoke"): found(seconds=50.0),
        ("monte-carlo", "term"): found(seconds=60.0),
        ("monte-carlo", "no use"): found(seconds=0.1),
    }
    assert choice(evidence, terms={"noise": "monte-carlo: term"}, smoke=("smoke",)) == {
        "refutes", "open", "fast", "smoke", "term",
    }  # fmt: skip


def test_one_instance_outside_each_hypothesis() -> None:
    def outside(hypothesis: str, seconds: float) -> dict[str, Any]:
        return found("not-applicable", seconds, notes={UNMET: hypothesis})

    evidence = {
        ("exact", "inside"): found(),
        ("exact", "eta, slow"): outside("eta <= 1", 5.0),
        ("exact", "eta, fast"): outside("eta <= 1", 1.0),
        ("monte-carlo", "p"): outside("p <= 1", 9.0),
    }
    assert choice(evidence, hypotheses=("eta <= 1", "p <= 1")) == {"inside", "eta, fast", "p"}


def test_an_equality_keeps_both_halves() -> None:
    evidence = {
        ("exact", "below"): found(seconds=1.0, notes={HALF: "<="}),
        ("exact", "below too"): found(seconds=2.0, notes={HALF: "<="}),
        ("exact", "above"): found(seconds=3.0, notes={HALF: ">="}),
    }
    assert {"below", "above"} <= choice(evidence, {"exact": (None, "")})


@pytest.mark.parametrize("method", ["algebra", "exact"])
def test_what_algebra_notices_is_what_was_measured(method: str) -> None:
    """A derivation has no limits that say what it would notice: the measured check is taken."""
    evidence = {(method, "measured"): found(high=1.0, seconds=5.0), (method, "other"): found(high=1.0, seconds=1.0)}
    assert choice(evidence, {method: (0.001, "measured")}) == {"measured" if method == "algebra" else "other"}
