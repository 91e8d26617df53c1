"""Time in tests: no test of a limit fails because the machine is slow.

Each way waits for what must happen, and none for a number of seconds that a quiet machine would need: a limit that lets
other work end grows until that has ended (`given_time`); an upper bound of seconds is one of a quiet machine's seconds
(`Watch`); who waits for an event waits until it comes (`comes`), and only what hangs is ended (`HANGS`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

HANGS = 600.0
"""Seconds after which a process or an event that a test waits for has failed to come: no machine is so slow."""
LOOP = 400_000
QUIET_SECONDS = 0.018
"""What so many additions take on a quiet machine."""


def pace() -> float:
    """How many times longer than on a quiet machine a fixed loop takes at this moment; never less than 1."""
    begun, total = time.perf_counter(), 0
    for k in range(LOOP):
        total += k
    return max(1.0, (time.perf_counter() - begun) / QUIET_SECONDS)


class Watch:
    """Measures what is done inside, in seconds of a quiet machine: those of the wall clock over the larger pace of
    before and after.

    >>> with Watch() as watch:
    ...     pass
    >>> watch.seconds < 1.0
    True
    """

    seconds = 0.0
    pace = 1.0

    def __enter__(self) -> Watch:
        self.pace, self._begun = pace(), time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.monotonic() - self._begun
        self.pace = max(self.pace, pace())
        self.seconds = seconds / self.pace


def given_time(attempt: Callable[[float], T], seconds: float) -> T:
    """What an attempt with a limit of so many seconds returns. Where its assertions fail, perhaps since the limit also
    ended what should have ended of itself, the limit is four times as long, until it is more than a minute: only what
    fails with that, too, has failed.

    >>> def attempt(seconds):
    ...     assert seconds > 1.0
    ...     return seconds
    >>> given_time(attempt, 0.5)
    2.0
    """
    while True:
        try:
            return attempt(seconds)
        except (AssertionError, pytest.fail.Exception):
            if seconds > 60.0:
                raise
        seconds *= 4.0


def comes(what: Callable[[], object]) -> bool:
    """Whether something comes true, for which a test waits."""
    ends = time.monotonic() + HANGS
    while not (true := bool(what())) and time.monotonic() < ends:
        time.sleep(0.02)
    return true
