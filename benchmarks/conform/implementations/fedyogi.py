"""FedYogi on pseudo-gradients, with squares of the momentum and weights by records."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    eta_l: float,
    eta: float,
    local_epochs: int,
    b1: float,
    b2: float,
    epsilon: float,
) -> Any:
    state = {"m": 0.0 * w, "v": 0.0 * w + epsilon**2} if state is None else state
    records, total = 0, np.zeros_like(w)
    for i in cohort:
        y = w.copy()
        for _ in range(local_epochs):
            y -= eta_l * clients[i].gradient(y)
        total += len(clients[i]) * (w - y)
        records += len(clients[i])
    m = b1 * state["m"] + (1 - b1) * total / records
    square, v = m * m, state["v"]
    v = v - (1 - b2) * square * np.sign(v - square)
    return w - eta * m / (np.sqrt(v) + epsilon), {"m": m, "v": v}
