"""The compiled loop that replays a tape: operations on places of one block of memory, round after round.

A row of the code is one operation: its number, then its arguments. Element-by-element operations have three loops
(lengths, then start and strides of the result and of up to three operands); the last loop is the longest one.
Sums are taken in NumPy's order, so that the replay equals the recording bit by bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.kernels import cpu_kernels, linear, philox
from dpfl_theory.kernels.compiled import kernel
from dpfl_theory.kernels.elementary import kth_smallest

__all__ = ["KERNELS", "WIDTH", "play"]

WIDTH = 24
KERNELS = {
    name: code
    for code, name in enumerate(
        [
            "uniform",
            "normal",
            "segment_update",
            "segment_scale",
            "segment_energy",
            "combine",
            "bounded_combine",
            "linear_local_phase",
            "linear_gradients",
            "linear_values",
        ],
        start=48,
    )
}


@kernel(error_model="numpy")
def _dense(code: int, z: Any, a: Any, b: Any, c: Any) -> None:
    """One operation on vectors without gaps; each has a loop of its own, which LLVM vectorises."""
    n = z.size
    if code == 0:
        for j in range(n):
            z[j] = a[j]
    elif code == 1:
        for j in range(n):
            z[j] = -a[j]
    elif code == 2:
        for j in range(n):
            z[j] = math.sqrt(a[j])
    elif code == 6:
        for j in range(n):
            z[j] = a[j] + b[j]
    elif code == 7:
        for j in range(n):
            z[j] = a[j] - b[j]
    elif code == 8:
        for j in range(n):
            z[j] = a[j] * b[j]
    elif code == 9:
        for j in range(n):
            z[j] = a[j] / b[j]
    elif code == 10:
        for j in range(n):
            z[j] = a[j] if a[j] >= b[j] or a[j] != a[j] else b[j]
    elif code == 12:
        for j in range(n):
            z[j] = 1.0 if a[j] < b[j] else 0.0
    elif code == 13:
        for j in range(n):
            z[j] = 1.0 if a[j] <= b[j] else 0.0
    elif code == 14:
        for j in range(n):
            z[j] = 1.0 if a[j] > b[j] else 0.0
    elif code == 20:
        for j in range(n):
            z[j] = b[j] if a[j] != 0.0 else c[j]
    else:
        for j in range(n):
            z[j] = _one(code, a[j], b[j], c[j])


@kernel(error_model="numpy")
def _one(code: int, a: float, b: float, c: float) -> float:
    """One operation on numbers, truth being 1.0 and falsehood 0.0."""
    if code == 0:
        return a
    if code == 1:
        return -a
    if code == 2:
        return math.sqrt(a)
    if code == 3:
        return abs(a)
    if code == 4:
        return 1.0 if a == 0.0 else 0.0
    if code == 5:
        return math.trunc(a) + 0.0
    if code == 6:
        return a + b
    if code == 7:
        return a - b
    if code == 8:
        return a * b
    if code == 9:
        return a / b
    if code == 10:
        return a if a >= b or a != a else b
    if code == 11:
        return a if a <= b or a != a else b
    if code == 12:
        return 1.0 if a < b else 0.0
    if code == 13:
        return 1.0 if a <= b else 0.0
    if code == 14:
        return 1.0 if a > b else 0.0
    if code == 15:
        return 1.0 if a >= b else 0.0
    if code == 16:
        return 1.0 if a == b else 0.0
    if code == 17:
        return 1.0 if a != b else 0.0
    if code == 18:
        return 1.0 if a != 0.0 and b != 0.0 else 0.0
    if code == 19:
        return 1.0 if a != 0.0 or b != 0.0 else 0.0
    return b if a != 0.0 else c


@kernel(error_model="numpy")
def _elementwise(row: Any, m: Any) -> None:
    code, n = row[0], row[3]
    dense = row[7] == 1 and row[11] == 1 and row[15] == 1 and row[19] == 1
    for i in range(row[1]):
        for j in range(row[2]):
            z = row[4] + i * row[5] + j * row[6]
            a = row[8] + i * row[9] + j * row[10]
            b = row[12] + i * row[13] + j * row[14]
            c = row[16] + i * row[17] + j * row[18]
            if dense:
                _dense(code, m[z : z + n], m[a : a + n], m[b : b + n], m[c : c + n])
            elif code == 0:
                for k in range(n):
                    m[z + k * row[7]] = m[a + k * row[11]]
            elif code == 6:
                for k in range(n):
                    m[z + k * row[7]] = m[a + k * row[11]] + m[b + k * row[15]]
            elif code == 7:
                for k in range(n):
                    m[z + k * row[7]] = m[a + k * row[11]] - m[b + k * row[15]]
            elif code == 8:
                for k in range(n):
                    m[z + k * row[7]] = m[a + k * row[11]] * m[b + k * row[15]]
            else:
                for k in range(n):
                    m[z + k * row[7]] = _one(code, m[a + k * row[11]], m[b + k * row[15]], m[c + k * row[19]])


@kernel()
def _pairwise(m: Any, first: int, n: int, stride: int) -> Any:
    """NumPy's sum of a vector: eight partial sums up to 128 numbers, halves beyond."""
    if n < 8:
        total = 0.0
        for i in range(n):
            total += m[first + i * stride]
        return total
    if n > 128:
        half = n // 2
        half -= half % 8
        return _pairwise(m, first, half, stride) + _pairwise(m, first + half * stride, n - half, stride)
    r0, r1, r2, r3 = m[first], m[first + stride], m[first + 2 * stride], m[first + 3 * stride]
    r4, r5, r6, r7 = (
        m[first + 4 * stride],
        m[first + 5 * stride],
        m[first + 6 * stride],
        m[first + 7 * stride],
    )
    i = 8
    while i < n - n % 8:
        at = first + i * stride
        r0 += m[at]
        r1 += m[at + stride]
        r2 += m[at + 2 * stride]
        r3 += m[at + 3 * stride]
        r4 += m[at + 4 * stride]
        r5 += m[at + 5 * stride]
        r6 += m[at + 6 * stride]
        r7 += m[at + 7 * stride]
        i += 8
    total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    while i < n:
        total += m[first + i * stride]
        i += 1
    return total


