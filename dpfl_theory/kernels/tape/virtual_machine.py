"""The virtual machine: a compiled loop that runs a program's instructions on one block of memory, round after round.

An instruction is a row of whole numbers that starts with its opcode. Those element by element have three loops, the
last of which is the longest: the lengths, then start and strides of the result and of three operands. Those of the
engine have sizes, then the addresses of outputs and inputs. Sums are taken in NumPy's order, so that the replay equals
the recorded round bit by bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.kernels import cpu_kernels, linear, philox
from dpfl_theory.kernels.compiled import kernel
from dpfl_theory.kernels.elementary import kth_smallest
from dpfl_theory.kernels.tape import operations as op


@kernel(error_model="numpy")
def _vector(opcode: int, z: Any, a: Any, b: Any, c: Any) -> None:
    """One operation on vectors without gaps; each has a loop of its own, which LLVM vectorises."""
    n = z.size
    if opcode == op.COPY:
        for j in range(n):
            z[j] = a[j]
    elif opcode == op.NEGATIVE:
        for j in range(n):
            z[j] = -a[j]
    elif opcode == op.SQRT:
        for j in range(n):
            z[j] = math.sqrt(a[j])
    elif opcode == op.ABSOLUTE:
        for j in range(n):
            z[j] = abs(a[j])
    elif opcode == op.LOGICAL_NOT:
        for j in range(n):
            z[j] = 1.0 if a[j] == 0.0 else 0.0
    elif opcode == op.TRUNCATE:
        for j in range(n):
            z[j] = math.trunc(a[j]) + 0.0
    elif opcode == op.ADD:
        for j in range(n):
            z[j] = a[j] + b[j]
    elif opcode == op.SUBTRACT:
        for j in range(n):
            z[j] = a[j] - b[j]
    elif opcode == op.MULTIPLY:
        for j in range(n):
            z[j] = a[j] * b[j]
    elif opcode == op.DIVIDE:
        for j in range(n):
            z[j] = a[j] / b[j]
    elif opcode == op.MAXIMUM:
        for j in range(n):
            z[j] = a[j] if a[j] >= b[j] or a[j] != a[j] else b[j]
    elif opcode == op.MINIMUM:
        for j in range(n):
            z[j] = a[j] if a[j] <= b[j] or a[j] != a[j] else b[j]
    elif opcode == op.LESS:
        for j in range(n):
            z[j] = 1.0 if a[j] < b[j] else 0.0
    elif opcode == op.LESS_EQUAL:
        for j in range(n):
            z[j] = 1.0 if a[j] <= b[j] else 0.0
    elif opcode == op.GREATER:
        for j in range(n):
            z[j] = 1.0 if a[j] > b[j] else 0.0
    elif opcode == op.GREATER_EQUAL:
        for j in range(n):
            z[j] = 1.0 if a[j] >= b[j] else 0.0
    elif opcode == op.EQUAL:
        for j in range(n):
            z[j] = 1.0 if a[j] == b[j] else 0.0
    elif opcode == op.NOT_EQUAL:
        for j in range(n):
            z[j] = 1.0 if a[j] != b[j] else 0.0
    elif opcode == op.LOGICAL_AND:
        for j in range(n):
            z[j] = 1.0 if a[j] != 0.0 and b[j] != 0.0 else 0.0
    elif opcode == op.LOGICAL_OR:
        for j in range(n):
            z[j] = 1.0 if a[j] != 0.0 or b[j] != 0.0 else 0.0
    else:
        for j in range(n):
            z[j] = b[j] if a[j] != 0.0 else c[j]


@kernel()
def _gathered(m: Any, first: int, stride: int, n: int) -> Any:
    out = np.empty(n)
    for k in range(n):
        out[k] = m[first + k * stride]
    return out


@kernel(error_model="numpy")
def _elementwise(row: Any, m: Any) -> None:
    opcode, n, sz, sa, sb, sc = row[0], row[3], row[7], row[11], row[15], row[19]
    dense = sz == 1 and sa == 1 and sb == 1 and sc == 1
    for i in range(row[1]):
        for j in range(row[2]):
            z = row[4] + i * row[5] + j * row[6]
            a = row[8] + i * row[9] + j * row[10]
            b = row[12] + i * row[13] + j * row[14]
            c = row[16] + i * row[17] + j * row[18]
            if dense:
                _vector(opcode, m[z : z + n], m[a : a + n], m[b : b + n], m[c : c + n])
            elif opcode == op.COPY:
                for k in range(n):
                    m[z + k * sz] = m[a + k * sa]
            elif opcode == op.ADD:
                for k in range(n):
                    m[z + k * sz] = m[a + k * sa] + m[b + k * sb]
            elif opcode == op.SUBTRACT:
                for k in range(n):
                    m[z + k * sz] = m[a + k * sa] - m[b + k * sb]
            elif opcode == op.MULTIPLY:
                for k in range(n):
                    m[z + k * sz] = m[a + k * sa] * m[b + k * sb]
            else:
                out = np.empty(n)
                _vector(opcode, out, _gathered(m, a, sa, n), _gathered(m, b, sb, n), _gathered(m, c, sc, n))
                for k in range(n):
                    m[z + k * sz] = out[k]


@kernel()
def _pairwise(m: Any, first: int, n: int, stride: int) -> Any:
    """NumPy's sum of a vector: eight partial sums up to 128 numbers, halves beyond."""
    if n > 128:
        half = n // 2
        half -= half % 8
        return _pairwise(m, first, half, stride) + _pairwise(m, first + half * stride, n - half, stride)
    i, total = 0, 0.0
    if n >= 8:
        r0, r1, r2, r3, r4, r5, r6, r7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
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
    """Two kept loops; an outer reduced loop, in order, and an inner one, which NumPy sums by pairs."""
    opcode, outer, inner, stride = row[0], row[9], row[11], row[12]
    for i in range(row[1]):
        for j in range(row[2]):
            at = row[6] + i * row[7] + j * row[8]
            if opcode == op.SUM:
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
                        if x != x or (x < total if opcode == op.MIN else x > total):
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
def _draw(row: Any, m: Any, draws: Any, k: int) -> None:
    """UNIFORM: draws, output, addresses. NORMAL: draws, d, replicates, output, addresses, and the mask of those
    replicates that draw."""
    opcode, count = row[0], row[1]
    if opcode == op.UNIFORM:
        philox.uniforms(m[row[2] : row[2] + count], draws[row[3] : row[3] + count], k)
        return
    out = m[row[4] : row[4] + count * row[2]].reshape(count, row[2])
    addresses = draws[row[5] : row[5] + count]
    if opcode == op.NORMAL:
        philox.normals(out, addresses, k)
    else:
        philox.normals_where(out, addresses, m[row[6] : row[6] + row[3]], np.int64(0), k)


