"""SCAFFOLD whose state is a frozen dataclass."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Controls:
    server: Any
    clients: Any


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: float, eta_g: float, K: int) -> Any:
    controls = state or Controls(np.zeros_like(w), tuple(np.zeros_like(w) for _ in clients))
    own, step, change = list(controls.clients), np.zeros_like(w), np.zeros_like(w)
    for i in cohort:
        y = w
        for _ in range(K):
            y = y - eta_l * (clients[i].gradient(y) - own[i] + controls.server)
        new = own[i] - controls.server + (w - y) / (K * eta_l)
        change += (new - own[i]) / len(clients)
        step += (y - w) / len(cohort)
        own[i] = new
    return w + eta_g * step, replace(controls, server=controls.server + change, clients=tuple(own))
