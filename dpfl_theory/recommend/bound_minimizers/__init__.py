"""The least values of the statements' bounds over all of their free parameters: searches that the papers share.

A bound whose noise first falls and then rises with the rounds T, while its rest falls, has its least value where more
rounds stop being better. Where the noise rises, cells of T are covered: no T in [a, b] has less than the noise at a and
the rest at b. Bounds that are sums of monomials are geometric programs (`bound_minimizers.geometric`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["ENOUGH", "SAME", "SHARE", "Optimum", "count_for", "cover", "first_increase", "least_of", "near_limit"]

T = TypeVar("T", int, float)

SHARE = 0.01
"""Without a limit of the rounds: the largest relative excess of the bound over its limit."""
SAME = 1e-7
"""Relative difference up to which two values of solved programs count as the same."""
FINE = 1e-9
"""Relative precision of a very large count."""
EXACT = 1e-8
"""Default relative precision of a lower limit over whole T."""
TINY = 1e-16
ENOUGH = 1e18
"""A number of rounds beyond any use."""


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


def first_increase(of: Callable[[int], float], low: int, maximum: float) -> int:
    """The T in [low, most] from which a function that first falls and then rises does not fall.

    >>> first_increase(lambda T: (T - 70) ** 2, 1, 1e18)
    70
    """
    end = low
    while end < maximum and of(end + 1) < of(end):
        low, end = end, min(2 * end, int(maximum))
    while end - low > 1:
        middle = (low + end) // 2
        low, end = (middle, end) if of(middle + 1) < of(middle) else (low, middle)
    return end if of(end) <= of(low) else low


def cover(
    cells: Iterable[tuple[T, T]],
    limit: Callable[[T, T], float],
    tried: Callable[[T], float],
    middle: Callable[[T, T], T | None],
    best: float,
    exact: float = EXACT,
    most: float = math.inf,
) -> tuple[float, float, T | None]:
    """A lower limit for all points of the cells [a, b], the least value that was tried, and its point.

    limit: a lower limit on a cell; tried: the value at a point; middle: a point within a cell, None where the cell has
    only its ends, whose values are known. best: the first value, whose point is None. Cells are divided until no
    limit is further than ``exact`` below the best value, at most this number of times.

    >>> below, half = lambda a, b: 1 + max(a - 3.0, 3.0 - b, 0.0) ** 2, lambda a, b: (a + b) / 2
    >>> cover([(0.0, 8.0)], below, lambda x: 1 + (x - 3.0) ** 2, half, 9.0)
    (1.0, 1.0, 3.0)
    """
    heap: list[tuple[float, T, T]] = [(limit(a, b), a, b) for a, b in cells]
    point: T | None = None
    heapq.heapify(heap)
    while heap and heap[0][0] < best * (1 - exact) and most > 0:
        low, a, b = heapq.heappop(heap)
        if (between := middle(a, b)) is None:
            continue
        if not a < between < b:  # no number lies between
            return min(best, low), best, point
        if (value := tried(between)) < best:
            best, point = value, between
        heapq.heappush(heap, (limit(a, between), a, between))
        heapq.heappush(heap, (limit(between, b), between, b))
        most -= 1
    return min([best, *(heap[0][:1] if heap else ())]), best, point


def least_of(
    level: Callable[[int], float],
    noise_and_rest: Callable[[int], tuple[float, float]],
    first: int,
    maximum: float,
    exact: float = EXACT,
) -> tuple[int, float, float]:
    """The best T in [first, most], the bound there, and a lower limit for all T.

    level: the quantity with which the noise rises; it first falls and then rises. noise_and_rest: the two parts of the
    bound, of which the rest never rises; exact: lower limits within this relative distance of the best value are not
    refined. The T is the best one next to the T from the cells, which is nearer than that.

    >>> at, bound, lower = least_of(float, lambda T: (float(T), 1e6 / T), 1, 1e18)
    >>> at, bound, bool(lower > 1999.99)
    (1000, 2000.0, True)
    """
    start = first_increase(level, first, maximum)
    best, at = sum(noise_and_rest(start)), start
    cells = list[tuple[int, int]]()
    a, tail = start, float("inf")
    while a < maximum:
        noise, rest = noise_and_rest(a)
        if noise >= best or rest <= TINY * noise:
            tail = noise
            break
        b = min(2 * a, int(maximum))
        cells.append((a, b))
        a = b
        if (value := sum(noise_and_rest(a))) < best:
            best, at = value, a
    lower, best, point = cover(
        cells,
        lambda a, b: noise_and_rest(a)[0] + noise_and_rest(b)[1],
        lambda T: sum(noise_and_rest(T)),
        lambda a, b: (a + b) // 2 if b - a > 1 else None,
        best,
        exact,
    )
    at, lower = at if point is None else point, min(lower, tail)
    step = 1 << max(0, int(exact * at).bit_length())
    while step:  # descent by halved steps: the cells leave too little for another minimum to matter
        for near in (at - step, at + step):
            if first <= near <= maximum and (value := sum(noise_and_rest(near))) < best:
                best, at = value, near
                break
        else:
            step //= 2
    return at, best, min(lower, best)
