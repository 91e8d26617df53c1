"""The sentence while kernels are compiled: after two seconds of it, once, and never where they are in the cache."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from patience import HANGS

from dpfl_theory.kernels import compiled
from dpfl_theory.runtime import console

SMALLEST = """
import sys
from dpfl_theory.kernels import compiled
compiled.LONG_SECONDS = 0.02
import numpy as np
from dpfl_theory.kernels import cpu, philox
w = np.zeros((6, 1), dtype=np.uint64)
philox._encipher(w, 1)
print(w[0, 0])
"""


@pytest.mark.slow
def test_a_cold_cache_is_told_and_a_warm_one_is_not(tmp_path: Path) -> None:
    """The smallest kernel, which takes half a second to compile, with a fiftieth of a second in place of two."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    del environment["DPFL_THEORY_HINTS"]
    said = []
    for more in ({}, {}, {"NUMBA_CACHE_DIR": str(tmp_path / "other"), "DPFL_THEORY_HINTS": "off"}):
        command = [sys.executable, "-c", SMALLEST]
        done = subprocess.run(
            command, env=environment | more, capture_output=True, text=True, timeout=HANGS, check=True
        )
        assert done.stdout == "1713891541\n"  # the published vector; and no word more
        said.append(done.stderr)
    assert said == [f"{compiled.SENTENCE}\n", "", ""]


def kernel(module: str = "dpfl_theory.kernels.philox", cached: bool = True) -> Any:
    """What Numba says of a kernel that it compiles."""
    function = SimpleNamespace(__module__=module)
    path = "somewhere" if cached else None
    return SimpleNamespace(
        data={"dispatcher": SimpleNamespace(py_func=function, stats=SimpleNamespace(cache_path=path))}
    )


class Clock:
    """A clock that goes on when it is asked to, and rings the alarms that are set by it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.alarms: list[Clock.Alarm] = []

    class Alarm:
        def __init__(self, clock: Clock, seconds: float, ring: Callable[[], None]) -> None:
            self.clock, self.seconds, self.ring = clock, seconds, ring
            self.at, self.daemon = math.inf, False

        def start(self) -> None:
            assert self.daemon, "an alarm would keep the process"
            self.at = self.clock.now + self.seconds
            self.clock.alarms.append(self)

        def cancel(self) -> None:
            self.at = math.inf

    def timer(self, seconds: float, ring: Callable[[], None]) -> Clock.Alarm:
        return Clock.Alarm(self, seconds, ring)

    def goes_on(self, seconds: float) -> None:
        self.now += seconds
        for alarm in self.alarms:
            if alarm.at <= self.now:
                alarm.cancel()
                alarm.ring()


def heard(monkeypatch: pytest.MonkeyPatch, long_seconds: float) -> tuple[compiled.Hint, list[str], Clock]:
    monkeypatch.setattr(compiled, "LONG_SECONDS", long_seconds)
    reported, clock = list[str](), Clock()
    monkeypatch.setattr(compiled, "threading", SimpleNamespace(Timer=clock.timer))
    return compiled.Hint(lambda: reported.append("told"), lambda: clock.now), reported, clock


def test_short_compilations_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight, of an eighth of a second each, the fourth is reported where 7/16 of a second are long."""
    hint, reported, clock = heard(monkeypatch, 0.4375)
    for number in range(8):
        hint.on_start(kernel())
        hint.on_start(kernel())  # one within another does not count twice
        clock.goes_on(0.0625)
        hint.on_end(kernel())
        clock.goes_on(0.0625)
        hint.on_end(kernel())
        clock.goes_on(5.0)  # what is between them does not count
        assert bool(reported) == (number >= 3)


def test_what_is_short_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    hint, reported, clock = heard(monkeypatch, 5.0)
    hint.on_start(kernel())
    clock.goes_on(4.9)
    hint.on_end(kernel())
    clock.goes_on(5.0)
    assert reported == []
    assert hint.timer is None


@pytest.mark.parametrize("other", [kernel(module="somebody.else"), kernel(cached=False), SimpleNamespace(data=None)])
def test_kernels_of_others_do_not_count(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    hint, reported, clock = heard(monkeypatch, 0.0)
    hint.on_start(other)
    clock.goes_on(0.1)
    hint.on_end(other)
    assert reported == []


def test_of_several_processes_one_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Turn:
        free = True

        def acquire(self, block: bool = True) -> bool:
            was, self.free = self.free, False
            return was

    turn, spoke = Turn(), []
    for _ in range(3):  # three processes that share a lock, each with memory of its own
        monkeypatch.setattr(console, "_said", bytearray(1))
        monkeypatch.setattr(console, "_turns", [turn])
        spoke += [console.claim_announcement(), console.claim_announcement()]
    assert spoke == [True, False, False, False, False, False]
