"""noble2022 Algorithm 1 in plain NumPy, one replicate, with the warm start of Section 3.3; comments give the paper's
lines, as far as they are clear from its layout (x^t and c^t are updated in line 21)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf


def scaffold(
    gradient: GradientOf,
    M: int,
    x0: np.ndarray,
    eta_l: Sequence[float],
    eta_g: Sequence[float],
    K: int,
    cohorts: Sequence[Sequence[int]],
    warm: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x and c (T+1, d) and c_i (T+1, M, d) for given cohorts C^t, of which the first ``warm`` set control variates."""
    x, c, c_i = x0, np.zeros_like(x0), np.zeros((M, len(x0)))
    history = [(x, c, c_i)]
    for t, members in enumerate(cohorts):  # 1, 2
        old, total_y, total_c = c_i.copy(), np.zeros_like(x0), np.zeros_like(x0)
        for i in members:  # 4
            if t < warm:
                c_i = c_i.copy()
                c_i[i] = np.mean([gradient(i, x, t, k) for k in range(K)], axis=0)
                continue
            y = x.copy()  # 5
            for k in range(K):  # 6
                y = y - eta_l[t] * (gradient(i, y, t, k) - old[i] + c)  # 7 to 14
            c_i = c_i.copy()
            c_i[i] = old[i] - c + (x - y) / (K * eta_l[t])  # 15, 18
            total_y += y - x  # 16, 17
            total_c += c_i[i] - old[i]
        if t < warm:
            c = c_i.mean(axis=0)
        else:
            size = max(len(members), 1)
            x, c = x + eta_g[t] * total_y / size, c + size / M * (total_c / size)  # 20, 21
        history.append((x, c, c_i))
    return tuple(np.array(part) for part in zip(*history))
