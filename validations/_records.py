"""Records of a classification data set for the validations: held-out parts, and features prepared by training records
alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.problems.base import Array

Rows = NDArray[np.int64]


def parted(count: int, sizes: Sequence[int], seed: Any) -> list[Rows]:
    """The record numbers 0..count-1 in random order, cut into parts of these sizes; what is left over is left out."""
    order = np.random.default_rng(seed).permutation(count)
    return list(np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1]))


def standardised(x: Array, train: Rows, unit: bool = False) -> Array:
    """Features with mean 0 and deviation 1 over the training records (constant ones 0), then a column of ones.

    unit: scale every record's features to length 1 before the ones are appended.
    """
    mean, spread = x[train].mean(axis=0), x[train].std(axis=0)
    constant = spread <= 1e-12 * np.max(np.abs(x[train]), axis=0, initial=0.0)
    scaled = np.where(constant, 0.0, x - mean) / np.where(constant, 1.0, spread)
    if unit:
        length = np.linalg.norm(scaled, axis=1, keepdims=True)
        scaled = scaled / np.where(length > 0.0, length, 1.0)
    return np.hstack([scaled, np.ones((len(x), 1))])
