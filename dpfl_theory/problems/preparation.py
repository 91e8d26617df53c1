"""Features before training: columns standardised, chosen, extended by a bias, and rows of bounded length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array
from dpfl_theory.problems.files._records import NEARLY
from dpfl_theory.problems.sparse import lengths, unit_rows
from dpfl_theory.problems.validation import count, positive


def prepared(
    x: Any, standardise: bool, features: int | Sequence[int] | None, bias: bool, row_norm: float | None
) -> Any:
    """The features (N, d0), prepared as described in `dpfl_theory.problems.data.load`; CSR stays CSR.

    >>> prepared(np.array([[1.0], [3.0]]), True, None, True, None).tolist()
    [[-1.0, 1.0], [1.0, 1.0]]
    """
    ones = np.ones((x.shape[0], 1))
    if isinstance(x, np.ndarray):
        x = _columns(standardised(x, bias=False) if standardise else x, features)
        x = np.hstack([x, ones]) if bias else x
    else:
        x = _columns(_scaled(x) if standardise else x, features)
        x = sparse.csr_array(sparse.hstack([x, sparse.csr_array(ones)])) if bias else x
    if row_norm is not None:
        longest = float(np.max(lengths(x)))
        x = x * (positive("row_norm", row_norm) / (longest if longest > 0.0 else 1.0))
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x


def _scaled(x: Any) -> Any:
    """Columns of CSR features divided by the root of their mean square: shifting them would make them dense."""
    size = np.sqrt(np.asarray(x.multiply(x).mean(axis=0)).ravel())
    return sparse.csr_array(x @ sparse.diags_array(1.0 / np.where(size > 0.0, size, 1.0)))


def _columns(x: Any, features: int | Sequence[int] | None) -> Any:
    """The first principal components (a number) or the listed columns; of CSR features only listed ones."""
    if features is None:
        return x
    if isinstance(features, (list, tuple)):
        return x[:, _listed(features, x.shape[1])]
    if not isinstance(x, np.ndarray):
        raise InputError(
            f"features is {features}: principal components are not sparse; list columns, or give fewer data"
        )
    most = count("features", features)
    if most > min(x.shape):
        raise InputError(f"features is {most}: the data have only {min(x.shape)} principal components")
    centred = x - x.mean(axis=0)
    _, _, vt = np.linalg.svd(centred, full_matrices=False)
    # The sign of a singular vector is arbitrary; the largest entry is made positive so that every machine agrees.
    lead = vt[np.arange(most), np.argmax(np.abs(vt[:most]), axis=1)]
    return np.asarray(centred @ (vt[:most] * np.sign(lead)[:, None]).T)


def _listed(features: Sequence[int], columns: int) -> list[int]:
    if not features:
        raise InputError("features is an empty list: name at least one column")
    chosen = [count("a column in features", k, 0) for k in features]
    if max(chosen) >= columns:
        raise InputError(f"features names column {max(chosen)}: the data have columns 0 to {columns - 1}")
    return chosen


def standardised(x: Array, training: NDArray[np.int64] | None = None, unit: bool = False, bias: bool = True) -> Array:
    """Columns with mean 0 and deviation 1 over the training rows, by default all (constant ones 0), then a column of
    ones (bias).

    unit: scale every row to length 1 before the ones are appended; a row that is zero stays zero.

    >>> standardised(np.array([[1.0], [3.0], [7.0]]), np.array([0, 1]))[:, 0].tolist()
    [-1.0, 1.0, 5.0]
    """
    rows = x if training is None else x[training]
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    constant = spread <= NEARLY * np.max(np.abs(rows), axis=0, initial=0.0)
    x = np.where(constant, 0.0, x - mean)
    x /= np.where(constant, 1.0, spread)
    x = unit_rows(x) if unit else x
    return np.hstack([x, np.ones((len(x), 1))]) if bias else x
