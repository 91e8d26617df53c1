"""One round of DP-FedAvg, as a user might write it: the server adds the noise.

dpfl-theory conform examples/rounds/dp_fedavg.py:one_round --as dp-fedavg

The named arguments after the generator are varied: here step sizes, local steps, threshold, multiplier.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def one_round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    server_lr: float,
    local_steps: int,
    clip_norm: float,
    noise_multiplier: float,
    cohort_size: float,
) -> Any:
    total = np.zeros_like(w)
    for i in cohort:  # the numbers of the clients that take part
        y = w.copy()
        for _ in range(local_steps):
            y -= lr * clients[i].gradient(y)
        update = (w - y) / lr
        total += update * min(1.0, clip_norm / np.linalg.norm(update))
    total += rng.normal(0.0, noise_multiplier * clip_norm, size=w.shape)
    return w - server_lr * total / cohort_size, state
