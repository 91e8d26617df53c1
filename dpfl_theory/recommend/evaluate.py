"""Values of a statement's formulas (`dpfl_theory.core.inverse`), and its record in the catalogue."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.core.inverse import prescribed, value
from dpfl_theory.recommend.inputs import Document
from dpfl_theory.statements.summary import summary

__all__ = ["cite", "failures", "prescribed", "rounded_up", "terms", "value"]

NEARLY = 1e-12
"""A count within this relative distance of a whole number is that number: inputs such as 0.1 are not exact."""


@cache
def _right_side(statement: Statement) -> dict[str, Any]:
    assert statement.sides is not None
    return dict(sides_of(statement).rhs)


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
