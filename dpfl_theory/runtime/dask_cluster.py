"""Work on a Dask cluster: pieces go to its workers, results return as they finish, and lost pieces are restarted.

A worker is a process with one thread, with the package files and the versions of the coordinator. Each piece checks
this itself, since workers come and go. A piece whose worker is killed is restarted, on any worker. Its result is the
same, because all that it depends on is sent with it. Entries for the store travel back with the result of a piece. The
coordinator puts them into the store, which no worker opens.

The scheduler receives a few pieces for each worker, and more as these finish. It holds the pieces that run next, and
the coordinator holds the rest.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import platform
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpfl_theory.errors import DpflError, EnvironmentFault, InputError
from dpfl_theory.kernels import threads
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.slots import Parcel, collect_parcels, unpack
from dpfl_theory.runtime.sources import package_changed, package_digest

__all__ = ["connected", "spread", "workers_of"]

T = TypeVar("T")

LIVES = 50
"""How often a piece may lose its worker. A piece that kills its own workers is given up after that many losses."""
_SECONDS = 60.0
"""How long a cluster may have no scheduler or no worker at first [s]."""
_TELL_SECONDS = 1.0
_ASK_SECONDS = 2.0
_RESULT_SECONDS = 5.0
_AHEAD = 4
"""Pieces that the scheduler has for each worker."""
_FETCHERS = 8
"""Results that are fetched at the same time."""
_FILES = "files of dpfl-theory with the hash"
_RESTS_ON = ("dpfl-theory", "numpy", "scipy", "numba", "cvxpy", "clarabel", "sympy", "mpmath")


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address, ``tcp://host:8786``, that has at least one worker.

    Raises InputError for an invalid address; EnvironmentFault where Dask is not installed, and where no scheduler or no
    worker answers within a minute.
    """
    try:
        from distributed import Client
        from distributed.comm import parse_address
    except ImportError as error:
        message = "`scheduler` needs Dask, which is not installed: pip install 'dpfl-theory[cluster]'"
        raise EnvironmentFault(message) from error
    scheme, place = parse_address(address)
    if scheme not in ("tcp", "tls", "ws", "wss") or not place.rpartition(":")[2].isdigit():
        raise InputError(f"`scheduler` is {address!r}: write it as the scheduler prints it, tcp://HOST:PORT")
    try:
        client = Client(address, timeout=_SECONDS / 4, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EnvironmentFault(f"no Dask scheduler answers at {address}: start one (dask scheduler), or name another"
                               ) from error  # fmt: skip
    try:
        try:
            client.wait_for_workers(1, timeout=_SECONDS)
        except TimeoutError as error:
            message = f"the scheduler at {address} has no worker: start some (dask worker {address} --nthreads 1)"
            raise EnvironmentFault(message) from error
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


def workers_of(client: Any) -> int:
    """How many workers a cluster has now, at least 1."""
    return max(1, len(client.nthreads()))


@cache
def _versions() -> dict[str, str]:
    """The versions of this process that the numbers depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, **{name: version(name) for name in _RESTS_ON}, _FILES: package_digest()[:12]}


@dataclass(frozen=True)
class _Ended(Generic[T]):
    """The result of a piece, and its entries for the store."""

    result: T
    kept: tuple[Parcel, ...]


def _piece(work: Callable[[], T], needed: Mapping[str, str]) -> _Ended[T]:
    """Run a piece on a worker, on one thread; refuse it where the worker has other versions or several threads."""
    from distributed import get_worker

    # A piece with a time limit needs its own process, which Python denies to Dask's daemonic workers.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    worker, own = get_worker(), _versions()
    if worker.state.nthreads != 1:
        message = f"the worker at {worker.address} has {worker.state.nthreads} threads: start workers with one each"
        raise EnvironmentFault(message)
    if other := [f"{name} {own[name]} for {needed[name]}" for name in needed if own[name] != needed[name]]:
        message = f"the worker at {worker.address} has {', '.join(other)}: install the same there, and restart it"
        raise EnvironmentFault(message)
    with threads.bounded(1), threads.single_blas(), collect_parcels() as sent:
        result = work()
    if package_changed():
        message = f"files of this package at the worker at {worker.address} changed while it ran: restart the workers"
        raise EnvironmentFault(message)
    return _Ended(result, tuple(sent))


class _Stores:
    """The stores that receive parcels."""

    def __init__(self) -> None:
        self._open: dict[Path, Store] = {}
        self._seen: dict[tuple[Path, str], float] = {}
        """When a folder of source files was last seen unchanged. A look takes milliseconds, and each worker checks its
        own files for each piece."""

    def put(self, parcels: Sequence[Parcel]) -> None:
        """Unpack parcels; each fault is reported once."""
        now = time.monotonic()
        new = {
            (place, state): now
            for parcel in parcels
            for place, state in parcel.watched.items()
            if self._seen.get((place, state), -math.inf) < now - _TELL_SECONDS
        }
        for path in dict.fromkeys(parcel.store for parcel in parcels):
            store = self._open.setdefault(path, Store(path))
            own = [
                replace(parcel, watched={p: s for p, s in parcel.watched.items() if (p, s) in new})
                for parcel in parcels
                if parcel.store == path
            ]
            trouble = unpack(own, store)
            store.report_problem(trouble)
            if trouble:
                return
        self._seen |= new

    def close(self) -> None:
        """Close all of them."""
        for store in self._open.values():
            store.close()


class _Running:
    """Pieces that the scheduler has. Several threads fetch their results as they finish, since each result takes a
    round trip to a worker."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._of: dict[Any, int] = {}
        self._answers: queue.SimpleQueue[tuple[Any, Any, BaseException | None]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(_FETCHERS)

    def __len__(self) -> int:
        return len(self._of)

    def send(self, number: int, piece: Callable[[], T], place: int) -> None:
        """Send a piece; a lower place gives a higher priority."""
        future = self._client.submit(_piece, piece, _versions(), pure=False, priority=-place)
        self._of[future] = number
        self._watch(future)

    def answer(self) -> tuple[int, Any, BaseException | None] | None:
        """The number of a finished piece, with its result or exception; None where none finishes within a second."""
        try:
            future, gave, error = self._answers.get(timeout=_TELL_SECONDS)
        except queue.Empty:
            return None
        if isinstance(error, TimeoutError) and future.status != "error":  # its worker was killed: Dask restarts it
            self._watch(future)
            return None
        return self._of.pop(future), gave, error

    def cancel(self) -> None:
        """Cancel all pieces, since no one waits for them any more."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._of), force=True)

    def close(self) -> None:
        """Stop fetching results."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _watch(self, future: Any) -> None:
        def ended(_: Any) -> None:
            with contextlib.suppress(RuntimeError):  # it is closed
                self._threads.submit(self._fetch, future)

        future.add_done_callback(ended)

    def _fetch(self, future: Any) -> None:
        try:
            self._answers.put((future, future.result(timeout=_RESULT_SECONDS), None))
        except BaseException as error:  # a cancellation is not an Exception, and a caller waits for the piece
            self._answers.put((future, None, error))


class _Workers:
    """How many workers the cluster has: queried from time to time, since the answer grows with the cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._asked = self._seen = time.monotonic()
        self._count = workers_of(client)

    def count(self) -> int:
        """The current number of workers. Raises EnvironmentFault when there has been none for a minute."""
        now = time.monotonic()
        if now - self._asked >= _ASK_SECONDS:
            self._asked, found = now, len(self._client.nthreads())
            self._count = max(1, found)
            if found:
                self._seen = now
            elif now - self._seen > _SECONDS:
                message = f"the cluster has been without workers for {_SECONDS:g} s"
                raise EnvironmentFault(f"{message}: start some; finished work is cached")
        return self._count


def spread(
    client: Any,
    work: Sequence[Callable[[], T]],
    order: Sequence[int] | None,
    done: Callable[[int, T], Sequence[Callable[[], T]] | None],
    waiting: Callable[[list[int]], None],
) -> list[T]:
    """As `dpfl_theory.runtime.executor.spread`, on the workers of a client's cluster.

    Raises EnvironmentFault where the scheduler is gone, and where one piece has lost `LIVES` workers. It is also raised
    where a worker has other files or versions, or more than one thread.
    """
    from distributed.scheduler import KilledWorker

    pieces: dict[int, Callable[[], T]] = dict(enumerate(work))
    queued = deque(pieces if order is None else order)
    left = dict.fromkeys(queued)
    lives = dict.fromkeys(queued, LIVES)
    found: dict[int, T] = {}
    running = _Running(client)
    stores, workers, total, place, last_report = _Stores(), _Workers(client), len(pieces), 0, -math.inf
    try:
        while left:
            while queued and len(running) < _AHEAD * workers.count():
                place += 1
                number = queued.popleft()
                running.send(number, pieces[number], place)
            if time.monotonic() >= last_report + _TELL_SECONDS:
                waiting(list(left))
                last_report = time.monotonic()
            answer = running.answer()
            if answer is None:
                workers.count()
                _alive(client)
                continue
            piece, gave, error = answer
            if isinstance(error, KilledWorker):
                lives[piece] -= 1
                if not lives[piece]:
                    sentence = f"piece {piece + 1} of {total} has lost {LIVES} workers, possibly out of memory"
                    raise EnvironmentFault(f"{sentence}: give workers more, or smaller pieces") from error
                queued.appendleft(piece)
                continue
            if error is not None:
                raise error
            stores.put(gave.kept)
            found[piece] = gave.result
            del left[piece], pieces[piece]
            more = done(piece, found[piece]) or ()
            for number, other in enumerate(more, total):
                pieces[number], lives[number], left[number] = other, LIVES, None
                queued.append(number)
            total += len(more)
    except BaseException as error:
        running.cancel()
        if not isinstance(error, (DpflError, KeyboardInterrupt)) and client.status != "running":
            raise _scheduler_lost(client) from error
        raise
    finally:
        running.close()
        stores.close()
    return [found[i] for i in sorted(found)]


def _alive(client: Any) -> None:
    """Raise EnvironmentFault where the scheduler is gone."""
    if client.status not in ("running", "connecting"):
        raise _scheduler_lost(client)


def _scheduler_lost(client: Any) -> EnvironmentFault:
    message = f"lost connection to the scheduler at {client.scheduler.address if client.scheduler else 'the address'}"
    return EnvironmentFault(f"{message}: restart it; finished work is cached")
