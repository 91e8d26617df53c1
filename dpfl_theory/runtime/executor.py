"""Parallel work over processes, here or on a cluster: any pieces that can be pickled, results as they arrive, and an
end at the first failure."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from typing import Any, TypeVar

from dpfl_theory.encoding import tolerate
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.kernels import threads
from dpfl_theory.kernels.announce import FirstTurn, share
from dpfl_theory.runtime.interrupts import without_interrupts

__all__ = [
    "Lost",
    "Pool",
    "end_with_parent",
    "on",
    "one_thread",
    "run_pieces",
    "several",
    "spread",
]

T = TypeVar("T")

_POOLS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables that bound the threads of a library, if they are set before that library is loaded."""

_TELL_SECONDS = 1.0
_CLUSTER: ContextVar[Any] = ContextVar("_CLUSTER", default=None)
"""The client of the cluster that receives the work, if any."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread for runs, and one for each call of the BLAS; restore the previous numbers at the end.

    >>> from dpfl_theory.kernels import threads
    >>> with one_thread():
    ...     threads.available()
    1
    """
    with threads.bounded(1), threads.single_blas():
        yield


@contextlib.contextmanager
def on(scheduler: str | None) -> Iterator[int | None]:
    """Send all work that is spread inside to the Dask cluster at this scheduler address; None means local processes.

    Yields the number of the cluster's workers. Raises as `dpfl_theory.runtime.dask_cluster.connected`.

    >>> with on(None) as workers:
    ...     print(workers, several(2, 1), several(2, 5))
    None False True
    """
    if scheduler is None:
        yield None
        return
    from dpfl_theory.runtime.dask_cluster import connected, workers_of

    with connected(scheduler) as client:
        token = _CLUSTER.set(client)
        try:
            yield workers_of(client)
        finally:
            _CLUSTER.reset(token)


def several(jobs: int, pieces: int) -> bool:
    """Whether this number of pieces is spread at all: over more than one of ``jobs`` processes, or on a cluster."""
    return min(jobs, pieces) > 1 or (pieces > 0 and _CLUSTER.get() is not None)


def _nothing(*_: object) -> None:
    """Do nothing: the default callback."""


Done = Callable[[int, T], Sequence[Callable[[], T]] | None]
"""A callback with a piece's number and its result; it may return more pieces, which get the next numbers."""


class Lost(Exception):
    """A piece was lost with its worker."""


class Pool:
    """The place where pieces run: `_Processes` here, or `dpfl_theory.runtime.dask_cluster.Cluster`."""

    lives = 1
    """How often a piece may be lost before it is given up."""

    def room(self, running: int) -> bool:
        """Whether another piece may be begun while this many run."""
        return True

    def begin(self, piece: Callable[[], Any], ended: Callable[[Future[Any]], None]) -> Future[Any]:
        """Begin a piece; ``ended`` is called with its future at the end."""
        raise NotImplementedError

    def result(self, future: Future[Any]) -> Any:
        """The result of an ended piece, or its exception; `Lost` where the piece must be begun again."""
        return future.result()

    def watch(self) -> None:
        """Called about once a second while no piece ends; raises where none will."""

    def close(self, error: BaseException | None) -> None:
        """End everything. An error that ended the work early may be raised in other words."""
        raise NotImplementedError


