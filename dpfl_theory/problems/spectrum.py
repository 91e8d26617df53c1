"""The extreme eigenvalues of ``sum_j a_j x_j x_j^T`` for CSR records, a matrix that is never formed at its full size.

Where the records or the columns that they use are few, the eigenvalues are those of the smaller Gram matrix, as exact
as a dense one's. Otherwise, with B = |A|^T |A| for A = diag(sqrt a) X and any positive vector v,
``lambda_max(A^T A) <= lambda_max(B) <= max_k (B v)_k / v_k`` (Collatz and Wielandt). Power iteration finds a v for
which the right side is small; where all features have one sign, the bound tends to the eigenvalue. A Rayleigh quotient
is the lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from dpfl_theory.problems.base import Array
from dpfl_theory.problems.sparse import nonzero_columns, scaled

__all__ = ["Extremes", "extremes"]

_EPS = float(np.finfo(np.float64).eps)
_ORDER = 4096
"""The largest Gram matrix whose eigenvalues are computed."""
_STEPS = 300


@dataclass(frozen=True)
class Extremes:
    """smallest: a lower bound on the smallest eigenvalue, 0 where it may be zero up to rounding; largest: an upper
    bound on the largest one, up to rounding; gap: how far below it the largest may be; order: of the matrix that was
    used."""

    smallest: float
    largest: float
    gap: float
    order: int


def extremes(x: Any, weight: Array) -> Extremes:
    """The extreme eigenvalues for CSR records x (m, d0) with weights a_j >= 0 (m,).

    >>> from scipy.sparse import csr_array
    >>> extremes(csr_array([[3.0, 0.0], [0.0, 4.0]]), np.array([1.0, 0.5])).largest
    9.0
    """
    features = x.shape[1]
    a = scaled(nonzero_columns(x)[0], np.sqrt(weight))
    m, columns = a.shape
    order = min(m, columns)
    if order > _ORDER:
        return _bounds(a)
    values = eigvalsh((a @ a.T if m < columns else a.T @ a).toarray())
    largest = max(0.0, float(values[-1]))
    smallest = float(values[0]) if order == features else 0.0
    return Extremes(smallest if smallest > 4.0 * order * _EPS * largest else 0.0, largest, 0.0, order)


def _bounds(a: Any) -> Extremes:
    """A Collatz-Wielandt bound above and a Rayleigh quotient below."""
    size = abs(a)
    v = np.ones(a.shape[1])
    high = np.inf
    for _ in range(_STEPS):
        after = size.T @ (size @ v)
        before, high = high, min(high, float(np.max(after / v)))
        v = after / float(np.max(after))
        v = np.maximum(v, 1e-12)  # any positive vector is valid
        if before <= high * (1.0 + 1e-14):
            break
    high *= 1.0 + 1e-13 * (1.0 + a.nnz / a.shape[0])
    u = np.ones(a.shape[1]) + 1e-3 * np.cos(np.arange(a.shape[1]))
    for _ in range(_STEPS):
        u = a.T @ (a @ u)
        u /= float(np.linalg.norm(u))
    low = float(np.sum((a @ u) ** 2))
    return Extremes(0.0, high, max(0.0, high - low), a.shape[1])
