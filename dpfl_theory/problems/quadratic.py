"""Quadratic clients, dense or of low rank: ``f_i(w) = (1/2) (w - c_i)^T Q_i (w - c_i)`` with Q_i positive semidefinite.

Each Q_i is kept in its eigenbasis. There E local gradient steps are a diagonal map: a round costs two matrix products
for every E, and the lengths of the updates need no further work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.kernels.tape.tracing import traced
from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Array, Certificate, Constants, Problem
from dpfl_theory.problems.validation import count, finite_array

__all__ = [
    "FAMILIES",
    "Quadratic",
    "QuadraticKernels",
    "SpectralPhase",
    "appendix_f",
    "from_factors",
    "from_matrices",
    "random_quadratic",
]

_MOST_AT_ONCE = 2**17
"""The largest size (n, S, d) at which the gradients of all clients are one product: more would leave the cache."""


@dataclass(frozen=True, eq=False)
class Quadratic(Problem):
    """n quadratic clients in their eigenbases.

    basis (R, d): orthonormal eigenvectors, client i's in rows offsets[i]:offsets[i+1]; eigenvalues (R,) >= 0 [F/X^2];
    offsets (n+1,); centres (n, d) [X].

    >>> import numpy as np
    >>> p = from_matrices(np.array([[[2.0]], [[4.0]]]), np.array([[0.0], [3.0]]))
    >>> p.constants.L_max, float(p.constants.w_star[0]), p.value(np.array([2.0]))
    (4.0, 2.0, 3.0)
    """

    name: str
    basis: Array
    eigenvalues: Array
    offsets: Any
    centres: Array

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.centres)

    @property
    def d(self) -> int:  # type: ignore[override]
        return int(self.centres.shape[1])

    def _rows(self, i: int) -> slice:
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def client_value(self, i: int, w: Array) -> float:
        y = self.basis[self._rows(i)] @ (w - self.centres[i])
        return float(0.5 * np.sum(self.eigenvalues[self._rows(i)] * y * y))

    def client_gradient(self, i: int, w: Array) -> Array:
        rows = self.basis[self._rows(i)]
        return np.asarray((self.eigenvalues[self._rows(i)] * (rows @ (w - self.centres[i]))) @ rows)

    @cached_property
    def hessian(self) -> Array:
        """The Hessian of f, ``(1/n) sum_i Q_i``, shape (d, d) [F/X^2]."""
        return np.asarray((self.basis.T * self.eigenvalues) @ self.basis / self.n)

    @cached_property
    def hessian_eigen(self) -> tuple[Array, Array]:
        """Eigenvalues (d,), clipped at 0, and eigenvectors (d, d) of the Hessian of f."""
        values, vectors = np.linalg.eigh(self.hessian)
        return np.maximum(values, 0.0), vectors

    @cached_property
    def constants(self) -> Constants:
        L_i = np.array([self.eigenvalues[self._rows(i)].max(initial=0.0) for i in range(self.n)])
        full = np.diff(self.offsets) == self.d
        mu_i = np.array([self.eigenvalues[self._rows(i)].min() if full[i] else 0.0 for i in range(self.n)])
        values, vectors = self.hessian_eigen
        largest = float(values[-1])
        if largest == 0.0:
            raise InputError("every client's matrix is zero, so f is constant: give at least one positive eigenvalue")
        positive = values > 1e-12 * largest
        pull = np.zeros(self.d)
        for i in range(self.n):
            rows = self._rows(i)
            pull += (self.eigenvalues[rows] * (self.basis[rows] @ self.centres[i])) @ self.basis[rows]
        inverse = np.where(positive, 1.0 / np.where(positive, values, 1.0), 0.0)

        def newton(gradient: Array) -> Array:
            return np.asarray(vectors @ (inverse * (vectors.T @ gradient)))

        w_star = newton(pull / self.n)
        for _ in range(2):  # iterative refinement with the clients' own gradients
            w_star = w_star - newton(self.gradient(w_star))
        residual = float(np.linalg.norm(self.gradient(w_star)))
        mu_range = float(values[positive][0])
        at_star = np.array([self.client_value(i, w_star) for i in range(self.n)])
        if bool(np.all(self.centres == self.centres[0])):
            w_star, at_star, residual = self.centres[0].copy(), np.zeros(self.n), 0.0
            at = Certificate("closed-form", 0.0, "all clients share their centre")
        else:
            solved = f"solve of the mean normal equations; gradient norm {residual:.1e}"
            text = f"{solved}, smallest positive eigenvalue {mu_range:.3g}"
            at = Certificate("strong-convexity", residual / mu_range, text)
        unique = bool(positive.all())
        gap, error = residual**2 / (2.0 * mu_range), 1e-14 * float(L_i.max())
        text = f"||grad f(w*)||^2/(2 mu) = {gap:.1e} on the range of the mean matrix"
        certificates = {
            "L_i": Certificate("eigenvalue", error, "L_i is the largest eigenvalue of the stored spectrum of Q_i"),
            "L_f": Certificate("eigenvalue", 1e-13 * largest, "L_f is the largest eigenvalue of the mean matrix"),
            "mu_i": Certificate("eigenvalue", error, "mu_i is the smallest eigenvalue of the stored spectrum of Q_i"),
            "mu_f": Certificate("eigenvalue", 1e-13 * largest, "mu_f is the smallest eigenvalue of the mean matrix"),
            "G_i": Certificate("closed-form", 0.0, "a quadratic with a positive eigenvalue has unbounded gradients"),
            "w_star": at,
            "f_star": Certificate("strong-convexity", gap, text),
            "f_i_star": Certificate("closed-form", 0.0, "f_i is zero at its centre and never negative"),
        }
        return Constants(
            L_i=L_i,
            L_f=largest,
            mu_i=mu_i,
            mu_f=float(values[0]) if unique else 0.0,
            G_i=np.where(L_i > 0.0, np.inf, 0.0),
            G_record=float("inf"),
            w_star=w_star,
            f_star=float(np.mean(at_star)),
            f_i_star=np.zeros(self.n),
            f_i_at_star=at_star,
            w_i_star=self.centres,
            unique=unique,
            certificates=certificates,
        )

    def kernels(self, engine: Engine) -> QuadraticKernels:
        return QuadraticKernels(self, engine)


class QuadraticKernels:
    """The numerical side of quadratic clients on one device."""

    def __init__(self, problem: Quadratic, engine: Engine) -> None:
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


def from_matrices(matrices: Any, centres: Any, name: str = "quadratic") -> Quadratic:
    """Dense quadratics ``(1/2)(w - c_i)^T Q_i (w - c_i)`` from Q (n, d, d) [F/X^2] and c (n, d) [X].

    Raises InputError when a Q_i is not symmetric or has a negative eigenvalue (the objective would not be convex).
    Raises it also when shapes disagree, or when an entry is not finite. Eigenvalues below 1e-13 of the largest are
    taken as zero.
    """
    q = finite_array("the matrices Q", matrices, 3)
    c = finite_array("the centres", centres, 2)
    if q.shape[0] == 0 or q.shape[1] != q.shape[2] or c.shape != q.shape[:2]:
        raise InputError(f"Q has shape {q.shape} and the centres {c.shape}: (n, d, d) and (n, d) are needed")
    bases, spectra = [], []
    for i in range(len(q)):
        scale = float(np.abs(q[i]).max())
        if float(np.abs(q[i] - q[i].T).max()) > 1e-12 * scale:
            raise InputError(f"Q_{i} is not symmetric: use (Q + Q^T)/2")
        values, vectors = np.linalg.eigh((q[i] + q[i].T) / 2.0)
        if values[0] < -1e-12 * scale:
            raise InputError(
                f"Q_{i} has the negative eigenvalue {values[0]:.3g}, so f_{i} is not convex: make it positive "
                f"semidefinite"
            )
        keep = values > 1e-13 * max(float(values[-1]), 0.0)
        bases.append(vectors[:, keep].T)
        spectra.append(values[keep])
    return _assemble(name, bases, spectra, c)


def from_factors(factors: Any, centres: Any, name: str = "low-rank quadratic") -> Quadratic:
    """Quadratics with ``Q_i = A_i A_i^T`` from A (n, d, rank) and centres (n, d)."""
    a = finite_array("the factors A", factors, 3)
    c = finite_array("the centres", centres, 2)
    if a.shape[0] == 0 or c.shape != a.shape[:2]:
        raise InputError(f"A has shape {a.shape} and the centres {c.shape}: (n, d, rank) and (n, d) are needed")
    bases, spectra = [], []
    for i in range(len(a)):
        u, singular, _ = np.linalg.svd(a[i], full_matrices=False)
        keep = singular > 1e-13 * singular[0]
        bases.append(u[:, keep].T)
        spectra.append(singular[keep] ** 2)
    return _assemble(name, bases, spectra, c)


def _assemble(name: str, bases: Sequence[Array], spectra: Sequence[Array], centres: Array) -> Quadratic:
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in spectra])]).astype(np.int64)
    return Quadratic(name, np.ascontiguousarray(np.vstack(bases)), np.concatenate(spectra), offsets, centres)


def random_quadratic(
    clients: p.Clients = 10,
    dimension: p.Dimension = 5,
    rank: Annotated[int | None, Meaning("rank of each client's quadratic; the dimension without it")] = None,
    condition: Annotated[float, Meaning("largest over smallest eigenvalue")] = 10.0,
    heterogeneity: p.Heterogeneity = 1.0,
    smoothness: Annotated[float, Meaning("the largest eigenvalue", "F/X^2")] = 1.0,
    seed: p.Seed = 0,
) -> Quadratic:
    """Random quadratics with eigenvalues spread geometrically over [smoothness/condition, smoothness].

    The centres are ``heterogeneity`` times standard normal vectors: 0 gives clients that share their minimiser.
    """
    clients, dimension = count("clients", clients), count("dimension", dimension)
    rank = dimension if rank is None else count("rank", rank)
    if rank > dimension:
        raise InputError(f"rank {rank} is larger than the dimension {dimension}: choose at most {dimension}")
    for label, value, least in (("condition", condition, 1.0), ("heterogeneity", heterogeneity, 0.0)):
        if not np.isfinite(value) or value < least:
            raise InputError(f"{label} is {value}: a finite number of at least {least:g} is needed")
    if not np.isfinite(smoothness) or smoothness <= 0:
        raise InputError(f"smoothness is {smoothness}: a positive number is needed")
    rng = np.random.default_rng(count("seed", seed, 0))
    bases, spectra = [], []
    for _ in range(clients):
        q, _r = np.linalg.qr(rng.standard_normal((dimension, rank)))
        bases.append(q.T)
        spectra.append(smoothness * float(condition) ** -np.linspace(0.0, 1.0, rank))
    centres = heterogeneity * rng.standard_normal((clients, dimension))
    return _assemble(f"random quadratic, condition {condition:g}", bases, spectra, centres)


def appendix_f(
    seed: p.Seed = 0,
    clients: p.Clients = 100,
    dimension: p.Dimension = 200,
    rank: Annotated[int, Meaning("rank of each client's quadratic")] = 20,
) -> Quadratic:
    """The synthetic problem of das2022 Appendix F: centres N(0, I), ``Q_i = A_i A_i^T``, A_i (d, rank) with entries
    N(0, 1/rank^2).

    >>> appendix_f(seed=1, clients=3, dimension=5, rank=2).describe()["clients"]
    3
    """
    clients, dimension, rank = count("clients", clients), count("dimension", dimension), count("rank", rank)
    rng = np.random.default_rng(count("seed", seed, 0))
    centres = rng.standard_normal((clients, dimension))
    factors = rng.standard_normal((clients, dimension, rank)) / rank
    return from_factors(factors, centres, name=f"das2022 Appendix F, seed {seed}")


FAMILIES: dict[str, Callable[..., Problem]] = {"appendix-f": appendix_f, "quadratic": random_quadratic}
