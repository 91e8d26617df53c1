"""Rounds written with an `Oracle`, run on many replicates at once: `simulate` runs the description itself.

A vector of this world is an array (replicates, d), so that one call of the round advances all replicates. Where a round
draws a coin or a cohort, its replicates separate: the round then runs from its start for each group with equal choices.
Noise and choices have addresses by seed, replicate, round and number, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import COIN, SERVER_NOISE
from dpfl_theory.kernels.tape.operations import Untraceable
from dpfl_theory.problems.base import Problem
from dpfl_theory.semantics.base import Vector, World, mapped
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.simulation import Algorithm
from dpfl_theory.simulation.base import Context, Round
from dpfl_theory.simulation.local_updates import shrunk

__all__ = ["AVERAGES", "Iterated", "Replicates", "first_vector"]

AVERAGES = ("", "before", "after")
"""The point of an iteration that is observed: the last; the mean of x_0, ..., x_{k-1}; that of x_1, ..., x_k."""


class _PartWays(Exception):
    """Replicates choose differently: the rows that take each option."""

    def __init__(self, groups: Mapping[int, Any]) -> None:
        super().__init__()
        self.groups = groups


class Replicates(World):
    """All replicates of a block in one round, or those ``rows`` of them whose choices so far are ``taken``."""

    def __init__(
        self, context: Context, variances: Mapping[Hashable, Any], k: Any, rows: Any = None, taken: Sequence[int] = ()
    ) -> None:
        super().__init__(context.problem.n)
        self._context, self._variances, self._k, self._rows, self._taken = context, variances, k, rows, taken
        self._choices = 0
        self.drawn = False
        """Whether anything was drawn."""
        self.one = self.own(context.engine.xp.ones((context.replicates.count, 1)))

    def own(self, array: Any) -> Any:
        """The part of an array (replicates, ...) of the block that belongs to these replicates."""
        return array if self._rows is None else array[self._rows]

    def choose(self, options: Sequence[Any], weights: Sequence[Any] | None = None) -> Any:
        self.drawn = True
        if not isinstance(self._k, int):
            raise Untraceable("a choice of each replicate")
        place, self._choices = self._choices, self._choices + 1
        if place < len(self._taken):
            return options[self._taken[place]]
        engine = self._context.engine
        drawn = np.asarray(engine.to_host(engine.uniform(self._context.replicates, self._k, 1, COIN, place)))[:, 0]
        shares = np.full(len(options), 1.0 / len(options)) if weights is None else np.array(weights, dtype=float)
        chosen = np.minimum(np.searchsorted(np.cumsum(shares), drawn, side="right"), len(options) - 1)
        rows = np.arange(len(chosen)) if self._rows is None else self._rows
        raise _PartWays({int(option): rows[chosen[rows] == option] for option in np.unique(chosen[rows])})

    @property
    def zero(self) -> Vector:
        return Vector(0.0 * self.one * self._context.engine.asarray(np.ones(self._context.problem.d)))

    def error(self, *name: Hashable, run: int = 0) -> Vector:
        self.drawn = True
        d = self._context.problem.d
        step = name[-1]
        assert isinstance(step, int)
        normals = self._context.engine.normal(self._context.replicates, self._k, 1, d, SERVER_NOISE, step)[0]
        return Vector(float(np.sqrt(self._variances[name] / d)) * self.own(normals))

    def gradient(self, client: int, x: Vector) -> Vector:
        xp = self._context.engine.xp
        who = xp.full((1, x.known.shape[0]), client)
        return Vector(self._context.kernels.gradients_of(x.known[None], who)[0])

    def mean_gradient(self, x: Vector) -> Vector:
        return Vector(self._context.kernels.gradient(x.known))

    def inner(self, u: Any, v: Any) -> Any:
        return (u * v).sum(axis=1)[:, None]

    def variance(self, name: Hashable) -> Any:
        return self._variances[name]

    def size_of(self, name: Hashable) -> Any:
        raise NotImplementedError("errors are drawn at once")

    def length(self, v: Vector) -> Any:
        return self._context.engine.xp.sqrt(self.inner(v.known, v.known))

    def bounded(self, v: Vector, threshold: Any) -> Vector:
        return Vector(v.known * shrunk(self._context.engine.xp, self.length(v), threshold, False))

    def normalised(self, v: Vector, alpha: Any = 0) -> Vector:
        xp = self._context.engine.xp
        length = self.length(v)
        return Vector(v.known * xp.where(length > 0.0, 1.0 / (alpha + xp.where(length > 0.0, length, 1.0)), 0.0))

    def proximal(self, x: Vector, step: Any) -> Vector:
        hessian = getattr(self._context.problem, "hessian", None)
        if hessian is None:
            raise InputError(
                f"a proximal step on {self._context.problem.name!r} has no closed form: take a problem of quadratics"
            )
        resolvent = np.linalg.inv(np.eye(len(hessian)) + float(step) * hessian)
        return Vector(x.known - float(step) * self._context.kernels.gradient(x.known) @ resolvent)


@dataclass
class _State:
    """inner: the author's state, with arrays (replicates, d) in place of its vectors; mean, total: the mean of the
    points so far and their number (replicates, 1), where the mean is observed."""

    inner: Any
    mean: Any
    total: Any


@dataclass(frozen=True, eq=False)
class Iterated(Algorithm):
    """The algorithm that a round describes.

    ``start(oracle)`` makes its state, ``round(oracle, state)`` the next one, and ``point(state)`` is the observed
    point; or, with ``average``, the mean of these points is observed (see `AVERAGES`).

    name, symbols: the output of `describe`.
    """

    start: Callable[[Oracle], Any]
    step: Callable[[Oracle, Any], Any]
    point: Callable[[Any], Vector]
    average: str = ""
    name: str = "iteration"
    symbols: Mapping[str, Any] = field(default_factory=dict)

    def validate(self, problem: Problem, replicates: int) -> None:
        pass

    def initial_state(self, context: Context) -> _State:
        oracle, _ = self._oracle(context, 0)
        inner = _arrays(self.start(oracle))
        return _State(inner, context.start, context.engine.xp.zeros((context.replicates.count, 1)))

    def server(self, state: _State) -> Any:
        return state.mean if self.average else self.point(_vectors(state.inner)).known

    def round(self, context: Context, state: _State, k: Any) -> tuple[_State, Round]:
        before = self.server(state)
        old = self.point(_vectors(state.inner)).known
        inner, _ = self.played(context, state.inner, k)
        total, mean = state.total + 1.0, state.mean
        if self.average:
            seen = old if self.average == "before" else self.point(_vectors(inner)).known
            mean = mean + (seen - mean) / total
        return _State(inner, mean, total), Round(context, k, before, state=state)

    def played(self, context: Context, inner: Any, k: Any) -> tuple[Any, bool]:
        """The author's state after round k, and whether anything was drawn in it."""
        drawn, parts = False, list[tuple[Any, Any]]()
        waiting: list[tuple[Any, tuple[int, ...]]] = [(None, ())]
        while waiting:
            rows, taken = waiting.pop()
            oracle, world = self._oracle(context, k, rows, taken)
            own = inner if rows is None else mapped(inner, itemgetter(rows))
            try:
                parts.append((rows, _arrays(self.step(oracle, _vectors(own)))))
            except _PartWays as parting:
                waiting += [(group, (*taken, option)) for option, group in parting.groups.items()]
            drawn = drawn or world.drawn
        if parts[0][0] is None:
            return parts[0][1], drawn
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        first, *others = (part for _, part in parts)
        joined = mapped(first, lambda *arrays: context.engine.xp.concatenate(arrays), *others)
        return mapped(joined, itemgetter(order)), drawn

    def _oracle(
        self, context: Context, k: Any, rows: Any = None, taken: Sequence[int] = ()
    ) -> tuple[Oracle, Replicates]:
        variances: dict[Hashable, Any] = {}
        world = Replicates(context, variances, k, rows, taken)
        oracle = Oracle(world, Vector(world.own(context.start)), float(context.problem.d), variances)
        oracle.start_round(k)
        return oracle, world

    def describe(self) -> dict[str, Any]:
        return {"algorithm": self.name, "average": self.average or None, **self.symbols}


def first_vector(state: Any) -> Vector:
    """The first vector of a state: the observed point by default.

    >>> first_vector((Vector(1), Vector(2))).known
    1
    """
    found: list[Vector] = []
    mapped(state, found.append)
    return found[0]


def _arrays(state: Any) -> Any:
    def array(leaf: Any) -> Any:
        if not isinstance(leaf, Vector):
            raise InputError(
                f"the state of the iteration holds {leaf!r}, which is not a vector: keep vectors (zero is o.zero), "
                "and make numbers from o.k, the number of the round"
            )
        return leaf.known

    return mapped(state, array)


def _vectors(state: Any) -> Any:
    return mapped(state, Vector)
