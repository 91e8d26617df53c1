"""Both sides of a step of zhang2021's proof as one expression each, with other expressions for some of its letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.statements.formula import letters_of, total
from dpfl_theory.statements.model import Statement

__all__ = ["Lazy", "put"]

Lazy = Callable[[], Statement]
"""A statement that its own checks speak of, and that is not there yet when they are built."""


def put(statement: Statement, **values: Any) -> tuple[Any, Any]:
    """Both sides, with these expressions for the letters of these names. KeyError for a letter that it does not have.

    >>> from dpfl_theory.statements import get
    >>> put(get("zhang2021.eq16"), cohort_clipped=9, first_spread=1, second_spread=1, cohort_common=1)
    (9, 9)
    """
    symbols = letters_of(statement)
    swaps = {symbols[name]: value for name, value in values.items()}
    left, right = (total(statement, side).subs(swaps, simultaneous=True) for side in ("lhs", "rhs"))
    return left, right
