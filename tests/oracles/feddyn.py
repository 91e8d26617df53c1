"""Acar et al. 2021, Algorithm 1, in plain NumPy, one replicate, in the sums of differences of the authors' code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.federation import Federation


def feddyn(
    f: Federation, w: np.ndarray, alpha: float, alphas: Sequence[float], single: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w and h (T+1, d), and lambda (T+1, n, d), for the alpha of each client. own[i]: the sum of client i's moves;
    single: h moves by the sum of the ends less w once."""
    n = len(f.sizes)
    own, q = np.zeros((n, len(w))), np.zeros_like(w)

    def seen() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return w, -alpha * q, -np.array(alphas)[:, None] * own

    found = [seen()]
    for t in f.rounds():
        ends, own = [], own.copy()
        for i in f.cohorts[t]:
            y = w
            for k in range(f.steps[i]):
                y = y - f.eta[t] * (f.gradient(i, y, t, k) + alphas[i] * (y - (w - own[i])))
            own[i] += y - w
            ends.append(y)
        q = q + (sum(ends, np.zeros_like(w)) - w) / n if single else own.mean(axis=0)
        if ends:
            w = np.mean(ends, axis=0) + q
        found.append(seen())
    return tuple(np.array(part) for part in zip(*found))
