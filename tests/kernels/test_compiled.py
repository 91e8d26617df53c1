"""Machine code of kernels: kept for all checkouts, made by one process, made again when any kernel module changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import HANGS

import dpfl_theory
from dpfl_theory.kernels import compiled, elementary

RUN = """
import numpy as np
from dpfl_theory.kernels import philox
philox._encipher(np.zeros((6, 1), dtype=np.uint64), 1)
print(sum(philox._encipher.stats.cache_misses.values()))
"""
"""Calls the smallest kernel, and says how often this process compiled it."""


HOLDING = """
import fcntl, sys
file = open(sys.argv[1], "wb")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
input()
"""
"""Holds a lock until a line comes."""


def start(folder: Path, cache: Path) -> subprocess.Popen[str]:
    """Run in a checkout's folder with this folder for machine code."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", RUN]
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)


def compilations(*running: subprocess.Popen[str]) -> list[int]:
    return [int(process.communicate(timeout=HANGS)[0]) for process in running]


def checkout(place: Path) -> Path:
    """A copy of what the kernels need of the package."""
    package = Path(dpfl_theory.__file__).parent
    for path in [*package.glob("*.py"), *package.glob("kernels/*.py")]:
        target = place / "dpfl_theory" / path.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return place


def test_two_checkouts_share_what_one_process_compiles(tmp_path: Path) -> None:
    first, second = checkout(tmp_path / "a"), checkout(tmp_path / "b")
    together = compilations(start(first, tmp_path / "code"), start(second, tmp_path / "code"))
    assert sorted(together) == [0, 1]

    # What a kernel calls may lie in another module: a change of any one makes new code of all.
    other = second / "dpfl_theory" / "kernels" / "elementary.py"
    other.write_text(other.read_text() + "\n# a change\n")
    assert compilations(start(second, tmp_path / "code"), start(first, tmp_path / "code")) == [1, 0]
    assert len(list((tmp_path / "code").glob("kernels-*"))) == 2


def test_a_folder_that_cannot_be_written_is_not_needed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert compilations(start(checkout(tmp_path / "a"), file)) == [1]


def test_the_oldest_folders_are_removed(tmp_path: Path) -> None:
    for age in range(compiled.KEPT + 3):
        folder = tmp_path / f"kernels-{age}"
        folder.mkdir()
        os.utime(folder, (1e9 - age, 1e9 - age))
    (tmp_path / "mine").mkdir()
    compiled._remove_old(tmp_path / "kernels-0")
    assert {p.name for p in tmp_path.iterdir()} == {"mine", *(f"kernels-{age}" for age in range(compiled.KEPT))}


def test_a_process_that_waited_long_enough_compiles_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = elementary.exp._cache
    monkeypatch.setattr(kept, "_cache_path", str(tmp_path))
    monkeypatch.setattr(compiled, "PATIENCE_SECONDS", 0.2)
    lock = tmp_path / f"{kept._impl.filename_base}.lock"
    command = [sys.executable, "-c", HOLDING, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert not kept._acquire()
        other.communicate("\n")
    assert kept._acquire()
    kept._release()
