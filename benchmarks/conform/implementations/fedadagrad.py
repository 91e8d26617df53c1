"""FedAdagrad with beta_1 = 0 and full gradients."""

from typing import Any

import numpy as np


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    server_lr: float,
    epochs: int,
    tau: float,
) -> Any:
    v = np.full_like(w, tau**2) if state is None else state
    total = np.zeros_like(w)
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            y -= lr * clients[i].gradient(y)
        total += y - w
    delta = 0.0 + total / len(cohort)
    v = v + delta**2
    return w + server_lr * delta / (np.sqrt(v) + tau), v
