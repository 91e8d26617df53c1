"""The law of hypotheses, for the symbols of a statement that holds.

Each hypothesis has an instance just outside: only this hypothesis excludes it, and would admit it if it were weaker by
a twentieth.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.falsify import falsify
from dpfl_theory.checks.hypotheses import numbers
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Hypothesis, Statement, by_construction
from dpfl_theory.core.check_inputs import ConstantClaim, Experiment, PrivacyClaim, Values, WorstCase
from dpfl_theory.errors import InputError

SHARE = 0.05
COUNTS = frozenset({"E", "K", "M", "N", "P", "Q", "R", "T", "d", "n", "r"})
"""Symbols that are integers in all statements, which the law changes by at least one."""
ADMITTED = {"exact": 3, "worst-case": 3, "monte-carlo": 2}
"""How many instances inside the hypotheses are built, by method: they show which symbols a hypothesis limits."""
Instance = tuple[Mapping[str, Any], Any]
"""Values of the symbols, and the problem if there is one."""


def instances_of(statement: Statement, check: Check) -> list[Instance]:
    """The instances of a check whose hypotheses its runner tests."""
    built = check.make(statement)
    if isinstance(built, Experiment):
        return [(built.values, built.problem)]
    if isinstance(built, WorstCase):
        return [(numbers(built.values), None)]
    if isinstance(built, (PrivacyClaim, ConstantClaim)):
        return [(p.instance, None) for p in (built.points() if isinstance(built, PrivacyClaim) else built.needed())]
    found = [built] if isinstance(built, Values) else built if isinstance(built, (list, tuple)) else []
    return [(v.symbol_values, None) for v in found if isinstance(v, Values)]


def met(hypothesis: Hypothesis, values: Mapping[str, Any], problem: Any) -> bool:
    """Whether a hypothesis is met; it is not where a symbol has no value or no meaning."""
    try:
        return hypothesis.test(problem, values) is None
    except KeyError:  # a quantity of a worst case
        return True
    except (ArithmeticError, TypeError, ValueError):
        return False


def is_number(value: Any) -> bool:
    try:
        return not isinstance(value, (bool, str)) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def moved(symbol: str, value: float, others: Iterator[float]) -> Iterator[float]:
    """Values within a twentieth of this one: slightly larger and smaller ones, the nearest integer, and the values at
    other instances (for equalities). Zero is also used where it is at most as far away; a count changes by one."""
    if symbol in COUNTS and value.is_integer():
        yield from (value + 1.0, value - 1.0)
        return
    yield from ((1.0 + SHARE) * value, (1.0 - SHARE) * value)
    near = SHARE * max(abs(value), SHARE)
    if abs(value) <= SHARE:
        yield from (0.0, SHARE, -SHARE)
    if abs(value - round(value)) <= SHARE:
        yield float(round(value))
    yield from (other for other in others if abs(other - value) <= near)


def relaxed(
    hypothesis: Hypothesis, values: Mapping[str, Any], problem: Any, inside: Mapping[str, set[float]]
) -> str | None:
    """A symbol for which a change by a twentieth of its value meets the hypothesis."""
    known = {name: float(v) for name, v in values.items() if is_number(v)}
    for name, value in known.items():
        others = iter({*inside.get(name, ()), *(v for other, v in known.items() if other != name)})
        if any(met(hypothesis, {**values, name: other}, problem) for other in moved(name, value, others)):
            return name
    return None


def limits(hypothesis: Hypothesis, values: Mapping[str, Any], problem: Any) -> bool:
    """Whether some value of a symbol breaks the hypothesis."""
    return met(hypothesis, values, problem) and any(
        not met(hypothesis, {**values, name: other}, problem)
        for name, v in values.items()
        if is_number(v)
        for other in (0.0, -1.0, 1e-6 * float(v), 1e6 * float(v), float(v) + 0.5)
    )


def uncovered(statement: Statement) -> dict[str, str]:
    """The hypotheses on symbols without an instance just outside, each with the result found instead."""
    outside: list[tuple[Check, list[Instance]]] = []
    admitted: list[Instance] = []
    seen: list[Instance] = []
    built: Counter[str] = Counter()
    for check in statement.checks:
        if check.expected == "not-applicable":
            outside.append((check, instances_of(statement, check)))
        elif built[check.method] < ADMITTED.get(check.method, 0):
            built[check.method] += 1
            found = instances_of(statement, check)
            admitted += found
            seen += found[:20]
    seen += [i for _, found in outside for i in found[:5]]
    inside: dict[str, set[float]] = defaultdict(set)
    for values, _ in admitted:
        for name, value in values.items():
            if is_number(value):
                inside[name].add(float(value))
    missing = {}
    for at, hypothesis in enumerate(statement.hypotheses):
        if not any(limits(hypothesis, *i) for i in seen):
            continue
        message = "no instance outside"
        for check, found in outside:
            failing = [[j for j, a in enumerate(statement.hypotheses) if not met(a, *i)] for i in found]
            if not found or any(at not in f for f in failing):
                continue
            if any(f != [at] for f in failing):
                others = {statement.hypotheses[j].text for f in failing for j in f if j != at}
                message = f"{check.name}: others fail too: {'; '.join(others)}"
            elif all(relaxed(hypothesis, *i, inside) for i in found):
                break
            else:
                message = f"{check.name}: too far outside"
        else:
            missing[hypothesis.text] = message
    return missing


HOLDING = [s for s in statements.all_statements() if s.expected == "holds" and s.hypotheses]
IMPLIED: dict[str, dict[str, str]] = {
    "das2022.eq35.repaired": {"eta <= 1/(2 L)": "eta L E <= 3/10 says more"},
    "hou2023.clip-inactive.repaired": {"0 < p <= 1": "p = 1 says more"},
    "hou2023.corollary1.repaired": {
        "each f_i is mu-strongly convex, mu > 0": "T* has no value at mu = 0, nor then T* >= 1",
        "each f_i is L-smooth": "mu < L says more where no problem is at hand",
        "mu < L": "T* has no value at mu = L, nor then T* >= 1",
    },
    "shulgin2025.corollary1": {
        "0 < gamma <= beta R/((alpha + R) L_max)": "c <= D beta/((alpha + D) L_max) says more, which algebra proves",
    },
    "shulgin2025.corollary2": {
        "0 < gamma <= beta R/((alpha + R) L_max)": "the prescribed gamma is this limit",
        "0 < delta < 1": "no other delta has a prescribed sigma",
    },
    "zhang2021.theorem3.2.repaired": {"0 < delta < 1": "T >= 80 ln(1/delta) and epsilon <= ln(1/delta)/2 say more"},
}
"""Hypotheses that other hypotheses of the statement imply: no instance is just outside of only these."""


LONG = {"noble2022.theoremC.1.strongly-convex.repaired"}
"""Statements whose instances take seconds to build."""


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(
    "statement", [pytest.param(s, id=s.id, marks=[pytest.mark.slow] * (s.id in LONG)) for s in HOLDING]
)
def test_every_hypothesis_on_letters_has_an_instance_just_outside(statement: Statement) -> None:
    found = uncovered(statement)
    assert set(found) == set(IMPLIED.get(statement.id, ())), found


def silent(statement: Statement) -> list[str]:
    """The hypotheses whose absence no check would detect, without a recorded reason.

    No instance fails only them, their test can fail, they are not `IMPLIED`, and `constructed` is empty.
    """
    failing = [
        [[at for at, a in enumerate(statement.hypotheses) if not met(a, *i)] for i in found]
        for check in statement.checks
        if check.expected == "not-applicable" and (found := instances_of(statement, check))
    ]
    return [
        a.text
        for at, a in enumerate(statement.hypotheses)
        if a.tested_by is not by_construction
        and not a.constructed
        and a.text not in IMPLIED.get(statement.id, ())
        and not any(all(f == [at] for f in found) for found in failing)
    ]


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("statement", HOLDING, ids=lambda s: s.id)
def test_every_hypothesis_excludes_an_instance_or_says_why_none_is_outside(statement: Statement) -> None:
    assert not silent(statement)


def test_the_list_of_implied_hypotheses_has_no_other_statement() -> None:
    assert set(IMPLIED) <= {s.id for s in HOLDING}


# The law can be broken.

EDGE = "just outside eta L <= 1"


def edge() -> tuple[Statement, Check]:
    statement = statements.get("hou2023.contraction")
    (check,) = (c for c in statement.checks if c.name == EDGE)
    return statement, check


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "no instance outside"),
        ({"eta L": ["11/10"]}, f"{EDGE}: too far outside"),
        ({"p": ["51/50"]}, f"{EDGE}: others fail too: 0 < p <= 1"),
    ],
)
def test_a_hypothesis_without_an_instance_just_outside_is_noticed(change: dict[str, Any] | None, message: str) -> None:
    statement, check = edge()
    assert not uncovered(statement)
    other = () if change is None else (dataclasses.replace(check, instance={**check.instance, **change}),)
    rest = (*(c for c in statement.checks if c is not check), *other)
    assert uncovered(dataclasses.replace(statement, checks=rest)) == {"0 < eta <= 1/L": message}


def test_a_hypothesis_without_instance_or_reason_is_silent() -> None:
    statement, check = edge()
    rest = dataclasses.replace(statement, checks=tuple(c for c in statement.checks if c is not check))
    assert silent(rest) == ["0 < eta <= 1/L"]
    reasoned = tuple(dataclasses.replace(a, constructed="a reason") for a in rest.hypotheses)
    assert not silent(dataclasses.replace(rest, hypotheses=reasoned))


def test_a_hypothesis_that_is_left_out_is_noticed() -> None:
    """Its instance just outside is then admitted, and the check's verdict is no longer the recorded one."""
    statement, check = edge()
    weaker = dataclasses.replace(statement, hypotheses=tuple(a for a in statement.hypotheses if "eta" not in a.text))
    assert [run_one(s, check, Settings(device="cpu")).verdict for s in (statement, weaker)] != ["not-applicable"] * 2


def test_what_is_stated_otherwise_is_no_start_for_the_falsifier() -> None:
    statement = statements.get("das2022.lemma8")
    alone = tuple(c for c in statement.checks if "stated" in c.instance)
    assert alone
    with pytest.raises(InputError, match="has no runs to vary"):
        falsify(dataclasses.replace(statement, checks=alone), instances=1)
