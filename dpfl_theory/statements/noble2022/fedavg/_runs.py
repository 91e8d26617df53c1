"""DP-FedAvg as Theorem C.2 repaired has it, run on objectives whose gradients the threshold never clips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Check, Expected, Statement, checks
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022.fedavg import _steps as steps

__all__ = ["SLOPE", "plain", "weighted"]

SLOPE = Expected(
    "slope",
    (("gradient-norm-squared", 1),),
    (2, -2),
    r"\frac{1}{T}\sum_t \mathbb{E}\|\nabla F(x^t)\|^2",
    "mean squared gradient at the iterates that the rounds start from",
)
_SHORT = "four users, a step below the limit"
_NAMES = ("256 users, long", "300 users, noise dominates", "half of the records")


def _fedavg(
    instance: Mapping[str, Any], statement: Statement, step: Callable[[Mapping[str, float]], float]
) -> Experiment:
    """The run with B = 1, G from the users' gradients and this step size."""
    found = runs.experiment(instance)
    more = {"G": runs.dissimilarity(found.problem), "B": 1.0, "mu": instance["problem"]["parameters"].get("ridge", 0.0)}
    eta_l = step({**found.values, **more}) / (found.values["K"] * found.values["eta_g"])
    fedavg = runs.as_fedavg(found, eta_l)
    fedavg = replace(fedavg, values={**fedavg.values, **more, "eta_l": eta_l})
    return runs.claimed(runs.chosen_values(fedavg, statement), instance)


def plain(kind: str) -> tuple[Check, ...]:
    """Means over x^0, ..., x^{T-1}; the last run's users differ, and half of them take part."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        return _fedavg(instance, statement, lambda v: steps.step(kind, v))

    chosen = {name: runs.RUNS[name] for name in _NAMES}
    chosen[_SHORT] = runs.run_of(runs.points_of(4), 4, 1, 2400, 0.2)
    chosen["four of eight users"] = runs.run_of(runs.points_of(8, spread=0.5), 4, 2, 1500, 0.001)
    return checks("monte-carlo", build, chosen) + runs.outside(
        build, chosen["four of eight users"], "nu", "G", "l", "T", "D0" if kind == "convex" else "F0"
    )


def weighted() -> tuple[Check, ...]:
    """The mean of x^0, ..., x^{T-1} with weights (1 - mu eta~/2)^{-t}, after the last round."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dpfl_theory.algorithms.average import WeightedAverage

        found = _fedavg(instance, statement, steps.strong_step)
        v, known = found.values, found.algorithm
        ratio = 1 - v["mu"] * v["K"] * v["eta_g"] * v["eta_l"] / 2
        return replace(found, algorithm=WeightedAverage(known, ratio, with_start=True), rounds=found.rounds - 1)

    def run(clients: int, size: int, K: int, T: int, sigma: float, spread: float = 0.3, **more: Any) -> dict[str, Any]:
        return runs.run_of(runs.points_of(clients, spread=spread, ridge=1.0), size, K, T, sigma, clip=10.0, **more)

    chosen = {
        "256 users, with a ridge": run(256, 256, 1, 300, 1e-5, lanes=16),
        "300 users, noise dominates": run(300, 300, 10, 64, 0.5, 0.0, distance=0.05, lanes=24),
        "four users, with a ridge": run(4, 4, 2, 600, 0.001),
        "two of four users, with a ridge": run(4, 2, 1, 1000, 0.001),
        _SHORT: run(4, 4, 2, 2000, 0.05),
    }
    edges = runs.outside(build, chosen["four users, with a ridge"], "nu", "mu", "G", "l")
    return checks("monte-carlo", build, chosen) + edges
