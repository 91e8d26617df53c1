"""Values of a statement's formulas, and its record in the catalogue.

Formulas are evaluated with 60 digits, so that the rounding of a count does not depend on the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.errors import InputError
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.base import Document
from dpfl_theory.statements.summary import summary

__all__ = ["cite", "failures", "prescribed", "rounded_up", "terms", "value"]

DIGITS = 60
NEARLY = 1e-12
"""A count within this relative distance of a whole number is that number: inputs such as 0.1 are not exact."""


def value(statement: Statement, expression: Any, values: Mapping[str, Any]) -> float:
    """An expression in the statement's symbols at these values.

    >>> from dpfl_theory.statements import get
    >>> theorem = get("das2022.theorem4a")
    >>> value(theorem, prescription_of(theorem)["eta"], {"rho": 0.1, "alpha": 1.0, "L": 2.0})
    0.025
    """
    return _at(statement, *_compiled(sp.sympify(expression)), values)


def _at(statement: Statement, names: tuple[str, ...], function: Callable[..., Any], values: Mapping[str, Any]) -> float:
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"{statement.id}: no value for {', '.join(missing)}")
    with mpmath.workdps(DIGITS):
        # Decimal text: 0.1 is meant to be a tenth.
        found = function(*(mpmath.mpf(repr(float(values[name]))) for name in names))
        if isinstance(found, mpmath.mpc):
            raise InputError(f"a formula of {statement.id} has no real value for these inputs: give less extreme ones")
        return float(found)


@cache
def _compiled(expression: Any) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """The names of an expression's symbols, and a function of them for mpmath's numbers."""
    symbols = sorted(expression.free_symbols, key=str)
    return tuple(s.name for s in symbols), sp.lambdify(symbols, expression, "mpmath")


@cache
def _prescription(statement: Statement) -> dict[str, Any]:
    assert statement.prescription is not None
    return dict(prescription_of(statement))


@cache
def _right_side(statement: Statement) -> dict[str, Any]:
    assert statement.sides is not None
    return dict(sides_of(statement).rhs)


def prescribed(statement: Statement, values: Mapping[str, Any]) -> dict[str, float]:
    """The statement's prescription at these values, by symbol."""
    return {name: value(statement, expression, values) for name, expression in _prescription(statement).items()}


def terms(statement: Statement, values: Mapping[str, Any]) -> dict[str, float]:
    """The named terms of the right side at these values."""
    return {name: value(statement, term, values) for name, term in _right_side(statement).items()}


def rounded_up(number: float) -> int:
    """A count that is prescribed as a real number, rounded up to a whole number of at least 1.

    >>> rounded_up(2.1), rounded_up(2.0000000000000004), rounded_up(-3.5)
    (3, 2, 1)
    """
    if not math.isfinite(number):
        raise OverflowError("a count is not finite")
    return max(1, math.ceil(number - NEARLY * abs(number)))


def failures(statement: Statement, values: Mapping[str, Any]) -> list[str]:
    """One sentence for each hypothesis that these values do not meet. Hypotheses on the problem are assumed: no
    problem is available here."""
    found = ((a.text, a.test(None, values)) for a in statement.hypotheses)
    return [f"the hypothesis '{text}' of {statement.id} is not met: {why}" for text, why in found if why is not None]


def cite(role: str, statement: Statement, values: Mapping[str, Any] | None = None) -> Document:
    """The catalogue's record of a statement: its verdict, the source of its formula, its erratum or remark, and the
    hypotheses that fail here."""
    found = summary(statement)
    said: Document = {
        "role": role,
        "id": statement.id,
        "where": statement.source.where,
        "verdict": statement.expected,
        "provenance": statement.provenance,
        "reading": found["reading"],
        "erratum": found["erratum"],
        "remark": found["remark"],
    }
    if values is not None:
        said["failures"] = failures(statement, values)
    return said
