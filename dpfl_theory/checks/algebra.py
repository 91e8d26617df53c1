"""algebra: exact facts about printed formulas (units, special cases, limits, consistency between two printings)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfl_theory.checks.evidence import Evidence
from dpfl_theory.checks.settings import Settings
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.units import DIMENSIONLESS, Unit, UnitError, format_unit, unit_of

__all__ = ["Outcome", "equal", "homogeneous", "run"]


@dataclass(frozen=True)
class Outcome:
    """What an algebra check found: ``true`` and one sentence of reason; notes may carry the expressions as text."""

    true: bool
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one algebra check; ``check.build(instance)`` returns its `Outcome`."""
    begun = time.perf_counter()
    outcome: Outcome = check.build(check.instance)
    return Evidence(
        statement=statement.id,
        method="algebra",
        check=check.name,
        verdict="holds" if outcome.true else "violated",
        expected=check.expected,
        reason=outcome.reason,
        instance=check.instance,
        notes=outcome.notes,
        device="cpu (symbolic)",
        seconds=time.perf_counter() - begun,
    )


def equal(left: Any, right: Any, what: str) -> Outcome:
    """Whether two sympy expressions are identical: by simplification, then at rational points with 50 digits.

    A difference is only reported with a point at which the two sides differ; agreement needs the symbolic proof.
    """
    import mpmath
    import sympy as sp

    left, right = sp.sympify(left), sp.sympify(right)
    difference = sp.simplify(sp.together(left - right))
    if difference == 0:
        return Outcome(True, f"{what}: both sides are equal", {"left": str(left), "right": str(right)})
    names = sorted(left.free_symbols | right.free_symbols, key=str)
    with mpmath.workdps(50):
        for trial in range(1, 8):
            point = {s: sp.Rational(2 * i + 3, trial * i + 2 * trial + 1) for i, s in enumerate(names)}
            a, b = (sp.N(side.subs(point), 50) for side in (left, right))
            if abs(a - b) > mpmath.mpf(10) ** -40 * (abs(a) + abs(b) + 1):
                where = ", ".join(f"{s} = {v}" for s, v in point.items())
                return Outcome(
                    False,
                    f"{what}: the sides differ, {sp.N(a, 8)} against {sp.N(b, 8)} at {where}",
                    {
                        "left": str(left),
                        "right": str(right),
                        "ratio": str(sp.simplify(left / right)) if right != 0 else "oo",
                    },
                )
    return Outcome(
        False, f"{what}: no proof of equality was found (difference {difference})", {"difference": str(difference)}
    )


def homogeneous(statement: Statement) -> Outcome:
    """Whether every term of both sides, and every prescribed hyper-parameter, has the unit it must have."""
    assert statement.sides is not None
    sides = statement.sides()
    seen: dict[str, Unit] = {}
    try:
        for side, terms in (("left", sides.lhs), ("right", sides.rhs)):
            for name, expression in terms.items():
                seen[f"{side} {name}"] = unit_of(expression, statement.units)
        if statement.prescription is not None:
            for name, expression in statement.prescription().items():
                unit, declared = unit_of(expression, statement.units), statement.units.get(name, DIMENSIONLESS)
                if unit != tuple(declared):
                    return Outcome(
                        False, f"{name} is declared in {format_unit(declared)} but prescribed in {format_unit(unit)}"
                    )
    except UnitError as error:
        return Outcome(False, f"a formula is not homogeneous: {error}")
    units = set(seen.values())
    described = {name: format_unit(unit) for name, unit in seen.items()}
    if len(units) > 1:
        return Outcome(
            False, f"the terms differ in unit: {', '.join(f'{k}: {v}' for k, v in described.items())}", described
        )
    unit_text = format_unit(next(iter(units)))
    return Outcome(True, f"all terms have unit {unit_text}, and every prescription has its declared unit", described)
