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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from typing import Any, TypeVar

from dpfl_theory.encoding import tolerate
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.kernels import threads
from dpfl_theory.kernels.announce import FirstTurn, share

__all__ = ["Done", "on", "one_thread", "several", "spread", "without_interrupts"]

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
    if (client := _CLUSTER.get()) is not None:
        from dpfl_theory.runtime import dask_cluster as cluster

        return cluster.spread(client, work, order, done, waiting)
    others = multiprocessing.active_children()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _initialize_worker, (context.Lock(),))
    ended: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
    left: dict[Future[T], int] = {}
    found: dict[int, T] = {}

    def begin(pieces: Iterable[tuple[int, Callable[[], T]]]) -> None:
        with without_interrupts(), _without_the_script():
            for number, piece in pieces:
                future = pool.submit(piece)
                left[future] = number
                future.add_done_callback(ended.put)

    total, reported = len(work), -math.inf
    try:
        begin((i, work[i]) for i in (range(total) if order is None else order))
        while left:
            if time.monotonic() >= reported + _TELL_SECONDS:
                waiting(list(left.values()))
                reported = time.monotonic()
            try:
                future = ended.get(timeout=_TELL_SECONDS)
            except queue.Empty:
                continue
            number = left.pop(future)
            found[number] = future.result()
            more = done(number, found[number]) or ()
            begin(enumerate(more, total))
            total += len(more)
        pool.shutdown()
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        if isinstance(error, BrokenProcessPool):
            sentence = f"one of {jobs} processes ended before its work did, possibly out of memory: use fewer `jobs`"
            raise EnvironmentFault(sentence) from error
        raise
    return [found[i] for i in sorted(found)]


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, and start processes in it that never receive the signal.

    A process that has not yet set its handler would end with a traceback.

    The signal may reach another thread of this process, and is then handled in the main one all the same. There it is
    delayed too, because locks of futures are held inside that would never be released.

    >>> with without_interrupts():
    ...     print("started")
    started
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    main, waiting = threading.current_thread() is threading.main_thread(), list[int]()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    handler = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number)) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if waiting:
            signal.raise_signal(signal.SIGINT)


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
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_POOLS, "1"))
    share(turn)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
