"""The CPU engine's fused operations on batches of replicates; none of them holds the interpreter's lock."""

from __future__ import annotations

import math
from typing import Any

from dpfl_theory.kernels.compiled import kernel


@kernel()
def segment_update(y: Any, factors: Any, rows: Any, offsets: Any, z: Any, norms: Any) -> None:
    """`Engine.segment_update` into z and norms."""
    replicates = y.shape[0]
    n = offsets.shape[0] - 1
    for s in range(replicates):
        factor = factors[rows[s]]
        for i in range(n):
            total = 0.0
            for j in range(offsets[i], offsets[i + 1]):
                value = factor[j] * y[s, j]
                z[s, j] = value
                total += value * value
            norms[s, i] = math.sqrt(total)


@kernel()
def segment_scale(z: Any, factors: Any, offsets: Any, out: Any) -> None:
    """`Engine.segment_scale` into out."""
    replicates = z.shape[0]
    n = offsets.shape[0] - 1
    for s in range(replicates):
        for i in range(n):
            factor = factors[s, i]
            for j in range(offsets[i], offsets[i + 1]):
                out[s, j] = factor * z[s, j]


@kernel()
def segment_energy(y: Any, eigenvalues: Any, offsets: Any, out: Any) -> None:
    """`Engine.segment_energy` into out."""
    replicates = y.shape[0]
    n = offsets.shape[0] - 1
    for s in range(replicates):
        for i in range(n):
            total = 0.0
            for j in range(offsets[i], offsets[i + 1]):
                total += eigenvalues[j] * y[s, j] * y[s, j]
            out[s, i] = 0.5 * total


@kernel()
def combine(updates: Any, weights: Any, out: Any) -> None:
    """`Engine.combine` into out."""
    n, replicates, d = updates.shape
    for s in range(replicates):
        for j in range(d):
            out[s, j] = 0.0
        for i in range(n):
            weight = weights[s, i]
            if weight != 0.0:
                for j in range(d):
                    out[s, j] += weight * updates[i, s, j]


@kernel()
def bounded_combine(updates: Any, weights: Any, threshold: Any, normalise: bool, out: Any, norms: Any) -> None:
    """`Engine.bounded_combine` into out and norms."""
    n, replicates, d = updates.shape
    if d == 1:
        for s in range(replicates):
            bound = threshold[s]
            moved = 0.0
            for i in range(n):
                value = updates[i, s, 0]
                norm = math.sqrt(value * value)
                norms[s, i] = norm
                factor = weights[s, i]
                if norm > bound or (normalise and norm > 0.0):
                    factor *= bound / norm
                if factor != 0.0:
                    moved += factor * value
            out[s, 0] = moved
        return
    for s in range(replicates):
        bound = threshold[s]
        for j in range(d):
            out[s, j] = 0.0
        for i in range(n):
            total = 0.0
            for j in range(d):
                total += updates[i, s, j] * updates[i, s, j]
            norm = math.sqrt(total)
            norms[s, i] = norm
            factor = weights[s, i]
            if norm > bound or (normalise and norm > 0.0):
                factor *= bound / norm
            if factor != 0.0:
                for j in range(d):
                    out[s, j] += factor * updates[i, s, j]
