"""hou2023 Algorithm 2 in plain NumPy, one replicate, with zero initial control variates; comments give the paper's
lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf


def clip(x: np.ndarray, C: float | None) -> np.ndarray:
    """``min(1, C/||x||) x``; None means a threshold that is never active."""
    length = float(np.linalg.norm(x))
    return x if C is None or length == 0.0 else min(1.0, C / length) * x


def scaffnew(
    gradient: GradientOf,
    N: int,
    x0: np.ndarray,
    eta: float,
    p: float,
    C: float | None,
    coins: Sequence[bool],
    noise: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Server vectors (T+1, d), client vectors and control variates (T+1, N, d) for given coins theta_t and noise (T,
    N, d)."""
    d = len(x0)
    x, x_i, h = x0, np.tile(x0, (N, 1)), np.zeros((N, d))  # 1
    history = [(x, x_i, h)]
    for t in range(len(coins)):  # 2, 3
        hat = np.empty((N, d))
        for i in range(N):  # 4
            hat[i] = x_i[i] - eta * (gradient(i, x_i[i], t, 0) - h[i])  # 5, 6
        if coins[t]:  # 7
            delta = np.array([clip(hat[i] - x, C) + noise[t, i] for i in range(N)])  # 8
            average = sum(delta) / N
            x = x + average  # 9
            x_i = np.tile(x, (N, 1))
            h = np.array([h[i] + (p / eta) * (average - delta[i]) for i in range(N)])  # 10
        else:
            x_i = hat  # 12
        history.append((x, x_i, h))
    return tuple(np.array(part) for part in zip(*history))
