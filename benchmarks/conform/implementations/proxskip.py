"""ScaffNew as ProxSkip: each iteration is a step, and with probability p the clients' points are averaged."""

from typing import Any

import numpy as np


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, gamma: float, p: float) -> Any:
    n = len(clients)
    x, h = (np.array([w] * n), np.zeros((n, len(w)))) if state is None else state
    ahead = np.array([x[i] - gamma * (clients[i].gradient(x[i]) - h[i]) for i in range(n)])
    if rng.random() < p:
        w = ahead.mean(axis=0)
        after = np.array([w] * n)
    else:
        after = ahead
    h = h + p / gamma * (after - ahead)
    return w, (after, h)
