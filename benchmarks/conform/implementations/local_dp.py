"""FedAvg with local differential privacy: messages are clipped and get their noise on the clients."""

from typing import Any

import numpy as np


def message(client: Any, w: Any, rng: Any, lr: float, epochs: int, max_norm: float, noise_multiplier: float) -> Any:
    y = w.copy()
    for _ in range(epochs):
        y -= lr * client.gradient(y)
    update = y - w
    update = update / max(1.0, np.linalg.norm(update) / max_norm)
    return update + rng.normal(0.0, noise_multiplier * max_norm, w.shape)


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    lr: float,
    epochs: int,
    max_norm: float,
    noise_multiplier: float,
    cohort_size: float,
) -> Any:
    sent = [message(clients[i], w, rng, lr, epochs, max_norm, noise_multiplier) for i in cohort]
    return w + np.mean(sent, axis=0), state
