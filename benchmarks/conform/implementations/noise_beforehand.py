"""DP-FedAvg that draws the noise of all rounds in the first one."""

from typing import Any

import numpy as np

ROUNDS = 50


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
    noise, k = (rng.normal(0.0, sigma, (ROUNDS, len(w))), 0) if state is None else state
    total = np.zeros_like(w)
    for i in cohort:
        y = w
        for _ in range(E):
            y = y - eta * clients[i].gradient(y)
        u = (w - y) / eta
        total += u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300))
    return w - beta * (total / r + noise[k]), (noise, k + 1)
