"""The number of threads of a run, and a BLAS with one thread in each of them.

A block of replicates passes through all rounds of a run on one thread. No thread waits for another one inside a run, so
other load on the machine slows a run down only by its share.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

_MOST: ContextVar[int | None] = ContextVar("dpfl_theory_threads", default=None)


def usable_cores() -> int:
    """The number of cores that this process may use.

    >>> usable_cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available() -> int:
    """The number of threads of a run: the bound that is in force, or else one for each usable core.

    >>> with bounded(1):
    ...     available()
    1
    """
    return _MOST.get() or usable_cores()


@contextlib.contextmanager
def bounded(maximum: int) -> Iterator[None]:
    """At most this many threads inside."""
    token = _MOST.set(maximum)
    try:
        yield
    finally:
        _MOST.reset(token)


class _SingleBlas:
    """The BLAS libraries of NumPy and SciPy, bounded to one thread as long as any thread is inside.

    Their number of threads belongs to the process: the first thread to leave must not restore it while others run.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                _take_control()
                self._limits = _pools().limit(limits=1, user_api="blas")
                _take_control()

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _take_control()
                self._limits.restore_original_limits()
                _take_control()


@cache
def _pools() -> ThreadpoolController:
    """Found once, since the search takes longer than a small run."""
    import numpy  # noqa: F401
    import scipy.linalg.cython_blas  # noqa: F401  Numba's np.dot: a library that is not loaded cannot be bounded

    return ThreadpoolController()


def _take_control() -> None:
    """Since threadpoolctl 3.8 only the thread that set OpenBLAS's number of threads first may set it again, and others
    are silently ignored; here the last thread to leave restores the number, whichever thread it is."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_BLAS = _SingleBlas()


@contextlib.contextmanager
def single_blas() -> Iterator[None]:
    """One thread for each call of the BLAS inside; the number is restored at the end."""
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()