@kernel()
def _reduce(row: Any, m: Any) -> None:
    """Kept loops 1 and 2; reduced ones: an outer one, in order, and an inner one, which NumPy sums by pairs."""
    code, outer, inner, stride = row[0], row[9], row[11], row[12]
    for i in range(row[1]):
        for j in range(row[2]):
            at = row[6] + i * row[7] + j * row[8]
            if code == 32:
                total = 0.0
                for r in range(outer):
                    if inner < 8:  # as in `_pairwise`, without a call
                        part = 0.0
                        for k in range(inner):
                            part += m[at + r * row[10] + k * stride]
                        total += part
                    else:
                        total += _pairwise(m, at + r * row[10], inner, stride)
            else:
                total = m[at]
                for r in range(outer):
                    for k in range(inner):
                        x = m[at + r * row[10] + k * stride]
                        if x != x or (x < total if code == 33 else x > total):
                            total = x
            m[row[3] + i * row[4] + j * row[5]] = total


@kernel()
def _matmul(row: Any, m: Any) -> None:
    M, K, N, z, a, b = row[1], row[2], row[3], row[4], row[5], row[6]
    if K == 1:
        for i in range(M):
            for j in range(N):
                m[z + i * N + j] = m[a + i] * m[b + j]
    else:
        out = m[z : z + M * N].reshape(M, N)
        np.dot(m[a : a + M * K].reshape(M, K), m[b : b + K * N].reshape(K, N), out)


@kernel()
def _select(row: Any, m: Any) -> None:
    """The k-th smallest number of each line."""
    lines, n, kth, z, a = row[1], row[2], row[3], row[4], row[5]
    for i in range(lines):
        m[z + i] = kth_smallest(m[a + i * n : a + (i + 1) * n].copy(), kth)


@kernel()
def _noise(row: Any, m: Any, names: Any, k: int) -> None:
    """row: code, number of names, the places of the result and the names, numbers for each name; then the place that
    says which replicates draw (-1 if all do), and the number of replicates."""
    code, jobs, z, first, width = row[0], row[1], row[2], row[3], row[4]
    own = names[first : first + jobs]
    if code == 48:
        philox.uniforms(m[z : z + jobs], own, k)
    elif row[5] < 0:
        philox.normals(m[z : z + jobs * width].reshape(jobs, width), own, k)
    else:
        where = m[row[5] : row[5] + row[6]]
        philox.normals_where(m[z : z + jobs * width].reshape(jobs, width), own, where, np.int64(0), k)


