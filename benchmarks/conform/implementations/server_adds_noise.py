"""DP-FedAvg on stacked updates, with noise by the server from NumPy's global generator."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    learning_rate: float,
    server_lr: float,
    local_steps: int,
    clip_norm: float,
    z: float,
    cohort_size: float,
) -> Any:
    points = np.tile(w, (len(cohort), 1))
    for _ in range(local_steps):
        gradients = [clients[i].gradient(y) for i, y in zip(cohort, points)]
        points = points - learning_rate * np.array(gradients).reshape(points.shape)
    updates = (w - points) / learning_rate
    lengths = np.linalg.norm(updates, axis=1, keepdims=True)
    factors = np.minimum(1.0, clip_norm / np.maximum(lengths, 1e-300))
    total = (updates * factors).sum(axis=0)
    noise = z * clip_norm * np.random.randn(len(w))  # noqa: NPY002
    return w - server_lr * (total + noise) / cohort_size, None
