"""The losses of linear models on batches of logits, and their slopes; nothing overflows: exponentials are taken of
non-positive numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.kernels.compiled import kernel
from dpfl_theory.kernels.elementary import exp_all, log, log1p

HUBER, LOGISTIC, SOFTMAX = 1, 2, 3
"""Codes of losses, `dpfl_theory.kernels.linear.LOSSES`."""


# No denominator below is zero, and a test of that is in the way.
@kernel(error_model="numpy")
def slopes(p: Any, y: Any, threshold: Any, first: int, code: int, classes: int) -> None:
    """Turn the logits p (replicates * classes, m) of records first, first + 1, ... into d loss / d logits, in place.

    The replicates are processed one after the other, so that the data of one pass are in the cache for the next one.
    """
    rows, m = p.shape
    if code == SOFTMAX:
        other = np.empty(m)
        for replicate in range(rows // classes):
            own = p[replicate * classes : (replicate + 1) * classes]
            for j in range(m):
                other[j] = own[0, j]
            for c in range(1, classes):
                for j in range(m):
                    other[j] = max(other[j], own[c, j])
            for c in range(classes):
                for j in range(m):
                    own[c, j] -= other[j]
            exp_all(own.reshape(own.size))
            for j in range(m):
                other[j] = own[0, j]
            for c in range(1, classes):
                for j in range(m):
                    other[j] += own[c, j]
            for j in range(m):
                other[j] = 1.0 / other[j]
            for c in range(classes):
                for j in range(m):
                    own[c, j] *= other[j]
            for j in range(m):
                own[int(y[first + j]), j] -= 1.0
    elif code == LOGISTIC:
        e = np.empty(m)
        labels = y[first : first + m]
        for r in range(rows):
            own1 = p[r]
            for j in range(m):
                e[j] = -abs(own1[j])
            exp_all(e)
            for j in range(m):
                part = e[j] if labels[j] * own1[j] >= 0.0 else 1.0
                own1[j] = -labels[j] * (part / (1.0 + e[j]))
    elif code == HUBER:
        for r in range(rows):
            for j in range(m):
                bound = threshold[first + j]
                p[r, j] = min(max(p[r, j] - y[first + j], -bound), bound)
    else:
        for r in range(rows):
            for j in range(m):
                p[r, j] -= y[first + j]


@kernel()
def losses(p: Any, y: Any, threshold: Any, first: int, code: int, classes: int, out: Any) -> None:
    """Sum the losses over the records for each replicate: p (replicates * classes, m) -> out (replicates,). p is used
    up."""
    rows, m = p.shape
    e = np.empty(m)
    for replicate in range(rows // classes):
        own = p[replicate * classes : (replicate + 1) * classes]
        z = own[0]
        total = 0.0
        if code == SOFTMAX:
            largest = e
            for j in range(m):
                largest[j] = z[j]
            for c in range(1, classes):
                for j in range(m):
                    largest[j] = max(largest[j], own[c, j])
            for j in range(m):
                total += largest[j] - own[int(y[first + j]), j]
            for c in range(classes):
                for j in range(m):
                    own[c, j] -= largest[j]
            exp_all(own.reshape(own.size))
            for c in range(1, classes):
                for j in range(m):
                    z[j] += own[c, j]
            for j in range(m):
                z[j] = log(z[j])
            for j in range(m):
                total += z[j]
        elif code == LOGISTIC:
            for j in range(m):
                z[j] *= y[first + j]
                e[j] = -abs(z[j])
            exp_all(e)
            for j in range(m):
                e[j] = max(-z[j], 0.0) + log1p(e[j])
            for j in range(m):
                total += e[j]
        elif code == HUBER:
            for j in range(m):
                r = abs(z[j] - y[first + j])
                inside = min(r, threshold[first + j])
                total += inside * (r - 0.5 * inside)
        else:
            for j in range(m):
                total += 0.5 * (z[j] - y[first + j]) * (z[j] - y[first + j])
        out[replicate] = total
