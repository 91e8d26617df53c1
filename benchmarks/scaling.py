"""How time and memory of the package's runs grow with replicates, clients and rounds.

``python -m benchmarks.scaling a --replicates 64 --clients 100 --rounds 500`` measures one run, in its own process since
a process knows only its own peak memory: microseconds of a replicate's round, and megabytes before and at the peak.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import statistics
import time
from dataclasses import replace
from typing import Any

from benchmarks.child import start
from benchmarks.harness import ENGINE, names
from dpfl_theory.runtime.threads import bounded
from dpfl_theory.simulation import simulate

__all__ = ["GRIDS", "tables"]

GRIDS: dict[str, dict[str, list[dict[str, int]]]] = {
    "a": {
        "replicates": [{"replicates": s, "clients": 100, "rounds": 40} for s in (1, 8, 64, 256)],
        "clients": [{"replicates": 64, "clients": n, "rounds": 40} for n in (10, 100, 1000)],
        "rounds": [{"replicates": 16, "clients": 100, "rounds": k} for k in (50, 500, 5000)],
    },
    "b": {
        "replicates": [{"replicates": s, "clients": 100, "rounds": 2} for s in (1, 8, 64, 256)],
        "clients": [{"replicates": 64, "clients": n, "rounds": 2} for n in (10, 100, 300)],
        "rounds": [{"replicates": 16, "clients": 20, "rounds": k} for k in (10, 100, 1000)],
    },
}
"""What is varied in each benchmark, and the runs."""


def tables(symbol: str) -> dict[str, list[dict[str, Any]]]:
    """The measured runs of one benchmark, by what is varied."""
    return {
        name: [
            {**run, **start("scaling", [symbol, *(f"--{key}={value}" for key, value in run.items())])} for run in runs
        ]
        for name, runs in GRIDS[symbol].items()
    }


def _peak() -> float:
    """The process's peak memory so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0  # Linux counts kilobytes


def measure(symbol: str, replicates: int, clients: int, rounds: int) -> dict[str, float]:
    """One run of a benchmark's problem, on one thread: three times if that is short."""
    module = importlib.import_module(f"benchmarks.{names()[symbol]}")
    size = replace(module.SIZES["full"], replicates=replicates, clients=clients)
    problem, begin, setting = module.problem_of(size)
    seconds: list[float] = []
    with bounded(1):
        simulate(setting.algorithm(True), problem, 1, replicates, 0, (), start=begin, device=ENGINE)
        before = _peak()
        while len(seconds) < 3 and sum(seconds) < 5.0:
            started = time.perf_counter()
            simulate(setting.algorithm(True), problem, rounds, replicates, 0, (), start=begin, device=ENGINE)
            seconds.append(time.perf_counter() - started)
    each = statistics.median(seconds) / (replicates * rounds)
    return {"microseconds": 1e6 * each, "before": before, "peak": _peak()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbol", choices=list(GRIDS))
    for name in ("replicates", "clients", "rounds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    print(json.dumps(measure(given.symbol, given.replicates, given.clients, given.rounds)))


if __name__ == "__main__":
    main()
