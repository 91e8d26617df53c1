"""Least squares and Huber regression, on synthetic and real data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import load
from dpfl_theory.problems.linear_model import LinearModel, from_dataset, linear_data
from dpfl_theory.problems.partition import partition as split
from dpfl_theory.problems.synthetic import synthetic_regression
from dpfl_theory.problems.validation import vector


def least_squares(
    clients: p.Clients = 10,
    dimension: p.Dimension = 5,
    records: p.Records = 20,
    heterogeneity: p.Heterogeneity = 1.0,
    noise: p.Noise = 0.0,
    ridge: p.Ridge = 0.0,
    seed: p.Seed = 0,
) -> LinearModel:
    """Synthetic least squares: ``f_i(w) = (1/2m) sum_j (x_j^T w - y_j)^2 + (ridge/2)||w||^2``.

    ``y_j = x_j^T w_i + noise * N(0, 1)`` with ``w_i = w_0 + heterogeneity * z_i``; w_0 and z_i have N(0, 1) entries,
    x_j N(0, 1/dimension) ones. heterogeneity 0 (and noise 0, ridge 0) gives clients that share the minimiser w_0.
    Fewer records than ``dimension`` make every client over-parameterised (mu_i = 0).

    Raises InputError for counts that are not whole or below one, negative heterogeneity, noise or ridge.

    >>> problem = least_squares(clients=3, dimension=4, records=2, heterogeneity=0.0)
    >>> problem.constants.interpolates, problem.constants.mu_min
    (True, 0.0)
    """
    x, y, parts = synthetic_regression(clients, dimension, records, heterogeneity, noise, seed)
    return LinearModel(linear_data(x, y, parts, "squared", ridge=ridge), "least-squares")


def least_squares_data(
    data: p.Data = "diabetes",
    clients: p.Clients = 10,
    partition: p.Partition = "iid",
    ridge: p.Ridge = 0.0,
    bias: p.Bias = True,
    row_norm: p.RowNorm = None,
    seed: p.Seed = 0,
) -> LinearModel:
    """Least squares on real data: ``diabetes`` or a LIBSVM or NPZ file; targets are standardised.

    >>> least_squares_data(clients=5).d
    11
    """
    found = load(data, bias=bias, row_norm=row_norm, regression=True)
    parts = split(partition, found.y, clients, seed)
    return from_dataset(found, parts, "squared", ridge=ridge, name=f"least squares on {found.name}")


def huber_regression(
    clients: p.Clients = 10,
    dimension: p.Dimension = 5,
    records: p.Records = 20,
    threshold: p.Threshold = 1.0,
    heterogeneity: p.Heterogeneity = 1.0,
    noise: p.Noise = 0.0,
    ridge: p.Ridge = 0.0,
    seed: p.Seed = 0,
) -> LinearModel:
    """Synthetic Huber regression: ``f_i(w) = (1/m) sum_j huber(x_j^T w - y_j) + (ridge/2)||w||^2``.

    ``y_j = x_j^T w_i + noise * N(0, 1)`` with ``w_i = w_0 + heterogeneity * z_i``; w_0 and z_i have N(0, 1) entries,
    x_j N(0, 1/dimension) ones. heterogeneity 0 (and noise 0, ridge 0) gives clients that share the minimiser w_0:
    interpolation, every Delta_i* is 0.

    Raises InputError for counts that are not whole or below one, thresholds <= 0, negative heterogeneity, noise or
    ridge.

    >>> problem = huber_regression(clients=3, dimension=2, records=4, heterogeneity=0.0)
    >>> problem.constants.interpolates, problem.n, problem.d
    (True, 3, 2)
    """
    x, y, parts = synthetic_regression(clients, dimension, records, heterogeneity, noise, seed)
    return LinearModel(linear_data(x, y, parts, "huber", threshold=threshold, ridge=ridge), "huber")


def huber_scalar(
    minimisers: Annotated[Sequence[float], Meaning("the c_i", "X")] = (0.0, 1.0, 5.0),
    thresholds: Annotated[Sequence[float], Meaning("the t_i > 0, one for each client", "X")] = (1.0, 1.0, 1.0),
) -> LinearModel:
    """One-dimensional Huber clients ``f_i(w) = huber_{t_i}(w - c_i)``: L_i = 1, G_i = t_i, inf f_i = 0.

    >>> huber_scalar([0.0, 3.0], [1.0, 1.0]).constants.f_star  # flat between 1 and 2
    1.0
    """
    c = vector("minimisers", minimisers)
    t = vector("thresholds", thresholds, len(c))
    parts = [np.array([i]) for i in range(len(c))]
    return LinearModel(linear_data(np.ones((len(c), 1)), c, parts, "huber", threshold=t), "huber-scalar")


def huber_planes(
    rows: Annotated[Sequence[Sequence[float]], Meaning("the x_i, (n, d)")] = ((1.0, 0.0), (0.0, 1.0)),
    thresholds: Annotated[Sequence[float], Meaning("the t_i > 0, one for each client", "unit of x^T w")] = (1.0, 1.0),
) -> LinearModel:
    """One record for each client, ``f_i(w) = huber_{t_i}(x_i^T w)``: every f_i is 0 on a plane through the origin.

    All share the minimiser 0.

    >>> problem = huber_planes([[1.0, 0.0], [-0.6, 0.8]], [1.0, 0.5])
    >>> problem.constants.interpolates, problem.constants.G_i
    (True, array([1. , 0.5]))
    """
    x = np.array([vector("a row", row) for row in rows])
    t = vector("thresholds", thresholds, len(x))
    parts = [np.array([i]) for i in range(len(x))]
    return LinearModel(linear_data(x, np.zeros(len(x)), parts, "huber", threshold=t), "huber-planes")


def huber_data(
    data: p.Data = "diabetes",
    clients: p.Clients = 10,
    partition: p.Partition = "iid",
    threshold: p.Threshold = 1.0,
    ridge: p.Ridge = 0.0,
    bias: p.Bias = True,
    row_norm: p.RowNorm = None,
    seed: p.Seed = 0,
) -> LinearModel:
    """Huber regression on real data: ``diabetes`` or a LIBSVM or NPZ file; targets are standardised.

    >>> huber_data(clients=5).d
    11
    """
    found = load(data, bias=bias, row_norm=row_norm, regression=True)
    parts = split(partition, found.y, clients, seed)
    return from_dataset(found, parts, "huber", threshold=threshold, ridge=ridge, name=f"huber on {found.name}")


FAMILIES: dict[str, Callable[..., Problem]] = {
    "least-squares": least_squares,
    "least-squares-data": least_squares_data,
    "huber": huber_regression,
    "huber-scalar": huber_scalar,
    "huber-planes": huber_planes,
    "huber-data": huber_data,
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "least-squares": [
        {"clients": 4, "dimension": 3, "records": 6, "noise": 0.3},
        {"clients": 3, "dimension": 5, "records": 2, "heterogeneity": 0.0},
        {"clients": 2, "dimension": 6, "records": 2},
        {"clients": 3, "dimension": 4, "records": 3, "noise": 0.3, "ridge": 0.05},
    ],
    "least-squares-data": [{"clients": 4, "row_norm": 1.0}],
    "huber": [
        {"clients": 4, "dimension": 3, "records": 6, "threshold": [0.2, 0.5, 1.0, 3.0], "noise": 0.5},
        {"clients": 3, "dimension": 4, "records": 3, "heterogeneity": 0.0},
        {"clients": 3, "dimension": 3, "records": 5, "threshold": 0.1, "heterogeneity": 2.0, "ridge": 0.1},
    ],
    "huber-scalar": [
        {"minimisers": [-10.0, 10.0], "thresholds": [1.0, 1.0]},
        {"minimisers": [0.0, 1.0, 5.0, -3.0], "thresholds": [1.0, 0.5, 2.0, 0.3]},
    ],
    "huber-planes": [{"rows": [[1.0, 0.5], [-0.9, 0.4], [0.2, 2.0]], "thresholds": [1.0, 0.1, 3.0]}],
    "huber-data": [{"clients": 4, "threshold": 0.5}],
}
