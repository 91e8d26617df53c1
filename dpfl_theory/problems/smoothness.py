"""Smoothness, strong convexity and Lipschitz constants of linear models, from eigenvalues and norms of the data.

With ``c`` the loss's largest curvature and ``X_i`` client i's features, the Hessian of f_i lies between ``ridge`` and
``c lambda_max(X_i^T X_i)/m_i + ridge``; least squares attains both ends of its spectrum everywhere.

The matrix ``sum_j a_j x_j x_j^T`` of CSR records is never formed at its full size. Where the records or the columns
that they use are few, its eigenvalues are those of the smaller Gram matrix, as exact as a dense one's. Otherwise, with
B = |A|^T |A| for A = diag(sqrt a) X and any positive vector v,
``lambda_max(A^T A) <= lambda_max(B) <= max_k (B v)_k / v_k`` (Collatz and Wielandt). Power iteration finds a v for
which the right side is small; where all features have one sign, the bound tends to the eigenvalue. A Rayleigh quotient
is the lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import EPS, Array, Certificate
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.sparse import is_sparse, lengths, nonzero_columns, scaled

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
    smallest, largest = _extremes((a @ a.T if m < columns else a.T @ a).toarray(), features)
    return Extremes(smallest, largest, 0.0, order)


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


@dataclass(frozen=True)
class SpectralConstants:
    """L_i, mu_i (n,), L_f, mu_f [F/X^2] and their certificates."""

    L_i: Array
    L_f: float
    mu_i: Array
    mu_f: float
    certificates: dict[str, Certificate]


def _extremes(gram: Array, features: int) -> tuple[float, float]:
    """The smallest and largest eigenvalue of a Gram matrix; features: the order of X^T X, whose zeros it may lack."""
    values = eigvalsh(gram)
    largest = max(0.0, float(values[-1]))
    smallest = float(values[0]) if len(values) == features else 0.0
    # Eigenvalues have an error of order * eps * largest; a smallest one below it may be zero.
    return (smallest if smallest > 4.0 * features * EPS * largest else 0.0), largest


Spectrum = tuple[Array, Array, float, float, Callable[[Array], float], bool]
"""The smallest and largest eigenvalues of the clients' mean Gram matrices and of these matrices' mean; their error,
given the L_i; whether one of them is only a bound."""


def _spectrum(data: LinearData) -> Spectrum:
    n, (records, features) = data.clients, data.x.shape
    few = records < features  # the smaller Gram matrix has the same eigenvalues but zeros
    mean = np.zeros((0 if few else features,) * 2)
    low = np.empty(n)
    high = np.empty(n)
    for i in range(n):
        x = data.x[data.offsets[i] : data.offsets[i + 1]]
        if not few:
            gram = x.T @ x / len(x)
            mean += gram / n
        low[i], high[i] = _extremes(gram if len(x) >= features else x @ x.T / len(x), features)
    if few:
        sizes = np.diff(data.offsets)
        weighted = scaled(data.x, np.repeat(np.sqrt(1.0 / (n * sizes)), sizes))
        mean = weighted @ weighted.T
    rounding = 4.0 * features * EPS
    return low, high, *_extremes(mean, features), lambda L_i: rounding * float(np.max(L_i)), False


def _sparse_spectrum(data: LinearData) -> Spectrum:
    sizes = np.diff(data.offsets)
    ends = zip(data.offsets[:-1], data.offsets[1:], sizes)
    own = [extremes(data.x[a:b], np.full(m, 1.0 / m)) for a, b, m in ends]
    mean = extremes(data.x, np.repeat(1.0 / (data.clients * sizes), sizes))
    high = np.array([one.largest for one in own])
    low = np.array([one.smallest for one in own])
    gap = max(one.gap for one in (*own, mean))
    rounding = 4.0 * max(one.order for one in (*own, mean)) * EPS

    def error(L_i: Array) -> float:
        return max(gap, rounding * float(np.max(L_i)))

    return low, high, mean.smallest, min(mean.largest, float(np.mean(high))), error, gap > 0.0


def spectral(data: LinearData) -> SpectralConstants:
    """The smoothness and strong-convexity constants of linear models [F/X^2].

    ``L_i = c lambda_max(X_i^T X_i)/m_i + ridge``, ``L_f = c lambda_max((1/n) sum_i X_i^T X_i/m_i) + ridge`` with c = 1
    (squared, Huber), 1/4 (logistic), 1/2 (softmax);  ``mu = lambda_min + ridge`` for least squares, ``ridge`` otherwise
    (the other losses flatten out far away).

    >>> x = np.array([[3.0, 0.0], [0.0, 4.0]])
    >>> data = LinearData(x, np.ones(2), np.array([0, 1, 2]), "logistic", np.ones(2), 0.5, 1)
    >>> spectral(data).L_i.round(12), round(spectral(data).L_f, 12)
    (array([2.75, 4.5 ]), 2.5)
    """
    loss = LOSS[data.loss]
    low, high, low_f, high_f, error, bounded = _sparse_spectrum(data) if data.sparse else _spectrum(data)
    L_i = loss.curvature_bound * high + data.ridge
    L_f = loss.curvature_bound * high_f + data.ridge
    mu_i = (low if loss.quadratic else np.zeros(data.clients)) + data.ridge
    mu_f = (low_f if loss.quadratic else 0.0) + data.ridge
    c = {1.0: "", 0.25: "1/4 of ", 0.5: "1/2 of "}[loss.curvature_bound]
    text = f"{c}the largest eigenvalue of the data's Gram matrix, plus the ridge"
    if bounded:
        bound = f"{c}a bound on the largest eigenvalue of the data's Gram matrix (Collatz and Wielandt), plus the ridge"
        smooth = Certificate("norm-bound", 0.0, f"{bound}; at most {error(L_i):.3g} above the eigenvalue itself")
    elif loss.kind == "eigenvalue":
        smooth = Certificate("eigenvalue", error(L_i), text + "; attained")
    else:
        smooth = Certificate("norm-bound", 0.0, text + "; an upper bound on the Hessian at every w")
    if loss.quadratic and bounded:
        strong = Certificate("norm-bound", 0.0, "a lower bound: zero where a Gram matrix is too large, plus the ridge")
    elif loss.quadratic:
        strong = Certificate("eigenvalue", error(L_i), "the smallest eigenvalue of the data's Gram matrix")
    else:
        strong = Certificate("closed-form", 0.0, "the ridge: the loss's own curvature vanishes far away")
    return SpectralConstants(L_i, L_f, mu_i, mu_f, {"L_i": smooth, "L_f": smooth, "mu_i": strong, "mu_f": strong})


def _norm(x: Any) -> float:
    """The spectral norm of records, dense or CSR."""
    return math.sqrt(extremes(x, np.ones(x.shape[0])).largest) if is_sparse(x) else float(np.linalg.norm(x, 2))


def lipschitz(data: LinearData) -> tuple[Array, float, Certificate]:
    """G_i (n,) and the largest Lipschitz constant of a single record [F/X].

    With s_j the largest slope of record j (Huber: its threshold; logistic: 1; softmax: sqrt(2)),
    ``G_i = min(sum_j s_j ||x_j||, sqrt(m_i) ||diag(s) X_i||_2)/m_i`` and ``G_record = max_j s_j ||x_j||``; inf for
    squared losses and with ridge > 0, whose gradients are unbounded.

    >>> x = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> data = LinearData(x, np.zeros(2), np.array([0, 1, 2]), "huber", np.array([2.0, 5.0]), 0.0, 1)
    >>> lipschitz(data)[0].round(12), lipschitz(data)[1]
    (array([10.,  5.]), 10.0)
    """
    if data.ridge > 0.0 or LOSS[data.loss].quadratic:
        cause = "the ridge" if data.ridge > 0.0 else "the squared loss"
        certificate = Certificate("closed-form", 0.0, f"the gradients of {cause} are unbounded")
        return np.full(data.clients, math.inf), math.inf, certificate
    bound = LOSS[data.loss].slope_bound(data.threshold)
    steep = scaled(data.x, bound)
    longest = lengths(steep)
    G_i = np.empty(data.clients)
    for i in range(data.clients):
        own = slice(data.offsets[i], data.offsets[i + 1])
        m = data.offsets[i + 1] - data.offsets[i]
        total = math.fsum(longest[own])
        G_i[i] = total / m if m == 1 else min(total, math.sqrt(m) * _norm(steep[own])) / m
    text = "the smaller of the mean and the spectral bound on the records' largest gradients"
    return G_i, float(np.max(longest)), Certificate("norm-bound", 0.0, text)
