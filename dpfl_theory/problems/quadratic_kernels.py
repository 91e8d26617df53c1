"""The numerical side of quadratic clients, in their eigenbases.

There E local gradient steps are a diagonal map. A round costs two matrix products for every E, and the lengths of the
updates need no further work.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dpfl_theory.kernels.engine import Engine
from dpfl_theory.kernels.tape.tracing import traced
from dpfl_theory.problems.base import Array, Constants

__all__ = ["QuadraticKernels", "SpectralClients", "SpectralPhase"]


_MOST_AT_ONCE = 2**17
"""The largest size (n, S, d) at which the gradients of all clients are one product: more would leave the cache."""


class SpectralClients(Protocol):
    """The properties of quadratic clients that the kernels use (see `dpfl_theory.problems.quadratic.Quadratic`)."""

    @property
    def offsets(self) -> Any: ...
    @property
    def basis(self) -> Array: ...
    @property
    def eigenvalues(self) -> Array: ...
    @property
    def centres(self) -> Array: ...
    @property
    def n(self) -> int: ...
    @property
    def constants(self) -> Constants: ...
    @property
    def hessian(self) -> Array: ...
    @property
    def hessian_eigen(self) -> tuple[Array, Array]: ...


class QuadraticKernels:
    """The numerical side of quadratic clients on one device."""

    def __init__(self, problem: SpectralClients, engine: Engine) -> None:
        c = problem.constants
        assert c.w_star is not None
        values, vectors = problem.hessian_eigen
        self.engine = engine
        self.offsets = engine.xp.asarray(problem.offsets)
        self.ranges = [(int(a), int(b)) for a, b in zip(problem.offsets[:-1], problem.offsets[1:])]
        self.basis = engine.asarray(problem.basis)
        self.basis_t = engine.asarray(problem.basis.T)
        self.eigenvalues = engine.asarray(problem.eigenvalues)
        owner = np.repeat(np.arange(problem.n), np.diff(problem.offsets))
        # Coordinates are relative to w*: where the clients share it they are exactly zero, so no digits cancel near it.
        self.shift = engine.asarray(np.einsum("rd,rd->r", problem.basis, problem.centres[owner] - c.w_star))
        self.centres = engine.asarray(problem.centres)
        self.w_star = engine.asarray(c.w_star)
        self.root = engine.asarray(vectors * np.sqrt(values))
        self.hessian = engine.asarray(problem.hessian)
        self.minima = engine.asarray(c.f_i_star)
        self._factors: tuple[bytes, int, Any, Any] | None = None
        self._blocks: tuple[Any, ...] | None = None
        """The clients' bases, shifts and eigenvalues stacked, where all have the same number of them."""
        ranks = {b - a for a, b in self.ranges}
        if len(ranks) == 1:
            n, d, rank = problem.n, len(c.w_star), ranks.pop()
            self._blocks = (
                self.basis_t.reshape(d, n, rank).transpose(1, 0, 2),
                self.shift.reshape(n, 1, rank),
                self.eigenvalues.reshape(n, 1, rank),
                self.basis.reshape(n, rank, d),
            )

    def _coordinates(self, w: Any) -> Any:
        return (w - self.w_star) @ self.basis_t - self.shift

    def _maps(self, step: Any, steps: int) -> tuple[Any, Any]:
        """The distinct diagonal maps ``lambda sum_{t<E} (1 - step lambda)^t`` (U, R) and each replicate's row (S,).

        The geometric sum is built by doubling, sum_{2m} = sum_m (1 + q^m). All of its terms are positive for
        step lambda <= 1, so no digits cancel for any small step lambda.
        """
        xp = self.engine.xp
        host = self.engine.to_host(step)
        key = host.tobytes()
        known = self._factors  # read once: another block of replicates may write its own there
        if known is None or known[:2] != (key, steps):
            distinct, rows = np.unique(host, return_inverse=True)
            q = 1.0 - self.engine.asarray(distinct)[:, None] * self.eigenvalues[None, :]
            total = xp.ones_like(q)
            power = q
            for bit in bin(steps)[3:]:
                total = total * (1.0 + power)
                power = power * power
                if bit == "1":
                    total = total + power
                    power = power * q
            known = self._factors = (key, steps, self.eigenvalues * total, xp.asarray(rows))
        return known[2], known[3]

    def local_phase(self, w: Any, step: Any, steps: int) -> SpectralPhase:
        factors, rows = self._maps(step, steps)
        z, norms = self.engine.segment_update(self._coordinates(w), factors, rows, self.offsets)
        return SpectralPhase(self, z, norms)

    def client_gradients(self, w: Any) -> Any:
        if self._blocks is not None and not traced(w) and w.size <= _MOST_AT_ONCE:
            basis_t, shift, eigenvalues, basis = self._blocks
            return (eigenvalues * ((w - self.w_star) @ basis_t - shift)) @ basis
        gradients = []
        for i, (a, b) in enumerate(self.ranges):
            y = (w[i] - self.w_star) @ self.basis_t[:, a:b] - self.shift[a:b]
            gradients.append((self.eigenvalues[a:b] * y) @ self.basis[a:b])
        return self.engine.xp.stack(gradients)

    def gradients_of(self, w: Any, clients: Any) -> Any:
        xp = self.engine.xp
        out = xp.zeros_like(w)
        for i, (a, b) in enumerate(self.ranges):
            slots, replicates = xp.nonzero(clients == i)
            if len(slots):
                y = (w[slots, replicates] - self.w_star) @ self.basis_t[:, a:b] - self.shift[a:b]
                out[slots, replicates] = (self.eigenvalues[a:b] * y) @ self.basis[a:b]
        return out

    def gradient(self, w: Any) -> Any:
        return (w - self.w_star) @ self.hessian

    def client_excess(self, w: Any) -> Any:
        return self.engine.segment_energy(self._coordinates(w), self.eigenvalues, self.offsets)

    def suboptimality(self, w: Any) -> Any:
        y = (w - self.w_star) @ self.root
        return 0.5 * (y * y).sum(axis=1)


class SpectralPhase:
    """Updates held as coordinates ``z`` (S, R) in the clients' eigenbases."""

    def __init__(self, kernels: QuadraticKernels, z: Any, lengths: Any) -> None:
        self._kernels = kernels
        self._z = z
        self.lengths = lengths

    def combine(self, weights: Any) -> Any:
        k = self._kernels
        return k.engine.segment_scale(self._z, weights, k.offsets) @ k.basis

    def bounded_combine(self, weights: Any, threshold: Any, normalise: bool) -> Any:
        xp = self._kernels.engine.xp
        lengths, bound = self.lengths, threshold[:, None]
        shrink = (lengths > bound) | (normalise & (lengths > 0.0))
        return self.combine(weights * xp.where(shrink, bound / xp.where(lengths > 0.0, lengths, 1.0), 1.0))

    def updates(self) -> Any:
        k = self._kernels
        return k.engine.xp.stack([self._z[:, a:b] @ k.basis[a:b] for a, b in k.ranges])

    def only(self, weights: Any) -> SpectralPhase:
        """The whole phase: it costs little."""
        return self
