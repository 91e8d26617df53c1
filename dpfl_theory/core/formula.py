"""A statement's formula: its symbols, its two sides, and their values in the caller's arithmetic.

`Statement.sides` is a function of the symbols, and no other code writes a bound. `evaluate_side` evaluates it exactly
for fractions, to the requested number of digits with mpmath, and in double precision for floats. For the quantities of
a performance estimation problem it gives linear forms (`dpfl_theory.checks.pep_inequality`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from dpfl_theory.core.expressions import MEMORY, Symbols, evaluate
from dpfl_theory.core.statement import Sides, Statement
from dpfl_theory.lazy import sympy as sp

__all__ = [
    "SidesError",
    "evaluate_side",
    "prescription_of",
    "record_requested",
    "sides_of",
    "symbols_of",
    "terms_at",
    "total",
    "with_sides",
]


class SidesError(ValueError):
    """Sides that a method cannot compare as they are; the text names the remedy."""


@functools.lru_cache(MEMORY)
def symbols_of(statement: Statement) -> Symbols:
    """The statement's symbols as sympy symbols with the assumptions of their domains.

    >>> from dpfl_theory.statements import get
    >>> symbols_of(get("das2022.lemma8")).eta.is_positive
    True
    """
    return Symbols({one.name: one.in_formulas for one in statement.quantities}, statement.id)


_ASKED: ContextVar[set[Statement] | None] = ContextVar("asked", default=None)


@contextmanager
def record_requested() -> Iterator[set[Statement]]:
    """The statements whose sides are requested within the block.

    >>> from dpfl_theory.statements import get
    >>> with record_requested() as found:
    ...     right = total(get("das2022.lemma8"))
    >>> [s.id for s in found]
    ['das2022.lemma8']
    """
    found: set[Statement] = set()
    token = _ASKED.set(found)
    try:
        yield found
    finally:
        _ASKED.reset(token)


def sides_of(statement: Statement) -> Sides:
    """Both sides as sympy expressions in the statement's symbols. ValueError for a statement that is not one relation.

    >>> from dpfl_theory.statements import get
    >>> sides_of(get("das2022.lemma8")).lhs
    {'distance after': distance_after}
    """
    if statement.sides is None:
        raise ValueError(f"{statement.id} has no sides: there is nothing to evaluate")
    if (found := _ASKED.get()) is not None:
        found.add(statement)
    made: Sides = _made(statement, statement.sides)
    return made


def with_sides(statement: Statement, sides: Sides) -> Statement:
    """The statement with other sides and the symbols that it has: its checks may read one that no side has any more.

    >>> from dpfl_theory.statements import get
    >>> theorem = get("hou2023.theorem1")
    >>> with_sides(theorem, Sides(sides_of(theorem).lhs, {})).units == theorem.units
    True
    """
    symbols, expectations = tuple(statement.symbols), tuple(statement.expectations)
    return replace(statement, symbols=symbols, expectations=expectations, sides=lambda _: sides)


def prescription_of(statement: Statement) -> Mapping[str, Any]:
    """The hyper-parameters that the statement prescribes, as sympy expressions in its symbols."""
    if statement.prescription is None:
        raise ValueError(f"{statement.id} prescribes nothing")
    made: Mapping[str, Any] = _made(statement, statement.prescription)
    return made


@functools.lru_cache(MEMORY)
def _made(statement: Statement, of: Callable[..., Any]) -> Any:
    """The value of a function of the symbols at a statement's symbols."""
    return of(symbols_of(statement))


def total(statement: Statement, side: str = "rhs") -> Any:
    """The sum of one side's terms (``lhs`` or ``rhs``), as a sympy expression."""
    return sum(getattr(sides_of(statement), side).values(), sp.Integer(0))


def terms_at(statement: Statement, side: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The terms of one side (``lhs`` or ``rhs``) at values of the symbols, see `evaluate`; names that the statement
    does not have are ignored.

    >>> from fractions import Fraction
    >>> from dpfl_theory.statements import get
    >>> terms_at(get("zhang2021.eq16"), "lhs", {"cohort_clipped": Fraction(1, 3)})
    {'cohort': Fraction(1, 3)}
    """
    return {name: evaluate(term, values, statement.id) for name, term in getattr(sides_of(statement), side).items()}


def evaluate_side(statement: Statement, side: str, values: Mapping[str, Any]) -> Any:
    """One side (``lhs`` or ``rhs``) of the statement at values of its symbols: the sum of its terms, see `evaluate`.

    >>> from fractions import Fraction
    >>> from dpfl_theory.statements import get
    >>> values = dict.fromkeys(("first_spread", "second_spread", "cohort_common"), Fraction(1, 3))
    >>> evaluate_side(get("zhang2021.eq16"), "rhs", values)
    Fraction(3, 1)
    """
    return evaluate(total(statement, side), values, statement.id)
