"""Places where pieces of work run: what each of them does, and processes on this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from dpfl_theory.encoding import tolerate
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.runtime.console import share

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock

_POOLS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables that bound the threads of a library, if they are set before that library is loaded."""


class Lost(Exception):
    """A piece was lost with its worker."""


class Pool:
    """The place where pieces run: `Processes` here, or `dpfl_theory.runtime.dask_cluster.Cluster`."""

    lives = 1
    """How often a piece may be lost before it is given up."""

    def room(self, running: int) -> bool:
        """Whether another piece may be started while this many run."""
        return True

    def begin(self, piece: Callable[[], Any], ended: Callable[[Future[Any]], None]) -> Future[Any]:
        """Start a piece; ``ended`` is called with its future at the end."""
        raise NotImplementedError

    def result(self, future: Future[Any]) -> Any:
        """The result of an ended piece, or its exception; `Lost` where the piece must be started again."""
        return future.result()

    def watch(self) -> None:
        """Called about once a second while no piece ends; raises where none will."""

    def close(self, error: BaseException | None) -> None:
        """End everything. An error that ended the work early may be raised in other words."""
        raise NotImplementedError


class Processes(Pool):
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


def _initialize_worker(turn: Lock) -> None:
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
