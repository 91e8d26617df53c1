"""Description of the machine, with the rates of its matrix product and its copy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dpfl_theory.runtime.threads import usable_cores

__all__ = ["copy", "description", "dgemm"]

JAX_IS_MISSING = "JAX is not installed, so its rows are missing: `pip install -c constraints.txt -e '.[bench]'`."
OTHER_WORK = "The machine had other work at the start: compare by CPU time, not by the clock"


def description(profile: str, jax: bool | None = None) -> str:
    """The machine, the versions and what was run, as a list; jax: whether it is there, where that matters."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    packages = ("numpy", "scipy", "numba", *(("jax", "jaxlib") if jax else ()))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    lines = [
        f"Processor: {cpu}, {usable_cores()} of {os.cpu_count()} cores usable",
        f"Load average at the start (1, 5, 15 minutes): {load}",
        f"Python {platform.python_version()}, {versions}",
        profile,
        *([OTHER_WORK] if os.getloadavg()[0] > 0.5 else []),
    ]
    return "\n".join(f"* {line}" for line in lines) + (f"\n\n{JAX_IS_MISSING}" if jax is False else "")


def dgemm(shape: tuple[int, int, int]) -> float:
    """GFLOP/s of NumPy's product of matrices of this shape on one core."""
    rows, inner, columns = shape
    rng = np.random.default_rng(0)
    a, b, out = rng.random((rows, inner)), rng.random((columns, inner)).T, np.empty((rows, columns))
    flops = 2.0 * rows * inner * columns
    calls = min(2000, max(1, round(2e9 / flops)))
    with threadpool_limits(1, user_api="blas"):
        np.dot(a, b, out)
        started = time.perf_counter()
        for _ in range(calls):
            np.dot(a, b, out)
        return calls * flops / (time.perf_counter() - started) / 1e9


def copy(megabytes: int = 64) -> float:
    """GB/s of a copy on one core, what is read and what is written."""
    source, target = np.ones(megabytes * 2**17), np.empty(megabytes * 2**17)
    np.copyto(target, source)  # its pages exist from here on
    started = time.perf_counter()
    np.copyto(target, source)
    return 2.0 * source.nbytes / (time.perf_counter() - started) / 1e9
