"""das2022 Algorithms 1 and 2 in plain NumPy, one replicate; the numbers in comments are the paper's lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpfl_theory.problems.base import Problem


def local_update(problem: Problem, i: int, w: np.ndarray, eta: float, local_steps: int) -> np.ndarray:
    """``u_k^(i)``, client i's update from w."""
    w_i = w.copy()  # 5
    for _ in range(local_steps):  # 6
        w_i = w_i - eta * problem.client_gradient(i, w_i)  # 7
    return (w - w_i) / eta  # 9


def bound(u: np.ndarray, option: str, C: float | None) -> np.ndarray:
    """``g_k^(i)``; a zero update normalises to zero."""
    length = float(np.linalg.norm(u))
    if option == "none" or length == 0.0:
        return u  # Algorithm 2 has no bound
    if option == "clip":
        return u * min(1.0, C / length)  # 10
    return C * u / length  # 11


def fedavg(
    problem: Problem,
    w0: np.ndarray,
    eta: Sequence[float],
    beta: Sequence[float],
    local_steps: int,
    option: str,
    C: float | None,
    r: float,
    cohorts: Sequence[Sequence[int]],
    zeta: np.ndarray,
) -> np.ndarray:
    """``w_0, ..., w_K``, (K+1, d), for given cohorts S_k and noise vectors zeta (K, n, d)."""
    trajectory = [w0]
    for k in range(len(cohorts)):  # 2
        w, total = trajectory[-1], np.zeros(problem.d)
        for i in cohorts[k]:  # 3, 4
            u = local_update(problem, i, w, eta[k], local_steps)  # 5 to 9
            total += bound(u, option, C) + zeta[k, i]  # 10 to 12
        trajectory.append(w - beta[k] * total / r)  # 14
    return np.array(trajectory)
