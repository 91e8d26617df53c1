"""Andrew et al. 2021 Algorithm 1 in plain NumPy, one replicate; comments give the paper's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf, clip


def adaptive_clipping(
    gradient: GradientOf,
    theta: np.ndarray,
    cohorts: Sequence[Sequence[int]],
    m: float,
    z: Sequence[np.ndarray],
    z_b: Sequence[float],
    *,
    eta: float,
    eta_s: float,
    E: int,
    C: float,
    beta: float,
    gamma: float,
    eta_C: float,
    multiplier: float,
    sigma_b: float,
) -> tuple[np.ndarray, np.ndarray]:
    """theta^0, ..., theta^T (T+1, d) and C^0, ..., C^T (T+1, 1), for given cohorts Q^t and standard normals.

    A client that is missing from a cohort of m counts one half, as where b_i - 1/2 is added up.
    """
    z_delta = 0.0 if multiplier == 0.0 else (multiplier**-2 - (2.0 * sigma_b) ** -2) ** -0.5
    path, levels, velocity = [theta], [C], np.zeros_like(theta)
    for t, members in enumerate(cohorts):
        total, inside = np.zeros_like(theta), 0.0
        for i in members:
            local = path[-1].copy()
            for step in range(E):
                local = local - eta * gradient(i, local, t, step)
            delta = local - path[-1]
            inside += float(np.linalg.norm(delta) <= levels[-1])  # b_i
            total = total + clip(delta, levels[-1])
        velocity = beta * velocity + (total + z_delta * levels[-1] * z[t]) / m  # the average with momentum
        b = (inside + (m - len(members)) / 2.0 + sigma_b * z_b[t]) / m
        path.append(path[-1] + eta_s * velocity)
        levels.append(levels[-1] * float(np.exp(-eta_C * (b - gamma))))
    return np.array(path), np.array(levels)[:, None]
