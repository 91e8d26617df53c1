"""The same records dense and as CSR, and faults planted into the CSR records that the kernels see."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.linear_model import LinearModel, linear_data

SIZES = (4, 1, 7)
LOSSES = ("squared", "huber", "logistic", "softmax")


def pair(
    loss: str, ridge: float = 0.0, features: int = 9, sizes: tuple[int, ...] = SIZES, seed: int = 0, share: float = 0.4
) -> tuple[LinearModel, LinearModel]:
    """Clients whose records share columns and lack others, the last column a bias: dense, and as CSR."""
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    x = rng.standard_normal((total, features)) * (rng.random((total, features)) < share)
    x[:, -1] = 1.0
    x[:, 1] = 0.0  # a column that no client has
    parts = np.split(rng.permutation(total), np.cumsum(sizes)[:-1])
    labels = {"softmax": rng.integers(0, 3, total), "logistic": rng.choice([-1.0, 1.0], total)}
    y = labels.get(loss, rng.standard_normal(total))
    classes = 3 if loss == "softmax" else 1
    dense, thin = (
        LinearModel(linear_data(form, y, parts, loss, threshold=0.4, ridge=ridge, classes=classes), "records")
        for form in (x, csr_array(x))
    )
    return dense, thin


def _wrong_rows(data: LinearData) -> Any:
    """Each record is replaced by the next one."""
    return data.x[np.roll(np.arange(len(data.y)), -1)]


def _forgotten_offset(data: LinearData) -> Any:
    """Every client's records are taken from the first client's on."""
    sizes = np.diff(data.offsets)
    return data.x[np.concatenate([np.arange(m) for m in sizes])]


def _lost_bias(data: LinearData) -> Any:
    """The last column is gone."""
    x = data.x.copy()
    x.data[x.indices == x.shape[1] - 1] = 0.0
    return x


def _wrong_column(data: LinearData) -> Any:
    """An entry is one column too far to the left, where possible."""
    x = data.x.copy()
    x.indices = np.maximum(x.indices - 1, 0)
    return x


FAULTS: dict[str, Callable[[LinearData], Any]] = {
    "wrong rows": _wrong_rows,
    "a client's offset forgotten": _forgotten_offset,
    "the bias lost": _lost_bias,
    "a column too far to the left": _wrong_column,
}


def faulty(problem: LinearModel, fault: str) -> LinearModel:
    """The problem, with CSR records as kernels see them that have the fault; its constants stay."""
    data = problem.data
    return LinearModel(dataclasses.replace(data, x=FAULTS[fault](data)), problem.name)
