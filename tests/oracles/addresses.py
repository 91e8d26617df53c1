"""Inputs of the oracles besides formulas: cohorts, noise and subsets, read by address, and one replicate's numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from oracles.record_gradient import gradient_of_record, record_gradient
from oracles.two_sided import GradientOf

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import COHORT, GRADIENT, NOISE, SERVER_NOISE, Replicates
from dpfl_theory.problems.base import Problem
from dpfl_theory.simulation.cohort import Cohort
from dpfl_theory.simulation.hyperparameters import Schedule, Tabulated

CPU = CpuEngine()


def of_replicate(value: Any, s: int) -> float:
    """One replicate's number of a hyper-parameter."""
    return float(np.ravel(value)[s]) if np.ndim(value) else float(value)


def step_of(step: Any, s: int, k: int) -> float:
    """One replicate's step size in round k."""
    if isinstance(step, Tabulated):
        return float(step.steps[k])
    if isinstance(step, Schedule):
        return of_replicate(step.initial, s) * step.decay**k
    return of_replicate(step, s)


def cohort_by_address(cohort: Cohort, n: int, seed: int, replicate: int, k: int) -> list[int]:
    """The participants of one round of one replicate, ascending, from the uniforms of the address; perhaps repeated."""
    if cohort.scheme == "full":
        return list(range(n))
    if cohort.scheme == "with-replacement":
        u = CPU.uniform(Replicates(seed, replicate, 1), k, int(cohort.size), COHORT)[0]
        return sorted(int(np.floor(v * n)) for v in u)
    u = CPU.uniform(Replicates(seed, replicate, 1), k, n, COHORT)[0]
    if cohort.scheme == "poisson":
        return [i for i in range(n) if u[i] < cohort.size / n]
    return sorted(int(i) for i in np.argsort(u)[: int(cohort.size)])


def server_noise(d: int, seed: int, replicate: int, k: int) -> np.ndarray:
    """Standard normals (d,) for noise of which only the average is seen."""
    return CPU.normal(Replicates(seed, replicate, 1), k, 1, d, SERVER_NOISE)[0, 0]


def batches_by_address(problem: Problem, size: int, seed: int, replicate: int) -> GradientOf:
    """``g_i(x)`` in local step q of round t, the mean over a batch of so many records: batch number b has those that
    the b-th set of ``size`` records adds to the smallest so far, and each epoch takes the same batches."""
    one, data = Replicates(seed, replicate, 1), problem.data  # type: ignore[attr-defined]
    records = np.diff(data.offsets)

    def smallest(i: int, t: int, count: int) -> set[int]:
        counts = np.full(len(records), count)
        return {int(j) for j in CPU.subsets(one, t, np.array([[i]]), records, counts, 0)[0, 0] if j >= 0}

    def gradient(i: int, x: np.ndarray, t: int, q: int) -> np.ndarray:
        first = q % int(np.ceil(records[i] / size)) * size
        batch = smallest(i, t, first + size) - (smallest(i, t, first) if first else set())
        rows = [int(data.offsets[i]) + j for j in sorted(batch)]
        return np.mean([gradient_of_record(data, row, x) for row in rows], axis=0)

    return gradient


def gradient_by_address(
    oracle: Any, problem: Problem, s: int, seed: int, replicate: int, over_drawn: bool = False
) -> GradientOf:
    """``g_i(x)`` in local step q of round t, for a `Gradient` of the package; over_drawn: records' sums are divided by
    the number of drawn records floor(sR), not by sR."""
    one, kind = Replicates(seed, replicate, 1), oracle.describe()["gradient"]

    def normal(i: int, t: int, q: int, stream: int) -> np.ndarray:
        return CPU.normal(one, t, problem.n, problem.d, stream, q)[i, 0]

    def of_records(i: int, x: np.ndarray, t: int, q: int) -> np.ndarray:
        data = problem.data  # type: ignore[attr-defined]
        sizes = np.diff(data.offsets)
        counts = np.array([int(Fraction(str(float(oracle.share))) * int(size)) for size in sizes])
        subset = CPU.subsets(one, t, np.array([[i]]), sizes, counts, q)[0, 0, : counts[i]]
        C = oracle.threshold
        bound = C if C is None or isinstance(C, str) else of_replicate(C, s)
        noise = of_replicate(oracle.noise_multiplier, s) * normal(i, t, q, NOISE)
        share = counts[i] / sizes[i] if over_drawn else float(oracle.share)
        return record_gradient(data, i, x, subset, share, bound, noise)

    if kind == "records":
        return of_records
    if kind == "noisy":
        deviation = of_replicate(oracle.deviation, s)
        return lambda i, x, t, q: problem.client_gradient(i, x) + deviation * normal(i, t, q, GRADIENT)
    return lambda i, x, t, q: problem.client_gradient(i, x)
