"""DP-FedAvg whose clipping divides by the length plus 1e-6."""

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
    total = np.zeros_like(w)
    for i in cohort:
        y = w
        for _ in range(E):
            y = y - eta * clients[i].gradient(y)
        u = (w - y) / eta
        total += u * min(1.0, C / (float(np.linalg.norm(u)) + 1e-6))
    return w - beta * (total / r + rng.normal(0.0, sigma, len(w))), state
