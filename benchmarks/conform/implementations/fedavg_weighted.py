"""FedAvg with weights by records, local epochs and batches, as most repositories have it."""

from typing import Any


def train(w: Any, client: Any, rng: Any, lr: float, epochs: int, batch_size: int) -> Any:
    y = w.copy()
    for _ in range(epochs):
        order = rng.permutation(len(client))
        for first in range(0, len(client), batch_size):
            y = y - lr * client.gradient(y, order[first : first + batch_size])
    return y


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
    batch_size: int,
) -> Any:
    sizes = [len(clients[i]) for i in cohort]
    ends = [train(w, clients[i], rng, lr, epochs, batch_size) for i in cohort]
    mean = sum(size * y for size, y in zip(sizes, ends)) / sum(sizes)
    return w + server_lr * (mean - w), state
