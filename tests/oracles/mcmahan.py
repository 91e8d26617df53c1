"""McMahan et al. 2017, Algorithm 1, in plain NumPy, one replicate, with a server step eta_g."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.federation import Federation


def client_update(f: Federation, i: int, w: np.ndarray, t: int) -> np.ndarray:
    """ClientUpdate(k, w): the client's end."""
    for q in range(f.steps[i]):
        w = w - f.eta[t] * f.gradient(i, w, t, q)
    return w


def mcmahan(f: Federation, w: np.ndarray, eta_g: Sequence[float]) -> np.ndarray:
    """w_0, ..., w_T. Where no client takes part the server's vector does not change."""
    found = [w]
    for t in f.rounds():
        ends = [client_update(f, i, w, t) for i in f.cohorts[t]]
        if ends:
            average = np.average(ends, axis=0, weights=f.weights(t))
            w = (1 - eta_g[t]) * w + eta_g[t] * average
        found.append(w)
    return np.array(found)
