"""Work on a Dask cluster: pieces go to its workers, results return as they finish, and lost pieces are restarted.

A worker is a process with one thread, with the package files and the versions of the coordinator. Each piece checks
this itself, since workers come and go. A piece whose worker is killed is restarted, on any worker. Its result is the
same, because all that it depends on is sent with it. Entries for the store travel back with the result of a piece. The
coordinator puts them into the store, which no worker opens.

The scheduler receives a few pieces for each worker, and more as these finish. It holds the pieces that run next, and
the coordinator holds the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpfl_theory.errors import DpflError, EnvironmentFault, InputError
from dpfl_theory.runtime import threads
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.pools import Lost, Pool
from dpfl_theory.runtime.slots import Parcel, collect_parcels, state_of, unpack
from dpfl_theory.runtime.sources import package_changed, package_digest

T = TypeVar("T")

LIVES = 50
"""How often a piece may lose its worker. A piece that kills its own workers is given up after that many losses."""
_SECONDS = 60.0
"""How long a cluster may have no scheduler or no worker at first [s]."""
_LOOK_SECONDS = 1.0
_ASK_SECONDS = 2.0
_AHEAD = 4
"""Pieces that the scheduler has for each worker."""
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


class Cluster(Pool):
    """The workers of a client's cluster, as a place for pieces.

    Raises EnvironmentFault where the scheduler is gone, and where one piece has lost `LIVES` workers. It is also raised
    where a worker has other files or versions, or more than one thread.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tasks: dict[Future[Any], Any] = {}
        self.lives = LIVES
        self._asked = self._seen = time.monotonic()
        self._count = workers_of(client)
        self._stores: dict[Path, Store] = {}
        self._states: dict[Path, tuple[float, str]] = {}

    def room(self, running: int) -> bool:
        """Whether the scheduler has less than a few pieces for each worker."""
        return running < _AHEAD * self._workers()

    def begin(self, piece: Callable[[], Any], ended: Callable[[Future[Any]], None]) -> Future[Any]:
        """Send a piece."""
        task = self._client.submit(_piece, piece, _versions(), pure=False)
        gathered = self._client.gather(task, asynchronous=True)
        future: Future[Any] = asyncio.run_coroutine_threadsafe(gathered, self._client.loop.asyncio_loop)
        self._tasks[future] = task
        future.add_done_callback(ended)
        return future

    def result(self, future: Future[Any]) -> Any:
        """The result of a piece, whose entries are put into their stores."""
        from distributed.scheduler import KilledWorker

        del self._tasks[future]
        try:
            answer = future.result()
        except KilledWorker as error:
            raise Lost from error
        self._put(answer.kept)
        return answer.result

    def watch(self) -> None:
        """Raise EnvironmentFault where the scheduler is gone, or there has been no worker for a minute."""
        self._workers()
        if self._client.status not in ("running", "connecting"):
            raise self._scheduler_lost()

    def close(self, error: BaseException | None) -> None:
        """Cancel all pieces, since no one waits for them any more, and close the stores."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._tasks.values()), force=True)
        for store in self._stores.values():
            store.close()
        ours = error is None or isinstance(error, (DpflError, KeyboardInterrupt))
        if not ours and self._client.status != "running":
            raise self._scheduler_lost() from error

    def _workers(self) -> int:
        """The number of workers, asked from time to time, since the answer grows with the cluster."""
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

    def _put(self, parcels: Sequence[Parcel]) -> None:
        """Unpack parcels; each fault is reported once."""
        for path in dict.fromkeys(parcel.store for parcel in parcels):
            store = self._stores.setdefault(path, Store(path))
            store.report_problem(unpack([p for p in parcels if p.store == path], store, self._state))

    def _state(self, place: Path) -> str:
        """The state of source files a second ago or later: a look takes milliseconds."""
        now = time.monotonic()
        seen, state = self._states.get(place, (-math.inf, ""))
        if now - seen >= _LOOK_SECONDS:
            self._states[place] = seen, state = now, state_of(place)
        return state

    def _scheduler_lost(self) -> EnvironmentFault:
        scheduler = self._client.scheduler
        message = f"lost connection to the scheduler at {scheduler.address if scheduler else 'the address'}"
        return EnvironmentFault(f"{message}: restart it; finished work is cached")
