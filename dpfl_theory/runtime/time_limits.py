"""Hard time limits: work runs in its own process, which is killed when it takes longer."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import wait
from typing import Any, TypeVar

from dpfl_theory.errors import DpflError, EnvironmentFault, format_error
from dpfl_theory.runtime.interrupts import without_interrupts
from dpfl_theory.runtime.pools import end_with_parent

S = TypeVar("S")
T = TypeVar("T")

_TELL_SECONDS = 1.0


class TimeoutExceeded(DpflError):
    """Work exceeded its time limit: a failed run, exit code 1."""

    exit_code = 1


class WorkerDied(EnvironmentFault):
    """The process of the work ended without a result."""


def _ending(code: int | None) -> str:
    """Describe how a process ended without a result.

    >>> _ending(-11)
    'its process ended with code -11 (SIGSEGV)'
    >>> _ending(0)
    'its process ended with code 0, of itself'
    """
    if code == -9:
        return "its process ended with code -9, possibly out of memory"
    if code is not None and code < 0:
        return f"its process ended with code {code} ({signal.Signals(-code).name})"
    return f"its process ended with code {code}, of itself"


def limited(work: Callable[[], T], seconds: float, waiting: Callable[[], None] = lambda: None) -> T:
    """Run ``work`` with a time limit, and return its result or raise its exception.

    Meanwhile ``waiting`` is called about once a second. The work runs in a fork of this process, which ends with it,
    and its output goes to stderr. Raises `TimeoutExceeded`; `WorkerDied` where the fork ended without a result (a
    crash, or lack of memory); EnvironmentFault where the system cannot fork.

    >>> limited(lambda: 1 + 1, 60.0)
    2
    """
    process, receiver = _started(work)
    try:
        ends = time.monotonic() + seconds
        while not receiver.poll(max(0.0, min(_TELL_SECONDS, ends - time.monotonic()))):
            if time.monotonic() < ends:
                waiting()
                continue
            raise TimeoutExceeded(f"it took longer than {seconds:.3g} s and was ended")
        return _received(process, receiver)  # type: ignore[no-any-return]
    finally:
        _end(process, receiver)


def forked(
    work: Callable[[S], T], items: Sequence[S], jobs: int, waiting: Callable[[int], None] = lambda _: None
) -> Iterator[T]:
    """The results of ``work`` on these items, in order, each in a fork of this process, at most ``jobs`` at once.

    ``waiting`` is called with the number of the next result, at once and about once a second until it is there. Raises
    `WorkerDied`, and EnvironmentFault, as `limited`. Only this thread forks, while it holds no lock. A pool of
    `multiprocessing` forks in a thread of its own, where the copy may wait for a lock of another thread. It never
    notices a lost piece.

    >>> list(forked(abs, [-1, 2, -3], jobs=2))
    [1, 2, 3]
    """
    running: dict[int, tuple[Any, Any]] = {}
    found: dict[int, T] = {}
    started = 0
    try:
        for i in range(len(items)):
            waiting(i)
            while i not in found:
                for k in range(started, min(len(items), started + jobs - len(running))):
                    running[k], started = _started(partial(work, items[k])), k + 1
                ready = wait([receiver for _, receiver in running.values()], _TELL_SECONDS)
                for k in [k for k, (_, receiver) in running.items() if receiver in ready]:
                    found[k] = _received(*running[k])
                    _end(*running.pop(k))
                if not ready:
                    waiting(i)
            yield found.pop(i)
    finally:
        for process, receiver in running.values():
            _end(process, receiver)


def _started(work: Callable[[], Any]) -> tuple[Any, Any]:
    """A fork of this process that does the work, and the end of the pipe on which its result comes."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise EnvironmentFault("a time limit needs a system that can copy processes (fork): leave the limit out")
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(work, sender))
    with warnings.catch_warnings(), without_interrupts():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks where there are threads
        process.start()
    sender.close()
    return process, receiver


def _received(process: Any, receiver: Any) -> Any:
    """The result that a fork sent; raises its exception, or `WorkerDied`."""
    try:
        good, found = receiver.recv()
    except EOFError:
        process.join()
        raise WorkerDied(_ending(process.exitcode)) from None
    if good:
        return found
    raise found


def _end(process: Any, receiver: Any) -> None:
    process.kill()
    process.join()
    receiver.close()


def _work(work: Callable[[], Any], sender: Any) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # output of the work is not data of the command
    sys.stdout = sys.stderr
    try:
        found = (True, work())
    except Exception as error:
        # A library may make pickle keep causes and tracebacks, of which endless recursion has a thousand.
        error.__cause__ = error.__context__ = None
        found = (False, error.with_traceback(None))
    except BaseException as error:  # an exit, or another end of a program, must not end this one
        found = (False, RuntimeError(format_error(error)))
    try:
        sender.send(found)
    except Exception as error:  # a result that cannot be pickled
        sender.send((False, RuntimeError(f"{type(error).__name__}: {error}")))


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End the block after this time, if it is Python code in the main thread. Raises `TimeoutExceeded`.

    A nested limit leaves that of the outer block unchanged.

    >>> with at_most(60.0):
    ...     print("in time")
    in time
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutExceeded(f"it took longer than {seconds:.3g} s and was ended")

    left, started = signal.getitimer(signal.ITIMER_REAL)[0], time.monotonic()
    if 0.0 < left <= seconds:  # the outer limit ends it first
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if left > 0.0:
            signal.setitimer(signal.ITIMER_REAL, max(1e-3, left - (time.monotonic() - started)))
