"""Comparison of sparse records in CSR format with the same records as an array.

Run ``python benchmarks/sparse.py [FILE.libsvm]``. In one process, in turn, on one core: local phases, gradients, values
and sums of clipped records' gradients. The table gives milliseconds, the array's before CSR's, and their ratio; the
least of five repetitions each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, random_array

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.problems.linear_model import linear_data

REPETITIONS, REPLICATES, CLIENTS = 5, 16, 10
SHAPES = ((100, 0.25), (100, 0.1), (1000, 0.25), (1000, 0.1), (1000, 0.03), (1000, 0.01), (5000, 0.01))
RECORDS = 2000


def milliseconds(call: Callable[[], Any]) -> float:
    """The least time of a call, after one that compiles."""
    call()
    found = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return 1e3 * min(found)


def compared(name: str, x: Any, y: Any) -> None:
    """One row of the table."""
    engine, rng = CpuEngine(), np.random.default_rng(0)
    parts = np.array_split(rng.permutation(len(y)), CLIENTS)
    forms = [linear_data(form, y, parts, "logistic", ridge=1e-3) for form in (x.toarray(), x)]
    w, step = 0.1 * rng.standard_normal((REPLICATES, x.shape[1])), np.full(REPLICATES, 0.1)
    own = np.tile(w, (CLIENTS, 1, 1))
    who, clip = np.tile(np.arange(CLIENTS)[:, None], (1, REPLICATES)), np.full(REPLICATES, 0.5)
    kernels: dict[str, Callable[[Any], Any]] = {
        "E = 4 local steps": lambda data: engine.linear_local_phase(data, w, step, 4),
        "gradients": lambda data: engine.linear_gradients(data, own),
        "values": lambda data: engine.linear_values(data, w),
        "clipped records": lambda data: engine.linear_record_sums(data, own, who, None, clip),
    }
    print(f"{name}: {x.shape[0]} records, {x.shape[1]} features, density {x.nnz / (x.shape[0] * x.shape[1]):.3f}")
    with engine.single_blas():
        for what, kernel in kernels.items():
            dense, thin = (milliseconds(partial(kernel, data)) for data in forms)
            print(f"  {what:18} {dense:8.2f} {thin:8.2f} {thin / dense:6.2f}")


def main() -> None:
    """All rows."""
    for path in sys.argv[1:]:
        from sklearn.datasets import load_svmlight_file

        x, y = load_svmlight_file(path)
        compared(path, csr_array(x), np.where(y == y.max(), 1.0, -1.0))
    rng = np.random.default_rng(0)
    for features, density in SHAPES:
        x = csr_array(random_array((RECORDS, features), density=density, rng=rng))
        compared("random", x, rng.choice([-1.0, 1.0], RECORDS))


if __name__ == "__main__":
    main()
