"""FedAvgM with full gradients; the state is the velocity."""

from typing import Any

import numpy as np


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
    momentum: float,
) -> Any:
    velocity = np.zeros_like(w) if state is None else state
    weights = [float(len(clients[i])) for i in cohort]
    delta = np.zeros_like(w)
    for weight, i in zip(weights, cohort):
        y = w.copy()
        for _ in range(epochs):
            y = y - lr * clients[i].gradient(y)
        delta += weight / sum(weights) * (y - w)
    velocity = momentum * velocity + delta
    return w + server_lr * velocity, velocity
