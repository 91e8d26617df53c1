"""Time saved by running only a round's cohort instead of all clients, on linear models.

Run ``python benchmarks/cohort.py``. In one process, in turn: the local phase of all clients and that of the cohort,
each with the clipped sum. The table gives the median over repetitions of the cohort's time over that of all clients.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel

REPETITIONS, REPLICATES = 15, 64
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "softmax, n 287, d 200, 5 records, E 20": (
        "softmax-synthetic",
        {"clients": 287, "dimension": 20, "records": 5, "classes": 10},
        20,
    ),
    "softmax, n 10, d 600, 100 records, E 2": (
        "softmax-synthetic",
        {"clients": 10, "dimension": 60, "records": 100, "classes": 10},
        2,
    ),
    "logistic, n 20, d 30, 400 records, E 3": (
        "logistic-synthetic",
        {"clients": 20, "dimension": 30, "records": 400},
        3,
    ),
    "Huber, n 100, d 20, 4 records, E 3": ("huber", {"clients": 100, "dimension": 20, "records": 4}, 3),
}


def main() -> None:
    engine, rng = CpuEngine(), np.random.default_rng(0)
    print(f"{'':40s} {'everybody':>12s} " + " ".join(f"{share:6.1f}" for share in SHARES))
    for name, (family, parameters, steps) in CASES.items():
        problem = make(family, seed=1, **parameters)
        assert isinstance(problem, LinearModel)
        w, step, bound = rng.standard_normal((REPLICATES, problem.d)), np.full(REPLICATES, 0.01), np.ones(REPLICATES)
        cohorts = [(rng.random((REPLICATES, problem.n)) < share) * 1.0 for share in SHARES]
        times: list[list[float]] = [[] for _ in (None, *cohorts)]
        with engine.single_blas():
            for repetition in range(REPETITIONS + 1):
                for seen, cohort in zip(times, (None, *cohorts)):
                    started = time.perf_counter()
                    updates = engine.linear_local_phase(problem.data, w, step, steps, cohort)
                    engine.bounded_combine(updates, cohorts[0] if cohort is None else cohort, bound, False)
                    if repetition:
                        seen.append(time.perf_counter() - started)
        ratios = [statistics.median(b / a for a, b in zip(times[0], seen)) for seen in times[1:]]
        whole = f"{1e3 * statistics.median(times[0]):9.2f} ms"
        print(f"{name:40s} {whole:>12s} " + " ".join(f"{r:6.2f}" for r in ratios))


if __name__ == "__main__":
    main()
