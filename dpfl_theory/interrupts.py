"""Ctrl-C while compiled code runs: Python hears of it only when that returns, which may be hours later."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["heard", "last_words"]

PATIENCE = 3.0
"""Seconds within which Python hears of Ctrl-C where it runs."""
_WORDS: list[Callable[[], None]] = []
"""What is called before the process ends without Python having heard."""


@contextlib.contextmanager
def last_words(tell: Callable[[], None]) -> Iterator[None]:
    """``tell`` is called if Ctrl-C ends what is done inside: when Python hears of it, or before the process ends while
    compiled code runs (`heard`), once.

    >>> try:
    ...     with last_words(lambda: print("so far")):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    so far
    interrupted
    """
    told = threading.Lock()

    def once() -> None:
        if told.acquire(blocking=False):
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
def heard(otherwise: Callable[[], None], code: int) -> Iterator[None]:
    """Ctrl-C ends what is done inside: as KeyboardInterrupt or, where Python has not heard of it after `PATIENCE`
    seconds, since compiled code runs, by the end of this process with ``code``, after `last_words` were told and
    ``otherwise`` has been called.

    Nothing changes outside the main thread, and where somebody else listens.

    >>> with heard(lambda: None, 130):
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
                    with contextlib.suppress(Exception):  # nothing keeps the process from its end
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
    thread.start()  # never gets the signal itself
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
