"""DP-FedAvg whose Gaussian noise is made from pairs of uniform numbers (Box and Muller)."""

from typing import Any

import numpy as np


def gaussian(rng: Any, size: int) -> Any:
    radius = np.sqrt(-2.0 * np.log(1.0 - rng.random(size)))
    return radius * np.cos(2.0 * np.pi * rng.random(size))


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
    return w - beta * (total / r + sigma * gaussian(rng, len(w))), state