def spread(
    work: Sequence[Callable[[], T]],
    jobs: int,
    order: Sequence[int] | None = None,
    *,
    done: Done[T] = _nothing,
    waiting: Callable[[list[int]], None] = _nothing,
) -> list[T]:
    """Run pieces of work in parallel and return their results in the order of ``work``.

    ``jobs`` processes start the pieces in ``order``. Where work is `on` a cluster, all its workers do so instead.
    Pieces that the order leaves out do not run.

    done(i, result) is called here as soon as piece i has finished, and may return more pieces. waiting(pieces) is
    called about once a second with the unfinished ones, in the order in which they start. The first failure, Ctrl-C,
    and an exception of these two functions end all processes. Raises EnvironmentFault when a process dies.

    >>> spread([], 2)
    []
    """
    pieces = dict(enumerate(work))
    queued = deque(pieces if order is None else order)
    left = dict.fromkeys(queued)
    ended: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
    running: dict[Future[T], int] = {}
    found: dict[int, T] = {}
    losses = Counter[int]()
    total, reported = len(work), -math.inf
    pool = _pool(jobs)
    try:
        while left:
            while queued and pool.room(len(running)):
                number = queued.popleft()
                with without_interrupts():
                    running[pool.begin(pieces[number], ended.put)] = number
            if time.monotonic() >= reported + _TELL_SECONDS:
                waiting(list(left))
                reported = time.monotonic()
            try:
                future = ended.get(timeout=_TELL_SECONDS)
            except queue.Empty:
                pool.watch()
                continue
            number = running.pop(future)
            try:
                found[number] = pool.result(future)
            except Lost as error:
                losses[number] += 1
                if losses[number] < pool.lives:
                    queued.appendleft(number)
                    continue
                message = f"piece {number + 1} of {total} has lost {losses[number]} workers, possibly out of memory"
                raise EnvironmentFault(f"{message}: give workers more, or smaller pieces") from error
            del left[number], pieces[number]
            more = dict(enumerate(done(number, found[number]) or (), total))
            pieces |= more
            left |= dict.fromkeys(more)
            queued += more
            total += len(more)
    except BaseException as error:
        pool.close(error)
        raise
    pool.close(None)
    return [found[i] for i in sorted(found)]


def run_pieces(
    work: Sequence[Callable[[], T]],
    jobs: int,
    order: Sequence[int] | None = None,
    *,
    done: Done[T] = _nothing,
    waiting: Callable[[list[int]], None] = _nothing,
) -> list[T]:
    """As `spread` where there are `several` processes and pieces; otherwise here, one piece after another.

    >>> run_pieces([lambda: 1, lambda: 2], 1, waiting=print)
    [0, 1]
    [1]
    [1, 2]
    """
    if several(jobs, len(work)):
        return spread(work, min(jobs, len(work)), order, done=done, waiting=waiting)
    left = list(range(len(work)) if order is None else order)
    found: dict[int, T] = {}
    while left:
        waiting(list(left))
        number = left.pop(0)
        found[number] = work[number]()
        done(number, found[number])
    return [found[i] for i in sorted(found)]


def _pool(jobs: int) -> Pool:
    if (client := _CLUSTER.get()) is None:
        return _Processes(jobs)
    from dpfl_theory.runtime.dask_cluster import Cluster

    return Cluster(client)


class _Processes(Pool):
    """Processes on this machine; the end of one is the end of the work."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._others = multiprocessing.active_children()
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(jobs, context, _initialize_worker, (context.Lock(),))

    def begin(self, piece: Callable[[], Any], ended: Callable[[Future[Any]], None]) -> Future[Any]:
        with _without_the_script():
            future = self._pool.submit(piece)
        future.add_done_callback(ended)
        return future

    def close(self, error: BaseException | None) -> None:
        self._pool.shutdown(wait=error is None, cancel_futures=error is not None)
        for process in multiprocessing.active_children() if error is not None else ():
            if process not in self._others:
                process.terminate()
        if isinstance(error, BrokenProcessPool):
            message = f"one of {self._jobs} processes ended before its work did, possibly out of memory"
            raise EnvironmentFault(f"{message}: use fewer `jobs`") from error


@contextlib.contextmanager
def _without_the_script() -> Iterator[None]:
    """Start processes in the block that do not import the running program.

    No piece of work is defined there, and a script that is not guarded by ``if __name__ == "__main__"`` would start
    again in every process.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _initialize_worker(turn: FirstTurn) -> None:
    """Initialize a worker: leave Ctrl-C to the parent, end with the parent, print any text, and bound the threads.

    Of all workers, the first one that takes this turn reports that kernels are compiled.
    """
    tolerate()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_POOLS, "1"))
    share(turn)


def end_with_parent() -> None:
    """End this process when its parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
