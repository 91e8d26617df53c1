"""Features that may be dense or CSR: where each is faster, and the few sums in which the two differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from dpfl_theory.problems.base import Array

_DENSE = 1 << 24
_SHARE = 4


def is_sparse(x: Any) -> bool:
    """Whether features are a sparse matrix."""
    return bool(issparse(x))


def squares(x: Any) -> Array:
    """The squared lengths of the rows, dense or CSR.

    >>> from scipy.sparse import csr_array
    >>> squares(np.array([[3.0, 4.0]])).tolist(), squares(csr_array([[3.0, 4.0]])).tolist()
    ([25.0], [25.0])
    """
    return np.asarray(x.multiply(x).sum(axis=1)).ravel() if is_sparse(x) else np.asarray(np.sum(x**2, axis=1))


def lengths(x: Any) -> Array:
    """The lengths of the rows, dense or CSR.

    >>> lengths(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    return np.sqrt(squares(x)) if is_sparse(x) else np.asarray(np.linalg.norm(x, axis=1))


def unit_rows(x: Array) -> Array:
    """Dense rows of length one; zero rows stay."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0.0, length, 1.0))


def gathered(slopes: Array, x: Any) -> Array:
    """``sum_j slopes_j x_j``: slopes (m, classes) or (m,) and x (m, d0) -> (classes, d0) or (d0,).

    >>> gathered(np.array([1.0, 2.0]), np.eye(2)).tolist()
    [1.0, 2.0]
    """
    return np.asarray((x.T @ slopes).T if is_sparse(x) else slopes.T @ x)


def scaled(x: Any, factors: Array) -> Any:
    """Each row times a factor (m,)."""
    return x.multiply(factors[:, None]).tocsr() if is_sparse(x) else factors[:, None] * x


def gram(x: Any, weights: Array) -> Array:
    """``sum_j a_j x_j x_j^T`` (d0, d0), dense."""
    return np.asarray((scaled(x, weights).T @ x).toarray() if is_sparse(x) else (x * weights[:, None]).T @ x)


def dense_if_small(x: Any) -> Any:
    """CSR features as they are read from a file, or as an array where that is faster.

    That is the case up to 2^24 numbers (128 megabytes), which centred columns take anyway, or where a quarter of them
    is not zero. Measured on one core with 16 replicates, local steps on CSR take this share of the time of dense ones:
    1.2 at a density of 1/4, 0.6 to 1 on mushrooms (0.17, 126 columns), 0.2 to 0.35 at 0.03 and 0.1 at 0.01; clipped
    sums of records 2 to 3, 1.6, 0.4 to 0.9 and 0.2 (`python benchmarks/sparse.py`).
    """
    total = x.shape[0] * x.shape[1]
    return np.ascontiguousarray(x.toarray()) if total <= _DENSE or _SHARE * x.nnz >= total else x


def nonzero_columns(x: Any) -> tuple[Any, Any]:
    """The columns of CSR features that are not all zero, ascending, and the features there."""
    columns, places = np.unique(x.indices, return_inverse=True)
    if not len(columns):  # a record of zeros still has a logit
        columns = np.zeros(1, dtype=np.int64)
    return type(x)((x.data, places, x.indptr), shape=(x.shape[0], len(columns))), columns


def terms(x: Any) -> int:
    """The maximum number of terms of a logit: all features, or the most entries of a CSR row."""
    return int(np.max(np.diff(x.indptr))) if is_sparse(x) else int(x.shape[1])
