"""DP-NormFedAvg."""

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
    step = np.zeros_like(w)
    for i in cohort:
        y = w
        for _ in range(E):
            y = y - eta * clients[i].gradient(y)
        u = (w - y) / eta
        norm = np.linalg.norm(u)
        step += C * u / norm if norm > 0 else 0.0
    step = step / r
    step = step + rng.normal(0.0, sigma, size=len(w))
    return w - beta * step, state
