"""DP-FTRL with tree aggregation in plain NumPy, one replicate: Kairouz et al. 2021 Algorithm 1 without momentum.

Every prefix is written as its dyadic intervals, and each interval has its own noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf, clip


def intervals(k: int) -> list[tuple[int, int]]:
    """The dyadic intervals of 1, ..., k (first, last), one for each one in the binary number k."""
    found, first = [], 1
    for height in reversed(range(k.bit_length())):
        if k >> height & 1:
            found.append((first, first + 2**height - 1))
            first += 2**height
    return found


def dp_ftrl(
    gradient: GradientOf,
    start: np.ndarray,
    cohorts: Sequence[Sequence[int]],
    r: float,
    normals: Sequence[np.ndarray],
    *,
    eta: float,
    eta_s: float,
    E: int,
    C: float,
    z: float,
    restart: int,
) -> np.ndarray:
    """w_0, ..., w_T (T+1, d); normals[t] (d,) are those of the interval that ends in round t + 1."""
    path, total, earlier, last = [start], np.zeros_like(start), np.zeros_like(start), np.zeros_like(start)
    for t, members in enumerate(cohorts):
        for i in members:
            local = path[-1].copy()
            for step in range(E):
                local = local - eta * gradient(i, local, t, step)
            total = total + clip(local - path[-1], C)
        first, k = t - t % restart, t % restart + 1  # of the tree
        if k == 1:
            earlier = earlier + last
        last = sum((z * C * normals[first + end - 1] for _, end in intervals(k)), np.zeros_like(start))
        path.append(start + eta_s * (total + earlier + last) / r)
    return np.array(path)
