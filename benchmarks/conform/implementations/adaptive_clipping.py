"""DP-FedAvg with adaptive clipping as in Andrew et al. 2021, with server momentum; the state is a dictionary."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    client_lr: float,
    server_lr: float,
    server_momentum: float,
    epochs: int,
    initial_l2_norm_clip: float,
    target_unclipped_quantile: float,
    clip_lr: float,
    noise_multiplier: float,
    clipped_count_stddev: float,
    cohort_size: float,
) -> Any:
    if state is None:
        state = {"clip": initial_l2_norm_clip, "velocity": np.zeros_like(w)}
    clip = state["clip"]
    z_delta = (noise_multiplier**-2 - (2 * clipped_count_stddev) ** -2) ** -0.5
    total, below = np.zeros_like(w), 0
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            y = y - client_lr * clients[i].gradient(y)
        delta = y - w
        norm = np.linalg.norm(delta)
        below += norm <= clip
        total += delta * min(1.0, clip / norm) if norm > 0 else delta
    average = (total + rng.normal(0.0, z_delta * clip, w.shape)) / cohort_size
    velocity = server_momentum * state["velocity"] + average
    fraction = (below + rng.normal(0.0, clipped_count_stddev)) / cohort_size
    new = {"clip": clip * np.exp(-clip_lr * (fraction - target_unclipped_quantile)), "velocity": velocity}
    return w + server_lr * velocity, new
