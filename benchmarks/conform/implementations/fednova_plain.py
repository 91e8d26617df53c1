"""FedNova without momentum, in differences per step."""

from typing import Any

import numpy as np


def round(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, local_epochs: int, batch_size: int
) -> Any:
    sizes = {i: len(clients[i]) for i in cohort}
    total = sum(sizes.values())
    tau_eff, change = 0.0, np.zeros_like(w)
    for i in cohort:
        y, tau = w.copy(), 0
        for _ in range(local_epochs):
            for batch in np.array_split(rng.permutation(sizes[i]), range(batch_size, sizes[i], batch_size)):
                y -= lr * clients[i].gradient(y, batch)
                tau += 1
        tau_eff += tau * sizes[i] / total
        change += sizes[i] / total * (y - w) / tau
    return w + tau_eff * change, state
