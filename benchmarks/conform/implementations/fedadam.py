"""FedAdam with batches; t counts rounds, and is not used."""

from typing import Any

import numpy as np


def train(w: Any, client: Any, rng: Any, lr: float, epochs: int, batch_size: int) -> Any:
    y = w.copy()
    for _ in range(epochs):
        order = rng.permutation(len(client))
        for first in range(0, len(client), batch_size):
            y = y - lr * client.gradient(y, order[first : first + batch_size])
    return y - w


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    server_lr: float,
    epochs: int,
    batch_size: int,
    beta_1: float,
    beta_2: float,
    tau: float,
) -> Any:
    m, v, t = (np.zeros_like(w), np.full_like(w, tau**2), 0) if state is None else state
    t = t + 1
    delta = np.mean([train(w, clients[i], rng, lr, epochs, batch_size) for i in cohort], axis=0)
    m = beta_1 * m + (1 - beta_1) * delta
    v = beta_2 * v + (1 - beta_2) * delta**2
    return w + server_lr * m / (np.sqrt(v) + tau), (m, v, t)
