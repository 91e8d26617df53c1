"""Rounds of described algorithms in a world: exact moments, worst cases and plain draws from one description.

`run_round` runs the round of a description (`dpfl_theory.core.algorithm.Algorithm`) and records the local steps and the
cohort, which proofs refer to. Errors of gradients and noise of messages have names, and their sizes are the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError
from dpfl_theory.semantics.base import RunIndex, Vector, World

SAMPLINGS = ("without", "anew", "shared")
"""A cohort of different clients, or draws with replacement. In the latter case each draw is a run of its own
(``anew``); or there is one run for each client, which counts as often as it is drawn (``shared``)."""


class Draw(int):
    """A member of a cohort: the client's number, and the number of its run among the draws of this client."""

    run: RunIndex

    def __new__(cls, client: int, run: int = 0) -> Draw:
        found = super().__new__(cls, client)
        found.run = RunIndex(run)
        return found


def runs(cohort: Sequence[int]) -> tuple[Draw, ...]:
    """Each draw of a cohort as a run of its own.

    >>> [(int(draw), draw.run) for draw in runs((2, 0, 2))]
    [(2, 0), (0, 0), (2, 1)]
    """
    return tuple(Draw(i, tuple(cohort)[:place].count(i)) for place, i in enumerate(cohort))


def draws(world: World, size: int, sampling: str = "without") -> tuple[Draw, ...]:
    """A cohort of this size, drawn in one of the ways of `SAMPLINGS`."""
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling {sampling!r} is not one of {SAMPLINGS}")
    cohort = world.cohort(size, sampling != "without")
    return tuple(map(Draw, cohort)) if sampling == "shared" else runs(cohort)


class BaseOperations:
    """The operations that a world gives to descriptions of algorithms and to users' own rounds (`oracle.Oracle`)."""

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def zero(self) -> Vector:
        """The zero vector."""
        return self.world.zero

    def coin(self, p: Any) -> bool:
        """True with probability p."""
        return self.world.coin(p)

    def clip(self, v: Vector, threshold: Any) -> Vector:
        """v min(1, threshold/||v||), which is not a linear form: InputError in a worst case over a class of
        functions."""
        return self._nonlinear(lambda: self.world.bounded(v, threshold))

    @staticmethod
    def _nonlinear(compute: Callable[[], Vector]) -> Vector:
        try:
            return compute()
        except TypeError as error:
            message = "clipping and normalising are not linear forms, as worst cases need"
            raise InputError(f"{message}: check by exact and monte-carlo") from error


