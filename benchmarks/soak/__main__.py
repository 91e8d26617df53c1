"""Faults, for real, against one sweep: processes that are killed at random moments, on this machine alone.

    python -m benchmarks.soak             the full counts; writes benchmarks/SOAK.md
    python -m benchmarks.soak --short     a few of each; prints only

Each disturbed sweep must end with the table of an undisturbed one, byte for byte, and every cell in the store once.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpfl_theory.store import Store

CELLS = 200
SEED = 20261123
_HERE = Path(__file__).parent
_WORDS = [
    *("--set", "problem.name=quadratic", "--set", "algorithm.name=dp-fedavg", "--set", "algorithm.sigma=0.1"),
    *("--set", "rounds=200000", "--set", "lanes=8", "--set", f"grid.seed={list(range(CELLS))}"),
    *("--pack", "4"),
]


@dataclass(frozen=True)
class Outcome:
    """What a disturbed sweep left: how often it was disturbed, cells that are missing or twice, whether its table is
    that of an undisturbed one, and how long it took."""

    fault: str
    injected: int
    cells: int
    lost: int
    doubled: int
    equal: bool
    seconds: float

    def row(self) -> str:
        """A line of the table."""
        told = (self.fault, self.injected, self.cells, self.lost, self.doubled, "yes" if self.equal else "NO")
        return f"| {' | '.join(map(str, told))} | {self.seconds:.0f} |"


def _sweep(folder: Path, name: str, *more: str) -> list[str]:
    kept = ["--store", str(folder / f"{name}.sqlite"), "--output", str(folder / f"{name}.csv")]
    return [sys.executable, "-m", "dpfl_theory", "sweep", *_WORDS, *kept, *more]


def _ended(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _counted(folder: Path, name: str) -> tuple[int, int]:
    """Cells in the store, and how many of them are there more than once."""
    with Store(folder / f"{name}.sqlite") as store:
        about = [entry.about for entry in store.entries("cell")]
    return len(about), len(about) - len(set(about))


def _outcome(folder: Path, name: str, fault: str, injected: int, seconds: float) -> Outcome:
    cells, doubled = _counted(folder, name)
    equal = (folder / f"{name}.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    return Outcome(fault, injected, cells, CELLS - cells + doubled, doubled, equal, seconds)


def coordinator(folder: Path, kills: int, draw: random.Random) -> Outcome:
    """kill -9 of the process that runs the sweep, and of its workers with it, at random moments, again and again.

    The moments are spread over the time that a whole run takes, and begin when the first cell could be there.
    """
    begun, killed = time.monotonic(), 0
    while killed < kills:
        process = subprocess.Popen(
            _sweep(folder, "killed", "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(draw.uniform(0.5, 9.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
            continue
        (folder / "killed.sqlite").unlink()  # it was done: begin the next one from nothing
    _ended(_sweep(folder, "killed", "--jobs", "1"))
    return _outcome(folder, "killed", "kill -9 of the coordinator", killed, time.monotonic() - begun)


def workers(folder: Path, every: float, draw: random.Random) -> Outcome:
    """kill -9 of a Dask worker every few seconds, while the sweep runs on four."""
    from distributed import LocalCluster

    stop, killed = threading.Event(), list[int]()
    with LocalCluster(n_workers=4, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0") as cluster:

        def kill() -> None:
            while not stop.wait(every):
                pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                if pids:
                    killed.append(draw.choice(pids))
                    os.kill(killed[-1], signal.SIGKILL)

        thread, begun = threading.Thread(target=kill), time.monotonic()
        thread.start()
        try:
            _ended(_sweep(folder, "workers", "--scheduler", cluster.scheduler_address))
        finally:
            stop.set()
            thread.join()
        seconds = time.monotonic() - begun
    return _outcome(folder, "workers", f"kill -9 of a Dask worker every {every:g} s", len(killed), seconds)


def main(arguments: Sequence[str]) -> int:
    """Run the faults; returns 1 if a cell was lost, doubled or different."""
    short, draw = "--short" in arguments, random.Random(SEED)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _ended(_sweep(folder, "whole", "--jobs", "2"))
        found = [coordinator(folder, 3 if short else 50, draw), workers(folder, 2.0, draw)]
    head = "| fault | times | cells | lost | doubled | table equal | seconds |"
    table = "\n".join([head, "| --- | ---: | ---: | ---: | ---: | --- | ---: |", *(one.row() for one in found)])
    print(table)
    if not short:
        told = (
            "# Faults against one sweep\n\n"
            f"One sweep of {CELLS} cells (`python -m benchmarks.soak`, moments drawn with seed {SEED}), on loopback.\n"
            "*Lost* and *doubled* cells are counted in the evidence store; *table equal*: the CSV is that of an\n"
            "undisturbed run, byte for byte.\n\n"
        )
        (_HERE / "SOAK.md").write_text(told + table + "\n")
    return int(any(one.lost or one.doubled or not one.equal for one in found))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
