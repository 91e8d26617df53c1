"""A small soak test: one Ctrl-C, and faults that every soak test must detect.

The full counts are in benchmarks/soak/SOAK.md (`make soak`). Kills and failed cells are in
tests/sweep/test_sweep_faults.py, full disks in tests/store/test_file.py.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from patience import HANGS

from benchmarks.soak import kills
from benchmarks.soak.outcome import Outcome, compared, ended, sweep, words
from dpfl_theory.cli import main
from dpfl_theory.runtime.cache import Store

CELLS = 12
LONG = [*words(CELLS, 20_000), "--pack", "4"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a complete sweep of short cells."""
    folder = tmp_path_factory.mktemp("soak")
    assert main(sweep([*words(CELLS, 20), "--pack", "4"], folder, "whole", "--jobs", "1")[3:]) == 0
    return folder


@pytest.mark.slow
def test_a_sweep_that_is_interrupted_ends_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The soak test itself measures that it ends promptly, on an otherwise idle machine."""
    started = time.monotonic()
    ended(sweep(LONG, tmp_path, "whole", "--jobs", "1"))
    monkeypatch.setattr(kills, "PROMPT", HANGS)
    found = kills.interrupted(LONG, CELLS, tmp_path, 1, time.monotonic() - started, random.Random(2))
    assert found.good, found.row()


class TestNothingIsOverlooked:
    """Possible faults of a sweep, planted in its table and its store."""

    def outcome(self, undisturbed: Path, tmp_path: Path, old: str, new: str) -> Outcome:
        """The outcome of the undisturbed sweep with a change in its table."""
        for name in ("whole.csv", "whole.sqlite"):
            shutil.copy(undisturbed / name, tmp_path / name)
        shutil.copy(tmp_path / "whole.sqlite", tmp_path / "changed.sqlite")
        lines = (tmp_path / "whole.csv").read_text().splitlines(keepends=True)
        found = "".join(new if line.startswith(old) else line for line in lines)
        (tmp_path / "changed.csv").write_text(found)
        return compared(tmp_path, "changed", "a change", 1, CELLS, 0.0)

    def row(self, undisturbed: Path) -> str:
        """A row of the table."""
        return (undisturbed / "whole.csv").read_text().splitlines(keepends=True)[5]

    @pytest.mark.slow
    def test_without_a_change_all_is_well(self, undisturbed: Path, tmp_path: Path) -> None:
        assert self.outcome(undisturbed, tmp_path, "no such row", "").good

    def test_a_lost_row(self, undisturbed: Path, tmp_path: Path) -> None:
        found = self.outcome(undisturbed, tmp_path, self.row(undisturbed), "")
        assert (found.lost, found.doubled, found.equal, found.good) == (1, 0, False, False)

    def test_a_doubled_row(self, undisturbed: Path, tmp_path: Path) -> None:
        row = self.row(undisturbed)
        found = self.outcome(undisturbed, tmp_path, row, row + row)
        assert (found.lost, found.doubled, found.equal, found.good) == (0, 1, False, False)

    def test_another_number(self, undisturbed: Path, tmp_path: Path) -> None:
        row = self.row(undisturbed)
        head, dot, tail = row.rpartition(".")
        found = self.outcome(undisturbed, tmp_path, row, f"{head}{dot}{(int(tail[0]) + 1) % 10}{tail[1:]}")
        assert (found.lost, found.doubled, found.equal, found.good) == (0, 0, False, False)

    def test_a_cell_that_the_store_lacks(self, undisturbed: Path, tmp_path: Path) -> None:
        self.outcome(undisturbed, tmp_path, "no such row", "")
        with Store(tmp_path / "changed.sqlite") as store:
            first, *_ = store.entries("cell")
        with sqlite3.connect(tmp_path / "changed.sqlite") as file:
            file.execute("DELETE FROM entries WHERE key = ?", [first.key])
        found = compared(tmp_path, "changed", "a change", 1, CELLS, 0.0)
        assert (found.lost, found.equal, found.good) == (1, True, False)

    def test_a_soak_without_a_fault_is_no_soak(self) -> None:
        assert not Outcome("kill -9", 0, 1, 0, 0, True, 0.0).good
