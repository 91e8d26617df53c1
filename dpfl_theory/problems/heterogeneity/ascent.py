"""Searches for parameters at which a function is large: lower limits of suprema, each with the point that proves it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from dpfl_theory.problems.base import Array

__all__ = ["Maximum", "climb"]

_FAR = 1e6  # an unbounded search goes this many radii from the centre


@dataclass(frozen=True)
class Maximum:
    """The largest value that was found and the point ``maximizer`` (d,) that has it."""

    value: float
    maximizer: Array


def climb(
    value: Callable[[Array], float],
    ascent: Callable[[Array], Array],
    centre: Array,
    directions: Sequence[Array],
    scale: float,
    radius: float = math.inf,
    tries: int = 6,
    seed: int = 0,
    steps: int = 40,
) -> Maximum:
    """The largest value along rays from the centre, then by projected gradient ascent from the best point at each
    distance. The search continues along the rays through the points that the ascent reached.

    value(w), ascent(w): the function and a direction in which it grows;  directions: rays of the search, in both
    directions, in addition to ``tries`` random ones;  scale: the distance [X] at which the function is expected to
    change;  radius: of the ball around the centre within which the search stays.

    >>> hill = climb(lambda w: -float((w[0] - 3.0) ** 2), lambda w: 2.0 * (3.0 - w), np.zeros(1), [], 1.0)
    >>> bool(abs(hill.maximizer[0] - 3.0) < 1e-6)
    True
    """
    # Many small products: one BLAS thread is several times faster than two.
    with threadpool_limits(limits=1, user_api="blas"):
        return _climb(value, ascent, centre, directions, scale, radius, tries, seed, steps)


def _climb(
    value: Callable[[Array], float],
    ascent: Callable[[Array], Array],
    centre: Array,
    directions: Sequence[Array],
    scale: float,
    radius: float,
    tries: int,
    seed: int,
    steps: int,
) -> Maximum:
    rng = np.random.default_rng(seed)
    rays = [*directions, *rng.standard_normal((tries, len(centre)))]
    reach = min(radius, _FAR * scale)
    lengths = sorted({min(radius, scale * t) for t in (0.1, 1.0, 10.0, 100.0, 1e4)} | {reach})

    def along(ray: Array, length: float) -> Maximum:
        w = centre + length / float(np.linalg.norm(ray)) * ray
        return Maximum(value(w), w)

    best = Maximum(value(centre), centre)
    rays = [ray for ray in rays if 0.0 < float(np.linalg.norm(ray)) < math.inf]
    starts = [best]
    for length in lengths:
        found = [along(sign * ray, length) for ray in rays for sign in (1.0, -1.0)]
        starts.append(max(found, key=lambda one: one.value, default=best))
    # Far away the slopes of bounded losses are constant and give no direction: those points are only compared.
    for start in starts:
        found = [start]
        if float(np.linalg.norm(start.maximizer - centre)) <= 1e3 * scale:
            found.append(_polish(value, ascent, start, centre, reach, scale, steps))
            ray = found[-1].maximizer - centre
            if float(np.linalg.norm(ray)) > 0.0:
                found += [along(ray, length) for length in lengths]
        best = max([best, *found], key=lambda one: one.value)
    return best


def _polish(
    value: Callable[[Array], float],
    ascent: Callable[[Array], Array],
    start: Maximum,
    centre: Array,
    reach: float,
    scale: float,
    steps: int,
) -> Maximum:
    best, move = start, scale
    for _ in range(steps):
        direction = ascent(best.maximizer)
        norm = float(np.linalg.norm(direction))
        if not (norm > 0.0 and math.isfinite(norm)):
            break
        for _attempt in range(12):
            w = best.maximizer + move / norm * direction
            away = float(np.linalg.norm(w - centre))
            if away > reach:
                w = centre + (w - centre) * (reach / away)
            reached = value(w)
            if reached > best.value:
                best, move = Maximum(reached, w), 2.0 * move
                break
            move *= 0.25
        else:
            break
    return best
