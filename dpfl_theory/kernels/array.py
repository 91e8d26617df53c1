"""The engine for any array module with NumPy's interface: the CuPy engine's base, tested with NumPy as stand-in."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.kernels import linear_array
from dpfl_theory.kernels.engine import ONLY_DENSE, RECORDS, Engine, Replicates


def _philox(xp: Any, counter: list[Any], key: list[Any]) -> list[Any]:
    """Philox4x32-10 on broadcastable uint64 arrays that hold 32-bit words (see `dpfl_theory.kernels.philox`)."""
    m0, m1, w0, w1 = (xp.uint64(v) for v in (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85))
    mask, half = xp.uint64(0xFFFFFFFF), xp.uint64(32)
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = m0 * c0, m1 * c2
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ k0, p1 & mask, (p0 >> half) ^ c3 ^ k1, p0 & mask
        k0, k1 = (k0 + w0) & mask, (k1 + w1) & mask
    return [c0, c1, c2, c3]


class ArrayEngine(Engine):
    """All operations written with the array module's own functions; subclasses fuse the most expensive ones."""

    def __init__(self, xp: Any, name: str, description: str) -> None:
        self.xp = xp
        self.name = name
        self.description = description

    def asarray(self, x: Any) -> Any:
        if hasattr(x, "indptr"):
            raise InputError(ONLY_DENSE)
        return self.xp.ascontiguousarray(self.xp.asarray(x), dtype=self.xp.float64)

    def to_host(self, x: Any) -> Any:
        return x.get() if hasattr(x, "get") else x

    def _uniform_pair(
        self, replicates: Replicates, round_: int, clients: Any, blocks: int, stream: int, step: int
    ) -> tuple[Any, Any]:
        """Two uniforms for each (client, replicate, block), shapes (A, S, blocks), for clients (A, S) or (A, 1)."""
        xp = self.xp
        u64 = xp.uint64
        replicate = xp.arange(replicates.first, replicates.first + replicates.count, dtype=u64)[None, :, None]
        client = clients.astype(u64)[:, :, None]
        block = xp.arange(blocks, dtype=u64)[None, None, :]
        zero = xp.zeros((1, 1, 1), dtype=u64)
        key = [zero + u64(replicates.seed & 0xFFFFFFFF), zero + u64(replicates.seed >> 32)]
        n0, n1, n2, n3 = _philox(xp, [replicate, client, zero + u64(step), zero + u64(stream)], key)
        words = _philox(xp, [block, zero + u64(round_), n2, n3], [n0, n1])

        def unit(high: Any, low: Any) -> Any:
            return ((((high << u64(32)) | low) >> u64(11)).astype(xp.float64) + 0.5) * 2.0**-53

        return unit(words[0], words[1]), unit(words[2], words[3])

    def uniform(self, replicates: Replicates, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        first, _ = self._uniform_pair(replicates, round_, self.xp.arange(clients)[:, None], 1, stream, step)
        return self.xp.ascontiguousarray(first[:, :, 0].T)

    def normal(
        self, replicates: Replicates, round_: int, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        everyone = self.xp.arange(clients)[:, None]
        return self._only(ArrayEngine.normal_of(self, replicates, round_, everyone, d, stream, step), where)

    def _only(self, x: Any, where: Any) -> Any:
        """x (clients, S, d) with zeros in replicates where ``where`` (S,) is false."""
        return x if where is None else self.xp.where(where[:, None], x, 0.0)

    def normal_of(self, replicates: Replicates, round_: int, clients: Any, d: int, stream: int, step: int = 0) -> Any:
        xp = self.xp
        blocks = (d + 1) // 2
        u, v = self._uniform_pair(replicates, round_, clients, blocks, stream, step)
        radius = xp.sqrt(-2.0 * xp.log(u))
        angle = 2.0 * math.pi * v
        pairs = xp.stack([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1)
        return xp.ascontiguousarray(pairs.reshape(len(clients), replicates.count, 2 * blocks)[:, :, :d])

    def subsets(self, replicates: Replicates, round_: int, clients: Any, sizes: Any, counts: Any, step: int = 0) -> Any:
        xp = self.xp
        counts = np.minimum(counts, sizes)
        most, width = int(max(sizes)), int(max(counts))
        u, v = self._uniform_pair(replicates, round_, clients, (most + 1) // 2, RECORDS, step)
        keys = xp.stack([u, v], axis=-1).reshape(*clients.shape, -1)
        size, count = (xp.asarray(x)[clients][:, :, None] for x in (sizes, counts))
        number = xp.arange(keys.shape[2])[None, None, :]
        order = xp.argsort(xp.where(number < size, keys, 2.0), axis=2)[:, :, :width]
        taken = xp.where(xp.arange(width)[None, None, :] < count, order, most)
        taken = xp.sort(taken, axis=2)
        return xp.where(taken < most, taken, -1)

    def _owner(self, offsets: Any) -> Any:
        """Column -> client, shape (R,)."""
        xp = self.xp
        return xp.searchsorted(offsets, xp.arange(int(offsets[-1])), side="right") - 1

    def _segment_sum(self, x: Any, offsets: Any) -> Any:
        xp = self.xp
        n = int(offsets.shape[0]) - 1
        if x.shape[1] % n == 0 and bool((offsets[1:] - offsets[:-1] == x.shape[1] // n).all()):
            return x.reshape(x.shape[0], n, -1).sum(axis=2)
        member = (self._owner(offsets)[:, None] == xp.arange(n)[None, :]).astype(xp.float64)
        return x @ member

    def segment_update(self, y: Any, factors: Any, rows: Any, offsets: Any) -> tuple[Any, Any]:
        z = factors[rows] * y
        return z, self.xp.sqrt(self._segment_sum(z * z, offsets))

    def segment_scale(self, z: Any, factors: Any, offsets: Any) -> Any:
        return z * factors[:, self._owner(offsets)]

    def segment_energy(self, y: Any, eigenvalues: Any, offsets: Any) -> Any:
        return 0.5 * self._segment_sum(eigenvalues[None, :] * y * y, offsets)

    def combine(self, updates: Any, weights: Any) -> Any:
        return (weights[:, None, :] @ updates.transpose(1, 0, 2))[:, 0, :]

    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool) -> tuple[Any, Any]:
        xp = self.xp
        norms = xp.sqrt((updates * updates).sum(axis=2)).T
        positive = xp.where(norms > 0.0, norms, 1.0)
        shrink = (norms > threshold[:, None]) | (normalise & (norms > 0.0))
        return self.combine(updates, weights * xp.where(shrink, threshold[:, None] / positive, 1.0)), norms

    def linear_local_phase(self, data: Any, w: Any, step: Any, steps: int, cohort: Any = None) -> Any:
        return linear_array.linear_local_phase(self.xp, data, w, step, steps)

    def linear_gradients(self, data: Any, w: Any) -> Any:
        return linear_array.linear_gradients(self.xp, data, w)

    def linear_record_sums(self, data: Any, w: Any, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
        return linear_array.linear_record_sums(self.xp, data, w, clients, chosen, threshold)

    def linear_values(self, data: Any, w: Any) -> Any:
        return linear_array.linear_values(self.xp, data, w)

    @property
    def threads(self) -> int:
        return 1

    def single_blas(self) -> AbstractContextManager[Any]:
        return nullcontext()
