"""Softmax (multinomial logistic) regression, with and without ridge, on synthetic and real data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError
from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.partition import partition as split
from dpfl_theory.problems.synthetic import synthetic_classes

__all__ = ["EXAMPLES", "FAMILIES", "from_data", "softmax_data", "softmax_synthetic"]


def from_data(
    dataset: Dataset, clients: Sequence[NDArray[np.int64]], ridge: float = 0.0, name: str = "softmax"
) -> LinearModel:
    """Softmax regression on a data set; clients: each client's record numbers (see ``partition``).

    >>> data = Dataset("three", np.ones((3, 1)), np.array([0.0, 1.0, 2.0]), 3)
    >>> round(from_data(data, [np.arange(3)]).constants.f_star, 12)  # log 3
    1.098612288668
    """
    if dataset.classes < 2:
        raise InputError(f"data set {dataset.name!r} has no class labels: use a least-squares or Huber family")
    data = linear_data(dataset.x, dataset.y, clients, "softmax", ridge=ridge, classes=dataset.classes)
    return LinearModel(data, name)


def softmax_synthetic(
    clients: p.Clients = 10,
    dimension: p.Dimension = 5,
    records: p.Records = 40,
    classes: p.Classes = 3,
    ridge: p.Ridge = 0.0,
    label_noise: p.LabelNoise = 0.2,
    heterogeneity: p.Heterogeneity = 0.5,
    seed: p.Seed = 0,
) -> LinearModel:
    """Synthetic softmax regression with ``loss(z, y) = log sum_c exp(z_c) - z_y`` at the logits ``z = W x_j``.

    Labels are the largest logits under ``W_0 + heterogeneity * Z_i``, replaced by another class with probability
    label_noise. Without ridge a minimiser is never unique (adding one vector to all classes changes nothing); w_star is
    the one whose classes sum to zero. d = classes * dimension.

    Raises InputError for counts that are not whole or too small, a label_noise outside [0, 1], a negative ridge.

    >>> problem = softmax_synthetic(clients=3, dimension=2, records=20)
    >>> problem.d, problem.constants.unique
    (6, False)
    """
    x, y, parts = synthetic_classes(clients, dimension, records, classes, heterogeneity, label_noise, seed)
    data = linear_data(x, y, parts, "softmax", ridge=ridge, classes=classes)
    return LinearModel(data, "softmax-synthetic")


def softmax_data(
    data: p.Data = "digits",
    clients: p.Clients = 10,
    partition: p.Partition = "iid",
    shards_per_client: p.ShardsPerClient = 5,
    percent: p.Percent = 10.0,
    ridge: p.Ridge = 0.0,
    features: p.Columns = None,
    label_noise: p.LabelNoise = 0.0,
    standardise: p.Standardise = True,
    bias: p.Bias = True,
    row_norm: p.RowNorm = None,
    seed: p.Seed = 0,
) -> LinearModel:
    """Softmax regression on real data: ``digits``, ``breast-cancer``, or a LIBSVM or NPZ file.

    das2022 Appendix H has the partition ``shards``.

    >>> softmax_data(clients=5, features=3).d
    40
    """
    found = load(
        data,
        standardise=standardise,
        bias=bias,
        row_norm=row_norm,
        features=features,
        label_noise=label_noise,
        seed=seed,
    )
    parts = split(partition, found.y, clients, seed, shards_per_client, percent)
    return from_data(found, parts, ridge, f"softmax on {found.name}")


FAMILIES: dict[str, Callable[..., Problem]] = {
    "softmax-synthetic": softmax_synthetic,
    "softmax-data": softmax_data,
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "softmax-synthetic": [
        {"clients": 3, "dimension": 2, "records": 14},
        {"clients": 3, "dimension": 3, "records": 30, "label_noise": 0.4},
        {"clients": 2, "dimension": 3, "records": 5, "ridge": 0.05, "classes": 4},
    ],
    "softmax-data": [{"clients": 8, "features": 2, "ridge": 0.01}],
}
