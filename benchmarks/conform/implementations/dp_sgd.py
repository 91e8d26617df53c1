"""DP-SGD as libraries do it: a Poisson lot of the records of all clients, clipped, noise on the sum, expected size."""

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
    max_grad_norm: float,
    noise_multiplier: float,
    sample_rate: float,
) -> Any:
    expected_batch_size = sample_rate * sum(len(client) for client in clients)
    summed, lot = np.zeros_like(w), 0
    for client in clients:
        chosen = np.flatnonzero(rng.random(len(client)) < sample_rate)
        lot += len(chosen)
        for g in client.record_gradients(w, chosen):
            summed += g * min(1.0, max_grad_norm / (np.linalg.norm(g) + 1e-12))
    noise = rng.normal(0.0, noise_multiplier * max_grad_norm, size=w.shape)
    return w - lr * (summed + noise) / expected_batch_size, None
