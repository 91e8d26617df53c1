"""Time in tests: no test of a limit fails because the machine is slow.

Tests wait for events, not for the number of seconds that a quiet machine would need. A limit within which other work
must finish grows until that work has finished (`given_time`). An upper bound is in seconds of a quiet machine
(`Watch`). A test that waits for an event waits until it happens (`comes`), and only hanging work is ended (`HANGS`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

HANGS = 600.0
"""Seconds after which a process or an event that a test waits for counts as missing: no machine is so slow."""
LOOP = 400_000
QUIET_SECONDS = 0.018
"""The duration of the loop of `pace` on a quiet machine [s]."""


def pace() -> float:
    """How many times longer than on a quiet machine a fixed loop takes at this moment; never less than 1."""
    started, total = time.perf_counter(), 0
    for k in range(LOOP):
        total += k
    return max(1.0, (time.perf_counter() - started) / QUIET_SECONDS)


class Watch:
    """Measure the duration of a block in seconds of a quiet machine: wall-clock time over the larger pace before or
    after.

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
    """Return the result of an attempt with this time limit.

    Its assertions may fail because the limit also ended work that should have finished. Then the limit is multiplied by
    four, until it exceeds a minute. Only a failure with that limit counts.

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
    """Wait for an event, and return whether it happened."""
    ends = time.monotonic() + HANGS
    while not (true := bool(what())) and time.monotonic() < ends:
        time.sleep(0.02)
    return true
