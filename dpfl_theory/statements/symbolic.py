"""Sides of statements as sympy expressions, and their equality, decided by proof or by a point at which they differ."""

from __future__ import annotations

from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Statement

__all__ = ["equal", "total"]


def total(statement: Statement, side: str = "rhs") -> Any:
    """The sum of one side's terms (``lhs`` or ``rhs``)."""
    import sympy as sp

    assert statement.sides is not None
    return sum(getattr(statement.sides(), side).values(), sp.Integer(0))


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
        None, f"{what}: no proof of equality was found (difference {difference})", {"difference": str(difference)}
    )
