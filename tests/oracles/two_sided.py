"""zhang2021 Algorithms 1 to 3 in plain NumPy, one replicate, and the model clipping of its Section 2.1; comments give
the lines of Algorithm 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

GradientOf = Callable[[int, np.ndarray, int, int], np.ndarray]
"""(client i, its parameters x, round t, local step q) -> g_i(x)."""


def clip(x: np.ndarray, c: float | None) -> np.ndarray:
    """Equation (3): ``x min(1, c/||x||)``; None means Algorithm 1, which does not clip."""
    length = float(np.linalg.norm(x))
    return x if c is None or length <= c else x * (c / length)


def two_sided(
    gradient: GradientOf,
    x0: np.ndarray,
    eta_l: Sequence[float],
    eta_g: Sequence[float],
    Q: int,
    c: float | None,
    cohorts: Sequence[Sequence[int]],
    z: Sequence[np.ndarray],
    first: int = 0,
    models: bool = False,
    divisor: float | None = None,
) -> np.ndarray:
    """``x^0, ..., x^T`` (T+1, d) for given cohorts P_t and noise z[t] (|P_t|, d), from round ``first`` on.

    models: clip the sent models, and average those. divisor: of the sum, |P_t| as printed by default. Where P_t is
    empty the server's vector does not change.
    """
    trajectory = [x0]
    for t, members in enumerate(cohorts):  # 2
        x, sent = trajectory[-1], []
        for j, i in enumerate(members):  # 3
            x_i = x.copy()  # 4
            for q in range(Q):  # 5
                x_i = x_i - eta_l[t] * gradient(i, x_i, first + t, q)  # 6, 7
            sent.append(clip(x_i if models else x_i - x, c) + z[t][j])  # 8, 9
        if not sent:
            trajectory.append(x)
        elif models:
            trajectory.append(sum(sent) / len(members))
        else:
            trajectory.append(x + eta_g[t] * sum(sent) / (divisor or len(members)))  # 10
    return np.array(trajectory)
