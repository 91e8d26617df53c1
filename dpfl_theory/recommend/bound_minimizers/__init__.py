"""The least values of the statements' bounds over all of their free parameters, one module for each kind of formula.

They are functions of numbers: the values of a statement's symbols, the given counts, and a bound without any run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["SAME", "SHARE", "Optimum", "count_for", "near_limit"]

SHARE = 0.01
"""Without a limit of the rounds: the largest relative excess of the bound over its limit."""
SAME = 1e-7
"""Relative difference up to which two values of solved programs count as the same."""
FINE = 1e-9
"""Relative precision of a very large count."""


@dataclass(frozen=True)
class Optimum:
    """The minimum of a bound.

    choice: the free hyper-parameters, by the names that the algorithm's `Setting.answer` takes; where no choice meets
    the hypotheses, one that comes near them.
    lower: no choice within the hypotheses has a smaller bound; infinite where none was found.
    justification: the reason, in a sentence. unmet: the reasons why no choice meets the hypotheses.
    bound: the statement's right side at the choice, which `Setting.optimum` enters.
    """

    choice: dict[str, Any]
    lower: float = math.inf
    justification: str = "no choice meets the hypotheses"
    unmet: tuple[str, ...] = ()
    bound: float = math.inf


def near_limit(limit: float, trivial: float) -> float:
    """A bound that is as good as a limit that is not attained, and below a bound without any run if the limit is.

    >>> near_limit(100.0, 200.0), near_limit(100.0, 100.5)
    (101.0, 100.25)
    """
    enough = (1 + SHARE) * limit
    return min(enough, (limit + trivial) / 2) if limit < trivial else enough


def count_for(short: Callable[[int], bool]) -> int:
    """The least sufficient count, by bisection, where all larger counts are sufficient too. A count beyond ``1/FINE``
    may be larger than the least by the relative amount ``FINE``.

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
