"""Failed cells, killed runs, and their stored results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS, given_time

from dpfl_theory.cli import main
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.runtime.cache import Entry, Store
from dpfl_theory.runtime.slots import Slot
from dpfl_theory.runtime.time_limits import TimeoutExceeded, limited
from dpfl_theory.sweep import pack
from dpfl_theory.sweep.design import designed
from dpfl_theory.sweep.run import run
from dpfl_theory.sweep.table import load

BASE: dict[str, Any] = {
    "problem": {"name": "quadratic"},
    "algorithm": {"name": "dp-fedavg", "sigma": 0.01},
    "rounds": 5,
    "replicates": 2,
}


class Kept(Store):
    """A store that counts entries that are put into it twice."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.keys = list[str]()

    def put_all(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            assert entry.kind == "cell"
            assert entry.about
            self.keys.append(entry.key)
        super().put_all(entries)

    @property
    def put_again(self) -> int:
        return len(self.keys) - len(set(self.keys))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Kept]:
    with Kept(tmp_path / "store.sqlite") as opened:
        yield opened


def by_seed(config: dict[str, Any], count: int = 6, **how: Any) -> list[dict[str, Any]]:
    return run(designed({**config, "grid": {"seed": list(range(count))}}), **how).rows


def test_a_cell_that_raises_is_a_row_and_the_others_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    undisturbed = run(designed({**BASE, "grid": {"problem.rank": [3, 2]}})).rows
    rows = run(designed({**BASE, "grid": {"problem.rank": [3, 9, 2]}})).rows
    assert [row["status"] for row in rows] == ["done", "failed", "done"]
    assert rows[1]["cause"] == "rank 9 is larger than the dimension 5: choose at most 5"
    assert [{**row, "cell": 0} for row in rows[::2]] == [{**row, "cell": 0} for row in undisturbed]
    words = [
        f"--set=problem.name=quadratic --set=algorithm.name=fedavg --set=rounds=3 --set=grid.problem.rank={r}".split()
        for r in ("[3,9]", "[3,2]")
    ]
    assert [main(["sweep", *arguments]) for arguments in words] == [1, 0]
    output = capsys.readouterr()
    assert "cell 1 (fedavg on quadratic) failed: rank 9 is larger" in output.err
    assert "1 of 2 cells are done" in output.out


def test_a_cell_that_asks_for_too_much_is_a_row() -> None:
    rows = run(designed({**BASE, "list": [{"replicates": 2}, {"replicates": 10**12}, {"replicates": 3}]})).rows
    assert [row["status"] for row in rows] == ["done", "failed", "done"]
    assert rows[1]["cause"].startswith("replicates is 1000000000000: a cell has at most 1000000")
    rows = run(designed({**BASE, "series": True, "list": [{"rounds": 10**9}, {"rounds": 3}]})).rows
    assert [row["cause"].partition(":")[0] for row in rows] == ["series has 2000000000 numbers", ""]


def _planted(monkeypatch: pytest.MonkeyPatch, of_seed: int, fault: Any) -> None:
    """Plant a fault in the cell with this seed."""
    rows = pack._rows

    def faulty(cells: Any, *more: Any) -> Any:
        if any(cell.common.seed == of_seed for cell in cells):
            fault()
        return rows(cells)

    monkeypatch.setattr(pack, "_rows", faulty)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: time.sleep(HANGS), "it took longer than {} s and was ended"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "its process ended with code -9, possibly out of memory"),
        (lambda: (_ for _ in ()).throw(MemoryError()), "MemoryError without a message in "),
    ],
)
def test_one_cell_of_a_pack_fails_alone(monkeypatch: pytest.MonkeyPatch, fault: Any, cause: str) -> None:
    undisturbed = by_seed(BASE)
    _planted(monkeypatch, 4, fault)

    def alone(seconds: float) -> None:
        rows = by_seed(BASE, limit=seconds)
        assert rows[4]["status"] == "failed"
        assert rows[4]["cause"].startswith(cause.format(f"{seconds:g}"))
        assert (rows[4]["seed"], rows[4]["algorithm"]) == (4, "dp-fedavg")
        assert [row for row in rows if row["cell"] != 4] == [row for row in undisturbed if row["cell"] != 4]

    given_time(alone, 0.5)


