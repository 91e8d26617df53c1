"""What a world is: vectors with errors, choices that are enumerated, and expectations of what is observed."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["Vector", "World", "average", "expected"]


@dataclass(frozen=True)
class Vector:
    """A point, a gradient or a message: what the world knows of it, and errors that have not been looked at, each by
    its name with its coefficient.

    >>> (Vector(1, {"e": 2}) - Vector(3, {"e": 2})) / 2
    Vector(known=-1.0, errors={})
    """

    known: Any
    errors: Mapping[Hashable, Any] = field(default_factory=dict)

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

    def __mul__(self, factor: Any) -> Vector:
        return Vector(factor * self.known, {name: factor * c for name, c in self.errors.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Vector:
        return Vector(self.known / divisor, {name: c / divisor for name, c in self.errors.items()})


def average(vectors: Sequence[Vector]) -> Vector:
    """Their mean."""
    return sum(vectors[1:], vectors[0]) / len(vectors)


class World(ABC):
    """The clients, by number, and what may be asked of them. A world is used with `expected`, which calls `begin`.

    An error has mean zero and a second moment (`variance`); errors of different names are independent. It stays a name
    in a `Vector` until something that is not linear looks at it (`resolved`): then it falls on one of two opposite
    values, with equal probability.
    """

    one: Any = 1.0
    """The number 1 in the world's arithmetic."""

    def __init__(self, clients: int) -> None:
        self.clients = clients
        self._path: list[int] = []
        self._chosen: list[tuple[int, int]] = []
        self._values: dict[Hashable, Any] = {}
        self.weight: Any = Fraction(1)

    def begin(self, path: list[int]) -> None:
        """Start anew, with these choices first, and the first option wherever the path ends."""
        self._path, self._chosen, self._values, self.weight = path, [], {}, Fraction(1)

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

    def cohort(self, size: int) -> tuple[int, ...]:
        """So many clients, uniformly without replacement."""
        everyone = range(self.clients)
        return tuple(everyone) if size == self.clients else self.choose(list(itertools.combinations(everyone, size)))

    def coin(self, p: Any) -> bool:
        """True with probability p."""
        return bool(p == 1 or self.choose((True, False), (p, 1 - p)))

    def error(self, *name: Hashable) -> Vector:
        """An error of this name: a gradient's, or privacy noise."""
        return Vector(self.zero.known, {name: self.one})

    def resolved(self, v: Vector) -> Vector:
        """The vector with its errors on one of their two values, the same wherever an error of this name stands."""
        for name in v.errors:
            if name not in self._values:
                self._values[name] = self.choose((1, -1)) * self.size_of(name)
        return self.settled(v)

    def fix(self, name: Hashable, value: Any) -> None:
        """Give an error a value, in place of one of its two."""
        self._values[name] = value

    def settled(self, v: Vector) -> Vector:
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
        u, v = self.settled(u), self.settled(v)
        found = self.inner(u.known, v.known)
        for name, c in u.errors.items():
            if name in v.errors:
                found = found + c * v.errors[name] * self.variance(name)
        return found

    @property
    @abstractmethod
    def zero(self) -> Vector:
        """The zero vector."""

    @abstractmethod
    def gradient(self, client: int, x: Vector) -> Vector:
        """grad f_i(x)."""

    @abstractmethod
    def inner(self, u: Any, v: Any) -> Any:
        """<u, v> of what is known of two vectors."""

    @abstractmethod
    def variance(self, name: Hashable) -> Any:
        """The second moment of an error."""

    @abstractmethod
    def size_of(self, name: Hashable) -> Any:
        """One of the two opposite values of an error that is looked at."""

    @abstractmethod
    def length(self, v: Vector) -> Any:
        """||v||, of a vector that has no errors."""

    def bounded(self, v: Vector, threshold: Any) -> Vector:
        """v, shortened to the threshold where it is longer."""
        v = self.resolved(v)
        length = self.length(v)
        return v if length <= threshold else v * (self.one * threshold / length)

    def normalised(self, v: Vector, alpha: Any = 0) -> Vector:
        """v/(alpha + ||v||), and zero where v is."""
        v = self.resolved(v)
        length = self.length(v)
        return v * (self.one / (alpha + length)) if length else v


def expected(world: World, run: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The expectation of everything that a run observes, over all ways in which the world's choices can fall.

    run: makes its choices through the world and returns named numbers, or quantities of a world that can be added and
    multiplied by numbers.
    """
    total: dict[str, Any] = {}
    path: list[int] | None = []
    while path is not None:
        world.begin(path)
        for name, value in run().items():
            share = value * world.weight if isinstance(value, (int, Fraction)) else float(world.weight) * value
            total[name] = share if name not in total else total[name] + share
        path = world.following()
    return total
