"""Interpretations of a round (worlds): vectors with errors, enumerated choices, and expectations of observations."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from dpfl_theory.errors import WorkLimitError

__all__ = ["EVEN", "SKEWED", "RunIndex", "Vector", "World", "average", "expected", "law", "mapped"]

EVEN = ((Fraction(1, 2), 1), (Fraction(1, 2), -1))
"""The values that an error can take, with their probabilities: multiples of its size, of mean zero and variance 1."""
SKEWED = ((Fraction(4, 5), Fraction(-1, 2)), (Fraction(1, 5), 2))


class RunIndex(int):
    """The last part of an error's name: the run of the same object in which it is drawn, the first one being 0.

    Errors whose names differ in nothing else are independent draws of one law.
    """


Quantity = TypeVar("Quantity")


@dataclass(frozen=True)
class Vector:
    """A point, a gradient or a message: the part known to the world, and unresolved errors, each by its name with its
    coefficient.

    >>> (Vector(1, {"e": 2}) - Vector(3, {"e": 2})) / 2
    Vector(known=-1.0, errors={})
    """

    known: Any
    errors: Mapping[Hashable, Any] = field(default_factory=dict)

    __array_ufunc__ = None  # the vector implements a NumPy number times a vector

    def __add__(self, other: Vector) -> Vector:
        return self._plus(other, 1)

    def __sub__(self, other: Vector) -> Vector:
        return self._plus(other, -1)

    def _plus(self, other: Vector, factor: int) -> Vector:
        errors = dict(self.errors)
        for name, c in other.errors.items():
            errors[name] = errors.get(name, 0) + factor * c
        known = self.known + other.known if factor > 0 else self.known - other.known
        return Vector(known, {name: c for name, c in errors.items() if c != 0})

    def __neg__(self) -> Vector:
        return self * -1

    def __mul__(self, factor: Any) -> Vector:
        return Vector(factor * self.known, {name: factor * c for name, c in self.errors.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Vector:
        return Vector(self.known / divisor, {name: c / divisor for name, c in self.errors.items()})


def average(vectors: Sequence[Quantity], weights: Sequence[Any] | None = None) -> Quantity:
    """The mean of vectors or of fractions, or their sum with these weights.

    >>> average([Vector(1), Vector(4)], [2, 1])
    Vector(known=6, errors={})
    >>> average([Fraction(1), Fraction(2)])
    Fraction(3, 2)
    """
    parts: Sequence[Any] = vectors if weights is None else [w * v for w, v in zip(weights, vectors, strict=True)]
    total = sum(parts[1:], parts[0])
    found: Quantity = total if weights is not None else total / len(parts)
    return found


def law(name: Hashable) -> Hashable:
    """The common part of the names of errors with one law: the name without the run.

    >>> law(("noise", 0, 3, RunIndex(1)))
    ('noise', 0, 3)
    """
    return name[:-1] if isinstance(name, tuple) and name and isinstance(name[-1], RunIndex) else name


def mapped(state: Any, of: Callable[..., Any], *others: Any) -> Any:
    """A state of the same shape, with ``of`` applied to each of its vectors or arrays, and to those of other such
    states in its place.

    >>> mapped((Vector(1), [Vector(2)]), lambda v: v.known)
    (1, [2])
    """
    if isinstance(state, (tuple, list)):
        return type(state)(mapped(part, of, *parts) for part, *parts in zip(state, *others, strict=True))
    if is_dataclass(state) and not isinstance(state, (type, Vector)):
        names = [f.name for f in fields(state)]
        return replace(state, **{n: mapped(getattr(state, n), of, *(getattr(s, n) for s in others)) for n in names})
    return of(state, *others)


class World(ABC):
    """The clients, by number, and their operations. A world is used with `expected`, which calls `restart`.

    An error has mean zero and a second moment (`variance`); errors of different names are independent. It stays a name
    in a `Vector` until a nonlinear operation needs its value (`resolved`). Then it takes a multiple of its size: one of
    two opposite values with equal probability unless ``shape`` says otherwise.
    """

    one: Any = 1.0
    """The number 1 in the world's arithmetic."""

    def __init__(self, clients: int, shape: Sequence[tuple[Fraction, Any]] = EVEN) -> None:
        self.clients, self.shape = clients, tuple(shape)
        self._path: list[int] = []
        self._chosen: list[tuple[int, int]] = []
        self._values: dict[Hashable, Any] = {}
        self._fallen: dict[Hashable, Any] = {}
        self._declared: dict[Hashable, Any] = {}
        self.weight: Any = Fraction(1)

    def restart(self, path: list[int]) -> None:
        """Start again, with these choices first, and the first option after they end."""
        self._path, self._chosen, self.weight = path, [], Fraction(1)
        self._values, self._fallen = {}, {}

    def choose(self, options: Sequence[Any], weights: Sequence[Any] | None = None) -> Any:
        """One of the options, equally likely unless weights (which add up to 1) are given."""
        place = len(self._chosen)
        taken = self._path[place] if place < len(self._path) else 0
        self._chosen.append((taken, len(options)))
        self.weight = self.weight * (Fraction(1, len(options)) if weights is None else weights[taken])
        return options[taken]

    def following(self) -> list[int] | None:
        """The choices after those of the run that has just ended; None when all were made."""
        path = [taken for taken, _ in self._chosen]
        while path and path[-1] == self._chosen[len(path) - 1][1] - 1:
            path.pop()
        return [*path[:-1], path[-1] + 1] if path else None

    @property
    def ways(self) -> int:
        """The number of outcomes of the choices of a run like this one: the product of the numbers of their options."""
        return math.prod(options for _, options in self._chosen)

    def cohort(self, size: int, replacement: bool = False) -> tuple[int, ...]:
        """This many clients, drawn uniformly: different ones, or one after another with replacement."""
        everyone = range(self.clients)
        if replacement:
            return tuple(self.choose(everyone) for _ in range(size))
        return tuple(everyone) if size == self.clients else self.choose(list(itertools.combinations(everyone, size)))

    def coin(self, p: Any) -> bool:
        """True with probability p."""
        return bool(p == 1 or self.choose((True, False), (p, 1 - p)))

    def error(self, *name: Hashable, run: int = 0) -> Vector:
        """An error of this name: a gradient's, or privacy noise. run: its number among independent draws of the
        error."""
        return Vector(self.zero.known, {(*name, RunIndex(run)) if run else name: self.one})

    def resolved(self, v: Vector) -> Vector:
        """The vector with a value for each of its errors, the same wherever an error of this name occurs."""
        weights, multiples = zip(*self.shape, strict=True)
        for name in v.errors:
            if name not in self._values:
                fallen = self.one * self.choose(multiples, weights)
                self._fallen[name], self._values[name] = fallen, fallen * self.size_of(law(name))
        return self.substitute_known(v)

    def resolved_multiples(self, v: Vector) -> tuple[Any, ...]:
        """The multiples of their sizes that the vector's errors took, once they are resolved."""
        return tuple(self._fallen[name] for name in v.errors)

    def fix(self, name: Hashable, value: Any) -> None:
        """Give an error a value, in place of one of those that it may take."""
        self._values[name] = value

    def substitute_known(self, v: Vector) -> Vector:
        """The vector with the errors that have a value replaced by it."""
        known, rest = v.known, {}
        for name, c in v.errors.items():
            if name in self._values:
                known = known + c * self._values[name]
            else:
                rest[name] = c
        return Vector(known, rest)

    def square(self, v: Vector) -> Any:
        """E ||v||^2, given the choices so far."""
        return self.product(v, v)

    def product(self, u: Vector, v: Vector) -> Any:
        """E <u, v>, given the choices so far."""
        u, v = self.substitute_known(u), self.substitute_known(v)
        found = self.inner(u.known, v.known)
        for name, c in u.errors.items():
            if name in v.errors:
                found = found + c * v.errors[name] * self.second_moment(name)
        return found

    def declare(self, *name: Hashable, variance: Any) -> None:
        """Sets the second moment of errors of this name, of which only mean and variance are known."""
        self._declared[name] = variance

    def second_moment(self, name: Hashable) -> Any:
        """The second moment of an error: the declared one, or that of its law."""
        name = law(name)
        return self._declared[name] if name in self._declared else self.variance(name)

    @property
    @abstractmethod
    def zero(self) -> Vector:
        """The zero vector."""

    @abstractmethod
    def gradient(self, client: int, x: Vector) -> Vector:
        """grad f_i(x)."""

    def mean_gradient(self, x: Vector) -> Vector:
        """grad f(x), of the mean of the clients' functions."""
        return average([self.gradient(i, x) for i in range(self.clients)])

    def stochastic_gradient(self, client: int, x: Vector, *name: Hashable, run: int = 0) -> Vector:
        """grad f_i(x) with an error of this name; a world whose errors depend on x defines how."""
        return self.gradient(client, x) + self.error(*name, run=run)

    @abstractmethod
    def inner(self, u: Any, v: Any) -> Any:
        """<u, v> of the known parts of two vectors."""

    @abstractmethod
    def variance(self, name: Hashable) -> Any:
        """The second moment of an error."""

    @abstractmethod
    def size_of(self, name: Hashable) -> Any:
        """The size of an error: a resolved error is a multiple of it, and its square is the second moment."""

    @abstractmethod
    def length(self, v: Vector) -> Any:
        """||v||, of a vector that has no errors."""

    def bounded(self, v: Vector, threshold: Any) -> Vector:
        """v, shortened to the threshold where it is longer. This resolves its errors."""
        v = self.resolved(v)
        length = self.length(v)
        return v if length <= threshold else v * (self.one * threshold / length)

    def normalised(self, v: Vector, alpha: Any = 0) -> Vector:
        """v/(alpha + ||v||), and zero where v is."""
        v = self.resolved(v)
        length = self.length(v)
        return v * (self.one / (alpha + length)) if length else v

    def proximal(self, x: Vector, step: Any) -> Vector:
        """argmin_y f(y) + ||y - x||^2/(2 step), where the world can compute it."""
        raise NotImplementedError(f"a proximal step is not known in {type(self).__name__}")


