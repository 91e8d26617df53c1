"""Least squares: quadratic clients given by records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.partition import partition as split
from dpfl_theory.problems.synthetic import synthetic_regression

__all__ = ["EXAMPLES", "FAMILIES", "from_data", "least_squares", "least_squares_data"]


def from_data(
    dataset: Dataset, clients: Sequence[NDArray[np.int64]], ridge: float = 0.0, name: str = "least-squares"
) -> LinearModel:
    """Least squares on a data set; clients: each client's record numbers (see ``partition``).

    >>> data = Dataset("two", np.ones((2, 1)), np.array([0.0, 8.0]), 1)
    >>> from_data(data, [np.array([0]), np.array([1])]).constants.w_star.round(12)
    array([4.])
    """
    return LinearModel(linear_data(dataset.x, dataset.y, clients, "squared", ridge=ridge), name)


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
    return from_data(found, parts, ridge, f"least squares on {found.name}")


FAMILIES: dict[str, Callable[..., Problem]] = {
    "least-squares": least_squares,
    "least-squares-data": least_squares_data,
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "least-squares": [
        {"clients": 4, "dimension": 3, "records": 6, "noise": 0.3},
        {"clients": 3, "dimension": 5, "records": 2, "heterogeneity": 0.0},
        {"clients": 2, "dimension": 6, "records": 2},
        {"clients": 3, "dimension": 4, "records": 3, "noise": 0.3, "ridge": 0.05},
    ],
    "least-squares-data": [{"clients": 4, "row_norm": 1.0}],
}
