"""Parallel work over processes, here or on a cluster: any pieces that can be pickled, results as they arrive, and an
end at the first failure."""

from __future__ import annotations

import contextlib
import math
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, TypeVar

from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.runtime import threads
from dpfl_theory.runtime.interrupts import without_interrupts
from dpfl_theory.runtime.pools import Lost, Pool, Processes

T = TypeVar("T")

_TELL_SECONDS = 1.0
_CLUSTER: ContextVar[Any] = ContextVar("_CLUSTER", default=None)
"""The client of the cluster that receives the work, if any."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread for runs, and one for each call of the BLAS; restore the previous numbers at the end.

    >>> from dpfl_theory.runtime import threads
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
        return Processes(jobs)
    from dpfl_theory.runtime.dask_cluster import Cluster

    return Cluster(client)
