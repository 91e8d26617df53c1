"""Linear models with sparse records on the CPU: the functions of ``kernels.linear`` for features in CSR.

A client's records use few of the columns. Local steps on them change only these columns and shrink the others by the
ridge. So each client works on its own columns (`Layout`), and the others' share is a geometric sum:
``sum_{t<E} ridge (1 - eta ridge)^t w``. A column's numbers of all replicates are contiguous there, so that one entry of
a record is applied to all replicates in one vectorised pass. The cost of a step is that of the nonzero entries.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dpfl_theory.kernels.compiled import kernel
from dpfl_theory.kernels.linear_losses import losses, slopes


class Layout(NamedTuple):
    """CSR records in their clients' own columns.

    values (nnz,): the entries; places (nnz,): each entry's column among its client's own; starts (N+1,): where records
    start; columns: the clients' own columns, ascending, one client after the other; own (n+1,): where a client's
    columns start.
    """

    values: Any
    places: Any
    starts: Any
    columns: Any
    own: Any


# They live exactly as long as the data they were made from.
_LAYOUTS: WeakKeyDictionary[Any, Layout] = WeakKeyDictionary()


def layout(data: Any) -> Layout:
    """The records of a `LinearData` whose x is CSR."""
    found = _LAYOUTS.get(data)
    if found is None:
        x = data.x
        ends = x.indptr[data.offsets]
        parts = [np.unique(x.indices[a:b], return_inverse=True) for a, b in pairwise(ends)]
        found = _LAYOUTS[data] = Layout(
            np.ascontiguousarray(x.data, dtype=np.float64),
            np.concatenate([places for _, places in parts]).astype(np.int64),
            x.indptr.astype(np.int64),
            np.concatenate([columns for columns, _ in parts]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(columns) for columns, _ in parts])]).astype(np.int64),
        )
    return found


@kernel()
def _taken(w: Any, columns: Any, at: Any) -> None:
    """at (columns, rows): the rows of w (rows, d0) in a client's own columns."""
    for k in range(len(columns)):
        for r in range(len(w)):
            at[k, r] = w[r, columns[k]]


@kernel()
def _logits(values: Any, places: Any, starts: Any, first: int, at: Any, p: Any, line: Any) -> None:
    """p (rows, m): the logits of records first, first + 1, ... at the parameters (columns, rows); line (rows,)."""
    rows, m = p.shape
    for j in range(m):
        line[:] = 0.0
        for e in range(starts[first + j], starts[first + j + 1]):
            value = values[e]
            here = at[places[e]]
            for r in range(rows):
                line[r] += value * here[r]
        for r in range(rows):
            p[r, j] = line[r]


@kernel()
def _back(values: Any, places: Any, starts: Any, first: int, p: Any, g: Any, line: Any) -> None:
    """g (columns, rows): the sums of p (rows, m) times the records."""
    rows, m = p.shape
    g[:] = 0.0
    for j in range(m):
        for r in range(rows):
            line[r] = p[r, j]
        for e in range(starts[first + j], starts[first + j + 1]):
            value = values[e]
            here = g[places[e]]
            for r in range(rows):
                here[r] += value * line[r]


