"""McMahan et al. 2018 Algorithm 1 in plain NumPy, one replicate; comments give the paper's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf, clip


def dp_mcmahan(
    gradient: GradientOf,
    theta: np.ndarray,
    records: Sequence[int],
    members: Sequence[int],
    q: float,
    t: int,
    z: np.ndarray,
    *,
    eta: float,
    server: float,
    E: int,
    S: float,
    w_hat: float,
    multiplier: float,
    clipped: bool = False,
) -> np.ndarray:
    """The server's vector after round t, with the cohort C^t and standard normals z (d,).

    clipped: the denominator f_c with W_min = W, and its sensitivity 2S/(q W_min).
    """
    weights = [min(n_k / w_hat, 1.0) for n_k in records]
    W = sum(weights)
    total, taken = np.zeros_like(theta), 0.0
    for k in members:
        local = theta.copy()
        for step in range(E):
            local = local - eta * gradient(k, local, t, step)
        total = total + weights[k] * clip(local - theta, S)  # FlatClip
        taken += weights[k]
    if clipped:
        return np.asarray(theta + server * (total / max(q * W, taken) + multiplier * 2.0 * S / (q * W) * z))  # f_c
    return np.asarray(theta + server * (total + multiplier * S * z) / (q * W))  # f_f
