"""Ctrl-C while compiled code runs: Python handles the signal only when that code returns, perhaps hours later."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

PATIENCE = 3.0
"""Seconds within which Python handles Ctrl-C, unless compiled code runs."""
_WORDS: list[Callable[[], None]] = []
"""Functions to call before the process ends without Python having handled the signal."""


@contextlib.contextmanager
def on_interrupt(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` once if Ctrl-C ends the block.

    The call is made when Python handles the signal, or before the process ends while compiled code runs
    (`interruptible`).

    >>> try:
    ...     with on_interrupt(lambda: print("so far")):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    so far
    interrupted
    """
    first = threading.Lock()

    def once() -> None:
        if first.acquire(blocking=False):
            tell()

    _WORDS.append(once)
    try:
        yield
    except KeyboardInterrupt:
        once()
        raise
    finally:
        _WORDS.remove(once)


@contextlib.contextmanager
def interruptible(otherwise: Callable[[], None], code: int) -> Iterator[None]:
    """Let Ctrl-C end the block, also while compiled code runs.

    Usually it raises KeyboardInterrupt. Where Python has not handled the signal after `PATIENCE` seconds, compiled code
    runs. Then the functions of `on_interrupt` and ``otherwise`` are called, and the process ends with ``code``.

    Nothing changes outside the main thread, and where another handler of the signal is set.

    >>> with interruptible(lambda: None, 130):
    ...     print("done")
    done
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    noticed = threading.Event()

    def notice(number: int, frame: FrameType | None) -> None:
        noticed.set()
        signal.default_int_handler(number, frame)

    def watch() -> None:
        while number := ear.recv(1):
            if number[0] == signal.SIGINT and not noticed.wait(PATIENCE):
                for tell in _WORDS:
                    with contextlib.suppress(Exception):  # no exception may prevent the process from ending
                        tell()
                otherwise()
                os._exit(code)

    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    signal.signal(signal.SIGINT, notice)
    before = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=watch, daemon=True)
    masked = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if masked else ()
    thread.start()  # this thread itself never receives the signal
    if masked:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        mouth.close()
        noticed.set()
        thread.join()
        ear.close()


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
