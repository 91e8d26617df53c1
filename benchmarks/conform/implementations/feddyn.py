"""FedDyn with full gradients; the state is h and the clients' lambda."""

from typing import Any

import numpy as np


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, alpha: float) -> Any:
    h, dual = (np.zeros_like(w), {i: np.zeros_like(w) for i in range(len(clients))}) if state is None else state
    moved = np.zeros_like(w)
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            y = y - lr * (clients[i].gradient(y) + alpha * (y - w) - dual[i])
        dual[i] -= alpha * (y - w)
        moved += y - w
    h = h - alpha / len(clients) * moved
    return w + moved / len(cohort) - h / alpha, (h, dual)
