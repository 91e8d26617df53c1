"""FedDyn with h as the line reads without brackets: the sum of the ends, less w once."""

from typing import Any

import numpy as np


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, alpha: float) -> Any:
    h, gradients = (np.zeros_like(w), np.zeros((len(clients), len(w)))) if state is None else state
    ends = []
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            y = y - lr * (clients[i].gradient(y) - gradients[i] + alpha * (y - w))
        gradients[i] = gradients[i] - alpha * (y - w)
        ends.append(y)
    h = h - alpha / len(clients) * (sum(ends) - w)
    return sum(ends) / len(ends) - h / alpha, (h, gradients)
