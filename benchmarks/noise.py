"""The cost of a number of the counter-based noise, compared with NumPy's SFC64, in nanoseconds.

Run ``python benchmarks/noise.py``. In one process, in turn; medians over repetitions, and the median of the ratios to
SFC64 (normals to normals, uniforms to uniforms) within a repetition.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from dpfl_theory.kernels import philox

REPETITIONS, NUMBERS = 41, 1 << 16
SEED = np.uint64(7)


def ways() -> dict[str, tuple[str, Callable[[], object]]]:
    """Name -> the number that it is compared with, and how NUMBERS of them are made."""
    rng, out = np.random.Generator(np.random.SFC64(1)), np.empty(NUMBERS)
    shapes = {"d = 1000": (1, 64, 1024), "d = 10": (64, 102, 10), "d = 2": (64, 512, 2), "d = 1": (128, 512, 1)}
    made: dict[str, tuple[str, Callable[[], object]]] = {
        "SFC64, normals": ("SFC64, normals", lambda: rng.standard_normal(out=out)),
        "SFC64, uniforms": ("SFC64, uniforms", lambda: rng.random(out=out)),
    }
    for name, shape in shapes.items():
        block = np.empty(shape)
        made[f"normals, {name}"] = (
            "SFC64, normals",
            partial(philox.fill_normal, block, np.empty((0, 0), dtype=np.int64), np.empty(0), SEED, 0, 3, 0, 1),
        )
    grid = np.empty((512, 128))
    made["uniforms"] = ("SFC64, uniforms", lambda: philox.fill_uniform(grid, SEED, 0, 3, 0, 1))
    return made


def main() -> None:
    made = ways()
    times: dict[str, list[float]] = {name: [] for name in made}
    for repetition in range(REPETITIONS + 1):
        for name, (_, way) in made.items():
            started = time.perf_counter()
            way()
            if repetition:  # the first one compiles
                times[name].append(1e9 * (time.perf_counter() - started) / NUMBERS)
    print(f"{'':20s} {'median':>8s} {'least':>8s} {'ratio':>8s}   nanoseconds; it / SFC64")
    for name, seen in times.items():
        ratio = statistics.median(a / b for a, b in zip(seen, times[made[name][0]]))
        print(f"{name:20s} {statistics.median(seen):8.2f} {min(seen):8.2f} {ratio:8.2f}")


if __name__ == "__main__":
    main()