def test_nothing_that_the_clock_decided_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decided(seconds: float) -> None:
        with Kept(tmp_path / f"{seconds:g}.sqlite") as store:
            with monkeypatch.context() as patched:
                _planted(patched, 1, lambda: time.sleep(HANGS))
                rows = by_seed(BASE, 3, limit=seconds, store=store)
            assert [row["status"] for row in rows] == ["done", "failed", "done"]
            assert len(store.keys) == 2
            again = by_seed(BASE, 3, store=store, resume=True)
            assert [row["status"] for row in again] == ["done"] * 3
            assert again == by_seed(BASE, 3)
            assert store.put_again == 0

    given_time(decided, 0.3)


def test_a_limit_hands_on_results_and_errors() -> None:
    assert limited(lambda: [1, 2], HANGS) == [1, 2]
    with pytest.raises(InputError, match="no such thing"):
        limited(lambda: (_ for _ in ()).throw(InputError("no such thing")), HANGS)
    with pytest.raises(TimeoutExceeded):
        limited(lambda: time.sleep(HANGS), 0.1)
    with pytest.raises(EnvironmentFault, match="ended with code 3"):
        limited(lambda: os._exit(3), HANGS)


def test_an_interrupted_sweep_keeps_its_cells_and_says_how_to_go_on(
    store: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(work: Any, jobs: int, order: Any = None, *, done: Any, waiting: Any) -> Any:
        for i in range(2):
            done(i, work[i]())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_seed(BASE, 6, pack=1, store=store, over=interrupted)
    assert (
        "2 of 6 cells are finished and stored: the same command continues with the other 4" in capsys.readouterr().err
    )
    assert by_seed(BASE, 6, store=store, resume=True) == by_seed(BASE, 6)
    assert "2 of 6 cells come from the store" in capsys.readouterr().err
    assert store.put_again == 0


def test_without_resume_everything_is_run_again(store: Kept) -> None:
    by_seed(BASE, 3, store=store)
    by_seed(BASE, 3, store=store)
    assert store.put_again == 3


@pytest.mark.parametrize("change", [{"rounds": 6}, {"replicates": 3}, {"problem": {"name": "huber"}}])
def test_a_cell_that_rests_on_something_else_is_run(store: Kept, change: dict[str, Any]) -> None:
    by_seed(BASE, 2, store=store)
    assert by_seed({**BASE, **change}, 2, store=store, resume=True) == by_seed({**BASE, **change}, 2)
    assert len(set(store.keys)) == 4


def test_kept_texts_that_are_no_rows_are_run_again(store: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    first = by_seed(BASE, 3, store=store)
    monkeypatch.setattr(Slot, "take", lambda self: "[1, 2")
    assert by_seed(BASE, 3, store=store, resume=True) == first


KILLED = """
import os, signal, sys
from dpfl_theory.cli import main
from dpfl_theory.sweep import pack

rows, left = pack._rows, [4]

def played(cells, *more):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows(cells, *more)

pack._rows = played
sys.exit(main(sys.argv[1:]))
"""
"""The command, killed (kill -9) when its fourth cell starts."""


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set=problem.name=quadratic", "--set=algorithm.name=dp-fedavg", "--set=algorithm.sigma=0.1"]
    words += ["--set=rounds=300", "--set=replicates=8", f"--set=grid.seed={list(range(9))}", "--pack=1", "--jobs=1"]
    killed, whole, kept = tmp_path / "killed.csv", tmp_path / "whole.csv", tmp_path / "kept.sqlite"
    command = [sys.executable, "-c", KILLED, "sweep", *words, "--output", str(killed), "--store", str(kept)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=HANGS, check=False)
    assert done.returncode == -signal.SIGKILL
    finished = _count(kept)
    assert 2 <= finished < 9
    assert not killed.exists()
    assert main(["sweep", *words, "--output", str(killed), "--store", str(kept)]) == 0
    assert f"{finished} of 9 cells come from the store" in capsys.readouterr().err
    assert main(["sweep", *words, "--output", str(whole), "--store", "off"]) == 0
    assert killed.read_text() == whole.read_text()
    assert _count(kept) == 9
    assert [row["seed"] for row in load(killed).rows] == list(range(9))


def _count(path: Path) -> int:
    with Store(path) as store:
        return sum(1 for _ in store.entries("cell"))
