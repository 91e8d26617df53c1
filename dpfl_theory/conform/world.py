"""The input of a round: clients with records, whose gradients are logged, and a starting point."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array


class Records(NamedTuple):
    """A client's records: x (m, d), y (m,)."""

    x: Array
    y: Array


@dataclass(frozen=True)
class Call:
    """One evaluation of a gradient: the client, the point, the records (None for all), and whether single gradients or
    their mean."""

    client: int
    w: Array
    batch: tuple[int, ...] | None
    apart: bool


class Client:
    """A client as a round sees it: least squares, f_i(w) = (1/m) sum_j (x_j . w - y_j)^2/2.

    number: i in 0, ..., n-1.  records: ``.x`` (m, d) and ``.y`` (m,), read-only.

    >>> client = Client(0, Records(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, 1.0])))
    >>> client.gradient(np.zeros(2)).tolist(), client.gradient(np.zeros(2), [1]).tolist()
    ([-0.5, -1.0], [0.0, -2.0])
    >>> client.record_gradients(np.zeros(2)).tolist(), len(client)
    ([[-1.0, -0.0], [-0.0, -2.0]], 2)
    """

    def __init__(self, number: int, records: Records, log: list[Call] | None = None) -> None:
        for array in records:
            array.flags.writeable = False
        self.number, self.records = number, records
        self._log = log

    def __len__(self) -> int:
        return len(self.records.y)

    def __getattr__(self, name: str) -> Any:
        has = "gradient(y), gradient(y, batch), record_gradients(y), record_gradients(y, batch), len and records.x, .y"
        raise AttributeError(f"a client has no {name!r}, but {has}")

    def _residuals(self, w: Any, batch: Any, apart: bool) -> Records:
        """The chosen records, with x_j . w - y_j in place of y_j."""
        at = np.array(w, dtype=np.float64, copy=self._log is not None or None)
        if at.shape != (self.records.x.shape[1],):
            need = f"the parameters have {self.records.x.shape[1]} entries"
            raise InputError(f"the gradient of client {self.number} is asked for at shape {at.shape}: {need}")
        chosen = None if batch is None else np.atleast_1d(np.asarray(batch))
        if chosen is not None and not chosen.size:
            chosen = chosen.astype(np.int64)
        x, y = self.records if chosen is None else (self.records.x[chosen], self.records.y[chosen])
        if self._log is not None:
            rows = None if chosen is None else tuple(np.arange(len(self))[chosen].tolist())
            self._log.append(Call(self.number, at, rows, apart))
        return Records(x, x @ at - y)

    def record_gradients(self, w: Any, batch: Any = None) -> Array:
        """The gradients of single records at w (d,), (m, d), or of those numbered in ``batch``."""
        x, off = self._residuals(w, batch, apart=True)
        return np.asarray(off[:, None] * x)

    def gradient(self, w: Any, batch: Any = None) -> Array:
        """grad f_i(w), (d,), or the mean over the records numbered in ``batch``."""
        x, y = self.records
        plain = type(w) is np.ndarray and w.dtype.kind == "f" and w.shape == x.shape[1:]
        if plain and batch is None and self._log is None:  # most calls, so without the other cases' costs
            off = x @ w - y
        else:
            x, off = self._residuals(w, batch, apart=False)
        return np.asarray(off @ x / len(off))


class QuickClient(Client):
    """A client for many rounds of algorithms, whose gradient of all records is H (w - start) + its gradient there."""

    def __init__(self, number: int, records: Records, log: list[Call] | None, start: Array) -> None:
        super().__init__(number, records)
        self._at_start, self._start = super().gradient(start), start
        self._curvature = records.x.T @ records.x / len(self)
        self._log = log

    def gradient(self, w: Any, batch: Any = None) -> Array:
        if batch is not None:
            return super().gradient(w, batch)
        if self._log is not None:
            self._log.append(Call(self.number, w, None, False))
        return np.asarray(self._curvature @ (w - self._start) + self._at_start)


@dataclass
class World:
    """Clients, a starting point (d,), and the log of all gradients, if there is one.

    name: what is special about this world;  seed: of the randomness other than the noise (a coin, a choice of records).
    """

    name: str
    records: Sequence[Records]
    start: Array
    seed: int = 11
    log: list[Call] | None = None

    @property
    def n(self) -> int:
        return len(self.records)

    @property
    def d(self) -> int:
        return len(self.start)

    def clients(self) -> list[Client]:
        """New clients with the records, which cannot be changed, and this log."""
        return [Client(i, own, self.log) for i, own in enumerate(self._frozen)]

    @cached_property
    def quick_clients(self) -> list[Client]:
        """The same clients for rounds of algorithms, which do not change w in place."""
        return [QuickClient(i, own, self.log, self.start) for i, own in enumerate(self._frozen)]

    @cached_property
    def _frozen(self) -> list[Records]:
        """Views of copies of the records. Neither can be written to."""
        copies = [Records(own.x.copy(), own.y.copy()) for own in self.records]
        for array in itertools.chain.from_iterable(copies):
            array.flags.writeable = False
        return [Records(own.x.view(), own.y.view()) for own in copies]

    def stretched(self, times: float) -> World:
        """The same clients with residuals at the start that are multiplied by ``times``: the same curvature, other
        gradients."""
        own = [Records(x, x @ self.start - times * (x @ self.start - y)) for x, y in self.records]
        return World(self.name, own, self.start, self.seed)

    def at_zero(self) -> World:
        """The same clients with the same residuals at the start, which is 0."""
        own = [Records(x, y - x @ self.start) for x, y in self.records]
        return World(self.name, own, np.zeros(self.d), self.seed)

    def with_records(self, name: str, i: int, records: Records) -> World:
        """A neighbouring world: client i has other records."""
        own = list(self.records)
        own[i] = records
        return World(name, own, self.start, self.seed)


def constant(on: World, i: int, gradient: Array) -> Records:
    """Records, as many as client i has, with this gradient at the start and wherever the client moves from
    there."""
    size, d = len(on.records[i].y), on.d
    tiny = 1e-7
    x = np.tile(tiny * gradient / max(float(np.linalg.norm(gradient)), 1e-300), (size, 1))
    length = float(np.linalg.norm(gradient)) / tiny
    return Records(x.reshape(size, d), x @ on.start - length)