class WorldOperations(BaseOperations):
    """The operations of a description's round number t, in a world. n: clients; expected: the size of a cohort.

    Args:
        size: of the cohort; None for all clients.
        sampling: one of `SAMPLINGS`.
        errors: whether gradients are stochastic. The error of client i's gradient number k is ("error", t, i, k).
        unseen: whether clients outside the cohort take their steps too, as proofs have it.

    The noise of client i's message is ("noise", t, i). Its size is the world's: the description's deviation decides
    only whether there is noise, which is where it is not 0.
    """

    def __init__(
        self,
        world: World,
        t: Any = 0,
        size: int | None = None,
        sampling: str = "without",
        errors: bool = False,
        unseen: bool = False,
    ) -> None:
        super().__init__(world)
        self.n, self.everyone = world.one * world.clients, range(world.clients)
        self._t, self._sampling, self._errors, self._unseen = t, sampling, errors, unseen
        self._size = world.clients if size is None else size
        self._asked: dict[tuple[int, int], int] = {}
        self._paths: dict[tuple[int, int], tuple[Vector, ...]] = {}

    @cached_property
    def cohort(self) -> tuple[Draw, ...]:
        """The members of this round, drawn at the first request."""
        return draws(self.world, self._size, self._sampling)

    @property
    def expected(self) -> Any:
        """The cohort's size: in the world's arithmetic, as n is."""
        return self.world.one * self._size

    @property
    def paths(self) -> tuple[tuple[Vector, ...], ...]:
        """The points of each client's local steps in its first run; empty where it took none."""
        return tuple(self._paths.get((i, 0), ()) for i in self.everyone)

    def gradient(self, i: int, y: Vector) -> Vector:
        """grad f_i(y), or a stochastic gradient."""
        if not self._errors:
            return self.world.gradient(int(i), y)
        client, run = who = _run_of(i)
        k = self._asked[who] = self._asked.get(who, -1) + 1
        return self.world.stochastic_gradient(client, y, "error", self._t, client, k, run=run)

    def batch_gradient(self, i: int, y: Vector, size: int | None = None, of: int | None = None) -> Vector:
        """grad f_i(y): a world has no batches of records."""
        if size:
            raise InputError(f"batches of {size} records are given, and a world has no records: set their size to 0")
        return self.gradient(i, y)

    def records(self, i: int) -> int:
        """The number of client i's records: all clients have equally many."""
        return 1

    def descend(self, y: Vector, i: int, step: Any, steps: int, direction: Callable[[Vector], Vector]) -> Vector:
        """The end of local steps from y, whose points are recorded."""
        path = [y]
        for _ in range(int(steps)):
            path.append(path[-1] - step * direction(path[-1]))
        self._paths[_run_of(i)] = tuple(path)
        return path[-1]

    def each(self, members: Sequence[int], of: Callable[[int], Any]) -> tuple[Any, ...]:
        """One value for each of these clients, computed once for each run."""
        also = self.everyone if self._unseen and members is self.cohort else ()
        found: dict[tuple[int, int], Any] = {}
        for i in (*also, *members):
            if _run_of(i) not in found:
                found[_run_of(i)] = of(i)
        return tuple(found[_run_of(i)] for i in members)

    def apply(self, values: Sequence[Any], of: Callable[[Any], Any]) -> tuple[Any, ...]:
        """A function of each client's value."""
        return tuple(map(of, values))

    def put(self, values: Sequence[Any], members: Sequence[int], new: Sequence[Any]) -> tuple[Any, ...]:
        """The clients' values, with those of these members replaced."""
        own = dict(zip(map(int, members), new, strict=True))
        return tuple(own.get(i, value) for i, value in enumerate(values))

    def count(self, members: Sequence[int]) -> int:
        """Their number."""
        return len(members)

    def tally(self, members: Sequence[int], of: Callable[[int], Any]) -> Any:
        """The sum of one number for each of these clients."""
        return sum(of(i) for i in members)

    def least(self, one: Any, two: Any) -> Any:
        """The smaller number."""
        return min(one, two)

    def total(self, members: Sequence[int], values: Sequence[Any]) -> Any:
        """The sum of these clients' numbers."""
        return sum(values)

    def sum(
        self, members: Sequence[int], values: Sequence[Vector], weight: Callable[[int], Any] | None = None
    ) -> Vector:
        """The sum of these clients' vectors; a weight of None is 1."""
        factors = [None if weight is None else weight(i) for i in members]
        scaled = [v if factor is None else factor * v for v, factor in zip(values, factors, strict=True)]
        return sum(scaled[1:], scaled[0]) if scaled else self.zero

    def length(self, u: Vector) -> Any:
        """||u||."""
        return self.world.length(self.world.resolved(u))

    def clip(self, v: Vector, threshold: Any) -> Vector:
        """v min(1, threshold/||v||); v itself for a threshold of None."""
        return v if threshold is None else super().clip(v, threshold)

    def stretch(self, u: Vector, length: Any) -> Vector:
        """u scaled to this length; 0 stays."""
        return self._nonlinear(lambda: length * self.world.normalised(u))

    def smooth(self, u: Vector, alpha: Any) -> Vector:
        """u/(alpha + ||u||)."""
        return self._nonlinear(lambda: self.world.normalised(u, alpha))

    def square(self, u: Vector) -> Vector:
        """The square of each coordinate, which no world has."""
        raise InputError("a world has no coordinates: an algorithm that divides by roots of squares is only simulated")

    root = square

    def gaussian(self, deviation: Any, i: int | None = None) -> Vector:
        """The noise of client i's message, or the server's."""
        if deviation == 0:
            return self.zero
        if i is None:
            return self.world.error("noise", self._t)
        client, run = _run_of(i)
        return self.world.error("noise", self._t, client, run=run)

    def sum_of_noises(self, members: Sequence[int], deviation: Any) -> Vector:
        """The sum of the noises of these clients' messages."""
        return self.sum(members, [self.gaussian(deviation, i) for i in members])

    def when(self, condition: bool, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """One of two results."""
        return then() if condition else otherwise()


def _run_of(i: int) -> tuple[int, int]:
    """A client's number and the number of its run."""
    return int(i), getattr(i, "run", 0)


@dataclass(frozen=True)
class RoundResult:
    """The server's vector x and the state after a round; and, of this round, the points of the clients' local steps
    (empty where there were none), and the cohort."""

    x: Vector
    state: Any = None
    paths: tuple[tuple[Vector, ...], ...] = ()
    cohort: tuple[int, ...] = ()

    @property
    def following(self) -> tuple[Vector, Any]:
        """Vector and state from which the next round starts."""
        return self.x, self.state


def run_round(algorithm: Algorithm, world: World, x: Vector, state: Any = None, **settings: Any) -> RoundResult:
    """A round of a described algorithm from the server's vector x and the state before it, None before the first round.

    settings: those of `WorldOperations`.
    """
    o = WorldOperations(world, **settings)
    return RoundResult(*algorithm.round(o, x, state), o.paths, tuple(map(int, o.cohort)))


def local_path(algorithm: Averaging, world: World, x: Vector, i: int = 0, errors: bool = False) -> tuple[Vector, ...]:
    """The points of client i's local steps from the server's vector x, in round 0 of an algorithm that averages."""
    o = WorldOperations(world, errors=errors)
    algorithm.local(o, x, i)
    return o.paths[i]
