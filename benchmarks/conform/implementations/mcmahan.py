"""DP-FedAvg of McMahan et al. 2018 with capped weights, layers clipped one by one, and a fixed denominator."""

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
    epochs: int,
    l2_norm_clip: float,
    noise_multiplier: float,
    weight_cap: float,
    cohort_size: float,
    layers: Any,
) -> Any:
    weights = np.array([min(len(client) / weight_cap, 1.0) for client in clients])
    q, W = cohort_size / len(clients), weights.sum()
    per_layer = l2_norm_clip / np.sqrt(len(layers))
    total = np.zeros_like(w)
    for k in cohort:
        y = w.copy()
        for _ in range(epochs):
            y = y - lr * clients[k].gradient(y)
        delta = y - w
        for layer in layers:
            norm = np.linalg.norm(delta[layer])
            delta[layer] *= min(1.0, per_layer / norm) if norm > 0 else 1.0
        total += weights[k] * delta
    sigma = noise_multiplier * l2_norm_clip / (q * W)
    return w + total / (q * W) + rng.normal(0.0, sigma, w.shape), state
