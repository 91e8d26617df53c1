"""Gradients of single records of linear models on the CPU: subsampled, clipped one by one, and added up.

The gradient of record j is ``slope_j x_j + ridge w`` (an outer product for softmax), so its length needs no gradient:

    ||g_j||^2 = ||slope_j||^2 ||x_j||^2 + 2 ridge slope_j . logits_j + ridge^2 ||w||^2

where ||x_j||^2 is computed once for each record. Clipping rescales the slopes, and one matrix product sums the
gradients. Each (slot, replicate) pair gathers its records and calls the BLAS on its own; the steps between are done for
several pairs at once.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dpfl_theory.kernels.compiled import kernel, mutable
from dpfl_theory.kernels.elementary import median as middle
from dpfl_theory.kernels.linear import LOSSES, LinearData
from dpfl_theory.kernels.linear_losses import slopes

__all__ = ["clipped", "linear_record_sums"]

# Squared lengths of the records' features (N,); they live exactly as long as the data they were made from.
_SQUARES: WeakKeyDictionary[LinearData, Any] = WeakKeyDictionary()
_MANY = 192  # records at a time: their logits of ten classes stay in the cache that is nearest


@kernel()
def clipped(p: Any, logits: Any, qs: Any, ridge: float, at: Any, bound: float, median: bool) -> tuple[float, float]:
    """Shorten the slopes p (classes, m) of records with these logits, so that their gradients are clipped; the
    threshold, and the sum of the factors."""
    classes, m = p.shape
    length = np.zeros(m)
    along = np.zeros(m)
    square = 0.0
    for c in range(classes):
        for k in range(at.shape[1]):
            square += at[c, k] * at[c, k]
    for c in range(classes):
        for j in range(m):
            length[j] += p[c, j] * p[c, j]
            along[j] += p[c, j] * logits[c, j]
    for j in range(m):
        length[j] = math.sqrt(max(length[j] * qs[j] + 2.0 * ridge * along[j] + ridge * ridge * square, 0.0))
    if median:
        bound = middle(length.copy()) if m > 0 else 0.0
    weight = 0.0
    for j in range(m):
        factor = bound / length[j] if length[j] > bound else 1.0
        weight += factor
        length[j] = factor
    for c in range(classes):
        for j in range(m):
            p[c, j] *= length[j]
    return bound, weight


@kernel()
def _record_sums(
    x: Any,
    squares: Any,
    y: Any,
    offsets: Any,
    bounds: Any,
    code: int,
    ridge: float,
    classes: int,
    w: Any,
    clients: Any,
    chosen: Any,
    everything: bool,
    threshold: Any,
    median: bool,
    out: Any,
    used: Any,
) -> None:
    """out (A, S, classes, d0) and used (A, S); with ``everything`` chosen is not read; threshold inf clips nothing.

    Slopes are found of the records of several pairs at once, in loops that are long enough to be fast.
    """
    slots, replicates, _, features = w.shape
    most = chosen.shape[2]
    if everything:
        for i in range(len(offsets) - 1):
            most = max(most, offsets[i + 1] - offsets[i])
    group = min(slots * replicates, max(1, _MANY // max(1, most)))
    drawn = np.empty((0 if everything else group * most, features))
    all_qs = np.empty(group * most)
    all_ys = np.empty(group * most)
    all_bs = np.empty(group * most)
    numbers = np.empty((3, classes * group * most))
    ends = np.zeros(group + 1, dtype=np.int64)
    for begin in range(0, slots * replicates, group):
        count = min(group, slots * replicates - begin)
        for g in range(count):
            a = (begin + g) // replicates
            s = (begin + g) % replicates
            first = offsets[clients[a, s]]
            m = 0
            if everything:
                m = offsets[clients[a, s] + 1] - first
            else:
                while m < chosen.shape[2] and chosen[a, s, m] >= 0:
                    m += 1
            here = ends[g]
            ends[g + 1] = here + m
            xs = x[first : first + m] if everything else drawn[here : here + m]
            qs = all_qs[here : here + m]
            ys = all_ys[here : here + m]
            bs = all_bs[here : here + m]
            for j in range(m):
                row = first + j
                if not everything:
                    row = first + chosen[a, s, j]
                    for k in range(features):
                        xs[j, k] = x[row, k]
                qs[j] = squares[row]
                ys[j] = y[row]
                bs[j] = bounds[row]
            np.dot(w[a, s], xs.T, numbers[0, classes * here : classes * (here + m)].reshape(classes, m))
        total = ends[count]
        together = numbers[2 if count == 1 else 1, : classes * total].reshape(classes, total)
        for g in range(count):
            place = classes * ends[g]
            for c in range(classes):
                for j in range(ends[g], ends[g + 1]):
                    together[c, j] = numbers[0, place]
                    place += 1
        slopes(together, all_ys, all_bs, np.int64(0), code, classes)
        for g in range(0 if count == 1 else count):
            place = classes * ends[g]
            for c in range(classes):
                for j in range(ends[g], ends[g + 1]):
                    numbers[2, place] = together[c, j]
                    place += 1
        for g in range(count):
            a = (begin + g) // replicates
            s = (begin + g) % replicates
            m = ends[g + 1] - ends[g]
            own = slice(classes * ends[g], classes * ends[g + 1])
            p = numbers[2, own].reshape(classes, m)
            bound = threshold[s]
            weight = float(m)
            if median or bound < math.inf:
                logits = numbers[0, own].reshape(classes, m)
                qs = all_qs[ends[g] : ends[g + 1]]
                bound, weight = clipped(p, logits, qs, ridge, w[a, s], bound, median)
            first = offsets[clients[a, s]]
            xs = x[first : first + m] if everything else drawn[ends[g] : ends[g + 1]]
            at = w[a, s]
            sums = out[a, s]
            np.dot(p, xs, sums)
            for c in range(classes):
                for k in range(features):
                    sums[c, k] += weight * ridge * at[c, k]
            used[a, s] = bound


def linear_record_sums(
    data: LinearData,
    w: Any,
    clients: Any,
    chosen: Any,
    threshold: Any,
    into: Any = _record_sums,
    records: tuple[Any, ...] | None = None,
) -> tuple[Any, Any]:
    """``sum_j g_j min(1, C/||g_j||)`` over records j of each slot's client, where g_j is the gradient of one record.

    w (A, S, d): the parameters of clients (A, S) [X]; chosen (A, S, b): record numbers within the client, padded with
    -1, or None for all; threshold: C (S,) [F/X], None for no clipping, or "median": the median of the lengths ||g_j||
    of the slot, 0 where no record is chosen. Returns the sums (A, S, d) [F/X] and the thresholds used (A, S) (inf
    without clipping). into, records: the kernel, and the features as it takes them.

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
    lines = (squares, data.y, data.offsets, data.threshold, LOSSES[data.loss], data.ridge, data.classes)
    at = mutable(w).reshape(out.shape)
    some = np.empty((slots, replicates, 0), dtype=np.int64) if chosen is None else chosen
    into(
        *(records or (data.x,)), *lines, at, mutable(clients, np.int64), some, chosen is None, limits, median, out, used
    )
    return out.reshape(slots, replicates, d), used
