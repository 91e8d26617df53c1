"""Response surface: the minimum of a quadratic that is fitted to the logarithms of measured values.

Single runs scatter. All good points together locate the minimum better than the luckiest of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from dpfl_theory.problems.base import Array

__all__ = ["least_of_quadratic"]

_SHARE = 4
"""The best fourth of the points is fitted, but at least this multiple of the number of coefficients:"""
_EACH = 3
_REACH = 2.0
"""The number of standard deviations of these points within which the quadratic is trusted."""


def least_of_quadratic(tried: Sequence[tuple[float, Array]]) -> Array | None:
    """The minimum in [0, 1)^k of the quadratic that fits the logarithm of the lowest values, near the best of them;
    None if there are too few points.

    tried: pairs of a value and its point (k,); values that are not positive and finite are omitted.

    >>> rng = np.random.default_rng(0)
    >>> points = rng.random((60, 2))
    >>> found = least_of_quadratic([(math.exp(4 * float(np.sum((p - 0.3) ** 2))), p) for p in points])
    >>> bool(np.allclose(found, 0.3))
    True
    """
    positive = sorted(((value, point) for value, point in tried if 0.0 < value < math.inf), key=lambda t: t[0])
    if not positive:
        return None
    axes = len(positive[0][1])
    pairs = [(i, j) for i in range(axes) for j in range(i, axes)]
    coefficients = 1 + axes + len(pairs)
    kept = positive[: max(_EACH * coefficients, len(positive) // _SHARE)]
    if len(kept) < _EACH * coefficients:
        return None
    points, values = np.array([p for _, p in kept]), np.log([value for value, _ in kept])
    centre = points[: max(4, len(points) // 8)].mean(axis=0)
    x, weight = points - centre, np.linspace(1.0, 0.3, len(points))
    columns = np.column_stack([np.ones(len(x)), x, *(x[:, i] * x[:, j] for i, j in pairs)])
    found = np.linalg.lstsq(columns * weight[:, None], values * weight, rcond=None)[0]
    slope, bend = found[1 : 1 + axes], np.zeros((axes, axes))
    for (i, j), c in zip(pairs, found[1 + axes :]):
        bend[i, j] += c
        bend[j, i] += c
    reach = _REACH * points.std(axis=0)
    low = np.maximum(-reach, np.maximum(points.min(axis=0), 0.0) - centre)
    high = np.minimum(reach, np.minimum(points.max(axis=0), 1.0 - 1e-9) - centre)
    ends = [
        minimize(
            lambda v: slope @ v + 0.5 * v @ bend @ v, start, jac=lambda v: slope + bend @ v, bounds=list(zip(low, high))
        )
        for start in (np.zeros(axes), np.clip(x[0], low, high))
    ]
    return np.asarray(centre + min(ends, key=lambda end: float(end.fun)).x)
