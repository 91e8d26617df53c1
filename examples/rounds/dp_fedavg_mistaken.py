"""The same round with three mistakes that are easy to make: which ones?

dpfl-theory conform examples/rounds/dp_fedavg_mistaken.py:one_round --as dp-fedavg

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
        total += np.clip(update, -clip_norm, clip_norm)
    total += rng.normal(0.0, noise_multiplier, size=w.shape)
    return w - server_lr * total / max(1, len(cohort)), state
