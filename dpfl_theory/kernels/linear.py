"""Linear models on the CPU: gradients, values and local phases of every client for a batch of replicates.

Client i's objective is ``f_i(w) = (1/m_i) sum_j loss(x_j^T w, y_j) + (ridge/2) ||w||^2`` over its m_i records. All
replicates share the records. So the logits of a batch of replicates are one matrix product ``P = W X_i^T``, the
residuals are elementwise, and the gradients are a second product ``R X_i``. For softmax the parameters (classes,
features) are flat in C order, so a batch (S, classes * features) is viewed as (S * classes, features) and the same two
products serve.

A client's logits are formed for some replicates at a time, so that they stay in the cache. The BLAS has one thread,
since blocks of replicates run in parallel (`dpfl_theory.simulation.simulate`). Nothing here overflows: exponentials are
taken of non-positive numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  (Numba's np.dot: it must be loaded before a caller bounds its threads)
from numpy.typing import NDArray

from dpfl_theory.kernels import linear_sparse
from dpfl_theory.kernels.compiled import kernel, mutable
from dpfl_theory.kernels.linear_losses import HUBER, losses, slopes

Array = NDArray[np.float64]

LOSSES = {"squared": 0, "huber": 1, "logistic": 2, "softmax": 3}
"""The losses and their codes inside the kernels."""


@dataclass(frozen=True, eq=False)
class LinearData:
    """The records of n clients and the loss of a linear model.

    x (N, d0): features, float64, C-contiguous or SciPy's CSR;  y (N,): +-1 (logistic), 0..classes-1 (softmax) or
    targets [unit of x^T w];  offsets (n+1,): int64 on the host, client i owns records offsets[i]:offsets[i+1];  loss: a
    key of ``LOSSES``;  threshold (N,): where a Huber loss turns linear [unit of x^T w], the slope outside is the
    threshold (unused by other losses);  ridge [F/X^2];  classes: 1 unless softmax. ``x``, ``y`` and ``threshold`` may
    live on any device.

    >>> data = LinearData(np.ones((2, 1)), np.zeros(2), np.array([0, 1, 2]), "squared", np.ones(2), 0.0, 1)
    >>> data.clients, data.parameters
    (2, 1)
    """

    x: Any
    y: Any
    offsets: NDArray[np.int64]
    loss: str
    threshold: Any
    ridge: float
    classes: int

    @property
    def clients(self) -> int:
        """The number n of clients."""
        return len(self.offsets) - 1

    @property
    def parameters(self) -> int:
        """The length d = classes * d0 of a parameter vector."""
        return int(self.classes * self.x.shape[1])

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """The number of records of each client (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def most_records(self) -> int:
        """The largest of these numbers."""
        return int(np.max(self.records))

    @property
    def sparse(self) -> bool:
        """Whether the features are CSR."""
        return hasattr(self.x, "indptr")


@kernel()
def _logits(at: Any, xi: Any, p: Any) -> None:
    """p = at xi^T. With one feature each logit is a single product, for which a call of the BLAS takes too long."""
    if xi.shape[1] == 1:
        for r in range(at.shape[0]):
            for j in range(xi.shape[0]):
                p[r, j] = at[r, 0] * xi[j, 0]
    else:
        np.dot(at, xi.T, p)


@kernel()
def _back(p: Any, xi: Any, g: Any) -> None:
    """g = p xi; with one record likewise."""
    if xi.shape[0] == 1:
        for r in range(p.shape[0]):
            for k in range(xi.shape[1]):
                g[r, k] = p[r, 0] * xi[0, k]
    else:
        np.dot(p, xi, g)


@kernel()
def _scalar_phase(
    x: float, y: float, bound: float, ridge: float, w: Any, step: Any, steps: int, at: Any, total: Any
) -> None:
    """`local_phase_into` of a client with one feature and one record, squared loss (bound inf) or Huber's: w, step and
    total (replicates,)."""
    for r in range(w.size):
        at[r] = w[r]
        total[r] = 0.0
    for _ in range(steps):
        for r in range(w.size):
            slope = min(max(at[r] * x - y, -bound), bound) * x + ridge * at[r]
            at[r] -= step[r] * slope
            total[r] += slope


@kernel()
def _scalar_values(x: float, y: float, bound: float, ridge: float, w: Any, out: Any) -> None:
    """`values_into` likewise."""
    for r in range(w.size):
        distance = abs(w[r] * x - y)
        loss = 0.5 * distance * distance if distance <= bound else bound * (distance - 0.5 * bound)
        out[r] = loss + 0.5 * ridge * (w[r] * w[r])


@kernel()
def local_phase_into(data: Any, w: Any, step: Any, steps: int, block: int, cohort: Any, out: Any) -> None:
    """out (n, replicates * classes, d0): sums of the gradients along `steps` local steps from w (replicates * classes,
    d0). Where cohort (replicates, n) is not empty, only replicates whose entry is not 0 run a client, together; the
    others' rows stay. Of the data it gets `_records`, as do the other kernels."""
    x, y, offsets, threshold, code, ridge, classes = data
    rows, features = w.shape
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1]
        xi = x[first:last]
        scale = 1.0 / (last - first)
        for r0 in range(0, rows, block * classes):
            r1 = min(r0 + block * classes, rows)
            if features == 1 and last == first + 1 and code <= HUBER:
                bound = threshold[first] if code == HUBER else math.inf
                start = w[r0:r1].reshape(r1 - r0)
                sums = out[i, r0:r1].reshape(r1 - r0)
                _scalar_phase(xi[0, 0], y[first], bound, ridge, start, step[r0:r1], steps, np.empty(r1 - r0), sums)
                continue
            at = w[r0:r1].copy()
            pace = step[r0 // classes : r1 // classes].copy()
            total = out[i, r0:r1]
            if cohort.size > 0:
                taking = np.empty(len(pace), dtype=np.int64)
                few = 0
                for s in range(len(pace)):
                    if cohort[r0 // classes + s, i] != 0.0:
                        taking[few] = s
                        pace[few] = pace[s]
                        few += 1
                pace = pace[:few]
                for r in range(few * classes):
                    for k in range(features):
                        at[r, k] = at[taking[r // classes] * classes + r % classes, k]
                at = at[: few * classes]
                total = np.empty(at.shape)
            if len(pace) == 0:
                continue
            p = np.empty((len(at), last - first))
            g = np.empty(at.shape)
            for t in range(steps):
                _logits(at, xi, p)
                slopes(p, y, threshold, first, code, classes)
                _back(p, xi, g)
                for r in range(len(at)):
                    eta = pace[r // classes]
                    for k in range(features):
                        slope = scale * g[r, k] + ridge * at[r, k]
                        at[r, k] -= eta * slope
                        if t == 0:
                            total[r, k] = slope
                        else:
                            total[r, k] += slope
            if cohort.size > 0:
                for r in range(len(at)):
                    whole = out[i, r0 + taking[r // classes] * classes + r % classes]
                    for k in range(features):
                        whole[k] = total[r, k]


@kernel()
def gradients_into(data: Any, w: Any, block: int, out: Any) -> None:
    """out (n, replicates * classes, d0): client i's gradients at w[i] (replicates * classes, d0)."""
    x, y, offsets, threshold, code, ridge, classes = data
    _, rows, features = w.shape
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1]
        xi = x[first:last]
        scale = 1.0 / (last - first)
        for r0 in range(0, rows, block * classes):
            r1 = min(r0 + block * classes, rows)
            at = w[i, r0:r1]
            g = out[i, r0:r1]
            p = np.empty((r1 - r0, last - first))
            _logits(at, xi, p)
            slopes(p, y, threshold, first, code, classes)
            _back(p, xi, g)
            for r in range(r1 - r0):
                for k in range(features):
                    g[r, k] = scale * g[r, k] + ridge * at[r, k]


@kernel()
def values_into(data: Any, w: Any, block: int, out: Any) -> None:
    """out (n, replicates): the clients' values at w (replicates * classes, d0)."""
    x, y, offsets, threshold, code, ridge, classes = data
    rows, features = w.shape
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1]
        for r0 in range(0, rows, block * classes):
            r1 = min(r0 + block * classes, rows)
            s0 = r0 // classes
            s1 = r1 // classes
            if features == 1 and last == first + 1 and code <= HUBER:
                bound = threshold[first] if code == HUBER else math.inf
                _scalar_values(x[first, 0], y[first], bound, ridge, w[r0:r1].reshape(r1 - r0), out[i, r0:r1])
                continue
            p = np.empty((r1 - r0, last - first))
            _logits(w[r0:r1], x[first:last], p)
            losses(p, y, threshold, first, code, classes, out[i, s0:s1])
            for s in range(s0, s1):
                square = 0.0
                for c in range(classes):
                    for k in range(features):
                        square += w[s * classes + c, k] * w[s * classes + c, k]
                out[i, s] = out[i, s] / (last - first) + 0.5 * ridge * square


def linear_block(data: LinearData) -> int:
    """Replicates at a time: their logits of one client stay near a quarter of a megabyte where its records do too.
    Where reading the records again costs more, they stay near one megabyte (`benchmarks/linear.py`)."""
    records = max(1, data.most_records)
    numbers = 32768 if records * data.x.shape[1] <= 32768 else 131072
    return max(8, numbers // (data.classes * records))


def _records(data: LinearData) -> tuple[Any, ...]:
    """Records and loss, as the kernels take them; CSR features are their layout."""
    x = linear_sparse.layout(data) if data.sparse else data.x
    return x, data.y, data.offsets, data.threshold, LOSSES[data.loss], data.ridge, data.classes


def linear_local_phase(data: LinearData, w: Array, step: Array, steps: int, cohort: Array | None = None) -> Array:
    """The updates of E local gradient steps, ``u_i = (w - w_{i,E})/step = sum_{t<E} grad f_i(w_{i,t})``.

    w (S, d): common parameters [X]; step (S,) [X^2/F]; steps: E >= 1. Returns (n, S, d) [F/X]. The gradients are summed
    along the path; no difference of parameters is divided by a step, so small steps lose no digits. cohort (S, n):
    clients whose entry is 0 need not be run, and their updates may be zeros.

    >>> data = LinearData(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), "squared", np.ones(1), 0.0, 1)
    >>> linear_local_phase(data, np.array([[1.0]]), np.array([0.5]), 2)  # 1 + 0.5
    array([[[1.5]]])
    """
    replicates, d = w.shape
    shape = (data.clients, replicates * data.classes, d // data.classes)
    out = np.empty(shape) if cohort is None else np.zeros(shape)
    at = mutable(w).reshape(replicates * data.classes, -1)
    pace = mutable(step)
    who = np.empty((0, 0)) if cohort is None else np.ascontiguousarray(cohort)
    if data.sparse:
        linear_sparse.local_phase_into(_records(data), at, pace, steps, who, out)
    else:
        local_phase_into(_records(data), at, pace, steps, linear_block(data), who, out)
    return out.reshape(data.clients, replicates, d)


def linear_gradients(data: LinearData, w: Array) -> Array:
    """grad f_i(w_i) for per-client parameters w (n, S, d) [X]; returns (n, S, d) [F/X].

    >>> data = LinearData(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), "huber", np.array([2.0]), 0.0, 1)
    >>> linear_gradients(data, np.array([[[1.0], [5.0]]])).tolist()
    [[[1.0], [2.0]]]
    """
    n, replicates, d = w.shape
    out = np.empty((n, replicates * data.classes, d // data.classes))
    at = mutable(w).reshape(out.shape)
    if data.sparse:
        linear_sparse.gradients_into(_records(data), at, out)
    else:
        gradients_into(_records(data), at, linear_block(data), out)
    return out.reshape(n, replicates, d)


def linear_values(data: LinearData, w: Array) -> Array:
    """f_i(w) at common parameters w (S, d) [X]; returns (S, n) [F].

    >>> data = LinearData(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), "huber", np.array([2.0]), 0.0, 1)
    >>> linear_values(data, np.array([[1.0], [5.0]])).tolist()  # 1/2 and 2 * 5 - 2
    [[0.5], [8.0]]
    """
    replicates = w.shape[0]
    out = np.empty((data.clients, replicates))
    at = mutable(w).reshape(replicates * data.classes, -1)
    if data.sparse:
        linear_sparse.values_into(_records(data), at, out)
    else:
        values_into(_records(data), at, linear_block(data), out)
    return np.ascontiguousarray(out.T)
