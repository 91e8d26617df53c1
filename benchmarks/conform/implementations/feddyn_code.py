"""FedDyn in sums of differences, with batches and alpha by numbers of records, as its authors implement it."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    learning_rate: float,
    epochs: int,
    batch_size: int,
    alpha_coef: float,
) -> Any:
    own = np.zeros((len(clients), len(w))) if state is None else state
    weights = np.array([len(client) for client in clients], dtype=float)
    weights = weights / np.sum(weights) * len(clients)
    ends = []
    for i in cohort:
        y, alpha = w.copy(), alpha_coef / weights[i]
        for _ in range(epochs):
            order = rng.permutation(len(clients[i]))
            for first in range(0, len(order), batch_size):
                g = clients[i].gradient(y, order[first : first + batch_size])
                y = y - learning_rate * (g + alpha * (y - w + own[i]))
        own[i] += y - w
        ends.append(y)
    return np.mean(ends, axis=0) + np.mean(own, axis=0), own