Name = TypeVar("Name", bound=Hashable)
_PROBED = 100_000
"""Choices of a run that takes the last option of each."""


def expected(world: World, run: Callable[[], Mapping[Name, Any]], maximum: int | None = None) -> dict[Name, Any]:
    """The expectation of everything that a run observes, over all outcomes of the world's choices.

    run: makes its choices through the world and returns named numbers, or quantities of a world that can be added and
    multiplied by numbers.

    maximum: the maximum number of outcomes; None for all. Raises WorkLimitError where there are more. It is raised at
    once where the run with the first options and the one with the last options both have more.
    """
    total: dict[Name, Any] = {}
    path: list[int] | None = []
    count = 0
    while path is not None:
        world.restart(path)
        observed, count, ways = run(), count + 1, world.ways
        if maximum is not None and count == 1 and ways > maximum:
            world.restart([-1] * _PROBED)
            run()
            ways = min(ways, world.ways)
            world.restart(path)
            observed = run()
        if maximum is not None and (ways if count == 1 else count) > maximum:
            message = f"about {Decimal(ways):.3g}" if count == 1 else f"more than {maximum}"
            raise WorkLimitError(
                f"cohorts, coins and the signs of errors have {message} outcomes, and at most {maximum} are enumerated"
            )
        for name, value in observed.items():
            share = value * world.weight if isinstance(value, (int, Fraction)) else float(world.weight) * value
            total[name] = share if name not in total else total[name] + share
        path = world.following()
    return total
