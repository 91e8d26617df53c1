"""Sums of clipped single-record gradients on any array module: `kernels.linear_records` for CuPy, tested with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.kernels.linear_array import _LIMIT, _Group, _slopes

__all__ = ["linear_record_sums"]


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
    group = _Group(None, x, data.y[records], data.threshold[records], mask, None)
    logits = xp.matmul(at, x.transpose(0, 2, 1))
    slopes = _slopes(xp, data, group, logits)
    square = (at * at).sum(axis=(1, 2))[:, None]
    length = (slopes * slopes).sum(axis=1) * (x * x).sum(axis=2)
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