@kernel()
def _block(columns: int, records: int, classes: int) -> int:
    """Replicates at a time: their parameters and logits of one client stay near a megabyte."""
    return max(8, 131072 // (classes * (3 * columns + records)))


@kernel()
def local_phase_into(data: Any, w: Any, step: Any, steps: int, cohort: Any, out: Any) -> None:
    """`kernels.linear.local_phase_into`."""
    x, y, offsets, threshold, code, ridge, classes = data
    values, places, starts, columns, own = x
    replicates = len(step)
    for i in range(len(offsets) - 1):
        first = offsets[i]
        m = offsets[i + 1] - first
        mine = columns[own[i] : own[i + 1]]
        block = _block(len(mine), m, classes)
        scale = 1.0 / m
        taking = np.nonzero(cohort[:, i])[0] if cohort.size > 0 else np.arange(replicates)
        for s0 in range(0, len(taking), block):
            chosen = taking[s0 : s0 + block]
            rows = len(chosen) * classes
            number = np.empty(rows, dtype=np.int64)
            pace = np.empty(rows)
            decay = np.empty(rows)
            for r in range(rows):
                number[r] = chosen[r // classes] * classes + r % classes
                pace[r] = step[chosen[r // classes]]
                left = 1.0
                decay[r] = 0.0
                for _ in range(steps):
                    decay[r] += ridge * left
                    left *= 1.0 - pace[r] * ridge
            at = np.empty((len(mine), rows))
            for k in range(len(mine)):
                for r in range(rows):
                    at[k, r] = w[number[r], mine[k]]
            total = np.zeros((len(mine), rows))
            g = np.empty((len(mine), rows))
            p = np.empty((rows, m))
            line = np.empty(rows)
            for _ in range(steps):
                _logits(values, places, starts, first, at, p, line)
                slopes(p, y, threshold, first, code, classes)
                _back(values, places, starts, first, p, g, line)
                for k in range(len(mine)):
                    for r in range(rows):
                        slope = scale * g[k, r] + ridge * at[k, r]
                        at[k, r] -= pace[r] * slope
                        total[k, r] += slope
            for r in range(rows):
                whole = out[i, number[r]]
                if ridge > 0.0:
                    for k in range(len(whole)):
                        whole[k] = decay[r] * w[number[r], k]
                else:
                    whole[:] = 0.0
                for k in range(len(mine)):
                    whole[mine[k]] = total[k, r]


@kernel()
def gradients_into(data: Any, w: Any, out: Any) -> None:
    """`kernels.linear.gradients_into`."""
    x, y, offsets, threshold, code, ridge, classes = data
    values, places, starts, columns, own = x
    _, all_rows, features = w.shape
    for i in range(len(offsets) - 1):
        first = offsets[i]
        m = offsets[i + 1] - first
        mine = columns[own[i] : own[i + 1]]
        block = _block(len(mine), m, classes) * classes
        for r0 in range(0, all_rows, block):
            there = w[i, r0 : r0 + block]
            whole = out[i, r0 : r0 + block]
            rows = len(there)
            at = np.empty((len(mine), rows))
            g = np.empty((len(mine), rows))
            p = np.empty((rows, m))
            line = np.empty(rows)
            _taken(there, mine, at)
            _logits(values, places, starts, first, at, p, line)
            slopes(p, y, threshold, first, code, classes)
            _back(values, places, starts, first, p, g, line)
            for r in range(rows):
                for k in range(features):
                    whole[r, k] = ridge * there[r, k]
                for k in range(len(mine)):
                    whole[r, mine[k]] += g[k, r] / m


@kernel()
def values_into(data: Any, w: Any, out: Any) -> None:
    """`kernels.linear.values_into`."""
    x, y, offsets, threshold, code, ridge, classes = data
    values, places, starts, columns, own = x
    all_rows, features = w.shape
    replicates = all_rows // classes
    square = np.zeros(replicates)
    if ridge > 0.0:
        for r in range(all_rows):
            for k in range(features):
                square[r // classes] += w[r, k] * w[r, k]
    for i in range(len(offsets) - 1):
        first = offsets[i]
        m = offsets[i + 1] - first
        mine = columns[own[i] : own[i + 1]]
        block = _block(len(mine), m, classes)
        for s0 in range(0, replicates, block):
            there = w[s0 * classes : (s0 + block) * classes]
            at = np.empty((len(mine), len(there)))
            p = np.empty((len(there), m))
            _taken(there, mine, at)
            _logits(values, places, starts, first, at, p, np.empty(len(there)))
            losses(p, y, threshold, first, code, classes, out[i, s0 : s0 + block])
        for s in range(replicates):
            out[i, s] = out[i, s] / m + 0.5 * ridge * square[s]