@kernel()
def _segments(row: Any, m: Any, indices: Any) -> None:
    """S, R, n; the number of distinct factors for SEGMENT_UPDATE; the addresses of outputs and inputs."""
    opcode, S, R, n = row[0], row[1], row[2], row[3]
    if opcode == op.SEGMENT_UPDATE:
        z = m[row[5] : row[5] + S * R].reshape(S, R)
        norms = m[row[6] : row[6] + S * n].reshape(S, n)
        y = m[row[7] : row[7] + S * R].reshape(S, R)
        factors = m[row[8] : row[8] + row[4] * R].reshape(row[4], R)
        rows, offsets = indices[row[9] : row[9] + S], indices[row[10] : row[10] + n + 1]
        cpu_kernels.segment_update(y, factors, rows, offsets, z, norms)
        return
    y = m[row[5] : row[5] + S * R].reshape(S, R)
    offsets = indices[row[7] : row[7] + n + 1]
    if opcode == op.SEGMENT_SCALE:
        factors = m[row[6] : row[6] + S * n].reshape(S, n)
        cpu_kernels.segment_scale(y, factors, offsets, m[row[4] : row[4] + S * R].reshape(S, R))
    else:
        out = m[row[4] : row[4] + S * n].reshape(S, n)
        cpu_kernels.segment_energy(y, m[row[6] : row[6] + R], offsets, out)


