"""alpha-NormEC with server normalisation."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    gamma: float,
    beta: float,
    alpha: float,
    sigma: float,
) -> Any:
    n = len(clients)
    memory, v = ([np.zeros_like(w)] * n, np.zeros_like(w)) if state is None else state
    sent, kept = [], []
    for i in range(n):
        missing = clients[i].gradient(w) - memory[i]
        delta = missing / (alpha + np.linalg.norm(missing))
        kept.append(memory[i] + beta * delta)
        sent.append(delta + rng.normal(0.0, sigma, len(w)))
    v = v + beta * np.mean(sent, axis=0)
    norm = np.linalg.norm(v)
    return w - gamma * v / norm, (kept, v)
