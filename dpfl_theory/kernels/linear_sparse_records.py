"""`kernels.linear_records` for CSR records: the lengths of gradients need only the nonzero entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.kernels import linear_records
from dpfl_theory.kernels.compiled import kernel
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.kernels.linear_losses import slopes
from dpfl_theory.kernels.linear_records import clipped

__all__ = ["linear_record_sums"]


@kernel()
def _record_sums(
    values: Any,
    columns: Any,
    starts: Any,
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
    """`kernels.linear_records._record_sums` of CSR records."""
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
    """`kernels.linear_records.linear_record_sums` for data whose x is CSR."""
    x = (data.x.data, data.x.indices, data.x.indptr)
    return linear_records.linear_record_sums(data, w, clients, chosen, threshold, _record_sums, x)
