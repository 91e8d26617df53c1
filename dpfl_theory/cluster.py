"""Work on a Dask cluster: pieces go to its workers, results come back as they end, and what dies is begun again.

A worker is a process with one thread, with the files of this package and the versions that the coordinator has; each
piece says so itself, since workers come and go. A piece whose worker is killed is begun again, elsewhere or there, and
its result is the same: all that it rests on is sent with it. What a piece keeps travels back with its result, and the
coordinator puts it into the store, which no worker opens.

The scheduler is sent a few pieces for each worker, and more as these end: it holds what is about to run, and the
coordinator the rest.
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

from dpfl_theory import code_digest
from dpfl_theory.errors import DpflError, EnvironmentFault, InputError
from dpfl_theory.kernels import threads
from dpfl_theory.store import Store
from dpfl_theory.store.remote import Parcel, away
from dpfl_theory.store.slot import unpack

__all__ = ["connected", "spread", "workers_of"]

T = TypeVar("T")

LIVES = 50
"""How often a piece may lose its worker. A piece that kills its workers itself is given up after so many."""
_SECONDS = 60.0
"""For how long a cluster may have no scheduler or no worker at first."""
_TELL_SECONDS = 1.0
_ASK_SECONDS = 2.0
_RESULT_SECONDS = 5.0
_AHEAD = 4
"""Pieces that the scheduler has for each worker."""
_FETCHERS = 8
"""Answers that are fetched at a time."""
_FILES = "files of dpfl-theory with the hash"
_RESTS_ON = ("dpfl-theory", "numpy", "scipy", "numba", "cvxpy", "clarabel", "sympy", "mpmath")


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address, ``tcp://host:8786``, that has at least one worker.

    Raises InputError for what is no address; EnvironmentFault where Dask is not installed, and where no scheduler or no
    worker answers within a minute.
    """
    try:
        from distributed import Client
        from distributed.comm import parse_address
    except ImportError as error:
        told = "`scheduler` needs Dask, which is not installed: pip install 'dpfl-theory[cluster]'"
        raise EnvironmentFault(told) from error
    scheme, place = parse_address(address)
    if scheme not in ("tcp", "tls", "ws", "wss") or not place.rpartition(":")[2].isdigit():
        raise InputError(f"`scheduler` is {address!r}: write it as the scheduler tells it, tcp://HOST:PORT")
    try:
        client = Client(address, timeout=_SECONDS / 4, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EnvironmentFault(f"no Dask scheduler answers at {address}: start one (dask scheduler), or name another"
                               ) from error  # fmt: skip
    try:
        try:
            client.wait_for_workers(1, timeout=_SECONDS)
        except TimeoutError as error:
            told = f"the scheduler at {address} has no worker: start some (dask worker {address} --nthreads 1)"
            raise EnvironmentFault(told) from error
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


def workers_of(client: Any) -> int:
    """How many workers a cluster has now, at least 1."""
    return max(1, len(client.nthreads()))


@cache
def _versions() -> dict[str, str]:
    """What numbers rest on, of this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, **{name: version(name) for name in _RESTS_ON}, _FILES: code_digest.digest()[:12]}


@dataclass(frozen=True)
class _Ended(Generic[T]):
    """What a piece gave, and what it keeps."""

    result: T
    kept: tuple[Parcel, ...]


def _piece(work: Callable[[], T], needed: Mapping[str, str]) -> _Ended[T]:
    """A worker's part: a piece on one thread, if this worker is one that may do it."""
    from distributed import get_worker

    # Where a piece has a limit of time, it has a process of its own; Python allows Dask's workers none.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    worker, own = get_worker(), _versions()
    if worker.state.nthreads != 1:
        told = f"the worker at {worker.address} has {worker.state.nthreads} threads: start workers with one each"
        raise EnvironmentFault(told)
    if other := [f"{name} {own[name]} for {needed[name]}" for name in needed if own[name] != needed[name]]:
        told = f"the worker at {worker.address} has {', '.join(other)}: install the same there, and start it anew"
        raise EnvironmentFault(told)
    with threads.bounded(1), threads.single_blas(), away() as sent:
        result = work()
    if code_digest.changed():
        told = f"files of this package at the worker at {worker.address} changed while it ran: start workers anew"
        raise EnvironmentFault(told)
    return _Ended(result, tuple(sent))


class _Stores:
    """The stores that parcels go to."""

    def __init__(self) -> None:
        self._open: dict[Path, Store] = {}
        self._seen: dict[tuple[Path, str], float] = {}
        """When a folder of source files was last seen to be as it was: to look takes milliseconds, and each worker
        looks after its own files for each piece."""

    def put(self, parcels: Sequence[Parcel]) -> None:
        """Unpack parcels; what is wrong is told once."""
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
            store.tell(trouble)
            if trouble:
                return
        self._seen |= new

    def close(self) -> None:
        """Close all of them."""
        for store in self._open.values():
            store.close()


class _Running:
    """Pieces that the scheduler has; what they gave is fetched as they end, by several threads, since each answer takes
    a way to a worker and back."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._of: dict[Any, int] = {}
        self._answers: queue.SimpleQueue[tuple[Any, Any, BaseException | None]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(_FETCHERS)

    def __len__(self) -> int:
        return len(self._of)

    def begin(self, number: int, piece: Callable[[], T], place: int) -> None:
        """Send a piece; the lower its place the sooner it is done."""
        future = self._client.submit(_piece, piece, _versions(), pure=False, priority=-place)
        self._of[future] = number
        self._watch(future)

    def answer(self) -> tuple[int, Any, BaseException | None] | None:
        """The number of a piece that has ended, what it gave, or what it raised; None where none has for a second."""
        try:
            future, gave, error = self._answers.get(timeout=_TELL_SECONDS)
        except queue.Empty:
            return None
        if isinstance(error, TimeoutError) and future.status != "error":  # its worker was killed: Dask begins it again
            self._watch(future)
            return None
        return self._of.pop(future), gave, error

    def cancel(self) -> None:
        """Nobody waits any more."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._of), force=True)

    def close(self) -> None:
        """No more answers."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _watch(self, future: Any) -> None:
        def ended(_: Any) -> None:
            with contextlib.suppress(RuntimeError):  # it is closed
                self._threads.submit(self._fetch, future)

        future.add_done_callback(ended)

    def _fetch(self, future: Any) -> None:
        try:
            self._answers.put((future, future.result(timeout=_RESULT_SECONDS), None))
        except BaseException as error:  # what is cancelled is no Exception, and somebody waits for it
            self._answers.put((future, None, error))


class _Workers:
    """How many workers the cluster has: asked now and then, for the answer grows with the cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._asked = self._seen = time.monotonic()
        self._count = workers_of(client)

    def count(self) -> int:
        """Workers now. Raises EnvironmentFault when there has been none for a minute."""
        now = time.monotonic()
        if now - self._asked >= _ASK_SECONDS:
            self._asked, found = now, len(self._client.nthreads())
            self._count = max(1, found)
            if found:
                self._seen = now
            elif now - self._seen > _SECONDS:
                told = f"the cluster has been without workers for {_SECONDS:g} s"
                raise EnvironmentFault(f"{told}: start some; what was kept is not done again")
        return self._count


def spread(
    client: Any,
    work: Sequence[Callable[[], T]],
    order: Sequence[int] | None,
    done: Callable[[int, T], Sequence[Callable[[], T]] | None],
    waiting: Callable[[list[int]], None],
) -> list[T]:
    """As `dpfl_theory.processes.spread`, on the workers of a client's cluster.

    Raises EnvironmentFault where the scheduler is gone, where a worker has other files or versions or more than one
    thread, and where one piece has lost `LIVES` workers.
    """
    from distributed.scheduler import KilledWorker

    pieces: dict[int, Callable[[], T]] = dict(enumerate(work))
    queued = deque(pieces if order is None else order)
    left = dict.fromkeys(queued)
    lives = dict.fromkeys(queued, LIVES)
    found: dict[int, T] = {}
    running = _Running(client)
    stores, workers, total, place, told = _Stores(), _Workers(client), len(pieces), 0, -math.inf
    try:
        while left:
            while queued and len(running) < _AHEAD * workers.count():
                place += 1
                number = queued.popleft()
                running.begin(number, pieces[number], place)
            if time.monotonic() >= told + _TELL_SECONDS:
                waiting(list(left))
                told = time.monotonic()
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
            raise _gone(client) from error
        raise
    finally:
        running.close()
        stores.close()
    return [found[i] for i in sorted(found)]


def _alive(client: Any) -> None:
    """Raises EnvironmentFault where the scheduler is gone."""
    if client.status not in ("running", "connecting"):
        raise _gone(client)


def _gone(client: Any) -> EnvironmentFault:
    told = f"the scheduler at {client.scheduler.address if client.scheduler else 'the address'} is gone"
    return EnvironmentFault(f"{told}: start it again, and what has been kept is not done again")
