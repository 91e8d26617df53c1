"""FedNova with local momentum, whose normalising numbers are counted along the local steps."""

from typing import Any

import numpy as np


def train(w: Any, client: Any, rng: Any, lr: float, epochs: int, batch_size: int, momentum: float) -> Any:
    y, buffer, counter, norm, tau = w.copy(), np.zeros_like(w), 0.0, 0.0, 0
    for _ in range(epochs):
        order = rng.permutation(len(client))
        for first in range(0, len(client), batch_size):
            buffer = momentum * buffer + client.gradient(y, order[first : first + batch_size])
            y = y - lr * buffer
            counter = momentum * counter + 1.0
            norm += counter
            tau += 1
    return (w - y) / (lr * norm), norm, tau


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    epochs: int,
    batch_size: int,
    momentum: float,
) -> Any:
    directions, norms, sizes = [], [], []
    for i in cohort:
        client = clients[i]
        d, norm, _tau = train(w, client, rng, lr, epochs, batch_size, momentum)
        directions.append(d)
        norms.append(norm)
        sizes.append(len(client))
    p = np.array(sizes) / np.sum(sizes)
    tau_eff = np.dot(p, norms)
    return w - tau_eff * lr * sum(a * d for a, d in zip(p, directions)), state
