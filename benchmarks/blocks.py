"""Comparison of block widths (in replicates): the same runs with several sizes of a block's arrays, side by side.

Run ``python benchmarks/blocks.py``. One thread takes all blocks of a run in turn, sizes take turns in one process; the
table gives the median over repetitions of the time against that of the size in use (above 1: slower).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from dpfl_theory.algorithms.fedavg import DPFedAvg
from dpfl_theory.problems import make
from dpfl_theory.problems.quadratic import appendix_f
from dpfl_theory.runtime.threads import bounded
from dpfl_theory.simulation import Cohort, Simulation, simulate

LOOP: Any = sys.modules[simulate.__module__]
REPETITIONS, REPLICATES = 7, 256
SIZES = [(size, least) for size in (0.5, 1, 2, 4, 8, 16) for least in (8, 16, 32) if least == 16 or size in (0.5, 4)]
CASES: dict[str, tuple[Callable[[], Any], int, int]] = {
    "appendix F, n 100, d 200, E 20": (lambda: appendix_f(seed=0), 20, 4),
    "quadratics, n 20, d 50": (lambda: make("quadratic", clients=20, dimension=50, seed=1), 5, 60),
    "Huber, n 100, d 20, 400 records": (
        lambda: make("huber", clients=100, dimension=20, records=4, seed=1),
        3,
        12,
    ),
    "softmax, n 10, d 600, 1000 records": (
        lambda: make("softmax-synthetic", clients=10, dimension=60, records=100, classes=10, ridge=0.01),
        2,
        3,
    ),
    "logistic, n 10, d 30, 4000 records": (
        lambda: make("logistic-synthetic", clients=10, dimension=30, records=400, ridge=0.01),
        3,
        4,
    ),
}


def main() -> None:
    used = (LOOP._CACHE_BYTES, LOOP._LEAST_REPLICATES)
    for name, (build, steps, rounds) in CASES.items():
        problem = build()
        algorithm = Simulation(DPFedAvg(eta=0.001, E=steps, C=1.0, sigma=0.1), Cohort("fixed", 3))
        seen: dict[Any, list[float]] = {}
        with bounded(1):
            for repetition in range(REPETITIONS + 1):
                for sizes in [used, *((int(size * 2**20), least) for size, least in SIZES)]:
                    LOOP._CACHE_BYTES, LOOP._LEAST_REPLICATES = sizes
                    started = time.perf_counter()
                    simulate(algorithm, problem, rounds, REPLICATES, device="cpu")
                    if repetition:
                        seen.setdefault(sizes, []).append(time.perf_counter() - started)
        LOOP._CACHE_BYTES, LOOP._LEAST_REPLICATES = used
        print(f"{name}: {1e3 * statistics.median(seen[used]) / rounds:.1f} ms a round in use")
        for (size, least), times in seen.items():
            width = min(LOOP._MOST_REPLICATES, max(least, size // (8 * problem.n * problem.d)), REPLICATES)
            ratio = statistics.median(b / a for a, b in zip(seen[used], times))
            print(f"    {size / 2**20:5.1f} MiB, at least {least:2d}: {width:4d} replicates wide, {ratio:5.2f}")


if __name__ == "__main__":
    main()
