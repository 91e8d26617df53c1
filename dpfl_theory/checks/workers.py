"""Checks spread over processes. A check is named by its statement and its number there, so names and settings are all
that a worker is sent, and the evidence is what it sends back: the same as in one process, and in the same order.

Every check has one thread, here and there: how a matrix product is split over threads changes its last digits.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.evidence import Evidence
from dpfl_theory.checks.settings import Settings
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.kernels import threads
from dpfl_theory.kernels.threads import usable_cores
from dpfl_theory.statements.model import Statement

__all__ = ["Task", "name_of", "one_thread", "spread", "usable_cores"]

_POOLS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""What bounds the threads of a library, if it is set before that library is loaded."""

_TELL_SECONDS = 1.0


@dataclass(frozen=True)
class Task:
    """The name of a check: its statement, the statement's file if it is not the catalogue's, and the check's number."""

    statement: str
    number: int
    file: str | None = None

    def find(self) -> Statement:
        """The statement that is meant."""
        if self.file is None:
            return catalogue.get(self.statement)
        return next(s for s in _loaded(self.file) if s.id == self.statement)


@functools.cache
def _loaded(file: str) -> tuple[Statement, ...]:
    return catalogue.load_file(file)


def name_of(statement: Statement, number: int, file: Path | None = None) -> Task:
    """The name by which another process finds a check. Raises InputError for a statement that no file defines.

    >>> name_of(catalogue.get("das2022.theorem4a"), 0)
    Task(statement='das2022.theorem4a', number=0, file=None)
    """
    if any(statement is s for s in catalogue.all_statements()):
        return Task(statement.id, number)
    if file is None:
        told = f"{statement.id} is no statement of the catalogue, and other processes cannot find it: use one job"
        raise InputError(told)
    return Task(statement.id, number, str(file.resolve()))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """One thread for runs, and one for each call of the BLAS, given back at the end.

    >>> from dpfl_theory.kernels import threads
    >>> with one_thread():
    ...     threads.available()
    1
    """
    with threads.bounded(1), threads.single_blas():
        yield


def spread(
    tasks: Sequence[Task],
    settings: Settings,
    jobs: int,
    order: Sequence[int] | None = None,
    tell: Callable[[int, Task | None], None] | None = None,
) -> tuple[Evidence, ...]:
    """The evidence of each task, in their order, from ``jobs`` processes that begin the tasks in the given ``order``.

    tell(done, task) is called about once a second with one of the tasks that are waited for. The first failure, or
    Ctrl-C, ends all processes. Raises EnvironmentFault when a process dies.
    """
    others = multiprocessing.active_children()
    # Clocks that cannot be set have an origin of their own in each process on some systems.
    ends = None if settings.deadline is None else time.time() + settings.deadline - time.monotonic()
    sent = replace(settings, deadline=None, progress=None)
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin)
    try:
        futures = {pool.submit(_evidence, tasks[i], sent, ends): i for i in order or range(len(tasks))}
        waiting = set(futures)
        while waiting:
            if tell is not None:
                tell(len(tasks) - len(waiting), tasks[next(i for f, i in futures.items() if f in waiting)])
            done, waiting = wait(waiting, _TELL_SECONDS, FIRST_COMPLETED)
            for future in sorted(done, key=lambda f: futures[f]):
                future.result()
        if tell is not None:
            tell(len(tasks), None)
        found = {i: future.result() for future, i in futures.items()}
        pool.shutdown()
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        if isinstance(error, BrokenProcessPool):
            told = f"one of {jobs} processes ended before its check did, perhaps for want of memory: use fewer --jobs"
            raise EnvironmentFault(told) from error
        raise
    return tuple(found[i] for i in range(len(tasks)))


def _begin() -> None:
    """What a worker does first: leave Ctrl-C to the parent, end when the parent does, bound its threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_POOLS, "1"))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _evidence(task: Task, settings: Settings, ends: float | None) -> Evidence:
    """A worker's part: the evidence of one task. ``ends``: the time of day at which no further work is begun."""
    from dpfl_theory.checks.runner import checks_of, run_one

    deadline = None if ends is None else time.monotonic() + ends - time.time()
    statement = task.find()
    check = checks_of(statement)[task.number]
    found = run_one(statement, check, replace(settings, deadline=deadline))
    try:
        pickle.dumps(found)
    except Exception as error:
        told = f"the evidence of {task.statement}, check {check.name!r}, holds what no other process can read ({error})"
        raise InputError(f"{told}: keep to numbers and text, or use --jobs 1") from error
    return found
