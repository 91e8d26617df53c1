"""DP-SCAFFOLD, single records protected."""

from typing import Any

import numpy as np


def private_gradient(client: Any, y: Any, rng: Any, C: float, s: float, sigma_g: float) -> Any:
    size = int(s * len(client))
    batch = rng.choice(len(client), size, replace=False)
    gradients = client.record_gradients(y, batch)
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients / np.maximum(1.0, lengths / C)
    return clipped.mean(axis=0) + 2 * C * sigma_g / size * rng.standard_normal(len(y))


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    eta_l: float,
    eta_g: float,
    K: int,
    C: float,
    s: float,
    sigma_g: float,
) -> Any:
    c, own = (np.zeros(len(w)), np.zeros((len(clients), len(w)))) if state is None else state
    own = own.copy()
    model, control = np.zeros(len(w)), np.zeros(len(w))
    for i in cohort:
        y = w
        for _ in range(K):
            y = y - eta_l * (private_gradient(clients[i], y, rng, C, s, sigma_g) - own[i] + c)
        new = own[i] - c + (w - y) / (K * eta_l)
        model += y - w
        control += new - own[i]
        own[i] = new
    return w + eta_g * model / len(cohort), (c + control / len(clients), own)
