"""DP-FedAvg whose noise comes from a generator that is made from the round's own."""

from typing import Any

import numpy as np


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
    r: float,
    sigma: float,
) -> Any:
    generator = np.random.default_rng(rng.integers(2**63))
    total = np.zeros_like(w)
    for i in cohort:
        y = w
        for _ in range(E):
            y = y - eta * clients[i].gradient(y)
        u = (w - y) / eta
        total += u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300))
    return w - beta * (total / r + generator.normal(0.0, sigma, w.shape)), state
