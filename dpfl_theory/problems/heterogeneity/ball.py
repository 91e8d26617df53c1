"""The largest value of a quadratic function, convex or not, on a ball or on the whole space, with a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfl_theory.problems.base import Array

__all__ = ["Supremum", "largest_quadratic"]

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
