"""SCAFFOLD with an object for the control variates."""

from typing import Any

import numpy as np


class Controls:
    def __init__(self, n: int, d: int) -> None:
        self.c = np.zeros(d)
        self.c_i = np.zeros((n, d))


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: float, eta_g: float, K: int) -> Any:
    if state is None:
        state = Controls(len(clients), len(w))
    delta_y = np.zeros_like(w)
    delta_c = np.zeros_like(w)
    for i in cohort:
        c_i = state.c_i[i].copy()
        y = w.copy()
        for _ in range(K):
            y = y - eta_l * (clients[i].gradient(y) - c_i + state.c)
        c_plus = c_i - state.c + (w - y) / (K * eta_l)
        state.c_i[i] = c_plus
        delta_y += y - w
        delta_c += c_plus - c_i
    w = w + eta_g * delta_y / len(cohort)
    state.c = state.c + delta_c / len(clients)
    return w, state
