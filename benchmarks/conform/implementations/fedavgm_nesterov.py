"""FedAvgM with Nesterov's steps, as an optimizer on pseudo-gradients."""

from typing import Any

import numpy as np


class SGD:
    def __init__(self, lr: float, momentum: float) -> None:
        self.lr, self.momentum = lr, momentum
        self.buffer: Any = None

    def step(self, w: Any, gradient: Any) -> Any:
        self.buffer = gradient if self.buffer is None else self.momentum * self.buffer + gradient
        return w - self.lr * (gradient + self.momentum * self.buffer)


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    server_lr: float,
    local_epochs: int,
    server_momentum: float,
) -> Any:
    optimizer = SGD(server_lr, server_momentum) if state is None else state
    ends = []
    for i in cohort:
        y = w.copy()
        for _ in range(local_epochs):
            y -= lr * clients[i].gradient(y)
        ends.append(y)
    weights = np.array([len(clients[i]) for i in cohort], dtype=float)
    weights /= weights.sum()
    return optimizer.step(w, weights @ (w - np.array(ends))), optimizer
