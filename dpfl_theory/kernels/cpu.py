"""The CPU engine: NumPy arrays, Numba kernels over replicates, the BLAS that NumPy and SciPy ship.

Every kernel has one thread and holds no lock of the interpreter: blocks of replicates run in parallel.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from dpfl_theory.kernels import compiled, cpu_kernels, linear, linear_records, philox
from dpfl_theory.kernels.compiled import mutable
from dpfl_theory.kernels.engine import RECORDS, Engine, Replicates
from dpfl_theory.runtime import threads

compiled.listen()

_EVERY_CLIENT, _EVERYWHERE = np.empty((0, 0), dtype=np.int64), np.empty(0)


class CpuEngine(Engine):
    """NumPy arrays and Numba kernels.

    >>> from dpfl_theory.kernels.engine import Replicates
    >>> CpuEngine().normal(Replicates(seed=7, first=0, count=2), round_=0, clients=1, d=3, stream=0).shape
    (1, 2, 3)
    """

    name = "cpu"
    xp = np

    def __init__(self) -> None:
        self.description = f"cpu, {os.cpu_count()} cores"

    def asarray(self, x: Any) -> Any:
        return x if hasattr(x, "indptr") else np.ascontiguousarray(x, dtype=np.float64)

    def to_host(self, x: Any) -> Any:
        return np.asarray(x)

    def uniform(self, replicates: Replicates, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        if replicates.parts:
            return np.concatenate(replicates.by_part(lambda p, _: self.uniform(p, round_, clients, stream, step)))
        out = np.empty((replicates.count, clients))
        philox.fill_uniform(out, np.uint64(replicates.seed), replicates.first, round_, step, stream)
        return out

    def normal(
        self, replicates: Replicates, round_: int, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        if replicates.parts:
            drawn = replicates.by_part(
                lambda p, s: self.normal(p, round_, clients, d, stream, step, None if where is None else where[s])
            )
            return np.concatenate(drawn, axis=1)
        out = np.empty((clients, replicates.count, d))
        address = np.uint64(replicates.seed), replicates.first, round_, step, stream
        philox.fill_normal(out, _EVERY_CLIENT, _EVERYWHERE if where is None else mutable(where), *address)
        return out

    def normal_of(self, replicates: Replicates, round_: int, clients: Any, d: int, stream: int, step: int = 0) -> Any:
        if replicates.parts:
            drawn = replicates.by_part(lambda p, s: self.normal_of(p, round_, clients[:, s], d, stream, step))
            return np.concatenate(drawn, axis=1)
        out = np.empty((*clients.shape, d))
        address = np.uint64(replicates.seed), replicates.first, round_, step, stream
        philox.fill_normal(out, mutable(clients, np.int64), _EVERYWHERE, *address)
        return out

    def subsets(self, replicates: Replicates, round_: int, clients: Any, sizes: Any, counts: Any, step: int = 0) -> Any:
        if replicates.parts:
            drawn = replicates.by_part(lambda p, s: self.subsets(p, round_, clients[:, s], sizes, counts, step))
            return np.concatenate(drawn, axis=1)
        counts = np.minimum(counts, sizes)
        out = np.empty((*clients.shape, int(counts.max())), dtype=np.int64)
        address = np.uint64(replicates.seed), replicates.first, round_, step, RECORDS
        philox.fill_subsets(out, mutable(clients, np.int64), sizes, counts, *address)
        return out

    def segment_update(self, y: Any, factors: Any, rows: Any, offsets: Any) -> tuple[Any, Any]:
        z = np.empty_like(y)
        norms = np.empty((y.shape[0], offsets.shape[0] - 1))
        cpu_kernels.segment_update(y, factors, rows, offsets, z, norms)
        return z, norms

    def segment_scale(self, z: Any, factors: Any, offsets: Any) -> Any:
        out = np.empty_like(z)
        cpu_kernels.segment_scale(z, factors, offsets, out)
        return out

    def segment_energy(self, y: Any, eigenvalues: Any, offsets: Any) -> Any:
        out = np.empty((y.shape[0], offsets.shape[0] - 1))
        cpu_kernels.segment_energy(y, eigenvalues, offsets, out)
        return out

    def combine(self, updates: Any, weights: Any) -> Any:
        out = np.empty(updates.shape[1:])
        cpu_kernels.combine(updates, weights, out)
        return out

    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool) -> tuple[Any, Any]:
        out = np.empty(updates.shape[1:])
        norms = np.empty((updates.shape[1], updates.shape[0]))
        cpu_kernels.bounded_combine(updates, weights, threshold, normalise, out, norms)
        return out, norms

    def linear_local_phase(self, data: Any, w: Any, step: Any, steps: int, cohort: Any = None) -> Any:
        return linear.linear_local_phase(data, w, step, steps, cohort)

    def linear_gradients(self, data: Any, w: Any) -> Any:
        return linear.linear_gradients(data, w)

    def linear_record_sums(self, data: Any, w: Any, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
        return linear_records.linear_record_sums(data, w, clients, chosen, threshold)

    def linear_values(self, data: Any, w: Any) -> Any:
        return linear.linear_values(data, w)

    @property
    def threads(self) -> int:
        return threads.available()

    def single_blas(self) -> AbstractContextManager[Any]:
        return threads.single_blas()