@kernel()
def _combine(row: Any, m: Any) -> None:
    """n, S, d; whether it normalises for BOUNDED_COMBINE; the addresses of outputs and inputs."""
    n, S, d = row[1], row[2], row[3]
    bounded = row[0] == op.BOUNDED_COMBINE
    first, x, y = (row[5], row[7], row[8]) if bounded else (row[4], row[5], row[6])
    out = m[first : first + S * d].reshape(S, d)
    updates, weights = m[x : x + n * S * d].reshape(n, S, d), m[y : y + S * n].reshape(S, n)
    if bounded:
        norms = m[row[6] : row[6] + S * n].reshape(S, n)
        cpu_kernels.bounded_combine(updates, weights, m[row[9] : row[9] + S], row[4] == 1, out, norms)
    else:
        cpu_kernels.combine(updates, weights, out)


@kernel()
def _linear(row: Any, m: Any, data: Any) -> None:
    """n, rows, features, local steps, replicates at a time; the addresses of output, parameters and step sizes."""
    opcode, n, rows, features, steps, block, at = row[0], row[1], row[2], row[3], row[4], row[5], row[6]
    classes = data[-1]
    size = rows * features
    if opcode == op.LINEAR_VALUES:
        out = m[at : at + n * (rows // classes)].reshape(n, rows // classes)
        w = m[row[7] : row[7] + size].reshape(rows, features)
        linear.values_into(data, w, block, out)
        return
    out3 = m[at : at + n * size].reshape(n, rows, features)
    if opcode == op.LINEAR_LOCAL_PHASE:
        w = m[row[7] : row[7] + size].reshape(rows, features)
        step = m[row[8] : row[8] + rows // classes]
        everyone = np.empty((0, 0))
        linear.local_phase_into(data, w, step, steps, block, everyone, out3)
    else:
        w3 = m[row[7] : row[7] + n * size].reshape(n, rows, features)
        linear.gradients_into(data, w3, block, out3)


@kernel()
def run(program: Any, m: Any, sums: Any, every: int, first: int, end: int) -> int:
    """Run rounds first, ..., end - 1; returns the round before which a guard stopped it, or ``end``.

    The first ``always`` instructions make the next state, the others the observed values. moves (L, 3): source, target
    and size of each array of the next state;  values (O,): the addresses of the observables' values;  total, smallest,
    last (O, S): accumulated in place;  series (O, observed rounds or 0, S).
    """
    code, always, indices, draws, data, moves, values = program
    total, smallest, last, series = sums
    replicates = total.shape[1]
    observed = 0
    for k in range(first, end):
        observing = k % every == 0
        for i in range(code.shape[0] if observing else always):
            row = code[i]
            opcode = row[0]
            if opcode <= op.WHERE:
                _elementwise(row, m)
            elif opcode <= op.MAX:
                _reduce(row, m)
            elif opcode == op.MATMUL:
                _matmul(row, m)
            elif opcode == op.SELECT:
                _select(row, m)
            elif opcode == op.GUARD:
                if (m[row[2]] != 0.0) != (row[1] == 1):
                    return k
            elif opcode <= op.NORMAL_WHERE:
                _draw(row, m, draws, k)
            elif opcode <= op.SEGMENT_ENERGY:
                _segments(row, m, indices)
            elif opcode <= op.BOUNDED_COMBINE:
                _combine(row, m)
            else:
                _linear(row, m, data)
        if observing:
            for o in range(values.size):
                at = values[o]
                for s in range(replicates):
                    value = m[at + s]
                    total[o, s] += value
                    if value < smallest[o, s] or value != value:
                        smallest[o, s] = value
                    last[o, s] = value
                    if series.shape[1] > 0:
                        series[o, observed, s] = value
            observed += 1
        for i in range(moves.shape[0]):
            source, target = moves[i, 0], moves[i, 1]
            for j in range(moves[i, 2]):
                m[target + j] = m[source + j]
    return end
