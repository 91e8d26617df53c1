"""Wang et al. 2020, Section 4, in plain NumPy, one replicate: gradients G_i and accumulation vectors a_i are formed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.federation import Federation


def fednova(f: Federation, w: np.ndarray, eta_g: Sequence[float], rho: float, of_steps: bool = False) -> np.ndarray:
    """w_0, ..., w_T. of_steps: tau_eff is the mean of the numbers of steps."""
    found = [w]
    for t in f.rounds():
        directions, lengths = [], []
        for i in f.cohorts[t]:
            tau, gradients = f.steps[i], list[np.ndarray]()
            for q in range(tau):
                # the point after q steps: each gradient so far counts 1 + rho + rho^2 + ... times
                counts = [sum(rho**j for j in range(q - k)) for k in range(q)]
                y = w - f.eta[t] * sum((c * g for c, g in zip(counts, gradients)), np.zeros_like(w))
                gradients.append(f.gradient(i, y, t, q))
            a = np.array([sum(rho**j for j in range(tau - k)) for k in range(tau)])
            directions.append(np.array(gradients).T @ a / a.sum())
            lengths.append(float(tau) if of_steps else a.sum())
        p = f.weights(t)
        tau_eff = sum(p_i * length for p_i, length in zip(p, lengths))
        w = w - eta_g[t] * f.eta[t] * tau_eff * sum((p_i * d for p_i, d in zip(p, directions)), np.zeros_like(w))
        found.append(w)
    return np.array(found)
