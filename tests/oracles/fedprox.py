"""Li et al. 2020, Algorithm 2, in plain NumPy, one replicate, with gradient steps on the local objectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.federation import Federation


def fedprox(f: Federation, w: np.ndarray, eta_g: Sequence[float], mu: float) -> np.ndarray:
    """w_0, ..., w_T."""
    found = [w]
    for t in f.rounds():
        change = np.zeros_like(w)
        for i, p in zip(f.cohorts[t], f.weights(t)):
            y = w
            for q in range(f.steps[i]):
                # a step on f_i + (mu/2) ||. - w||^2: y shrinks towards w, and moves along the gradient
                y = y + f.eta[t] * mu * w - f.eta[t] * mu * y - f.eta[t] * f.gradient(i, y, t, q)
            change += p * (y - w)
        w = w + eta_g[t] * change
        found.append(w)
    return np.array(found)
