"""shulgin2025 Algorithm 1 and equations (9) to (11) in plain NumPy, one replicate; comments give the equations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.dp_sgd import psi
from oracles.two_sided import GradientOf


def ef21(
    gradient: GradientOf,
    x0: np.ndarray,
    v0: np.ndarray,
    gamma: Sequence[float],
    operator: str,
    parameter: float,
    beta: float,
    server_normalisation: bool,
    z: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Server vectors and estimates vhat (K+1, d) and memories (K+1, n, d) for memories v0 (n, d), noise z (K, n, d)."""
    n = len(v0)
    x, v, vhat = x0, v0, v0.mean(axis=0)
    history = [(x, v, vhat)]
    for k in range(len(gamma)):
        kept, received = v.copy(), np.zeros_like(x0)
        for i in range(n):
            delta = psi(gradient(i, x, k, 0) - v[i], operator, parameter)
            kept[i] = v[i] + beta * delta  # (9), without noise
            received = received + delta + z[k, i]
        v, vhat = kept, vhat + beta / n * received  # (10)
        direction = psi(vhat, "normalise", 1.0) if server_normalisation else vhat
        x = x - gamma[k] * direction  # (11), or line 11 of Algorithm 1
        history.append((x, v, vhat))
    return tuple(np.array(part) for part in zip(*history))
