"""Two-sided FedAvg with difference clipping, hyper-parameters built in, cohorts of fixed size."""

from typing import Any

import numpy as np

ETA_L, ETA_G, Q, CLIP, SIGMA = 0.05, 1.2, 4, 0.5, 0.3


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any) -> Any:
    total = 0.0
    for i in cohort:
        x = w
        for _ in range(Q):
            x = x - ETA_L * clients[i].gradient(x)
        delta = x - w
        delta = delta / max(1.0, np.linalg.norm(delta) / CLIP)
        total = total + delta + SIGMA * rng.standard_normal(len(w))
    return w + ETA_G * total / len(cohort), state
