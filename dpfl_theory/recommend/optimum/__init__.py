"""The least values of the statements' bounds over all of their free parameters, one module for each kind of formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Optimum"]


@dataclass(frozen=True)
class Optimum:
    """Where a bound is least.

    choice: the free hyper-parameters, by the names that the algorithm's `Setting.answer` takes.
    bound: the statement's right side there.
    lower: no choice within the hypotheses has a smaller one.
    how: why that is so, in a sentence.
    unmet: why no choice meets the hypotheses; bound and lower are infinite then.
    """

    choice: dict[str, Any]
    bound: float
    lower: float
    how: str
    unmet: tuple[str, ...] = ()
