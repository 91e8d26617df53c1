"""Runs of shulgin2025's methods: steps tuned on a grid, measurements on fresh replicates, and statistics of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.problems.base import Array
from dpfl_theory.simulation import simulate
from dpfl_theory.simulation.metrics import accuracy
from dpfl_theory.simulation.observables import Observable
from dpfl_theory.validation import Context

from . import _setting as setting

EVERY = 5
FLOOR = -6.0
"""log10 of the relative suboptimality below which a problem counts as solved: values below it are set to it."""
SURE = 5.0
"""The least distance of a paired mean from 0, in standard errors: one false alarm in about 10^4 with 16 replicates."""


def steps(context: Context) -> list[float]:
    """The tuning grid, in the natural unit of the step size."""
    return [float(s) for s in np.geomspace(1e-3, 10**1.5, context.pick(full=10, paper=19))]


@dataclass(frozen=True)
class Config:
    """One line of a figure before its step size is tuned; beta and alpha in units of G_0."""

    method: str
    beta: float
    alpha: float


@dataclass(frozen=True)
class Tuning:
    """Scores of one configuration over the grid of steps: ``final`` after the last round, ``average`` over the rounds.

    A score is a mean over replicates of log10 of f(x_k) - f* over f(x_0) - f*, no lower than FLOOR, +inf where a run
    overflows."""

    config: Config
    grid: Sequence[float]
    final: list[float]
    average: list[float]

    @property
    def step(self) -> float:
        """The step with the lowest final value."""
        return float(self.grid[int(np.argmin(self.final))])

    @property
    def fast(self) -> float:
        """The step with the lowest average."""
        return float(self.grid[int(np.argmin(self.average))])


def tune(
    context: Context,
    task: setting.Task,
    configs: Sequence[Config],
    grid: Sequence[float],
    replicates: int,
    noise: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> list[Tuning]:
    """Every configuration with every step, on replicates that no measurement uses."""
    found: dict[Config, Tuning] = {}
    names = sorted({c.method for c in configs})
    for part, method in enumerate(names):
        own = tuple(c for c in configs if c.method == method)
        for tuning in _tuned(task, own, tuple(grid), replicates, noise, context.seed, context.device):
            found[tuning.config] = tuning
        if progress is not None:
            progress((part + 1) / len(names))
    return [found[c] for c in configs]


@functools.cache  # a figure may show results that another one has tuned
def _tuned(
    task: setting.Task,
    own: tuple[Config, ...],
    grid: tuple[float, ...],
    replicates: int,
    noise: float,
    seed: int,
    device: str,
) -> list[Tuning]:
    cells = [(c.beta, c.alpha, s) for c in own for s in grid for _ in range(replicates)]
    beta, alpha, step = (np.array(column) for column in zip(*cells))
    with np.errstate(over="ignore", invalid="ignore"):
        run = simulate(
            setting.algorithm(task, own[0].method, beta, alpha, step, noise),
            task.problem,
            setting.ROUNDS,
            len(cells),
            seed=2 * seed,
            start=np.tile(task.starts(replicates, 0), (len(own) * len(grid), 1)),
            series=True,
            every=4 * EVERY,
            device=device,
        )
        series = run["suboptimality"].every_round
        logs = _logs(series, series[0]).reshape(len(series), len(own), len(grid), replicates).mean(axis=3)
    return [Tuning(c, grid, logs[-1, i].tolist(), logs[:, i].mean(axis=0).tolist()) for i, c in enumerate(own)]


def _logs(values: Array, first: Array) -> Array:
    """log10 of values/first, no lower than FLOOR; values that are not finite count as +inf."""
    ratio = np.where(np.isfinite(values), values, np.inf) / first
    return np.asarray(np.log10(np.maximum(ratio, 10.0**FLOOR)))


def measure(
    context: Context,
    task: setting.Task,
    config: Config,
    step: float,
    replicates: int,
    noise: float = 0.0,
    first: int = 1000,
) -> dict[str, Any]:
    """A configuration at one step on fresh replicates: log10 of the relative suboptimality by observed round and
    replicate, and the final test accuracy of each replicate. All configurations of a task share start, batches and
    noise replicate by replicate."""
    return _measured(task, config, step, replicates, noise, first, context.seed, context.device)


@functools.cache  # the figures show some configurations more than once
def _measured(
    task: setting.Task, config: Config, step: float, replicates: int, noise: float, first: int, seed: int, device: str
) -> dict[str, Any]:
    observe: list[str | Observable] = ["suboptimality"]
    if task.test is not None:
        observe.append(accuracy(task.test))
    with np.errstate(over="ignore", invalid="ignore"):
        run = simulate(
            setting.algorithm(task, config.method, config.beta, config.alpha, step, noise),
            task.problem,
            setting.ROUNDS,
            replicates,
            seed=2 * seed + 1,
            observe=observe,
            start=task.starts(replicates, first),
            series=True,
            every=EVERY,
            device=device,
        )
        series = run["suboptimality"].every_round
        logs = _logs(series, series[0])
    return {"logs": logs, "accuracy": run["test-accuracy"].last if task.test is not None else None}


def summary(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The stored summary of a measurement: mean and standard error of the final value, and the curve with its range."""
    logs = measured["logs"]
    out = {
        "curve": rounded(logs.mean(axis=1)),
        "low": rounded(np.quantile(logs, 0.1, axis=1)),
        "high": rounded(np.quantile(logs, 0.9, axis=1)),
        "final": float(logs[-1].mean()),
        "error": standard_error(logs[-1]),
    }
    if measured["accuracy"] is not None:
        out |= {
            "accuracy": float(measured["accuracy"].mean()),
            "accuracy_error": standard_error(measured["accuracy"]),
        }
    return out


OBSERVED = [*range(0, setting.ROUNDS, EVERY), setting.ROUNDS]
"""The rounds of a curve."""


def standard_error(x: Array) -> float:
    """The standard error of the mean over replicates."""
    return float(np.std(x, ddof=1) / len(x) ** 0.5)


def paired(lower: Array, higher: Array) -> float:
    """The mean over replicates of ``higher - lower``, in standard errors."""
    with np.errstate(invalid="ignore"):
        difference = np.asarray(higher) - np.asarray(lower)
    if not np.isfinite(difference).all():  # a run overflowed: the method that overflows in more replicates is worse
        ahead = float(np.sign(difference[np.isinf(difference)]).sum())
        return math.copysign(math.inf, ahead) if ahead else 0.0
    spread = standard_error(difference)
    mean = float(difference.mean())
    return mean / spread if spread > 0.0 else math.copysign(math.inf, mean) if mean else 0.0


def verdict(scores: Sequence[float]) -> str:
    """The verdict on "all of these are above 0", each given in standard errors."""
    if any(z < -SURE for z in scores):
        return "not-reproduced"
    return "reproduced" if all(z > SURE for z in scores) else "inconclusive"


def rounded(values: Any, digits: int = 4) -> list[float]:
    """A list of floats with this number of significant digits, to keep the data files readable."""
    return [float(f"{v:.{digits}g}") for v in values]
