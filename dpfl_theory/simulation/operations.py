"""The operations that a part of a round calls, for all clients and replicates of a batch at once.

A vector is an array (S, d), with a row for each replicate, and one value for each client is an array (n, S, d). A part
that a round writes for client i is called once with i = Ellipsis: then ``h[i]`` is the whole array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.core.algorithm import PlainGradient
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import COIN, GRADIENT, NOISE, RECORDS, SERVER_NOISE
from dpfl_theory.simulation.base import Context
from dpfl_theory.simulation.cohort import Cohort
from dpfl_theory.simulation.gradients import Batches, FullGradient, Gradient, batches
from dpfl_theory.simulation.local_updates import LocalUpdates, dense, shrunk

__all__ = ["BatchOperations", "Members", "many"]


class Chosen(tuple[Any, Any]):
    """The clients (P, S) that are run in each replicate, as an index of arrays (n, S, ...)."""

    @property
    def clients(self) -> Any:
        """Their numbers (P, S)."""
        return self[0]


class Members:
    """The clients of a round: how often each takes part (S, n), None for all of them once; and their number, (S, 1)
    where it differs between replicates. ``chosen`` is their index where only these clients are run."""

    def __init__(self, counts: Any, number: Any, chosen: Chosen | None = None) -> None:
        self.counts, self.number, self.chosen = counts, number, chosen

    @property
    def index(self) -> Any:
        """The index of these clients in an array (n, S, ...): ``h[i]`` is that of their values."""
        return Ellipsis if self.chosen is None else self.chosen

    def _refuse(self, *_: Any) -> Any:
        raise InputError("a batched simulation has no single members: use o.each, o.apply, o.sum and o.count")

    __iter__: Callable[..., Iterator[Any]] = _refuse
    __len__ = __getitem__ = __contains__ = _refuse


class BatchOperations:
    """The operations of round k, for the replicates of a block."""

    def __init__(self, context: Context, cohort: Cohort, k: Any, gradient: Gradient | None = None) -> None:
        self._context, self._cohort, self._k = context, cohort, k
        self._gradient = None if isinstance(gradient, FullGradient) else gradient
        """The oracle of the clients' gradients, None for full ones."""
        self.parts: dict[str, Any] = {}
        """The values of the parts that observables may read."""
        self.few = False
        """Whether only a cohort of a fixed number of clients is run."""
        self.steps: tuple[Any, Any, int] | None = None
        """The plain local steps of all clients: their phase, step size and number."""
        self._xp = context.engine.xp
        self.n, self.d, self.S = context.problem.n, context.problem.d, context.replicates.count
        self.everyone = Members(None, self.n)
        self.asked = cohort.scheme == "full"
        """Whether the round depends on the cohort."""
        self._drawn = {COIN: 0, GRADIENT: 0, NOISE: 0, RECORDS: 0, SERVER_NOISE: 0}
        self._rows: dict[float, Any] = {}
        self._inside = 0
        self._taken = 0
        """The number of batches that each client has taken."""
        self._where: Any = None
        self._members = self.everyone
        """The clients whose values `each` makes."""

    @property
    def expected(self) -> float:
        """The expected number of the cohort's members."""
        self.asked = True
        return self._cohort.divisor(self.n)

    @cached_property
    def cohort(self) -> Members:
        """The members of this round."""
        r = self.expected
        if self._cohort.scheme != "with-replacement" and r == self.n:
            return self.everyone
        if self.few:
            clients = self._cohort.members(self._context, self._k)
            own = self._xp.arange(self.S)[None, :]
            counts = self._xp.zeros((self.S, self.n))
            counts[own, clients] = 1.0
            return Members(counts, int(r), Chosen((clients, own)))
        counts = self._cohort.sample(self._context, self._k)
        return Members(counts, counts.sum(axis=1)[:, None] if self._cohort.scheme == "poisson" else int(r))

    @property
    def number(self) -> Any:
        """The number of the round, from 0."""
        return self._k

    @property
    def counts(self) -> Any:
        """How often each client takes part (S, n), where the round used the cohort."""
        if "cohort" not in vars(self):
            return None
        return self._xp.ones((self.S, self.n)) if self.cohort is self.everyone else self.cohort.counts

    @property
    def zero(self) -> Any:
        """The zero vector."""
        return self._xp.zeros((self.S, self.d))

    @property
    def rng(self) -> Any:
        """A batched simulation has no generator."""
        raise InputError("a batched simulation draws by address: use o.gaussian and o.coin, not o.rng")

    # Clients.
    def given(self, rows: Any) -> Any:
        """A given vector for each client, a row of (n, d)."""
        if np.shape(rows) != (self.n, self.d):
            raise InputError(
                f"the given vectors have shape {np.shape(rows)}: {self.n} rows of {self.d} numbers are needed, one for "
                "each client"
            )
        rows = self._context.engine.asarray(np.asarray(rows, dtype=np.float64))
        return self._xp.broadcast_to(rows[:, None, :], (self.n, self.S, self.d))

    def _for_each(self, value: Any, clients: int | None = None) -> Any:
        """A value with one entry for each of n clients and replicate, (n, S, 1 or d); or several of them."""
        clients = self.n if clients is None else clients
        shape = getattr(value, "shape", ())
        if value is Ellipsis or isinstance(value, Chosen) or (len(shape) == 3 and shape[:2] == (clients, self.S)):
            return value
        if isinstance(value, (tuple, list)) or is_dataclass(value):
            return _joined(lambda leaf: self._for_each(leaf, clients), value)
        like = (clients, self.S, shape[-1] if shape else 1)
        return self._xp.broadcast_to(value, like) if shape else self._xp.full(like, float(value))

    def _for_all(self, of: Callable[..., Any], clients: int, *arguments: Any) -> Any:
        self._inside += 1
        try:
            return self._for_each(of(*arguments), clients)
        finally:
            self._inside -= 1

    def _run(self, members: Members) -> int:
        """The number of clients whose values are made for these members."""
        return self.n if members.chosen is None else len(members.chosen.clients)

    def each(self, members: Members, of: Callable[[Any], Any]) -> Any:
        """One value for each client; those of others than the members have no meaning."""
        outer, self._members, self._taken = self._members, members, 0
        try:
            return self._for_all(of, self._run(members), members.index)
        finally:
            self._members = outer

    def apply(self, values: Any, of: Callable[[Any], Any]) -> Any:
        """A function of each client's value."""
        clients = next(x.shape[0] for x in _leaves(values) if len(getattr(x, "shape", ())) == 3)
        return self._for_all(of, clients, values)

    def put(self, values: Any, members: Members, new: Any) -> Any:
        """The clients' values, with those of these members replaced."""
        if self._cohort.scheme == "with-replacement":
            raise InputError("a client that is drawn twice would write twice: draw cohorts of different clients")
        if members.counts is None:
            return self._for_each(new)
        if members.chosen is not None:
            return _joined(lambda one, other: _written(one, other, members.chosen), new, values)
        present = (members.counts > 0.0).T[:, :, None]
        return _joined(lambda one, other: self._xp.where(present, dense(one), dense(other)), new, values)

    def count(self, members: Members) -> Any:
        """Their number."""
        return members.number

    def sum(self, members: Members, values: Any, weight: Callable[[Any], Any] | None = None) -> Any:
        """The sum of these clients' vectors."""
        factor, run = None if weight is None else weight(members.index), self._run(members)
        values = self._for_each(values if factor is None else factor * values, run)
        if isinstance(values, LocalUpdates):
            return values.total(self._xp.ones((self.S, self.n)) if members.counts is None else members.counts)
        if members.counts is None or members.chosen is not None:
            return values.sum(axis=0)
        return self._context.engine.combine(self._xp.ascontiguousarray(values), members.counts)

    def total(self, members: Members, values: Any) -> Any:
        """The sum of these clients' numbers, (S, 1)."""
        return self.tally(members, lambda i: values)

    def tally(self, members: Members, of: Callable[[Any], Any]) -> Any:
        """The sum of one number for each of these clients, (S, 1)."""
        values = self._xp.broadcast_to(of(members.index), (self._run(members), self.S, 1))
        if members.counts is None or members.chosen is not None:
            return values.sum(axis=0)
        return (values[:, :, 0] * members.counts.T).sum(axis=0)[:, None]

    def least(self, one: Any, two: Any) -> Any:
        """The smaller number, in each replicate."""
        return self._xp.minimum(one, two) if many(one) or many(two) else min(one, two)

    layers = (slice(None),)
    """The parameters of a problem are one layer."""

    def by_layer(self, u: Any, of: Callable[[Any], Any]) -> Any:
        """A function of each layer of a vector."""
        return of(u)

    # Records.
    def records(self, i: Any) -> Any:
        """The number of client i's records; 1 on a problem without records, whose clients have one weight."""
        records = getattr(self._context.kernels, "records", None)
        if records is None:
            return 1
        if (size := batches(self._context.problem, 1.0).size) is not None:
            return size
        if isinstance(i, Chosen):
            return records[i.clients][:, :, None]
        return records[:, None, None] if i is Ellipsis else records[i]

    def _clients(self, i: Any) -> Any:
        """The numbers of the clients (P, S) of an index."""
        return i.clients if isinstance(i, Chosen) else self._context.everyone

    def _batch(self, i: Any, share: float, lots: bool) -> tuple[Any, Batches]:
        """The numbers of the records of the clients' next batches (n, S, b), None for all; and their sizes."""
        context = self._context
        if not (i is Ellipsis or isinstance(i, Chosen)):
            raise InputError("a batched simulation draws floor(s R) records for all clients at once")
        if lots and share < 1.0:
            return self._lots(i, share), batches(context.problem, 1.0)
        own = batches(context.problem, share)
        if share == 1.0:
            return None, own
        self._own(i)
        step = self._next(RECORDS)
        return context.engine.subsets(context.replicates, self._k, self._clients(i), own.sizes, own.counts, step), own

    def batch_gradient(self, i: Any, y: Any, size: int | None = None, of: int | None = None) -> Any:
        """The mean gradient over each client's next batch of this size. A round splits a client's records once, at
        random, and the last batch has what is left; grad f_i(y) for a size of 0. of: what the sum of gradients is
        divided by, in place of the number of records."""
        if not size:
            return self.gradient(i, y)
        context = self._context
        own = batches(context.problem, 1.0).sizes
        if self._gradient is not None or not (i is Ellipsis or isinstance(i, Chosen)):
            raise InputError("a batched simulation has full gradients in batches, of all clients at once")
        self._own(i)
        clients, y, step = self._clients(i), self._at(i, y), self._taken
        self._taken += 1
        first = step % -(-own // size) * size
        last = np.minimum(first + size, own)

        def total(counts: Any) -> Any:
            """The sum of the gradients of the records in the first places, as many as ``counts``."""
            chosen = context.engine.subsets(context.replicates, self._k, clients, own, counts, 0)
            return context.kernels.record_sums(y, clients, chosen)[0]  # type: ignore[attr-defined]

        sums = total(last) - total(first) if first.any() else total(last)
        number = context.engine.asarray((last - first).astype(np.float64))
        return sums / (of or number[clients][:, :, None])

    def _lots(self, i: Any, share: float) -> Any:
        """The numbers of the records of the clients' lots (n, S, b), ascending, with -1 after them. Each record is in
        its client's lot with this probability."""
        xp, engine = self._xp, self._context.engine
        sizes = engine.asarray(batches(self._context.problem, 1.0).sizes)
        most = int(sizes.max())
        u = engine.uniform(self._context.replicates, self._k, self.n * most, RECORDS, self._next(RECORDS))
        place = xp.arange(most)
        drawn = (u.reshape(self.S, self.n, most) < share) & (place < sizes[:, None])
        chosen = xp.sort(xp.where(drawn, place, most), axis=2)
        chosen = xp.where(chosen < most, chosen, -1).transpose(1, 0, 2)
        return chosen[i] if isinstance(i, Chosen) else xp.ascontiguousarray(chosen)

    def clipped_records(self, i: Any, y: Any, share: float, threshold: Any, lots: bool = False) -> tuple[Any, Any]:
        """The sum of each client's next batch of record gradients, each clipped, and their number."""
        context = self._context
        chosen, own = self._batch(i, share, lots)
        y, clients = self._at(i, y), self._clients(i)
        sums, _ = context.kernels.record_sums(y, clients, chosen, self.row(threshold))  # type: ignore[attr-defined]
        if lots and chosen is not None:
            return sums, (chosen >= 0).sum(axis=2)[:, :, None].astype(np.float64)
        if own.count is not None:
            return sums, own.count
        return sums, context.engine.asarray(own.counts.astype(np.float64))[clients][:, :, None]

    def _at(self, i: Any, y: Any) -> Any:
        """Points of the clients of an index, (P, S, d)."""
        clients = len(i.clients) if isinstance(i, Chosen) else self.n
        return self._xp.ascontiguousarray(dense(self._for_each(y, clients)))

    def record_gradients(self, i: Any, y: Any, share: float, lots: bool = False) -> Any:
        """The gradients (b, n, S, d) of the records of each client's next batch, where all have b records."""
        context, xp = self._context, self._xp
        if lots and share < 1.0:
            raise InputError("lots of records have different sizes: a batched simulation has only their sums")
        chosen, own = self._batch(i, share, lots)
        b = own.count
        if b is None:
            raise InputError("clients have different numbers of records: a batched simulation has only their sums")
        y, clients = self._at(i, y), self._clients(i)
        if chosen is None:
            chosen = xp.broadcast_to(xp.arange(b), (*clients.shape, b))
        single = (xp.ascontiguousarray(chosen[:, :, j : j + 1]) for j in range(b))
        return xp.stack([context.kernels.record_sums(y, clients, one)[0] for one in single])  # type: ignore[attr-defined]

    # Gradients and local steps.
    def gradient(self, i: Any, y: Any, records: Any = None) -> Any:
        """grad f_i(y)."""
        if records is not None:
            raise InputError("a batched simulation has no gradients of chosen records")
        kernels, xp = self._context.kernels, self._xp
        chosen = i.clients if isinstance(i, Chosen) else None
        if self._gradient is not None:
            if not (i is Ellipsis or chosen is not None):
                raise InputError("an oracle of a batched simulation gives the gradients of all clients at once")
            self._own(i)
            return self._gradient.evaluate(self._context, self._at(i, y), chosen, self._k, self._next(GRADIENT))
        if chosen is not None:
            return kernels.gradients_of(self._at(i, y), chosen)
        if i is not Ellipsis:
            return kernels.gradients_of(y[None], xp.full((1, self.S), i))[0]
        if len(y.shape) == 2:
            y = xp.repeat(y[None], self.n, axis=0)
        return kernels.client_gradients(xp.ascontiguousarray(dense(y)))

    def row(self, value: Any) -> Any:
        """A number, or one for each replicate (S, 1), as an array (S,)."""
        if many(value):
            return self._xp.ascontiguousarray(value[:, 0])
        if value not in self._rows:
            self._rows[value] = self._xp.full(self.S, float(value))
        return self._rows[value]

    def descend(self, y: Any, i: Any, step: Any, steps: Any, direction: Callable[[Any], Any]) -> Any:
        """The end of local steps from y."""
        plain = isinstance(direction, PlainGradient) and self._gradient is None
        if plain and i is Ellipsis and len(y.shape) == 2 and not many(steps) and steps >= 1:
            phase = self._context.kernels.local_phase(y, self.row(step), int(steps))
            self.steps = phase, self.row(step), int(steps)
            if self._members.counts is not None:
                phase = phase.only(self._members.counts)
            return LocalUpdates(self._xp, (self.n, self.S, self.d), phase, y, -step)
        if many(steps):  # of clients with different numbers of them
            for k in range(int(steps.max())):
                y = self._xp.where(k < steps, y - step * direction(y), y)
            return y
        for _ in range(int(steps)):
            y = y - step * direction(y)
        return y

    # Lengths.
    def length(self, u: Any) -> Any:
        """||u||."""
        if isinstance(u, LocalUpdates) and u.base is None:
            return u.length
        u = dense(u)
        return self._xp.sqrt((u * u).sum(axis=-1, keepdims=True))

    def within(self, u: Any, length: Any) -> Any:
        """1 where ||u|| is at most this length, else 0."""
        return self._xp.where(self.length(u) <= length, 1.0, 0.0)

    def clip(self, u: Any, threshold: Any) -> Any:
        """u min(1, threshold/||u||)."""
        return self._bounded(u, threshold, False)

    def stretch(self, u: Any, length: Any) -> Any:
        """u scaled to this length; 0 stays."""
        return self._bounded(u, length, True)

    def _bounded(self, u: Any, threshold: Any, normalise: bool) -> Any:
        if isinstance(u, LocalUpdates) and u.base is None:
            return u.bounded(threshold, normalise)
        u = dense(u)
        return u * shrunk(self._xp, self.length(u), threshold, normalise)

    def square(self, u: Any) -> Any:
        """The square of each coordinate."""
        u = dense(u)
        return u * u

    def root(self, v: Any) -> Any:
        """The root of each coordinate."""
        return self._xp.sqrt(v)

    def smooth(self, u: Any, alpha: Any) -> Any:
        """u/(alpha + ||u||); 0/0 is 0."""
        total = alpha + self.length(u)
        there = total > 0.0
        return u * self._xp.where(there, 1.0 / self._xp.where(there, total, 1.0), 0.0)

    # Random numbers and choices.
    def _next(self, stream: int) -> int:
        """The number of a draw among those of the round from this stream."""
        self._drawn[stream] += 1
        return self._drawn[stream] - 1

    def _own(self, i: Any = None) -> bool:
        """Whether each client draws its own."""
        found = i is not None or self._inside > 0
        if found and self._cohort.scheme == "with-replacement":
            raise InputError("a client that is drawn twice draws twice: a batched simulation cannot do this, only sums")
        return found

    def gaussian(self, deviation: Any, i: Any = None) -> Any:
        """N(0, deviation^2 I), for each client inside `each` and `apply`."""
        if not many(deviation) and deviation == 0.0:
            return self.zero
        for_each = self._own(i)
        stream, clients = (NOISE, self.n) if for_each else (SERVER_NOISE, 1)
        where = None if self._where is None else self._where[:, 0]
        engine, step = self._context.engine, self._next(stream)
        if for_each and isinstance(self._index(i), Chosen):
            return deviation * self._context.normals(self._k, stream, self._index(i).clients, step)
        normals = engine.normal(self._context.replicates, self._k, clients, self.d, stream, step, where)
        return deviation * (normals if for_each else normals[0])

    def normal(self, deviation: Any) -> Any:
        """One number N(0, deviation^2), (S, 1)."""
        if not many(deviation) and deviation == 0.0:
            return self._xp.zeros((self.S, 1))
        step, engine = self._next(SERVER_NOISE), self._context.engine
        return deviation * engine.normal(self._context.replicates, self._k, 1, 1, SERVER_NOISE, step)[0]

    def _index(self, i: Any) -> Any:
        """The index of the clients for which something is drawn."""
        return self._members.index if i is None else i

    def sum_of_noises(self, members: Members, deviation: Any) -> Any:
        """The sum of one independent N(0, deviation^2 I) for each member."""
        number = members.number
        return self.gaussian(deviation * (self._xp.sqrt(number) if many(number) else number**0.5))

    def coin(self, p: Any) -> Any:
        """True with probability p, for each replicate, and for each client inside `each` and `apply`."""
        engine, step, for_each = self._context.engine, self._next(COIN), self._own()
        drawn = engine.uniform(self._context.replicates, self._k, self.n if for_each else 1, COIN, step)
        return (drawn.T[:, :, None] if for_each else drawn) < p

    def when(self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """One of two results, in each replicate."""
        if not many(condition):
            return then() if condition else otherwise()
        outer = self._where
        found = []
        for mask, branch in ((condition, then), (~condition, otherwise)):
            if len(mask.shape) == 2:  # noise is drawn only where it is used
                self._where = mask if outer is None else outer & mask
            found.append(branch())
            self._where = outer
        return _joined(lambda yes, no: self._xp.where(condition, dense(yes), dense(no)), *found)

    # States.
    def state(self, found: Any) -> Any:
        """A state as arrays: numbers become arrays (S, 1), and None becomes ()."""

        def array(leaf: Any) -> Any:
            return dense(leaf) if many(leaf) else self._xp.full((self.S, 1), float(leaf))

        return () if found is None else _joined(array, found)


def many(value: Any) -> bool:
    """Whether a value is an array."""
    return getattr(value, "shape", ()) != ()


def _leaves(tree: Any) -> Iterator[Any]:
    """The values of a tree."""
    if hasattr(tree, "shape"):  # as most are, and quick to see
        yield tree
    elif isinstance(tree, (tuple, list)) and not isinstance(tree, Chosen):
        for part in tree:
            yield from _leaves(part)
    elif is_dataclass(tree):
        for f in fields(tree):
            yield from _leaves(getattr(tree, f.name))
    else:
        yield tree


def _written(new: Any, values: Any, index: Any) -> Any:
    """A copy of the clients' values, with new ones at this index."""
    found = dense(values).copy()
    found[tuple(index)] = dense(new)
    return found


def _joined(of: Callable[..., Any], *trees: Any) -> Any:
    """A tree of the same shape whose leaves are a function of those of the trees."""
    first = trees[0]
    if hasattr(first, "shape"):
        return of(*trees)
    if isinstance(first, Chosen):
        return first
    if isinstance(first, (tuple, list)):
        return type(first)(_joined(of, *parts) for parts in zip(*trees, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        return type(first)(**{f.name: _joined(of, *(getattr(t, f.name) for t in trees)) for f in fields(first)})
    return first if first is None else of(*trees)
