"""Common parts of all benchmarks: contestants that must agree before they are timed, and timing side by side.

A contestant is one function ``run(rounds, private)``. Without privacy noise all contestants of a case must give the
same server vectors, within 1e-8 of the distance travelled, after each of the case's checkpoints; one that does not
gets no time. Timing goes in turns, in one process: each repetition times every contestant once, the first one another
each time, with a product of matrices of the kernel's shape and a copy between them, so that a machine that slows down
slows all of them down.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.machine import copy, dgemm
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.problems.base import Problem
from dpfl_theory.runtime.threads import bounded
from dpfl_theory.simulation import simulate
from dpfl_theory.simulation.base import Algorithm
from dpfl_theory.simulation.simulate import _blocks

__all__ = [
    "Array",
    "Case",
    "Contestant",
    "Row",
    "block_width",
    "cases",
    "engine",
    "error_of",
    "has_jax",
    "load_jax",
    "names",
    "on",
    "ours",
    "race",
]

Array = NDArray[np.float64]
TOLERANCE = 1e-8
ENGINE = CpuEngine()
_ENGINES: list[Engine] = [ENGINE]


@dataclass(frozen=True)
class Contestant:
    """One way to compute a case.

    run(rounds, private): the server's vectors (replicates, d) after this number of rounds from the case's start; timed
    runs are private, compared runs are not. flops: multiplications and additions of matrix products in one round, by
    formula. normals: its output is its own standard normals, whose moments are compared.
    """

    name: str
    run: Callable[[int, bool], Any]
    flops: float = 0.0
    normals: bool = False


@dataclass(frozen=True)
class Case:
    """One table: the first contestant is the package.

    start (replicates, d): the common start; rounds: of a whole run; gemm: (rows, inner, columns) of the kernel's matrix
    product; formula: how flops are counted; per: the number of units in a round; whole: every sample is a whole
    run, since rounds do not cost the same.
    """

    title: str
    what: str
    start: Array
    rounds: int
    contestants: Sequence[Contestant]
    formula: str = ""
    gemm: tuple[int, int, int] | None = None
    unit: str = "round"
    per: float = 1.0
    whole: bool = False
    threads: tuple[int, ...] = (1, 2)
    checkpoints: tuple[int, ...] = (1, 10)


@dataclass
class Row:
    """The measurements of one contestant: seconds of one unit, by repetition, and derived numbers.

    ratio, cpu_ratio: its time over the package's in the same repetition, by the clock and by the processor; share: of
    the rate of matrix products on the same number of cores; cores: processor time over time by the clock.
    """

    name: str
    error: float
    agrees: bool
    rounds: int = 0
    seconds: list[float] = field(default_factory=list)
    median: float = math.nan
    ratio: float = math.nan
    cpu_ratio: float = math.nan
    gflops: float = math.nan
    share: float = math.nan
    cores: float = math.nan


def engine() -> Engine:
    """The engine of the package's runs."""
    return _ENGINES[-1]


@contextlib.contextmanager
def on(other: Engine) -> Iterator[None]:
    """Uses another engine for the package's runs inside the context."""
    _ENGINES.append(other)
    try:
        yield
    finally:
        _ENGINES.pop()


def has_jax() -> bool:
    """Whether JAX is installed."""
    return importlib.util.find_spec("jax") is not None


def load_jax() -> Any:
    """JAX in double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def names() -> dict[str, str]:
    """The benchmarks: letter -> module, in order."""
    return {p.name[0]: p.stem for p in sorted(Path(__file__).parent.glob("[a-z]_*.py"))}


def cases(symbol: str, size: str, jax: bool) -> list[Case]:
    """The cases of one benchmark, of size full, quick or tiny; without JAX's contestants where it is not wanted."""
    built: list[Case] = importlib.import_module(f"benchmarks.{names()[symbol]}").build(size, jax)
    return built


def ours(algorithm: Callable[[bool], Algorithm], problem: Problem, start: Array, flops: float) -> Contestant:
    """The package's `simulate`; algorithm(private) makes the algorithm with or without noise."""

    def run(rounds: int, private: bool) -> Array:
        done = simulate(algorithm(private), problem, rounds, len(start), 0, (), start=start, device=engine())
        return np.asarray(done.final)

    return Contestant("dpfl_theory", run, flops)


def block_width(problem: Problem, replicates: int) -> int:
    """The number of replicates in a block of the package's run."""
    block = _blocks(problem, engine(), replicates)[0]
    return int(block.stop - block.start)


