"""FedProx with batches and weights by records; the proximal term is a part of the loss, differentiated numerically."""

from typing import Any

import numpy as np


def slope(loss: Any, y: Any) -> Any:
    """The gradient of a quadratic function: central differences are exact but for rounding."""
    return np.array([(loss(y + e) - loss(y - e)) / 2 for e in np.eye(len(y))])


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    learning_rate: float,
    global_lr: float,
    local_epochs: int,
    batch_size: int,
    proximal_mu: float,
) -> Any:
    mu, total, records = proximal_mu, np.zeros_like(w), 0
    for i in cohort:
        size = len(clients[i])
        y = w.copy()
        for _ in range(local_epochs):
            for batch in np.array_split(rng.permutation(size), range(batch_size, size, batch_size)):
                term = slope(lambda x: mu / 2 * np.sum((x - w) ** 2), y)
                y = y - learning_rate * (clients[i].gradient(y, batch) + term)
        total += size * (y - w)
        records += size
    return w + global_lr * total / records, state
