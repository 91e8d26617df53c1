"""Exact second moments of a linear round after many repetitions, without enumerating the draws of all of them.

The round is run once for each outcome of its own choices, on a state of names. It then returns a linear form of the
state, the number 1 and its errors. Such forms map the matrix E z z^T of z = (1, state) to that after the round, however
many rounds came before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from typing import Any, Generic, TypeVar

from dpfl_theory.semantics.base import Vector, mapped
from dpfl_theory.semantics.oracle import OnQuadratics, Oracle
from dpfl_theory.semantics.rational import Quadratics

__all__ = ["Moments", "after_rounds"]

State = TypeVar("State")
Rows = list[list[int]]


@dataclass(frozen=True)
class Moments(Generic[State]):
    """E z z^T of z = (1, every vector of a state), in whole numbers over one denominator.

    state: each vector is a name, so that forms of it can be written down and inspected.

    >>> from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
    >>> from dpfl_theory.semantics.operations import run_round
    >>> world = Quadratics([1], [0], {"noise": 3})
    >>> algorithm = DPTwoSidedFedAvg(eta_l=Fraction(1, 2), eta_g=1, Q=1, sigma=1)
    >>> def round_(x):
    ...     return run_round(algorithm, world, x).x
    >>> found = Moments.from_state(world, Vector(Fraction(4))).after(round_, 2)
    >>> found.square(found.state)
    Fraction(19, 4)
    """

    world: Quadratics
    state: State
    entries: tuple[tuple[int, ...], ...]
    denominator: int

    @classmethod
    def from_state(cls, world: Quadratics, start: State) -> Moments[State]:
        """The moments of a state whose vectors are known up to errors."""
        vectors = _vectors(start)
        world.restart([])
        moments: list[list[Fraction]] = []
        one = Vector(Fraction(1))
        for u in (one, *vectors):
            moments.append([world.product(u, v) for v in (one, *vectors)])
        names = iter(range(len(vectors)))
        state = mapped(start, lambda v: v and Vector(Fraction(0), {("state", next(names)): Fraction(1)}))
        entries, denominator = _whole(moments)
        return cls(world, state, tuple(map(tuple, entries)), denominator)

    def after(self, round_: Callable[[State], State], count: int = 1) -> Moments[State]:
        """The moments after this many rounds, each with its own choices and errors. The round returns a state of the
        same shape."""
        return list(self.along(round_, count))[-1]

    def along(self, round_: Callable[[State], State], count: int) -> Iterator[Moments[State]]:
        """These moments, and those after each of this many rounds."""
        yield self
        if not count:
            return
        size, world = len(self.entries), self.world
        maps: list[tuple[Fraction, list[list[Fraction]]]] = []
        noise = [[Fraction(0)] * size for _ in range(size)]
        path: list[int] | None = []
        while path is not None:
            world.restart(path)
            forms = [Vector(Fraction(1)), *_vectors(round_(self.state))]
            if len(forms) != size:
                raise ValueError(f"the round returns {len(forms) - 1} vectors for a state of {size - 1}")
            forms = [world.substitute_known(form) for form in forms]
            maps.append((world.weight, [self._row(form) for form in forms]))
            errors = [{k: c for k, c in form.errors.items() if not _is_state(k)} for form in forms]
            for i, u in enumerate(errors):
                for j, v in enumerate(errors):
                    shared = sum((c * v[k] * world.second_moment(k) for k, c in u.items() if k in v), Fraction(0))
                    noise[i][j] += world.weight * shared
            path = world.following()
        shares, whole_shares = _whole([[weight for weight, _ in maps]])
        rows, scale = _whole([row for _, matrix in maps for row in matrix])
        matrices = [rows[size * k : size * (k + 1)] for k in range(len(maps))]
        added, of_added = _whole(noise)
        entries, denominator = [list(row) for row in self.entries], self.denominator
        for _ in range(count):
            moved = [[0] * size for _ in range(size)]
            for share, matrix in zip(shares[0], matrices, strict=True):
                half = _times(matrix, entries)  # entries and their image are symmetric
                moved = [
                    [m + share * x for m, x in zip(*pair, strict=True)]
                    for pair in zip(moved, _times(matrix, half), strict=True)
                ]
            grown = whole_shares * scale**2
            grown *= of_added // math.gcd(denominator * grown, of_added)
            up, more = grown // (whole_shares * scale**2), denominator * grown // of_added
            entries = [
                [up * m + more * n for m, n in zip(*pair, strict=True)] for pair in zip(moved, added, strict=True)
            ]
            # The factor added to the denominator in this round is small, so dividing by its common part costs little.
            common = math.gcd(grown, *(x for row in entries for x in row))
            entries = [[x // common for x in row] for row in entries]
            denominator = denominator * grown // common
            yield replace(self, entries=tuple(map(tuple, entries)), denominator=denominator)

    def square(self, form: Vector) -> Fraction:
        """E of the square of a linear form of the state."""
        return self.product(form, form)

    def product(self, u: Vector, v: Vector) -> Fraction:
        """E of the product of two linear forms of the state and of new errors."""
        (left, right), scale = _whole([self._row(u), self._row(v)])
        found = sum(a * sum(map(mul, right, row)) for a, row in zip(left, self.entries, strict=True) if a)
        new = {k for k in u.errors if k in v.errors and not _is_state(k)}
        errors = sum((u.errors[k] * v.errors[k] * self.world.second_moment(k) for k in new), Fraction(0))
        return Fraction(found, self.denominator * scale**2) + errors

    def _row(self, form: Vector) -> list[Fraction]:
        return [form.known, *(form.errors.get(("state", k), Fraction(0)) for k in range(len(self.entries) - 1))]


def after_rounds(
    o: OnQuadratics, start: State, step: Callable[[Oracle, State], State], rounds: int
) -> list[Moments[State]]:
    """The moments of the start and after each round; ``o.k`` is the number of the round.

    >>> o = OnQuadratics(curvatures=[1, 3], offsets=[0, 1])
    >>> found = after_rounds(o, o.start, lambda o, x: x - o.gradient(x, o.draw([Fraction(1, 2)] * 2)) / (o.k + 2), 2)
    >>> found[-1].square(found[-1].state)
    Fraction(1, 12)
    """
    found = [Moments.from_state(o.world, start)]
    for k in range(rounds):
        o.start_round(k)
        found.append(found[-1].after(lambda state: step(o, state)))
    return found


def _is_state(name: Hashable) -> bool:
    return isinstance(name, tuple) and name[0] == "state"


def _vectors(state: Any) -> list[Vector]:
    """The vectors of a state, in turn; a part of it may be None."""
    found: list[Any] = []
    mapped(state, found.append)
    return [v for v in found if v is not None]


def _whole(rows: Sequence[Sequence[Fraction]]) -> tuple[Rows, int]:
    """The rows times their least common denominator, and this."""
    common = math.lcm(*(x.denominator for row in rows for x in row))
    return [[x.numerator * (common // x.denominator) for x in row] for row in rows], common


def _times(left: Rows, right: Rows) -> Rows:
    """right left^T, transposed: the rows of left, each times every row of right."""
    return [[sum(map(mul, row, other)) for other in right] for row in left]
