"""The data and the runs of das2022 Appendices G and H: private softmax regression on label-sorted shards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.algorithms.averaging import with_momentum
from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg, FedAvg
from dpfl_theory.core.inverse import prescribed
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Array
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import LinearModel, from_dataset, linear_data
from dpfl_theory.problems.partition import label_shards
from dpfl_theory.problems.preparation import standardised
from dpfl_theory.simulation import Cohort, Run, Schedule, simulate
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.metrics import accuracy
from dpfl_theory.simulation.observables import Observable
from dpfl_theory.statements import get
from dpfl_theory.validation import Context

from .. import _records as records

EPSILONS, DELTA, Q = (5.0, 2.0), 1e-5, 1.0
LOCAL_STEPS, DECAY, MOMENTUM, RIDGE = 20, 0.99, 0.8, 1e-4
STEPS = (1e-3, 2e-3, 4e-3, 8e-3, 1e-2, 2e-2, 4e-2, 8e-2, 1e-1, 2e-1, 4e-1, 8e-1)
THRESHOLDS = (500.0, 250.0, 125.0, 62.5, 31.25, 15.625)
SHARDS = 5
FEATURES = 20
"""Principal components of the digits: with 251 clients instead of the paper's 3000, the noise is then about as long,
relative to C, as on FMNIST."""
MOST_CLIENTS = 3000  # the paper's number for FMNIST
AVERAGED = 5  # the last rounds, over which the accuracy is averaged
METHODS = {"none": "FedAvg, not private", "clip": "clipping", "normalise": "normalisation"}
ALGORITHMS = {"none": FedAvg, "clip": DPFedAvg, "normalise": DPNormFedAvg}


@dataclass(frozen=True, eq=False)
class Data:
    """Training records over clients, and records held out for validation and for the test."""

    name: str
    problem: LinearModel
    validation: LinearData
    test: LinearData

    @property
    def cohort(self) -> int:
        """r = 0.2 n."""
        return round(0.2 * self.problem.n)

    def sigma(self, rounds: int, epsilon: float) -> float:
        """Theorem 3's deviation of the noise on the average for C = 1, with q = 1."""
        of = {"q": Q, "K": rounds, "C": 1, "delta": DELTA, "n": self.problem.n, "epsilon": epsilon}
        return math.sqrt(prescribed(get("das2022.theorem3"), of)["noise_variance"])


def prepared(context: Context) -> Data:
    """The digits' leading components or the user's file: 20% test, 10% validation, the rest in label-sorted shards;
    features standardised by the training records' mean and deviation, with a column of ones for the bias."""
    features = None if context.data else FEATURES
    found = load(context.data or "digits", standardise=False, bias=False, features=features)
    if found.classes < 2:
        raise InputError(f"data set {found.name!r} has no class labels: use data with at least two classes")
    count = len(found.y)
    held, checked = round(0.2 * count), round(0.1 * count)
    clients = min(MOST_CLIENTS, (count - held - checked) // SHARDS)
    if clients < 5:
        raise InputError(
            f"data set {found.name!r} has {count} records: give at least 36, so that 5 clients have 5 each"
        )
    kept = (count - held - checked) // (SHARDS * clients) * SHARDS * clients  # clients have equal numbers of records
    test, validation, train = records.parted(count, [held, checked, kept], [context.seed, 2])
    x = standardised(found.x, train)
    own = Dataset(found.name, x[train], found.y[train], found.classes)
    parts = label_shards(own.y, clients, SHARDS, context.seed)
    outside = [linear_data(x, found.y, [rows], "softmax", classes=found.classes) for rows in (validation, test)]
    return Data(
        found.name, from_dataset(own, parts, "softmax", ridge=RIDGE, name=f"softmax on {found.name}, shards"), *outside
    )


@dataclass(frozen=True)
class Cell:
    """One point of the grid; C and epsilon are None without privacy."""

    method: str
    epsilon: float | None
    threshold: float | None
    step: float


def run(
    context: Context,
    data: Data,
    method: str,
    cells: Sequence[Cell],
    rounds: int,
    runs: int,
    *,
    seed: int,
    every_round: bool,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """All cells of one method, ``runs`` replicates each (cell by cell), with test and validation accuracy of every
    round or of the last ones only. Replicates of the same number have the same cohorts and, scaled, the same noise."""
    flat = [cell for cell in cells for _ in range(runs)]
    step = [c.step for c in flat]
    private: dict[str, Any] = {}
    if method != "none":
        threshold = np.array([c.threshold for c in flat], dtype=float)
        sigma = threshold * [data.sigma(rounds, c.epsilon or math.inf) for c in flat]
        private = {"C": threshold.tolist(), "sigma": sigma}
    own, server = Schedule(step, DECAY), Schedule([0.5 * s for s in step], DECAY)
    algorithm = with_momentum(ALGORITHMS[method])(eta=own, beta=server, E=LOCAL_STEPS, momentum=MOMENTUM, **private)
    observe = [accuracy(data.test, "test"), accuracy(data.validation, "validation")]
    if not every_round:
        observe = [_late(o, rounds) for o in observe]
    return simulate(
        algorithm,
        data.problem,
        rounds,
        len(flat),
        cohort=Cohort("fixed", data.cohort),
        seed=seed,
        observe=observe,
        series=True,
        device=context.device,
        progress=progress,
    )


def _late(observable: Observable, rounds: int) -> Observable:
    """The observable in the rounds that need it: its value in the last rounds, and 0 before."""

    def evaluate(h: Round) -> Any:
        return observable.evaluate(h) if h.k > rounds - AVERAGED else h.context.engine.xp.zeros(h.w.shape[0])

    return replace(observable, of=evaluate)


def last(run: Run, which: str, cells: int) -> Array:
    """The mean over the last rounds, after each of them, (cells, runs)."""
    return np.asarray(run[which].every_round[-AVERAGED:].mean(axis=0).reshape(cells, -1))
