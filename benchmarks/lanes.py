"""What a lane costs: das2022's Appendix F (n = 100, d = 200, E = 20) against a plain NumPy loop, side by side.

Run ``python benchmarks/lanes.py``. Both do the same rounds in one process, in turn; the table gives medians over
repetitions and their ratio. The NumPy loop takes the E local gradient steps of every client one after the other, for
one lane, as the pseudocode reads; it runs fewer rounds and is scaled up.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from dpfl_theory.algorithms import FedAvg, simulate
from dpfl_theory.problems.appendix_f import appendix_f, appendix_f_start
from dpfl_theory.problems.quadratic import Quadratic

ROUNDS, LOCAL_STEPS, STEP, THRESHOLD, SIGMA = 500, 20, 0.001, 100.0, 16.6
REPETITIONS = 5
NUMPY_ROUNDS = 5


def plain_numpy(problem: Quadratic, matrices: list[np.ndarray], w: np.ndarray, rounds: int) -> np.ndarray:
    """Algorithm 1, option (i), one lane, matrix-vector products."""
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        total = np.zeros_like(w)
        for matrix, centre in zip(matrices, problem.centres):
            local = w.copy()
            for _ in range(LOCAL_STEPS):
                local -= STEP * (matrix @ (local - centre))
            update = (w - local) / STEP
            total += update * min(1.0, THRESHOLD / np.linalg.norm(update))
        w = w - STEP * (total / problem.n + SIGMA * rng.standard_normal(problem.d))
    return w


def main() -> None:
    problem = appendix_f(seed=0)
    start = appendix_f_start(problem, "I1")
    rows = [problem.basis[a:b] for a, b in zip(problem.offsets[:-1], problem.offsets[1:])]
    values = [problem.eigenvalues[a:b] for a, b in zip(problem.offsets[:-1], problem.offsets[1:])]
    matrices = [(r.T * v) @ r for r, v in zip(rows, values)]
    algorithm = FedAvg(STEP, LOCAL_STEPS, bounding="clip", threshold=THRESHOLD, sigma=SIGMA)
    widths = (1, 8, 64, 256)
    simulate(algorithm, problem, 2, 1, start=start, device="cpu")  # compile
    times: dict[str, list[float]] = {f"{width} lanes": [] for width in widths} | {"NumPy loop": []}
    for _ in range(REPETITIONS):
        begun = time.perf_counter()
        plain_numpy(problem, matrices, start, NUMPY_ROUNDS)
        times["NumPy loop"].append((time.perf_counter() - begun) * ROUNDS / NUMPY_ROUNDS)
        for width in widths:
            begun = time.perf_counter()
            simulate(algorithm, problem, ROUNDS, width, start=start, device="cpu")
            times[f"{width} lanes"].append((time.perf_counter() - begun) / width)
    reference = statistics.median(times["NumPy loop"])
    print(
        f"{'':12s} {'median':>10s} {'least':>10s} {'most':>10s}   seconds per lane of {ROUNDS} rounds; NumPy loop / it"
    )
    for name, seen in times.items():
        middle = statistics.median(seen)
        print(f"{name:12s} {middle:10.4f} {min(seen):10.4f} {max(seen):10.4f}   {reference / middle:8.1f}")


if __name__ == "__main__":
    main()