def error_of(case: Case, contestant: Contestant) -> float:
    """The largest difference from the package's server vectors at the checkpoints, over the distance travelled; for
    standard normals the largest of the first four moments' deviations over 6 of their standard errors, times 1e-8."""
    worst = 0.0
    for rounds in case.checkpoints:
        found = np.asarray(contestant.run(rounds, False))
        if contestant.normals:
            z, m = found.ravel(), found.size
            moments = ((z.mean(), 1.0), ((z**2).mean() - 1.0, 2.0), ((z**3).mean(), 15.0), ((z**4).mean() - 3.0, 96.0))
            error = max(abs(float(value)) / math.sqrt(variance / m) for value, variance in moments) / 6.0 * TOLERANCE
        else:
            expected = np.asarray(case.contestants[0].run(rounds, False))
            if found.shape != expected.shape:
                return math.inf
            travelled = float(np.max(np.abs(expected - case.start)))
            if travelled == 0.0:
                raise ValueError(f"{case.title}: nothing has moved after {rounds} rounds, so nothing can be compared")
            error = float(np.max(np.abs(found - expected))) / travelled
        worst = max(worst, error if math.isfinite(error) else math.inf)
    return worst


def race(case: Case, threads: int, repetitions: int, target: float) -> dict[str, Any]:
    """The rows of a case, and the rates of the machine's matrix product and copy at the same time, as plain data.

    target: the seconds that a sample should take; fewer rounds than a whole run are timed where that takes longer.
    """
    with bounded(threads), threadpool_limits(threads, user_api="blas"):
        rows = []
        for contestant in case.contestants:
            error = error_of(case, contestant)
            rows.append(Row(contestant.name, error, error <= TOLERANCE))
        pairs = [(row, contestant) for row, contestant in zip(rows, case.contestants) if row.agrees]
        calls = {row.name: _amount(case, row, contestant, target) for row, contestant in pairs}
        busy: dict[str, list[float]] = {row.name: [] for row in rows}  # processor seconds
        products, copied = [], []
        for repetition in range(repetitions):
            turn = repetition % len(pairs)
            for row, contestant in pairs[turn:] + pairs[:turn]:
                wall, cpu = _timed(contestant, row.rounds, calls[row.name])
                row.seconds.append(wall / case.per)
                busy[row.name].append(cpu / case.per)
            products.append(dgemm(case.gemm) if case.gemm else math.nan)
            copied.append(copy())
    rate, first = statistics.median(products), rows[0]
    for row, contestant in pairs:
        row.median = statistics.median(row.seconds)
        row.ratio = statistics.median(a / b for a, b in zip(row.seconds, first.seconds))
        row.cpu_ratio = statistics.median(a / b for a, b in zip(busy[row.name], busy[first.name]))
        row.cores = statistics.median(a / b for a, b in zip(busy[row.name], row.seconds))
        row.gflops = contestant.flops / (row.median * case.per) / 1e9
        row.share = row.gflops / (threads * rate)
    described = {k: getattr(case, k) for k in ("title", "what", "rounds", "formula", "gemm", "unit")}
    return {
        **described,
        "threads": threads,
        "repetitions": repetitions,
        "dgemm": rate,
        "copy": statistics.median(copied),
        "rows": [asdict(row) for row in rows],
    }


def _amount(case: Case, row: Row, contestant: Contestant, target: float) -> int:
    """Set how many rounds a sample of a contestant has, and return how many calls; everything is compiled then."""
    probe = case.rounds if case.whole else min(2, case.rounds)
    contestant.run(probe, True)
    wall, _ = _timed(contestant, probe, 1)
    row.rounds = probe if case.whole else max(1, min(case.rounds, math.ceil(target / wall)))
    if not np.all(np.isfinite(contestant.run(row.rounds, True))):
        raise FloatingPointError(f"{case.title}, {row.name}: the private run is not finite")
    wall, _ = _timed(contestant, row.rounds, 1)
    return max(1, min(1000, round(0.2 * target / (wall * row.rounds))))


def _timed(contestant: Contestant, rounds: int, calls: int) -> tuple[float, float]:
    """Seconds of a round, by the clock and by the processor."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        contestant.run(rounds, True)
    share = 1.0 / (rounds * calls)
    return (time.perf_counter() - wall) * share, (time.process_time() - cpu) * share
