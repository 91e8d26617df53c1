"""FedAvg of McMahan et al. 2017 on parameters by name, with full gradients: the weighted mean of the models."""

from typing import Any

import numpy as np


def weighted_mean(models: Any, sizes: Any) -> Any:
    total = float(sum(sizes))
    mean = {name: np.zeros_like(value) for name, value in models[0].items()}
    for model, size in zip(models, sizes):
        for name in mean:
            mean[name] += size / total * model[name]
    return mean


def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, local_epochs: int) -> Any:
    models, sizes = [], []
    for i in cohort:
        model = {"first": w[:2].copy(), "second": w[2:].copy()}
        for _ in range(local_epochs):
            g = clients[i].gradient(np.concatenate(list(model.values())))
            model["first"] -= lr * g[:2]
            model["second"] -= lr * g[2:]
        models.append(model)
        sizes.append(len(clients[i]))
    mean = weighted_mean(models, sizes)
    return np.concatenate([mean["first"], mean["second"]]), state
