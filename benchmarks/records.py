"""What clipping each record's gradient costs: noble2022's local step (800 of 4000 records, 10 classes, 41 features).

Run ``python benchmarks/records.py``. In one process, in turn: the kernel's clipped sums, its plain sums, and NumPy
forming one gradient for each record (vectorised over records) before clipping. Medians over repetitions, for 60
(client, lane) pairs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Lanes
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel

CLIENTS, RECORDS, BATCH, CLASSES, FEATURES = 100, 4000, 800, 10, 41
SLOTS, LANES, THRESHOLD, REPETITIONS = 20, 3, 0.5, 15


def formed(problem: LinearModel, w: np.ndarray, clients: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Clipped sums by forming every record's gradient."""
    data, out = problem.data, np.empty_like(w)
    for a in range(SLOTS):
        for s in range(LANES):
            rows = data.offsets[clients[a, s]] + chosen[a, s]
            x, y, at = data.x[rows], data.y[rows].astype(int), w[a, s].reshape(CLASSES, FEATURES)
            z = x @ at.T
            p = np.exp(z - z.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(len(y)), y] -= 1.0
            gradients = p[:, :, None] * x[:, None, :] + data.ridge * at
            lengths = np.sqrt((gradients**2).sum(axis=(1, 2)))
            out[a, s] = (gradients * np.minimum(1.0, THRESHOLD / lengths)[:, None, None]).sum(axis=0).ravel()
    return out


def main() -> None:
    problem = make(
        "softmax-synthetic", clients=CLIENTS, dimension=FEATURES, records=RECORDS, classes=CLASSES, ridge=5e-3
    )
    assert isinstance(problem, LinearModel)
    engine, rng, lanes = CpuEngine(), np.random.default_rng(0), Lanes(0, 0, LANES)
    clients = np.stack([rng.permutation(CLIENTS)[:SLOTS] for _ in range(LANES)], axis=1)
    w = rng.standard_normal((SLOTS, LANES, CLASSES * FEATURES))
    chosen = engine.subsets(lanes, 0, clients, np.full(CLIENTS, RECORDS), np.full(CLIENTS, BATCH))
    bound = np.full(LANES, THRESHOLD)
    ways: dict[str, Callable[[], np.ndarray]] = {
        "clipped sums": lambda: engine.linear_record_sums(problem.data, w, clients, chosen, bound)[0],
        "plain sums": lambda: engine.linear_record_sums(problem.data, w, clients, chosen, None)[0],
        "gradients formed": lambda: formed(problem, w, clients, chosen),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    with engine.single_blas():
        assert np.allclose(ways["clipped sums"](), ways["gradients formed"](), rtol=1e-10)
        for _ in range(REPETITIONS):
            for name, way in ways.items():
                begun = time.perf_counter()
                way()
                times[name].append(time.perf_counter() - begun)
    reference = statistics.median(times["clipped sums"])
    print(f"{'':18s} {'median':>10s} {'least':>10s} {'most':>10s}   milliseconds; it / clipped sums")
    for name, seen in times.items():
        median = statistics.median(seen)
        cells = " ".join(f"{1e3 * t:10.2f}" for t in (median, min(seen), max(seen)))
        print(f"{name:18s} {cells}   {median / reference:.2f}")


if __name__ == "__main__":
    main()
