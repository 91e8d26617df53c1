"""DP-ScaffNew; a round is an iteration, whose coin comes from the generator."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    eta: float,
    p: float,
    C: float,
    sigma: float,
) -> Any:
    n = len(clients)
    x, h = (np.tile(w, (n, 1)), np.zeros((n, len(w)))) if state is None else state
    x = np.array([x[i] - eta * (clients[i].gradient(x[i]) - h[i]) for i in range(n)])
    if rng.random() >= p:
        return w, (x, h)
    sent = []
    for i in range(n):
        delta = x[i] - w
        delta = delta * min(1.0, C / max(float(np.linalg.norm(delta)), 1e-300))
        sent.append(delta + rng.normal(0.0, sigma, len(w)))
    mean = np.mean(sent, axis=0)
    w = w + mean
    h = np.array([h[i] + p / eta * (mean - sent[i]) for i in range(n)])
    return w, (np.tile(w, (n, 1)), h)
