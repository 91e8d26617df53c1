"""DP-FedAvg, client by client, each of which adds its own noise."""

from typing import Any

import numpy as np


def local_training(client: Any, w: Any, eta: float, epochs: int) -> Any:
    y = w.copy()
    for _ in range(epochs):
        y -= eta * client.gradient(y)
    return (w - y) / eta


def clip(update: Any, C: float) -> Any:
    norm = np.linalg.norm(update)
    return update * min(1.0, C / norm) if norm > 0 else update


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    eta: float,
    beta: float,
    E: int,
    C: float,
    noise_multiplier: float,
    r: float,
) -> Any:
    messages = []
    for i in cohort:
        update = local_training(clients[i], w, eta, E)
        noise = rng.normal(0.0, noise_multiplier * C / np.sqrt(r), size=w.shape)
        messages.append(clip(update, C) + noise)
    average = np.sum(messages, axis=0) / r if messages else np.zeros_like(w)
    return w - beta * average, state
