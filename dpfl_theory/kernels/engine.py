"""The array-module boundary: the operations of a device that an algorithm or a problem may use.

An Engine owns the device's arrays, its counter-based noise and the few fused operations that matter for speed.
Algorithms and problem kernels name neither NumPy, Numba nor CuPy: they use ``engine.xp`` (an array module with
NumPy's interface) and the methods below. ``dpfl_theory.kernels.select`` picks an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

# Streams of the counter-based noise: one number for each purpose, so that no two draws of a round share an address.
NOISE = 0
"""Noise that a client adds to its message."""
SERVER_NOISE = 1
"""Noise on the average; per-client noise that only enters the average is drawn here too (exact in distribution)."""
COHORT = 2
"""Which clients take part."""
COIN = 3
"""A communication coin, as in ScaffNew."""
GRADIENT = 4
"""The error of a stochastic gradient, where it is simulated by adding noise of a known variance."""
RECORDS = 5
"""Which of a client's records a local step uses."""

ONLY_DENSE = "sparse records run only on the CPU: choose device 'cpu', or list fewer `features`"


@dataclass(frozen=True)
class Replicates:
    """A batch of replicates (replicates of a seed). Replicate ``first + s`` is row s of every array.

    parts: the consecutive batches of this one, where its replicates do not all have one seed or are not consecutive;
    seed and first then have no meaning.

    >>> Replicates.concatenate([Replicates(7, 0, 2), Replicates(7, 0, 2), Replicates(8, 5, 1)]).count
    5
    """

    seed: int
    first: int
    count: int
    parts: tuple[Replicates, ...] = ()

    @classmethod
    def concatenate(cls, parts: Sequence[Replicates]) -> Replicates:
        """One batch made of several."""
        if len(parts) == 1:
            return parts[0]
        return cls(parts[0].seed, parts[0].first, sum(part.count for part in parts), tuple(parts))

    def by_part(self, draw: Callable[[Replicates, slice], Any]) -> list[Any]:
        """The result of ``draw`` for each part and its rows."""
        found, begin = [], 0
        for part in self.parts:
            found.append(draw(part, slice(begin, begin + part.count)))
            begin += part.count
        return found


class Engine(ABC):
    """One device. Shapes: S replicates, n clients, d parameters, R stacked eigendirections, m records."""

    name: str
    """``cpu`` or ``cuda``."""
    description: str
    """The device in words, for the evidence."""
    xp: Any
    """The array module (NumPy's interface)."""

    @abstractmethod
    def asarray(self, x: Any) -> Any:
        """x as a float64 array on the device; CSR stays CSR, and a device without support for it raises an error."""

    @abstractmethod
    def to_host(self, x: Any) -> Any:
        """x as a NumPy array."""

    @abstractmethod
    def uniform(self, replicates: Replicates, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        """Uniforms in (0, 1), shape (S, clients)."""

    @abstractmethod
    def normal(
        self, replicates: Replicates, round_: int, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        """Standard normals, shape (clients, S, d); zeros in replicates where ``where`` (S,) is false."""

    @abstractmethod
    def normal_of(self, replicates: Replicates, round_: int, clients: Any, d: int, stream: int, step: int = 0) -> Any:
        """The rows of `normal` that belong to clients (A, S): standard normals, shape (A, S, d)."""

    @abstractmethod
    def subsets(self, replicates: Replicates, round_: int, clients: Any, sizes: Any, counts: Any, step: int = 0) -> Any:
        """Uniform subsets without replacement: client i = clients[a, s] gets counts[i] of the numbers 0..sizes[i]-1, or
        all of them when it has fewer.

        clients (A, S); sizes, counts (n,) on the host. Returns (A, S, the largest subset's size), ascending and padded
        with -1.
        """

    @abstractmethod
    def segment_update(self, y: Any, factors: Any, rows: Any, offsets: Any) -> tuple[Any, Any]:
        """Diagonal maps with per-client norms: the local phase of quadratics in their eigenbases.

        y (S, R): coordinates of w - c_i along client i's eigenvectors; factors (U, R): one diagonal map for each
        distinct step size; rows (S,): which of them each replicate uses; offsets (n+1,): client i owns columns
        offsets[i]:offsets[i+1]. Returns ``z = factors[rows] * y`` (S, R) and the norms of each client's part (S, n).
        """

    @abstractmethod
    def segment_scale(self, z: Any, factors: Any, offsets: Any) -> Any:
        """z (S, R) with client i's columns multiplied by factors[:, i] (S, n)."""

    @abstractmethod
    def segment_energy(self, y: Any, eigenvalues: Any, offsets: Any) -> Any:
        """``(1/2) sum_{columns of i} lambda y^2``, shape (S, n)."""

    @abstractmethod
    def combine(self, updates: Any, weights: Any) -> Any:
        """``sum_i weights[s, i] updates[i, s]``, (n, S, d) and (S, n) -> (S, d)."""

    @abstractmethod
    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool) -> tuple[Any, Any]:
        """Clip (or normalise) each update and accumulate, fused: returns ``sum_i weights[s,i] bound(updates[i,s])``
        (S, d) and the norms (S, n); bound(u) = u min(1, C/||u||), or C u/||u|| with bound(0) = 0; threshold (S,)."""

    @abstractmethod
    def linear_local_phase(self, data: Any, w: Any, step: Any, steps: int, cohort: Any = None) -> Any:
        """E local steps on linear models; data is the bound ``LinearData``; returns the updates (n, S, d).

        cohort (S, n): clients with a 0 there need not be run in that replicate, and their entries in place of updates
        are finite but have no meaning; None runs them all.
        """

    @abstractmethod
    def linear_gradients(self, data: Any, w: Any) -> Any:
        """Per-client gradients of linear models at per-client parameters (n, S, d) -> (n, S, d)."""

    @abstractmethod
    def linear_record_sums(self, data: Any, w: Any, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
        """Sums of the gradients of single records, each clipped to a length of its own; no such gradient is formed.

        w (A, S, d): the parameters of clients (A, S); chosen (A, S, b): the clients' record numbers, padded with -1,
        or None for all records; threshold (S,), None for no clipping, or ``"median"``: the median length of the
        gradients concerned, 0 where there are none. Returns the sums (A, S, d), ridge included, and the thresholds
        (A, S) that were used.
        """

    @abstractmethod
    def linear_values(self, data: Any, w: Any) -> Any:
        """Values f_i(w) of linear models at common parameters (S, d) -> (S, n)."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """The number of blocks of replicates that may run in parallel, each on a thread of its own."""

    @abstractmethod
    def single_blas(self) -> AbstractContextManager[Any]:
        """One thread for each call of the device's BLAS inside: blocks of replicates share the cores, not a call."""
