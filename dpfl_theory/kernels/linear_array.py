"""Linear models on any array module: the functions of `kernels.linear` and `kernels.linear_records`, with functions
that NumPy and CuPy share.

Dense clients are grouped by size and padded to the largest of their group (less than twofold). So one batched matrix
product serves many clients. Padding records have zero features and so no gradient; values mask them out. Records are
dense.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dpfl_theory.kernels.linear import LinearData

# Logits held at once, in numbers; larger batches of clients are processed in turn.
_LIMIT = 1 << 26


@dataclass(frozen=True)
class _Group:
    """Clients of similar size: index (g,), x (g, m, d0), y, threshold, mask (g, m), 1/m_i as share (g, 1, 1)."""

    index: Any
    x: Any
    y: Any
    threshold: Any
    mask: Any
    share: Any


# The padded copies live exactly as long as the data they were made from.
_GROUPS: WeakKeyDictionary[LinearData, list[_Group]] = WeakKeyDictionary()


def _groups(xp: Any, data: LinearData) -> list[_Group]:
    found = _GROUPS.get(data)
    if found is not None:
        return found
    sizes = np.diff(data.offsets)
    groups = []
    bucket = np.ceil(np.log2(sizes)).astype(np.int64)
    for b in np.unique(bucket):
        clients = np.flatnonzero(bucket == b)
        places = np.arange(sizes[clients].max())[None, :]
        mask = places < sizes[clients][:, None]
        records = xp.asarray(data.offsets[:-1][clients][:, None] + np.where(mask, places, 0))
        inside = xp.asarray(mask)
        groups.append(
            _Group(
                index=xp.asarray(clients),
                x=data.x[records] * inside[:, :, None],
                y=data.y[records],
                threshold=data.threshold[records],
                mask=inside,
                share=xp.asarray((1.0 / sizes[clients])[:, None, None]),
            )
        )
    _GROUPS[data] = groups
    return groups


def _parts(xp: Any, data: LinearData, replicates: int) -> Iterator[_Group]:
    """The groups, cut so that one part's logits stay below the limit."""
    for g in _groups(xp, data):
        count, m, features = g.x.shape
        size = max(1, _LIMIT // (replicates * data.classes * max(m, features)))
        if size >= count:
            yield g
            continue
        for a in range(0, count, size):
            cut = slice(a, a + size)
            yield _Group(g.index[cut], g.x[cut], g.y[cut], g.threshold[cut], g.mask[cut], g.share[cut])


def _logits(xp: Any, g: _Group, at: Any) -> Any:
    """The logits (g, rows, m) of a group's records at the parameters (g, rows, d0)."""
    return xp.matmul(at, g.x.transpose(0, 2, 1))


def _slopes(xp: Any, data: LinearData, g: _Group, z: Any) -> Any:
    """d loss / d logits for logits z (g, S * classes, m), same shape."""
    if data.loss == "softmax":
        count, rows, m = z.shape
        z = z.reshape(count, rows // data.classes, data.classes, m)
        e = xp.exp(z - xp.max(z, axis=2, keepdims=True))
        e /= xp.sum(e, axis=2, keepdims=True)
        e -= xp.arange(data.classes, dtype=float)[None, None, :, None] == g.y[:, None, None, :]
        return e.reshape(count, rows, m)
    y = g.y[:, None, :]
    if data.loss == "logistic":
        t = y * z
        e = xp.exp(-xp.abs(t))
        return -y * xp.where(t >= 0.0, e, 1.0) / (1.0 + e)
    r = z - y
    if data.loss == "huber":
        bound = g.threshold[:, None, :]
        return xp.minimum(xp.maximum(r, -bound), bound)
    return r


def _losses(xp: Any, data: LinearData, g: _Group, z: Any) -> Any:
    """The losses (g, S, m) of logits z (g, S * classes, m)."""
    if data.loss == "softmax":
        count, rows, m = z.shape
        z = z.reshape(count, rows // data.classes, data.classes, m)
        largest = xp.max(z, axis=2)
        own = xp.arange(data.classes, dtype=float)[None, None, :, None] == g.y[:, None, None, :]
        return xp.log(xp.sum(xp.exp(z - largest[:, :, None, :]), axis=2)) + (largest - xp.sum(z * own, axis=2))
    y = g.y[:, None, :]
    if data.loss == "logistic":
        t = y * z
        return xp.maximum(-t, 0.0) + xp.log1p(xp.exp(-xp.abs(t)))
    r = xp.abs(z - y)
    if data.loss == "huber":
        bound = g.threshold[:, None, :]
        return xp.where(r <= bound, 0.5 * r * r, bound * (r - 0.5 * bound))
    return 0.5 * r * r


def linear_local_phase(xp: Any, data: LinearData, w: Any, step: Any, steps: int) -> Any:
    """The updates ``sum_{t<E} grad f_i(w_{i,t})`` of E local steps; w (S, d), step (S,) -> (n, S, d) [F/X].

    >>> data = LinearData(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), "squared", np.ones(1), 0.0, 1)
    >>> linear_local_phase(np, data, np.array([[1.0]]), np.array([0.5]), 2)
    array([[[1.5]]])
    """
    replicates, d = w.shape
    features = d // data.classes
    out = xp.empty((data.clients, replicates, d))
    start = w.reshape(replicates * data.classes, features)
    eta = xp.repeat(step, data.classes)[None, :, None]
    for g in _parts(xp, data, replicates):
        count = len(g.share)
        at = xp.repeat(start[None], count, axis=0)
        total = xp.zeros((count, replicates * data.classes, features))
        for _ in range(steps):
            slope = xp.matmul(_slopes(xp, data, g, _logits(xp, g, at)), g.x)
            slope *= g.share
            slope += data.ridge * at
            total += slope
            at -= eta * slope
        out[g.index] = total.reshape(count, replicates, d)
    return out


def linear_gradients(xp: Any, data: LinearData, w: Any) -> Any:
    """grad f_i(w_i) at per-client parameters w (n, S, d) -> (n, S, d) [F/X].

    >>> data = LinearData(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), "huber", np.array([2.0]), 0.0, 1)
    >>> linear_gradients(np, data, np.array([[[1.0], [5.0]]])).tolist()
    [[[1.0], [2.0]]]
    """
    _, replicates, d = w.shape
    out = xp.empty(w.shape)
    for g in _parts(xp, data, replicates):
        count = len(g.share)
        at = w[g.index].reshape(count, replicates * data.classes, d // data.classes)
        slope = xp.matmul(_slopes(xp, data, g, _logits(xp, g, at)), g.x)
        out[g.index] = (slope * g.share + data.ridge * at).reshape(count, replicates, d)
    return out


def linear_values(xp: Any, data: LinearData, w: Any) -> Any:
    """f_i(w) at common parameters w (S, d) -> (S, n) [F].

    >>> data = LinearData(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), "huber", np.array([2.0]), 0.0, 1)
    >>> linear_values(np, data, np.array([[1.0], [5.0]])).tolist()
    [[0.5], [8.0]]
    """
    replicates, d = w.shape
    out = xp.empty((replicates, data.clients))
    start = w.reshape(1, replicates * data.classes, d // data.classes)
    penalty = 0.5 * data.ridge * xp.sum(w * w, axis=1)
    for g in _parts(xp, data, replicates):
        losses = _losses(xp, data, g, _logits(xp, g, start))
        mean = xp.sum(xp.where(g.mask[:, None, :], losses, 0.0), axis=2) * g.share[:, :, 0]
        out[:, g.index] = mean.T + penalty[:, None]
    return out


def linear_record_sums(xp: Any, data: LinearData, w: Any, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
    """``sum_j g_j min(1, C/||g_j||)`` over records j of each slot's client; see `kernels.linear_records`.

    >>> data = LinearData(np.ones((2, 1)), np.array([0.0, 4.0]), np.array([0, 2]), "squared", np.ones(2), 0.0, 1)
    >>> who = np.zeros((1, 1), dtype=np.int64)
    >>> linear_record_sums(np, data, np.array([[[1.0]]]), who, None, np.array([2.0]))[0]
    array([[[-1.]]])
    """
    slots, replicates, d = w.shape
    sizes = np.diff(data.offsets)
    if chosen is None:
        width = int(sizes.max())
        number = xp.arange(width)[None, None, :]
        chosen = xp.where(number < xp.asarray(sizes)[clients][:, :, None], number, -1)
    out = xp.empty((slots * replicates, d))
    used = xp.empty(slots * replicates)
    at = w.reshape(slots * replicates, data.classes, d // data.classes)
    first = xp.asarray(data.offsets[:-1])[clients].reshape(-1, 1)
    rows = chosen.reshape(slots * replicates, -1)
    if isinstance(threshold, str):
        limits = None
    else:
        limits = xp.full(replicates, math.inf) if threshold is None else threshold
        limits = xp.broadcast_to(limits[None], (slots, replicates)).reshape(-1)
    size = max(1, _LIMIT // (max(1, rows.shape[1]) * max(at.shape[1], at.shape[2])))
    for a in range(0, slots * replicates, size):
        cut = slice(a, a + size)
        total, bound = _part(xp, data, at[cut], first[cut], rows[cut], None if limits is None else limits[cut])
        out[cut] = total.reshape(total.shape[0], d)
        used[cut] = bound
    return out.reshape(slots, replicates, d), used.reshape(slots, replicates)


def _part(xp: Any, data: LinearData, at: Any, first: Any, rows: Any, limits: Any) -> tuple[Any, Any]:
    """Some of the jobs: at (g, classes, d0), rows (g, b) -> sums (g, classes, d0), thresholds (g,)."""
    mask = rows >= 0
    records = first + xp.where(mask, rows, 0)
    x = data.x[records] * mask[:, :, None]
    squares = (x * x).sum(axis=2)
    group = _Group(None, x, data.y[records], data.threshold[records], mask, None)
    logits = _logits(xp, group, at)
    slopes = _slopes(xp, data, group, logits)
    square = (at * at).sum(axis=(1, 2))[:, None]
    length = (slopes * slopes).sum(axis=1) * squares
    length = length + 2.0 * data.ridge * (slopes * logits).sum(axis=1) + data.ridge**2 * square
    length = xp.sqrt(xp.maximum(length, 0.0))
    if limits is None:
        nobody = ~mask.any(axis=1)[:, None]  # the median of no lengths is 0 by convention
        padded = xp.concatenate([xp.where(mask, length, xp.nan), xp.where(nobody, 0.0, xp.nan)], axis=1)
        limits = xp.nanmedian(padded, axis=1)
    over = length > limits[:, None]
    factor = xp.where(over, limits[:, None] / xp.where(over, length, 1.0), 1.0) * mask
    total = xp.matmul(slopes * factor[:, None, :], x) + data.ridge * factor.sum(axis=1)[:, None, None] * at
    return total, limits
