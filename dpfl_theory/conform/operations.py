"""The operations of a round on NumPy arrays, with clients whose gradients are logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.world import Client
from dpfl_theory.problems.base import Array


class Operations:
    """What a round may ask for. n: clients, d: parameters, expected: of a cohort, cohort: the members' numbers, number:
    of the round, from 0, layers: of the model.

    moved: whether the round communicates, where a coin decides; None to toss it. batches: the records that each client
    draws in each of its local steps; None, or no batch of a client, for all records in every step. steps: the number of
    each client's local steps, where it was observed. ends: of all local steps in their order, where they are known; an
    empty list is filled.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        cohort: Sequence[int] | Array,
        rng: Any,
        expected: float,
        d: int,
        moved: Any = None,
        batches: Mapping[int, Sequence[Sequence[int]]] | None = None,
        number: int = 0,
        layers: Sequence[slice] = (slice(None),),
        steps: Mapping[int, int] | None = None,
        ends: list[Any] | None = None,
    ) -> None:
        self.clients, self.rng, self.expected, self.d = clients, rng, expected, d
        self.n, self.cohort = len(clients), [int(i) for i in cohort]
        self.everyone, self.number, self.layers = range(self.n), number, layers
        self._steps, self._ends, self._end = steps or {}, ends, 0
        self._moved, self._batches, self._taken = moved, batches, dict[int, int]()

    @property
    def zero(self) -> Array:
        """The zero vector (d,)."""
        return np.zeros(self.d)

    def gradient(self, i: int, y: Array, records: Any = None) -> Array:
        """grad f_i(y), or the mean over some records."""
        return self.clients[int(i)].gradient(y, records)

    def batch_gradient(self, i: int, y: Array, size: int | None = None, of: int | None = None) -> Array:
        """The mean gradient over client i's next batch of records; grad f_i(y) where it draws none. of: what the sum of
        gradients is divided by, in place of the number of records."""
        own = (self._batches or {}).get(int(i), ())
        k = self._taken[i] = self._taken.get(i, -1) + 1
        batch = list(own[k % len(own)]) if own else None
        mean = self.clients[int(i)].gradient(y, batch)
        return (self.records(i) if batch is None else len(batch)) / of * mean if of else mean

    def batches(self, i: int) -> int:
        """The number of batches of records that client i draws in this round; 0 where it draws none."""
        return len((self._batches or {}).get(int(i), ()))

    def observed_steps(self, i: int, otherwise: int) -> int:
        """The number of local steps that client i takes, where it was observed."""
        return self._steps.get(int(i), otherwise)

    def by_layer(self, u: Array, of: Callable[[Array], Array]) -> Array:
        """A function of each layer of a vector."""
        return np.concatenate([of(u[layer]) for layer in self.layers])

    def records(self, i: int) -> int:
        """The number of client i's records."""
        return len(self.clients[int(i)])

    def record_gradients(self, i: int, y: Array, share: float, lots: bool = False) -> Array:
        """The gradients (b, d) of the records of client i's next batch, a share of its records.

        lots: whether batches may be empty. The function may skip these, so missing batches are empty ones; an empty
        batch moves nothing, so its place does not matter. Where s = 1 the function may ask for all records without a
        batch: a client's batch is missing only if another client has one.
        """
        own = (self._batches or {}).get(int(i), ())
        k = self._taken[i] = self._taken.get(i, -1) + 1
        missing = k >= len(own) if share < 1.0 else bool(self._batches) and not own
        if lots and self._batches is not None and missing:
            return self.clients[int(i)].record_gradients(y, [])
        return self.clients[int(i)].record_gradients(y, list(own[k % len(own)]) if own else None)

    def clipped_records(
        self, i: int, y: Array, share: float, threshold: float, lots: bool = False
    ) -> tuple[Array, int]:
        """The sum of client i's next batch of record gradients, each clipped, and their number."""
        g = self.record_gradients(i, y, share, lots)
        lengths = np.sqrt((g * g).sum(axis=1, keepdims=True))
        return (g * np.minimum(1.0, threshold / np.maximum(lengths, 1e-300))).sum(axis=0), len(g)

    def descend(self, y: Array, i: int, step: float, steps: int, direction: Callable[[Array], Array]) -> Array:
        """The end of local steps from y."""
        if self._ends is not None and self._end < len(self._ends):
            self._end += 1
            return np.asarray(self._ends[self._end - 1])
        for _ in range(int(steps)):
            y = y - step * direction(y)
        if self._ends is not None:
            self._ends.append(y)
            self._end += 1
        return y

    def each(self, members: Sequence[int], of: Callable[[int], Any]) -> list[Any]:
        """One value for each of these clients."""
        return [of(int(i)) for i in members]

    def apply(self, values: Sequence[Any], of: Callable[[Any], Any]) -> list[Any]:
        """A function of each client's value."""
        return [of(value) for value in values]

    def put(self, values: Sequence[Any], members: Sequence[int], new: Sequence[Any]) -> list[Any]:
        """The clients' values, with those of these members replaced."""
        found = list(values)
        for i, value in zip(members, new):
            found[i] = value
        return found

    def count(self, members: Sequence[int]) -> int:
        """Their number."""
        return len(members)

    def tally(self, members: Sequence[int], of: Callable[[int], Any]) -> Any:
        """The sum of one number for each of these clients."""
        return sum(of(int(i)) for i in members)

    def least(self, one: float, two: float) -> float:
        """The smaller number."""
        return min(one, two)

    def total(self, members: Sequence[int], values: Sequence[float]) -> float:
        """The sum of these clients' numbers."""
        return float(sum(values))

    def sum(self, members: Sequence[int], values: Sequence[Array], weight: Callable[[int], Any] | None = None) -> Array:
        """The sum of these clients' vectors; a weight of None is 1."""
        total = self.zero
        for i, value in zip(members, values):
            factor = None if weight is None else weight(i)
            total = total + (value if factor is None else factor * value)
        return total

    def length(self, u: Array) -> float:
        """||u||."""
        return float(np.linalg.norm(u))

    def within(self, u: Array, length: float) -> float:
        """1 where ||u|| is at most this length, else 0."""
        return float(self.length(u) <= length)

    def clip(self, u: Array, threshold: float) -> Array:
        """u min(1, threshold/||u||)."""
        length = self.length(u)
        return u if length <= threshold else u * (threshold / length)

    def stretch(self, u: Array, length: float) -> Array:
        """u scaled to this length; 0 stays."""
        own = self.length(u)
        return u * (length / own) if own > 0.0 else u

    def square(self, u: Array) -> Array:
        """The square of each coordinate."""
        return u * u

    def root(self, v: Array) -> Array:
        """The root of each coordinate."""
        return np.sqrt(v)

    def smooth(self, u: Array, alpha: float) -> Array:
        """u/(alpha + ||u||)."""
        return u / (alpha + self.length(u))

    def gaussian(self, deviation: float, i: int | None = None) -> Array:
        """N(0, deviation^2 I); i is the client whose message gets it."""
        return np.asarray(self.rng.normal(0.0, deviation, self.d)) if deviation > 0.0 else self.zero

    def normal(self, deviation: float) -> float:
        """One number N(0, deviation^2)."""
        return float(self.rng.normal(0.0, deviation, 1)[0]) if deviation > 0.0 else 0.0

    def sum_of_noises(self, members: Sequence[int], deviation: float) -> Array:
        """The sum of one independent N(0, deviation^2 I) for each member."""
        return self.gaussian(deviation * len(members) ** 0.5)

    def coin(self, p: float) -> bool:
        """True with probability p."""
        return bool(self.rng.random() < p if self._moved is None else self._moved)

    def when(self, condition: bool, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """One of two results."""
        return then() if condition else otherwise()
