"""DP-FedAvg that computes in single precision and returns its parameters in double."""

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
    start = w.astype(np.float32)
    total = np.zeros_like(start)
    for i in cohort:
        y = start.copy()
        for _ in range(E):
            y -= np.float32(eta) * clients[i].gradient(y).astype(np.float32)
        u = (start - y) / np.float32(eta)
        total += u * np.float32(min(1.0, C / max(float(np.linalg.norm(u)), 1e-30)))
    step = total / np.float32(r) + rng.normal(0.0, sigma, len(w)).astype(np.float32)
    return (start - np.float32(beta) * step).astype(np.float64), state
