"""The least values of the statements' bounds over all of their free parameters, one module for each kind of formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["SAME", "SHARE", "Optimum", "count_for"]

SHARE = 0.01
"""Without a limit of the rounds: by how much the bound may exceed what it tends to, relatively."""
SAME = 1e-7
"""Two values of solved programs this near each other, relatively, count as the same."""
FINE = 1e-9
"""How exactly a very large count is found, relatively."""


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


def count_for(short: Callable[[int], bool]) -> int:
    """The least count that is not too short, where all above it are not either, by bisection; for counts beyond
    ``1/FINE``, one at most that much larger, relatively.

    >>> count_for(lambda n: n * n < 50)
    8
    """
    few, many, factor = 0, 1, 2
    while short(many):
        few, many, factor = many, many * factor, factor * factor
    while many - few > max(1, int(FINE * many)):
        middle = (few + many) // 2 if many < 4 * few else math.isqrt(max(1, few) * many)
        middle = min(max(middle, few + 1), many - 1)
        few, many = (middle, many) if short(middle) else (few, middle)
    return many
