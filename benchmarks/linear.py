"""Local steps of logistic and softmax clients against the matrix products in them, at the rate of the BLAS.

Run ``python benchmarks/linear.py``. In one process, in turn: the local phase, and only products of the same shapes, a
whole client in one call each way (the best of the BLAS). The table gives medians, and the median share of the phase's
time that the products by themselves take.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel

REPETITIONS, STEPS = 15, 2
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "softmax, 10 classes, 60 features": ("softmax-synthetic", {"dimension": 60, "records": 200, "classes": 10}, 64),
    "softmax, 10 classes, 784 features": ("softmax-synthetic", {"dimension": 784, "records": 300, "classes": 10}, 16),
    "logistic, 30 features": ("logistic-synthetic", {"dimension": 30, "records": 400}, 256),
    "logistic, 300 features": ("logistic-synthetic", {"dimension": 300, "records": 400}, 256),
}


def products(problem: LinearModel, w: np.ndarray) -> None:
    """The two products of every client in every step."""
    data = problem.data
    at = w.reshape(len(w) * data.classes, -1)
    g = np.empty_like(at)
    for a, b in zip(data.offsets[:-1], data.offsets[1:]):
        x = data.x[a:b]
        p = np.empty((len(at), b - a))
        for _ in range(STEPS):
            np.dot(at, x.T, out=p)
            np.dot(p, x, out=g)


def main() -> None:
    engine = CpuEngine()
    print(f"{'':36s} {'phase':>8s} {'products':>8s} {'share':>6s} {'GFLOP/s':>8s}   milliseconds; of the products")
    for name, (family, parameters, replicates) in CASES.items():
        problem = make(family, clients=4, ridge=0.01, seed=1, **parameters)
        assert isinstance(problem, LinearModel)
        w = np.random.default_rng(0).standard_normal((replicates, problem.d))
        step = np.full(replicates, 0.1)
        times: dict[str, list[float]] = {"phase": [], "products": []}
        with engine.single_blas():
            for repetition in range(REPETITIONS + 1):
                for way in times:
                    started = time.perf_counter()
                    if way == "phase":
                        engine.linear_local_phase(problem.data, w, step, STEPS)
                    else:
                        products(problem, w)
                    if repetition:
                        times[way].append(time.perf_counter() - started)
        share = statistics.median(b / a for a, b in zip(times["phase"], times["products"]))
        phase, alone = (statistics.median(t) for t in times.values())
        work = 4.0 * STEPS * replicates * problem.d * len(problem.data.y)
        print(f"{name:36s} {1e3 * phase:8.2f} {1e3 * alone:8.2f} {share:6.2f} {1e-9 * work / alone:8.1f}")


if __name__ == "__main__":
    main()
