"""Huber regression: smooth, convex and globally Lipschitz clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.partition import partition as split
from dpfl_theory.problems.synthetic import synthetic_regression
from dpfl_theory.problems.validation import vector

__all__ = ["EXAMPLES", "FAMILIES", "from_data", "huber_data", "huber_planes", "huber_regression", "huber_scalar"]


def from_data(
    dataset: Dataset,
    clients: Sequence[NDArray[np.int64]],
    threshold: float | Sequence[float] = 1.0,
    ridge: float = 0.0,
    name: str = "huber",
) -> LinearModel:
    """Huber regression on a data set; clients: each client's record numbers (see ``partition``).

    threshold: where the loss turns linear [unit of y], one number or one for each client.

    >>> data = Dataset("two", np.ones((2, 1)), np.array([0.0, 8.0]), 1)
    >>> from_data(data, [np.array([0]), np.array([1])], threshold=[1.0, 2.0]).constants.G_i
    array([1., 2.])
    """
    return LinearModel(linear_data(dataset.x, dataset.y, clients, "huber", threshold=threshold, ridge=ridge), name)


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
    return from_data(found, parts, threshold, ridge, f"huber on {found.name}")


FAMILIES: dict[str, Callable[..., Problem]] = {
    "huber": huber_regression,
    "huber-scalar": huber_scalar,
    "huber-planes": huber_planes,
    "huber-data": huber_data,
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
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
