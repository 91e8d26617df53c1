"""Reddi et al. 2021, Algorithm 2, and Hsu et al. 2019, Section 4.2, in plain NumPy, one replicate, by coordinate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.federation import Federation
from oracles.mcmahan import client_update


def averages(f: Federation, w: np.ndarray, t: int) -> np.ndarray:
    """Delta_t; 0 where no client takes part."""
    changes = [p * (client_update(f, i, w, t) - w) for i, p in zip(f.cohorts[t], f.weights(t))]
    return np.asarray(sum(changes, np.zeros_like(w)))


def fedavgm(f: Federation, w: np.ndarray, eta_g: Sequence[float], beta: float, nesterov: bool = False) -> np.ndarray:
    """w_0, ..., w_T; v is a sum over all rounds so far."""
    found, deltas = [w], list[np.ndarray]()
    for t in f.rounds():
        deltas.append(averages(f, w, t))
        v = sum((beta ** (t - k) * delta for k, delta in enumerate(deltas)), np.zeros_like(w))
        w = w + eta_g[t] * (deltas[-1] + beta * v if nesterov else v)
        found.append(w)
    return np.array(found)


def fedopt(
    f: Federation,
    w: np.ndarray,
    kind: str,
    eta: Sequence[float],
    beta_1: float,
    beta_2: float | None,
    tau: float,
    of_momentum: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w, m and v, (T+1, d) each. kind: fedadagrad, fedyogi or fedadam; of_momentum: v is that of m^2."""
    m, v = np.zeros_like(w), np.full_like(w, tau**2)
    found = [(w, m, v)]
    for t in f.rounds():
        delta, w, m, v = averages(f, w, t), w.copy(), m.copy(), v.copy()
        for j in range(len(w)):
            m[j] = beta_1 * m[j] + (1 - beta_1) * delta[j]
            square = (m[j] if of_momentum else delta[j]) ** 2
            if kind == "fedadagrad":
                v[j] += square
            elif kind == "fedyogi":
                v[j] -= (1 - beta_2) * square * float(np.sign(v[j] - square))
            else:
                v[j] = beta_2 * v[j] + (1 - beta_2) * square
            w[j] += eta[t] * m[j] / (np.sqrt(v[j]) + tau)
        found.append((w, m, v))
    return tuple(np.array(part) for part in zip(*found))
