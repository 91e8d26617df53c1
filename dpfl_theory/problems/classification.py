"""Logistic and softmax regression, with and without ridge, on synthetic and real data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import load
from dpfl_theory.problems.linear_model import LinearModel, from_dataset, linear_data
from dpfl_theory.problems.partition import partition as split
from dpfl_theory.problems.synthetic import synthetic_classes


def logistic_synthetic(
    clients: p.Clients = 10,
    dimension: p.Dimension = 5,
    records: p.Records = 30,
    ridge: p.Ridge = 0.0,
    label_noise: p.LabelNoise = 0.15,
    heterogeneity: p.Heterogeneity = 0.5,
    seed: p.Seed = 0,
) -> LinearModel:
    """Synthetic logistic regression: ``f_i(w) = (1/m) sum_j log(1 + exp(-y_j x_j^T w)) + (ridge/2)||w||^2``.

    Labels are the signs of ``x_j^T w_i``, ``w_i = w_0 + heterogeneity * z_i``, flipped with probability label_noise. So
    the records of all clients together are not separable when there are many more than parameters (constants say
    whether they are); clients with few records may well be.

    Raises InputError for counts that are not whole or below one, a label_noise outside [0, 1], a negative ridge.

    >>> problem = logistic_synthetic(clients=4, dimension=2, records=20)
    >>> problem.constants.w_star is not None, problem.constants.G_max <= problem.constants.G_record
    (True, True)
    """
    x, y, parts = synthetic_classes(clients, dimension, records, 2, heterogeneity, label_noise, seed)
    return LinearModel(linear_data(x, 2.0 * y - 1.0, parts, "logistic", ridge=ridge), "logistic-synthetic")


def logistic_data(
    data: p.Data = "breast-cancer",
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
    """Logistic regression on real data: ``breast-cancer`` or a LIBSVM or NPZ file with two labels.

    label_noise makes data that a hyperplane separates non-separable, so that a minimiser exists without ridge.

    >>> logistic_data(clients=5, features=3, label_noise=0.1).d
    4
    """
    found = load(
        data,
        features=features,
        label_noise=label_noise,
        standardise=standardise,
        bias=bias,
        row_norm=row_norm,
        seed=seed,
    )
    parts = split(partition, found.y, clients, seed, shards_per_client, percent)
    return from_dataset(found, parts, "logistic", ridge=ridge, name=f"logistic on {found.name}")


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
        features=features,
        label_noise=label_noise,
        standardise=standardise,
        bias=bias,
        row_norm=row_norm,
        seed=seed,
    )
    parts = split(partition, found.y, clients, seed, shards_per_client, percent)
    return from_dataset(found, parts, "softmax", ridge=ridge, name=f"softmax on {found.name}")


FAMILIES: dict[str, Callable[..., Problem]] = {
    "logistic-synthetic": logistic_synthetic,
    "logistic-data": logistic_data,
    "softmax-synthetic": softmax_synthetic,
    "softmax-data": softmax_data,
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "logistic-synthetic": [
        {"clients": 4, "dimension": 3, "records": 12},
        {"clients": 3, "dimension": 2, "records": 25, "label_noise": 0.3},
        {"clients": 2, "dimension": 4, "records": 5, "label_noise": 0.0, "heterogeneity": 0.0},
        {"clients": 3, "dimension": 4, "records": 6, "ridge": 0.05},
    ],
    "logistic-data": [
        {"clients": 5, "features": 4, "label_noise": 0.05},
        {"clients": 4, "features": [0, 1], "ridge": 0.01, "partition": "shards", "shards_per_client": 2},
    ],
    "softmax-synthetic": [
        {"clients": 3, "dimension": 2, "records": 14},
        {"clients": 3, "dimension": 3, "records": 30, "label_noise": 0.4},
        {"clients": 2, "dimension": 3, "records": 5, "ridge": 0.05, "classes": 4},
    ],
    "softmax-data": [{"clients": 8, "features": 2, "ridge": 0.01}],
}
