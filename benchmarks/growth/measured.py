"""The overhead of pieces of work in a cluster's parts, and the speedup of a sweep with the number of workers."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.growth.cluster import Use, cluster
from dpfl_theory import statements
from dpfl_theory.checks.cache import places
from dpfl_theory.checks.runner import plan, settings_of, tasks_of
from dpfl_theory.checks.workers import work_of
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.executor import on, spread
from dpfl_theory.sweep.pack import packed
from dpfl_theory.sweep.run import planned, run

__all__ = ["WORKERS", "checks", "overhead", "scaling", "sizes"]

WORKERS = (1, 2, 4)
PIECES = 1000
CONFIG: dict[str, Any] = {
    "problem": {"name": "quadratic"},
    "algorithm": {"name": "dp-fedavg", "sigma": 0.1},
    "replicates": 8,
    "rounds": 15_000,
    "grid": {"seed": list(range(96))},
}
PACK = 2


def nothing(content: bytes) -> bytes:
    """A piece of work that takes no time, with the same data sent and received as real ones."""
    return content


def checks(folder: Path) -> list[Callable[[], Any]]:
    """The checks of units as pieces of work, with their places in a store."""
    pairs = [p for p in plan(statements.all_statements(), ["algebra"]) if p[1].name == "units"]
    settings = settings_of(pairs, 1e-6, 0, "cpu")
    return list(work_of(tasks_of(pairs), settings, places(pairs, settings, Store(folder / "checks.sqlite"))))


def sizes() -> dict[str, int]:
    """Bytes of a piece of work, as it is sent: a check, a pack of a sweep with one cell and with 32."""
    with tempfile.TemporaryDirectory() as folder:
        check = checks(Path(folder))[0]
    design = planned(CONFIG)
    found: dict[str, Any] = {"a check": check}
    found |= {f"a pack of {k} cells": packed(design.cells[:k], k)[0] for k in (1, 32)}
    return {name: len(pickle.dumps(piece)) for name, piece in found.items()}


def overhead(workers: int, pieces: int = PIECES) -> dict[str, Use]:
    """The overhead of a piece: pieces that do nothing, and the checks of units with their evidence."""
    found = {}
    with cluster(workers) as made, tempfile.TemporaryDirectory() as folder:
        from functools import partial

        real = checks(Path(folder))
        empty: Sequence[Callable[[], Any]] = [partial(nothing, bytes(1000)) for _ in range(pieces)]
        with on(made.address):
            spread(real[: 4 * workers], 1)  # imports
            found["pieces that do nothing"] = made.used(lambda: spread(empty, 1)).of(len(empty))
            found["checks of units, kept in a store"] = made.used(lambda: spread(real, 1)).of(len(real))
    return found


def scaling(workers: int, distributed: bool) -> float:
    """Seconds of one sweep on ``workers`` workers of a cluster, or in the same number of processes here."""
    design = planned(CONFIG)
    warm = planned({**CONFIG, "rounds": 10, "grid": {"seed": list(range(4 * workers))}})
    with cluster(workers) if distributed else nullcontext() as made, tempfile.TemporaryDirectory() as folder:
        with on(made.address if made is not None else None):
            run(warm, jobs=workers, pack=1, over=spread)
            started = time.perf_counter()
            with Store(Path(folder) / "kept.sqlite") as store:
                run(design, jobs=workers, pack=PACK, over=spread, store=store)
        return time.perf_counter() - started
