"""Clip21."""

from typing import Any

import numpy as np


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, gamma: float, tau: float, sigma: float) -> Any:
    if state is None:
        state = {"memory": np.zeros((len(clients), len(w))), "v": np.zeros(len(w))}
    memory = state["memory"].copy()
    total = np.zeros(len(w))
    for i, client in enumerate(clients):
        missing = client.gradient(w) - memory[i]
        delta = missing * min(1.0, tau / max(float(np.linalg.norm(missing)), 1e-300))
        memory[i] = memory[i] + delta
        total = total + delta + rng.normal(0.0, sigma, len(w))
    v = state["v"] + total / len(clients)
    return w - gamma * v, {"memory": memory, "v": v}
