"""The sentence while kernels are compiled: after two seconds of it, once, and never where they are in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpfl_theory.kernels import compiling, once

SMALLEST = """
import sys
from dpfl_theory.kernels import compiling
compiling.LONG_SECONDS = 0.02
import numpy as np
from dpfl_theory.kernels import cpu, philox
zero = np.uint64(0)
print(philox.philox4x32(*[zero] * 6)[0])
"""


def test_a_cold_cache_is_told_and_a_warm_one_is_not(tmp_path: Path) -> None:
    """The smallest kernel, which takes half a second to compile, with a fiftieth of a second in place of two."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    del environment["DPFL_THEORY_HINTS"]
    said = []
    for more in ({}, {}, {"NUMBA_CACHE_DIR": str(tmp_path / "other"), "DPFL_THEORY_HINTS": "off"}):
        command = [sys.executable, "-c", SMALLEST]
        done = subprocess.run(command, env=environment | more, capture_output=True, text=True, timeout=120, check=True)
        assert done.stdout == "1713891541\n"  # the published vector; and no word more
        said.append(done.stderr)
    assert said == [f"{compiling.SENTENCE}\n", "", ""]


def kernel(module: str = "dpfl_theory.kernels.philox", cached: bool = True) -> Any:
    """What Numba says of a kernel that it compiles."""
    function = SimpleNamespace(__module__=module)
    path = "somewhere" if cached else None
    return SimpleNamespace(
        data={"dispatcher": SimpleNamespace(py_func=function, stats=SimpleNamespace(cache_path=path))}
    )


def heard(monkeypatch: pytest.MonkeyPatch, long_seconds: float) -> tuple[compiling.Hint, list[str]]:
    monkeypatch.setattr(compiling, "LONG_SECONDS", long_seconds)
    told: list[str] = []
    return compiling.Hint(lambda: told.append("told")), told


def test_short_compilations_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    hint, told = heard(monkeypatch, 0.5)
    for number in range(8):
        hint.on_start(kernel())
        hint.on_start(kernel())  # one within another does not count twice
        time.sleep(0.05)
        hint.on_end(kernel())
        time.sleep(0.05)
        hint.on_end(kernel())
        if number == 2:
            assert told == []
    assert told != []


def test_what_is_short_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    hint, told = heard(monkeypatch, 5.0)
    hint.on_start(kernel())
    hint.on_end(kernel())
    assert told == []
    assert hint.timer is None


@pytest.mark.parametrize("other", [kernel(module="somebody.else"), kernel(cached=False), SimpleNamespace(data=None)])
def test_kernels_of_others_do_not_count(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    hint, told = heard(monkeypatch, 0.0)
    hint.on_start(other)
    time.sleep(0.1)
    hint.on_end(other)
    assert told == []


def test_of_several_processes_one_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Turn:
        free = True

        def acquire(self, block: bool = True) -> bool:
            was, self.free = self.free, False
            return was

    turn, spoke = Turn(), []
    for _ in range(3):  # three processes that share a lock, each with memory of its own
        monkeypatch.setattr(once, "_said", bytearray(1))
        monkeypatch.setattr(once, "_turns", [turn])
        spoke += [once.mine(), once.mine()]
    assert spoke == [True, False, False, False, False, False]