@kernel()
def _segments(row: Any, m: Any, ints: Any) -> None:
    """row: code, S, R, n, offsets, then the places of z, norms, y, factors and rows."""
    code, S, R, n = row[0], row[1], row[2], row[3]
    offsets = ints[row[4] : row[4] + n + 1]
    if code == 50:
        y = m[row[7] : row[7] + S * R].reshape(S, R)
        factors = m[row[8] : row[8] + row[10] * R].reshape(row[10], R)
        z = m[row[5] : row[5] + S * R].reshape(S, R)
        norms = m[row[6] : row[6] + S * n].reshape(S, n)
        cpu_kernels.segment_update(y, factors, ints[row[9] : row[9] + S], offsets, z, norms)
    elif code == 51:
        z = m[row[7] : row[7] + S * R].reshape(S, R)
        factors = m[row[8] : row[8] + S * n].reshape(S, n)
        cpu_kernels.segment_scale(z, factors, offsets, m[row[5] : row[5] + S * R].reshape(S, R))
    else:
        y = m[row[7] : row[7] + S * R].reshape(S, R)
        out = m[row[5] : row[5] + S * n].reshape(S, n)
        cpu_kernels.segment_energy(y, m[row[8] : row[8] + R], offsets, out)


@kernel()
def _combination(row: Any, m: Any) -> None:
    """row: code, n, S, d, then the places of the result, the norms, the updates, the weights and the thresholds."""
    n, S, d = row[1], row[2], row[3]
    out = m[row[4] : row[4] + S * d].reshape(S, d)
    updates = m[row[6] : row[6] + n * S * d].reshape(n, S, d)
    weights = m[row[7] : row[7] + S * n].reshape(S, n)
    if row[0] == 53:
        cpu_kernels.combine(updates, weights, out)
    else:
        norms = m[row[5] : row[5] + S * n].reshape(S, n)
        cpu_kernels.bounded_combine(updates, weights, m[row[8] : row[8] + S], row[9] == 1, out, norms)


@kernel()
def _linear(row: Any, m: Any, data: Any) -> None:
    """row: code, n, rows, features, result, parameters, steps of the replicates, number of steps, replicates at a
    time."""
    code, n, rows, features = row[0], row[1], row[2], row[3]
    x, y, offsets, threshold, loss, ridge, classes = data
    size = rows * features
    if code == 57:
        out = m[row[4] : row[4] + n * (rows // classes)].reshape(n, rows // classes)
        w = m[row[5] : row[5] + size].reshape(rows, features)
        linear.values_into(x, y, offsets, threshold, loss, ridge, classes, w, row[8], out)
        return
    out3 = m[row[4] : row[4] + n * size].reshape(n, rows, features)
    if code == 55:
        w = m[row[5] : row[5] + size].reshape(rows, features)
        step = m[row[6] : row[6] + rows // classes]
        everyone = np.empty((0, 0))
        linear.local_phase_into(x, y, offsets, threshold, loss, ridge, classes, w, step, row[7], row[8], everyone, out3)
    else:
        w3 = m[row[5] : row[5] + n * size].reshape(n, rows, features)
        linear.gradients_into(x, y, offsets, threshold, loss, ridge, classes, w3, row[8], out3)


@kernel()
def play(
    code: Any,
    always: int,
    m: Any,
    ints: Any,
    names: Any,
    data: Any,
    commits: Any,
    values: Any,
    total: Any,
    smallest: Any,
    last: Any,
    series: Any,
    every: int,
    first: int,
    end: int,
) -> int:
    """Play rounds first, ..., end - 1; returns the round before which a guard stopped it, or ``end``.

    The first ``always`` operations make the next state, the others the observed values. commits (L, 3): source, target
    and count of the numbers of a state;  values (O,): the places of the observables' values;  total, smallest, last
    (O, S): accumulated in place;  series (O, observed rounds or 0, S).
    """
    replicates = total.shape[1]
    seen = 0
    for k in range(first, end):
        watched = k % every == 0
        for i in range(code.shape[0] if watched else always):
            row = code[i]
            what = row[0]
            if what <= 20:
                _elementwise(row, m)
            elif what <= 34:
                _reduce(row, m)
            elif what == 40:
                _matmul(row, m)
            elif what == 41:
                _select(row, m)
            elif what == 47:
                if (m[row[1]] != 0.0) != (row[2] == 1):
                    return k
            elif what <= 49:
                _noise(row, m, names, k)
            elif what <= 52:
                _segments(row, m, ints)
            elif what <= 54:
                _combination(row, m)
            else:
                _linear(row, m, data)
        if watched:
            for o in range(values.size):
                at = values[o]
                for s in range(replicates):
                    value = m[at + s]
                    total[o, s] += value
                    if value < smallest[o, s] or value != value:
                        smallest[o, s] = value
                    last[o, s] = value
                if series.shape[1] > 0:
                    for s in range(replicates):
                        series[o, seen, s] = m[at + s]
            seen += 1
        for i in range(commits.shape[0]):
            a, b, size = commits[i, 0], commits[i, 1], commits[i, 2]
            for j in range(size):
                m[b + j] = m[a + j]
    return end
