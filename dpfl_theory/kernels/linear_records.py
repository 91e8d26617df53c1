"""Gradients of single records of linear models on the CPU: subsampled, clipped one by one, and added up.

The gradient of record j is ``slope_j x_j + ridge w`` (an outer product for softmax), so its length needs no gradient:

    ||g_j||^2 = ||slope_j||^2 ||x_j||^2 + 2 ridge slope_j . logits_j + ridge^2 ||w||^2

where ||x_j||^2 is computed once for each record. Clipping rescales the slopes, and one matrix product sums the
gradients. Each (slot, replicate) pair gathers its records and calls the BLAS on its own."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dpfl_theory.kernels.compiled import kernel, mutable
from dpfl_theory.kernels.elementary import median as middle
from dpfl_theory.kernels.linear import LOSSES, LinearData
from dpfl_theory.kernels.linear_losses import slopes

# Squared lengths of the records' features (N,); they live exactly as long as the data they were made from.
_SQUARES: WeakKeyDictionary[LinearData, Any] = WeakKeyDictionary()


@kernel()
def clipped(
    p: Any, qs: Any, ys: Any, bs: Any, code: int, ridge: float, classes: int, at: Any, bound: float, median: bool
) -> tuple[float, float]:
    """Turn the logits p (classes, m) into slopes of gradients that are clipped; the threshold, and the sum of the
    factors."""
    m = p.shape[1]
    length = np.empty(m)
    logits = p.copy()
    slopes(p, ys, bs, np.int64(0), code, classes)
    square = 0.0
    for c in range(classes):
        for k in range(at.shape[1]):
            square += at[c, k] * at[c, k]
    steep = np.zeros(m)
    along = np.zeros(m)
    for c in range(classes):  # records in the inner loops: LLVM vectorises them
        for j in range(m):
            steep[j] += p[c, j] * p[c, j]
            along[j] += p[c, j] * logits[c, j]
    for j in range(m):
        length[j] = math.sqrt(max(steep[j] * qs[j] + 2.0 * ridge * along[j] + ridge * ridge * square, 0.0))
    if median:
        bound = middle(length.copy()) if m > 0 else 0.0
    weight = 0.0
    factor = steep
    for j in range(m):
        factor[j] = bound / length[j] if length[j] > bound else 1.0
        weight += factor[j]
    for c in range(classes):
        for j in range(m):
            p[c, j] *= factor[j]
    return bound, weight


@kernel()
def _record_sums(
    data: Any,
    squares: Any,
    w: Any,
    clients: Any,
    chosen: Any,
    everything: bool,
    threshold: Any,
    median: bool,
    out: Any,
    used: Any,
) -> None:
    """out (A, S, classes, d0) and used (A, S); with ``everything`` chosen is not read; threshold inf clips nothing."""
    x, y, offsets, bounds, code, ridge, classes = data
    slots, replicates, _, features = w.shape
    for job in range(slots * replicates):
        a = job // replicates
        s = job % replicates
        first = offsets[clients[a, s]]
        last = offsets[clients[a, s] + 1]
        at = w[a, s]
        if everything:
            m = last - first
            xs = x[first:last]
            qs = squares[first:last]
            ys = y[first:last]
            bs = bounds[first:last]
        else:
            m = 0
            while m < chosen.shape[2] and chosen[a, s, m] >= 0:
                m += 1
            xs = np.empty((m, features))
            qs = np.empty(m)
            ys = np.empty(m)
            bs = np.empty(m)
            for j in range(m):
                row = first + chosen[a, s, j]
                for k in range(features):
                    xs[j, k] = x[row, k]
                qs[j] = squares[row]
                ys[j] = y[row]
                bs[j] = bounds[row]
        p = np.empty((classes, m))
        np.dot(at, xs.T, p)
        bound = threshold[s]
        weight = float(m)
        if median or bound < math.inf:
            bound, weight = clipped(p, qs, ys, bs, code, ridge, classes, at, bound, median)
        else:
            slopes(p, ys, bs, np.int64(0), code, classes)
        total = out[a, s]
        np.dot(p, xs, total)
        for c in range(classes):
            for k in range(features):
                total[c, k] += weight * ridge * at[c, k]
        used[a, s] = bound


@kernel()
def _sparse_record_sums(
    data: Any,
    squares: Any,
    w: Any,
    clients: Any,
    chosen: Any,
    everything: bool,
    threshold: Any,
    median: bool,
    out: Any,
    used: Any,
) -> None:
    """`_record_sums` of CSR records: the lengths of gradients need only the nonzero entries."""
    x, y, offsets, bounds, code, ridge, classes = data
    values, columns, starts = x
    slots, replicates, _, features = w.shape
    for job in range(slots * replicates):
        a = job // replicates
        s = job % replicates
        first = offsets[clients[a, s]]
        at = w[a, s]
        if everything:
            rows = np.arange(first, offsets[clients[a, s] + 1])
        else:
            m = 0
            while m < chosen.shape[2] and chosen[a, s, m] >= 0:
                m += 1
            rows = first + chosen[a, s, :m]
        p = np.zeros((classes, len(rows)))
        for c in range(classes):
            for j in range(len(rows)):
                for e in range(starts[rows[j]], starts[rows[j] + 1]):
                    p[c, j] += values[e] * at[c, columns[e]]
        bound = threshold[s]
        if median or bound < math.inf:
            bound, weight = clipped(p, squares[rows], y[rows], bounds[rows], code, ridge, classes, at, bound, median)
        else:
            weight = float(len(rows))
            slopes(p, y[rows], bounds[rows], np.int64(0), code, classes)
        total = out[a, s]
        for c in range(classes):
            for k in range(features):
                total[c, k] = weight * ridge * at[c, k]
            for j in range(len(rows)):
                for e in range(starts[rows[j]], starts[rows[j] + 1]):
                    total[c, columns[e]] += p[c, j] * values[e]
        used[a, s] = bound


def linear_record_sums(data: LinearData, w: Any, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
    """``sum_j g_j min(1, C/||g_j||)`` over records j of each slot's client, where g_j is the gradient of one record.

    w (A, S, d): the parameters of clients (A, S) [X]; chosen (A, S, b): record numbers within the client, padded with
    -1, or None for all; threshold: C (S,) [F/X], None for no clipping, or "median": the median of the lengths ||g_j||
    of the slot, 0 where no record is chosen. Returns the sums (A, S, d) [F/X] and the thresholds used (A, S) (inf
    without clipping).

    >>> data = LinearData(np.ones((2, 1)), np.array([0.0, 4.0]), np.array([0, 2]), "squared", np.ones(2), 0.0, 1)
    >>> who = np.zeros((1, 1), dtype=np.int64)
    >>> linear_record_sums(data, np.array([[[1.0]]]), who, None, np.array([2.0]))[0]  # 1 - 2, not 1 - 3
    array([[[-1.]]])
    """
    slots, replicates, d = w.shape
    median = isinstance(threshold, str)
    limits = np.full(replicates, np.inf) if threshold is None or median else np.ascontiguousarray(threshold)
    squares = _SQUARES.get(data)
    if squares is None:
        x = data.x
        squares = np.asarray(x.multiply(x).sum(axis=1)) if data.sparse else np.einsum("rk,rk->r", x, x)
        _SQUARES[data] = squares
    out = np.empty((slots, replicates, data.classes, d // data.classes))
    used = np.empty((slots, replicates))
    x = (data.x.data, data.x.indices, data.x.indptr) if data.sparse else data.x
    records = (x, data.y, data.offsets, data.threshold, LOSSES[data.loss], data.ridge, data.classes)
    some = np.empty((slots, replicates, 0), dtype=np.int64) if chosen is None else chosen
    sums = _sparse_record_sums if data.sparse else _record_sums
    who = mutable(clients, np.int64)
    sums(records, squares, mutable(w).reshape(out.shape), who, some, chosen is None, limits, median, out, used)
    return out.reshape(slots, replicates, d), used
