"""The problems of the laws of algorithms, their transformations, and the engine that transforms the noise in the same
way: quadratics, and least squares where an algorithm needs records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.kernels.engine import COHORT, Replicates
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.quadratic import Quadratic, from_matrices, random_quadratic


def ragged() -> Quadratic:
    """Four quadratic clients of ranks 3, 1, 2 and 0."""
    rng = np.random.default_rng(3)
    factors = [rng.standard_normal((3, rank)) for rank in (3, 1, 2)]
    matrices = [a @ a.T / np.linalg.norm(a, 2) ** 2 for a in factors] + [np.zeros((3, 3))]
    return from_matrices(np.array(matrices), rng.standard_normal((4, 3)))


def dyadic(x: np.ndarray, digits: int = 20) -> np.ndarray:
    """The nearest multiples of ``2^-digits``, whose sums and small products are exact."""
    return np.round(x * 2.0**digits) / 2.0**digits


def least_squares(sizes: tuple[int, ...] = (5, 2, 4, 3), centre: np.ndarray | None = None) -> LinearModel:
    """Clients with records of three features; with a centre its residuals are all zero there, to the last bit."""
    rng = np.random.default_rng(6)
    N = sum(sizes)
    x = dyadic(0.8 * rng.standard_normal((N, 3)), 10)
    y = dyadic(rng.standard_normal(N), 10) if centre is None else x @ centre
    return LinearModel(linear_data(x, y, np.split(np.arange(N), np.cumsum(sizes)[:-1]), "squared"))


def unequal() -> LinearModel:
    """Six logistic clients with a ridge and different numbers of records."""
    rng, sizes = np.random.default_rng(7), (7, 3, 5, 4, 9, 3)
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    x, y = rng.standard_normal((sum(sizes), 3)), rng.choice([-1.0, 1.0], sum(sizes))
    return LinearModel(linear_data(x, y, parts, "logistic", ridge=0.1))


def base(records: bool) -> Problem:
    """The basic problem of a law: four clients, three parameters."""
    return least_squares() if records else ragged()


def one_client(records: bool) -> list[Problem]:
    logistic = make("logistic-synthetic", clients=1, dimension=3, records=9)
    return [least_squares((6,)) if records else random_quadratic(1, 3, seed=1), logistic]


def heterogeneous(records: bool) -> list[Problem]:
    """Two problems with four clients each."""
    return [base(records), make("logistic-synthetic", clients=4, dimension=3, records=6, ridge=0.1)]


def shared_minimiser(records: bool, centre: np.ndarray) -> Problem:
    """All clients, and all records, are at their minimum at ``centre``."""
    if records:
        return least_squares(centre=centre)
    return dataclasses.replace(random_quadratic(4, 3, seed=2), centres=np.tile(centre, (4, 1)))


def _data(problem: Problem, **changes: Any) -> LinearModel:
    assert isinstance(problem, LinearModel)
    return LinearModel(dataclasses.replace(problem.data, **changes))


def reordered(problem: Problem, order: np.ndarray) -> Problem:
    """The problem with client order[j] in place j."""
    p: Any = problem if isinstance(problem, Quadratic) else problem.data  # type: ignore[attr-defined]
    parts = [np.arange(p.offsets[i], p.offsets[i + 1]) for i in order]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    rows = np.concatenate(parts)
    if isinstance(problem, Quadratic):
        return Quadratic("reordered", p.basis[rows], p.eigenvalues[rows], offsets, p.centres[order])
    return _data(problem, x=p.x[rows], y=p.y[rows], threshold=p.threshold[rows], offsets=offsets)


def rotated(problem: Problem, Q: np.ndarray) -> Problem:
    """``w -> Q w``."""
    if isinstance(problem, Quadratic):
        return dataclasses.replace(problem, basis=problem.basis @ Q.T, centres=problem.centres @ Q.T)
    return _data(problem, x=np.ascontiguousarray(problem.data.x @ Q.T))  # type: ignore[attr-defined]


def objective_times(problem: Problem, c: float) -> Problem:
    """``f -> c f``."""
    if isinstance(problem, Quadratic):
        return dataclasses.replace(problem, eigenvalues=c * problem.eigenvalues)
    data = problem.data  # type: ignore[attr-defined]
    return _data(problem, x=np.sqrt(c) * data.x, y=np.sqrt(c) * data.y)


def parameters_times(problem: Problem, s: float) -> Problem:
    """``w -> s w`` at the same values of the objective."""
    if isinstance(problem, Quadratic):
        return dataclasses.replace(problem, eigenvalues=problem.eigenvalues / s**2, centres=s * problem.centres)
    return _data(problem, x=problem.data.x / s)  # type: ignore[attr-defined]


def translated(problem: Problem, shift: np.ndarray) -> Problem:
    """``w -> w + shift``; exact for dyadic shifts."""
    if isinstance(problem, Quadratic):
        return dataclasses.replace(problem, centres=dyadic(problem.centres) + shift)
    return _data(problem, y=problem.data.y + problem.data.x @ shift)  # type: ignore[attr-defined]


class Transformed(ArrayEngine):
    """An engine whose per-client numbers are permuted, and whose normal vectors are transformed by a map.

    order: client order[j] of the original is client j here.  change: of normal vectors (..., d), by their stream.
    """

    def __init__(self, order: np.ndarray | None = None, change: Callable[[Any, int], Any] = lambda z, _: z) -> None:
        super().__init__(np, "array", "transformed")
        self.order, self.change = order, change

    def uniform(self, replicates: Replicates, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        u = super().uniform(replicates, round_, clients, stream, step)
        if self.order is None or clients == 1:
            return u
        if clients == len(self.order):
            return u[:, self.order]
        assert stream == COHORT, "only draws with replacement come in another number than the clients"
        place = np.argsort(self.order)  # floor(u n) is the client that is drawn
        drawn = np.floor(u * len(place)).astype(np.int64)
        return (place[drawn] + (u * len(place) - drawn)) / len(place)

    def normal(
        self, replicates: Replicates, round_: int, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        z = super().normal(replicates, round_, clients, d, stream, step, where)
        z = z[self.order] if self.order is not None and clients == len(self.order) else z
        return self.change(z, stream)

    def normal_of(self, replicates: Replicates, round_: int, clients: Any, d: int, stream: int, step: int = 0) -> Any:
        chosen = clients if self.order is None else self.order[clients]
        return self.change(super().normal_of(replicates, round_, chosen, d, stream, step), stream)

    def subsets(self, replicates: Replicates, round_: int, clients: Any, sizes: Any, counts: Any, step: int = 0) -> Any:
        if self.order is None:
            return super().subsets(replicates, round_, clients, sizes, counts, step)
        place = np.argsort(self.order)
        return super().subsets(replicates, round_, self.order[clients], sizes[place], counts[place], step)
