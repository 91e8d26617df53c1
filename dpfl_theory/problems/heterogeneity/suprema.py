"""Suprema of functions: certified for a quadratic function, and lower limits by a search, with the points that prove
them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from dpfl_theory.problems.base import Array

__all__ = ["Maximum", "Supremum", "climb", "largest_quadratic"]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Supremum:
    """``low <= sup <= high``; low is the value at ``maximizer`` (d,), which is None where the supremum is inf."""

    low: float
    high: float
    maximizer: Array | None


def largest_quadratic(
    h: Array, g: Array, k: float, radius: float = math.inf, scale: tuple[float, float] = (0.0, 0.0)
) -> Supremum:
    """``sup u^T H u + 2 g^T u + k`` over ``||u|| <= radius``, H symmetric (d, d), g (d,).

    On a ball high is the dual value
    ``min over lambda >= max(0, lambda_max(H)) of g^T (lambda I - H)^{-1} g + lambda radius^2 + k``. No u exceeds it,
    and it equals the maximum also where H is indefinite (the S-lemma); low is the value at a point made from its
    minimiser. On the whole space the supremum is inf unless H has no positive
    eigenvalue and g no component along the zero ones. scale: the sizes of what H and g were computed from; eigenvalues,
    and such components of g, below 1e-12 times these count as zero there.

    >>> largest_quadratic(np.array([[-2.0]]), np.array([1.0]), 0.0)  # -2 u^2 + 2 u at u = 1/2
    Supremum(low=0.5, high=0.5, maximizer=array([0.5]))
    >>> round(largest_quadratic(np.eye(2), np.array([1.0, 0.0]), 0.0, radius=3.0).high, 9)  # 9 + 6
    15.0
    """
    values, vectors = np.linalg.eigh(h)
    slope = vectors.T @ g
    size, pull = max(float(np.max(np.abs(values))), scale[0]), max(float(np.linalg.norm(g)), scale[1])
    if math.isinf(radius):
        zero = np.abs(values) <= 1e-12 * size
        if np.any(values > 1e-12 * size) or float(np.linalg.norm(slope[zero])) > 1e-12 * pull:
            return Supremum(math.inf, math.inf, None)
        u = np.where(zero, 0.0, slope / np.where(zero, 1.0, -values))
        value = k + float(slope @ u)
        return _between(h, g, k, vectors @ u, value)
    if radius == 0.0:
        return Supremum(k, k, np.zeros(len(g)))
    lam = _multiplier(values, slope, radius, max(0.0, float(values[-1])))
    gap = lam - values
    # Where lambda meets the largest eigenvalue the maximum lies along its eigenvectors (the hard case).
    free = gap <= 4.0 * _EPS * max(size, lam)
    u = np.where(free, 0.0, slope / np.where(free, 1.0, gap))
    dual = k + float(slope @ u) + lam * radius**2
    length = float(np.linalg.norm(u))
    if length > radius:
        u *= radius / length
    elif lam > 0.0 and length < radius:
        u[-1] += math.copysign(math.sqrt(radius**2 - length**2), u[-1] if u[-1] != 0.0 else 1.0)
        u *= radius / float(np.linalg.norm(u))
    return _between(h, g, k, vectors @ u, dual)


def _between(h: Array, g: Array, k: float, u: Array, dual: float) -> Supremum:
    """The value at u below, the dual value above, with room for rounding."""
    value = float(u @ h @ u + 2.0 * (g @ u)) + k
    room = 64.0 * _EPS * len(u) * (float(np.linalg.norm(h, 2)) * float(u @ u) + 2.0 * abs(float(g @ u)) + abs(k))
    return Supremum(value, max(dual, value) + (0.0 if dual == value else room), u)


def _multiplier(values: Array, slope: Array, radius: float, minimum: float) -> float:
    """The lambda >= least at which ``||(lambda I - H)^{-1} g|| = radius``, or least when it is shorter there.

    Any lambda gives a valid bound, so bisection to the last digit is all that is needed.
    """

    def longer(lam: float) -> bool:
        gap = lam - values
        flat = gap <= 0.0
        if np.any(flat & (slope != 0.0)):
            return True
        ratio = slope / np.where(flat, 1.0, gap)
        return float(np.linalg.norm(ratio)) > radius

    if not longer(minimum):
        return minimum
    low, high = minimum, minimum + float(np.linalg.norm(slope)) / radius
    while longer(high):
        high = minimum + 2.0 * (high - minimum)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if longer(middle) else (low, middle)
    return high


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
