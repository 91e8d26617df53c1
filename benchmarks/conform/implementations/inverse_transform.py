"""DP-FedAvg whose Gaussian noise is made from uniform numbers by the inverse distribution function."""

from typing import Any

import numpy as np
from scipy.special import ndtri


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
    noise = sigma * ndtri(rng.random(len(w)))
    return w - beta * (total / r + noise), state
