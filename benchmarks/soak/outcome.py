"""Comparison of a disturbed sweep with an undisturbed one with the same cells."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfl_theory.runtime.cache import Store
from dpfl_theory.sweep.table import load

__all__ = ["HEAD", "Outcome", "compared", "ended", "rows", "seeds", "sweep", "words"]

HEAD = (
    "| fault | times | cells | lost | doubled | numbers equal | seconds |\n"
    + "| --- | ---: | ---: | ---: | ---: | --- | ---: |"
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a disturbed sweep: the number of disturbances, the expected cells, those that are missing or
    twice (in the table or in the store), whether its numbers are an undisturbed run's, and the total time."""

    fault: str
    injected: int
    cells: int
    lost: int
    doubled: int
    equal: bool
    seconds: float

    @property
    def good(self) -> bool:
        """Whether faults happened and had no effect."""
        return self.injected > 0 and not self.lost and not self.doubled and self.equal

    def row(self) -> str:
        """A line of the table under `HEAD`."""
        lines = (self.fault, self.injected, self.cells, self.lost, self.doubled, "yes" if self.equal else "NO")
        return f"| {' | '.join(map(str, lines))} | {self.seconds:.0f} |"


def words(cells: int, rounds: int) -> list[str]:
    """Options for a sweep of ``cells`` cells, which differ by their seed, with ``rounds`` rounds in each."""
    fixed = ["problem.name=quadratic", "algorithm.name=dp-fedavg", "algorithm.sigma=0.1", "replicates=8"]
    values = [*fixed, f"rounds={rounds}", f"grid.seed={list(range(cells))}"]
    return [part for value in values for part in ("--set", value)]


def sweep(options: Sequence[str], folder: Path, name: str, *more: str) -> list[str]:
    """The command of a sweep whose store and table have this name."""
    kept = ["--store", str(folder / f"{name}.sqlite"), "--output", str(folder / f"{name}.csv")]
    return [sys.executable, "-m", "dpfl_theory", "sweep", *options, *kept, *more]


def ended(command: Sequence[str], codes: Collection[int] = (0,)) -> str:
    """The stderr of a command that has ended with one of these codes. Raises AssertionError for another end, and for a
    traceback."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in codes, f"exit code {done.returncode}: {done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    return list(load(folder / f"{name}.csv").rows)


def seeds(found: Collection[int], cells: int) -> tuple[int, int]:
    """How many of the seeds 0, 1, ... are missing, and how many occur more than once."""
    counts = Counter(found)
    return sum(k not in counts for k in range(cells)), sum(count > 1 for count in counts.values())


def compared(
    folder: Path, name: str, fault: str, injected: int, cells: int, seconds: float, whole: str = "whole"
) -> Outcome:
    """Compare a disturbed sweep with the undisturbed one named ``whole``: cells in table and store, the table's
    bytes."""
    lost, doubled = seeds([row["seed"] for row in rows(folder, name)], cells)
    with Store(folder / f"{name}.sqlite") as store:
        about = Counter(entry.about for entry in store.entries("cell"))
    lost += max(cells - len(about), 0)
    doubled += sum(count > 1 for count in about.values())
    equal = (folder / f"{name}.csv").read_bytes() == (folder / f"{whole}.csv").read_bytes()
    return Outcome(fault, injected, cells, lost, doubled, equal, seconds)
