"""The law of hypotheses: what a statement that holds supposes of its letters has an instance just outside, which this
hypothesis alone excludes and which it would admit if it were weaker by a twentieth."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.hypotheses import numbers
from dpfl_theory.statements.claims import ConstantClaim, Experiment, PrivacyClaim, Values, WorstCase
from dpfl_theory.statements.model import Assumption, Check, Statement

SHARE = 0.05
COUNTS = frozenset({"E", "K", "M", "N", "P", "Q", "R", "T", "d", "n", "r"})
"""Letters that are whole numbers wherever they are, which a hypothesis moves by one at least."""
Instance = tuple[Mapping[str, Any], Any]
"""Values of the letters, and the problem where there is one."""


def instances_of(statement: Statement, check: Check) -> list[Instance]:
    """The instances of a check whose hypotheses its runner tests."""
    built = check.made(statement)
    if isinstance(built, Experiment):
        return [(built.values, built.problem)]
    if isinstance(built, WorstCase):
        return [(numbers(built.values), None)]
    if isinstance(built, (PrivacyClaim, ConstantClaim)):
        return [(p.at, None) for p in (built.points() if isinstance(built, PrivacyClaim) else built.needed())]
    found = [built] if isinstance(built, Values) else built if isinstance(built, (list, tuple)) else []
    return [(v.letters, None) for v in found if isinstance(v, Values)]


def met(assumption: Assumption, values: Mapping[str, Any], problem: Any) -> bool:
    """Whether a hypothesis is met; where a letter has no value or no meaning it is not."""
    try:
        return assumption.test(problem, values) is None
    except KeyError:  # a quantity of a worst case
        return True
    except (ArithmeticError, TypeError, ValueError):
        return False


def is_number(value: Any) -> bool:
    try:
        return not isinstance(value, (bool, str)) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def moved(letter: str, value: float, others: Iterator[float]) -> Iterator[float]:
    """Values within a twentieth of this one: a little more and less, the nearest whole number, what it is at other
    instances (for equalities). Zero, of which there is no share, is at most as far; a count moves by one."""
    if letter in COUNTS and value.is_integer():
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
    assumption: Assumption, values: Mapping[str, Any], problem: Any, inside: Mapping[str, set[float]]
) -> str | None:
    """A letter that a twentieth of its value brings inside of a hypothesis."""
    known = {name: float(v) for name, v in values.items() if is_number(v)}
    for name, value in known.items():
        others = iter({*inside.get(name, ()), *(v for other, v in known.items() if other != name)})
        if any(met(assumption, {**values, name: other}, problem) for other in moved(name, value, others)):
            return name
    return None


def limits(assumption: Assumption, values: Mapping[str, Any], problem: Any) -> bool:
    """Whether some value of a letter breaks the hypothesis."""
    return met(assumption, values, problem) and any(
        not met(assumption, {**values, name: other}, problem)
        for name, v in values.items()
        if is_number(v)
        for other in (0.0, -1.0, 1e-6 * float(v), 1e6 * float(v), float(v) + 0.5)
    )


def uncovered(statement: Statement) -> dict[str, str]:
    """The hypotheses on letters that have no instance just outside, each with what was found instead."""
    outside: list[tuple[Check, list[Instance]]] = []
    admitted: list[Instance] = []
    simulated = 0
    for check in statement.checks:
        if check.expected == "not-applicable":
            outside.append((check, instances_of(statement, check)))
        elif check.method in ("exact", "worst-case") or (check.method == "monte-carlo" and simulated < 2):
            simulated += check.method == "monte-carlo"
            admitted += instances_of(statement, check)[:20]
    seen = [*admitted, *(i for _, found in outside for i in found[:5])]
    inside: dict[str, set[float]] = defaultdict(set)
    for values, _ in admitted:
        for name, value in values.items():
            if is_number(value):
                inside[name].add(float(value))
    missing = {}
    for at, assumption in enumerate(statement.assumptions):
        if not any(limits(assumption, *i) for i in seen):
            continue
        told = "no instance outside"
        for check, found in outside:
            failing = [[j for j, a in enumerate(statement.assumptions) if not met(a, *i)] for i in found]
            if not found or any(at not in f for f in failing):
                continue
            if any(f != [at] for f in failing):
                others = {statement.assumptions[j].text for f in failing for j in f if j != at}
                told = f"{check.name}: others fail too: {'; '.join(others)}"
            elif all(relaxed(assumption, *i, inside) for i in found):
                break
            else:
                told = f"{check.name}: too far outside"
        else:
            missing[assumption.text] = told
    return missing
