"""The weighted average of an algorithm's iterates, which many convergence theorems bound.

    xbar_T = sum_{t=1}^T omega_t x_t,   omega_t proportional to ratio^-t

or, with the starting point, the sum from t = 0. noble2022 Theorems 4.2, C.1 and C.2 take it with the weights of
Karimireddy et al. (2020): ratio = 1 for convex objectives, and ratio = 1 - mu K eta_l eta_g/2 for strongly convex ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.simulation.base import Algorithm, Context, Round
from dpfl_theory.simulation.hyperparameters import PerReplicate, positive, to_json


@dataclass
class AverageState:
    """inner: the algorithm's own state;  average (S, d): of the iterates so far [X];  total (S,): the sum of their
    weights, in units of the newest weight."""

    inner: Any
    average: Any
    total: Any


@dataclass(frozen=True)
class WeightedAverage(Algorithm):
    """An algorithm whose server's vector is replaced by the weighted average of its iterates x_1, ..., x_t.

    The run is the algorithm's own; only the server's vector that observables read changes. Before the first round the
    average is the starting point, which has no weight afterwards, unless ``with_start``: then x_0 counts like the
    others.

    >>> from dpfl_theory.simulation import Simulation
    >>> from dpfl_theory.algorithms.fedavg import FedAvg
    >>> WeightedAverage(Simulation(FedAvg(eta=0.1)), 0.99).describe()["ratio"]
    0.99
    """

    algorithm: Annotated[Algorithm, Meaning("any algorithm")]
    ratio: Annotated[PerReplicate, Meaning("in (0, 1] for weights that grow geometrically, 1 for the plain mean")] = 1.0
    with_start: Annotated[bool, Meaning("whether x_0 counts")] = False

    def __post_init__(self) -> None:
        positive("the ratio of the weights", self.ratio)
        if np.max(self.ratio) > 1.0:
            raise InputError(f"the ratio of the weights is {self.ratio}: it must lie in (0, 1], or later weights fall")
        if not isinstance(self.with_start, bool):
            raise InputError(f"with_start is {self.with_start!r}: give true or false")

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.algorithm.validate(problem, replicates)

    def initial_state(self, context: Context) -> AverageState:
        inner = self.algorithm.initial_state(context)
        total = context.engine.xp.full(context.replicates.count, float(self.with_start))
        return AverageState(inner, self.algorithm.server(inner), total)

    def server(self, state: AverageState) -> Any:
        return state.average

    def round(self, context: Context, state: AverageState, k: int) -> tuple[AverageState, Round]:
        inner, round_ = self.algorithm.round(context, state.inner, k)
        # Weights are kept in units of the newest, ratio^-t, which would overflow otherwise.
        total = 1.0 + context.per_replicate(self.ratio) * state.total
        average = state.average + (self.algorithm.server(inner) - state.average) / total[:, None]
        round_.w = state.average
        round_.cache.clear()
        return AverageState(inner, average, total), round_

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "WeightedAverage",
            "of": self.algorithm.describe(),
            "ratio": to_json(self.ratio),
            "with_start": self.with_start,
        }
