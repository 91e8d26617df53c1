"""DP-SCAFFOLD-warm and DP-FedAvg at Theorem 4.2's noise scale sigma_g*, with the step sizes of the proofs; and runs of
Theorems C.1 (1) and C.2 (1) as printed, at a number of rounds at which their floor does not show yet.

The latter are refuted by a distance from x* that no constant step removes. It is far below what a simulation can detect
next to the noise term. Those runs say that with the constant c = 1 the printed bounds are no worse than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Experiment, Statement, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _step_size as steps
from dpfl_theory.statements.noble2022._step_limit import limit
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8

__all__ = ["CONSTANTS", "experiment", "fedavg_of", "moderate_runs", "private_runs"]


CONSTANT = 1.0


def _experiment(method: str) -> Callable[[Statement, Mapping[str, Any]], Experiment]:
    """The weighted mean with weights (1 - mu eta~/2)^{-t} and the printed step sizes: of x^0, ..., x^{T-1} for
    DP-SCAFFOLD-warm, whose first round stays at x^0, of x^1, ..., x^T for DP-FedAvg."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dpfl_theory.simulation.average import WeightedAverage

        mu = float(instance["problem"]["parameters"]["ridge"])
        found = runs.experiment(instance)
        v: dict[str, float] = {
            **found.values,
            "mu": mu,
            "c": CONSTANT,
            "G": runs.dissimilarity(found.problem),
            "B": 1.0,
        }
        eta = limit(v) if method == "scaffold" else 1 / (16 * v["nu"])
        eta_l = eta / (v["K"] * v["eta_g"])
        known: Any = found.algorithm
        chosen = replace(found, algorithm=known.with_values(local_step=eta_l))
        if method == "fedavg":
            chosen = runs.as_fedavg(found, eta_l)
        weighted = WeightedAverage(chosen.algorithm, 1 - mu * eta / 2)
        run = replace(found, algorithm=weighted, rounds=int(v["T"]), values=v)
        return runs.chosen_values(run, statement, c=CONSTANT, eta_l=eta_l, mu=mu, G=v["G"], B=1.0)

    return build


def moderate_runs(method: str) -> tuple[Check, ...]:
    """method: ``scaffold`` or ``fedavg``, the first also at both edges of T >= max(108/l, 48 nu/(mu l^(2/3)))."""
    problem = {"family": "points", "parameters": {"clients": 4, "spread": 0.3, "ridge": 1.0}}
    edges = ((108, "holds"), (106, "not-applicable")) if method == "scaffold" else ()
    return tuple(
        Check(
            "monte-carlo",
            f"four users, T = {T}, c = 1",
            _experiment(method),
            runs.run_of(problem, 4, 2, T, 0.001, clip=10.0),
            expected,
        )
        for T, expected in ((600, "holds"), *edges)
    )


CONSTANTS = {"scaffold": 102.0, "fedavg": 12.0}
"""Constants that serve in Theorem 4.2: its algebra checks derive them."""


def experiment(instance: Mapping[str, Any], statement: Statement) -> Experiment:
    """A run at sigma_g*, with B = 1 and G from the users' gradients; ``c`` of the instance, else one that serves.

    ``longer`` of the instance multiplies the step that balances the bound, still at most the limit: the theorem says
    that some step sizes serve.
    """
    problem = runs.problem_of(instance["problem"])
    method, n = instance["method"], problem.n
    budget = {"epsilon": float(instance["epsilon"]), "delta": float(instance["delta"])}
    at = {**budget, "s": float(instance["share"]), "l": int(instance["size"]) / n, "M": float(n)}
    at |= {"T": int(instance["T"]), "K": int(instance["K"])}
    sigma = float(evaluate(prescription_of(statement)["sigma_g"], at, statement.id))
    longer = float(instance.get("longer", 1.0))
    found = runs.experiment({**instance, "sigma": sigma}, lambda v: longer * lemmaC_8.best_step(v))
    more = {
        **budget,
        "sigma_g": sigma,
        "C": problem.constants.G_record,
        "d": float(problem.d),
        "c": float(instance.get("c", CONSTANTS[method])),
        "G": runs.dissimilarity(problem),
        "B": 1.0,
    }
    if method == "fedavg":
        found = fedavg_of(found, more, longer)
    return runs.chosen_values(found, statement, **more)


def fedavg_of(found: Experiment, more: Mapping[str, float], longer: float = 1.0) -> Experiment:
    """`as_fedavg` with the step size of Theorem C.2 (2) repaired."""
    known: Any = found.algorithm
    return runs.as_fedavg(
        found, steps.step("convex", {**found.values, **more}, longer) / (known.run.local_steps * known.run.global_step)
    )


def _points(clients: int, **more: Any) -> dict[str, Any]:
    return runs.points_of(clients, **{"spread": 0.3, **more})


_RUNS: dict[str, dict[str, Any]] = {
    "40 users, epsilon = 500": {**runs.run_of(_points(40), 40, 1, 800, 0.0, replicates=24), "epsilon": "500"},
    "20 users of 10 records, one at a time, epsilon = 150": {
        **runs.run_of(_points(20, records=10, record_spread=0.05), 20, 1, 1000, 0.0, share=0.1, replicates=24),
        "epsilon": "150",
    },
    "one of eight users, epsilon = 3000": {
        **runs.run_of(_points(8), 1, 1, 2000, 0.0, eta_g=1.0, replicates=24),
        "epsilon": "3000",
    },
}
_NOISY: dict[str, dict[str, Any]] = {
    "300 users, noise leads": {
        **runs.run_of(_points(300, spread=0.0), 300, 1, 200, 0.0, distance=0.1),
        "epsilon": "5.4",
    }
}
_FEW = {**runs.run_of(_points(8, spread=0.0), 8, 1, 1, 0.0, replicates=24), "epsilon": "500"}
_ONE = {**runs.run_of(_points(8, spread=0.0), 1, 1, 7, 0.0, eta_g=1.0, replicates=24), "epsilon": "3000"}
_EDGES: dict[str, tuple[str, dict[str, Any]]] = {
    "just inside delta <= 1/2": ("holds", {**_FEW, "T": 2, "delta": "0.5"}),
    "just outside delta <= 1/2": ("not-applicable", {**_FEW, "T": 2, "delta": "0.505"}),
    "just inside T l/delta >= 2": ("holds", {**_ONE, "delta": "0.4375"}),
    "just outside T l/delta >= 2": ("not-applicable", {**_ONE, "delta": "0.44"}),
}
"""Each with its verdict."""
_LONGER = {"scaffold": 12.0, "fedavg": 3.25}
"""eta~ over the step that balances the bound, where the noise makes most of the excess."""


def private_runs(method: str) -> tuple[Check, ...]:
    """Runs long and quiet enough that standing still would exceed the bound, and one whose noise the users must
    average."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        return runs.claimed(experiment(instance, statement), instance)

    common = {"method": method, "delta": "1e-5"}
    chosen = {name: {**run, **common, "longer": 1.0} for name, run in _RUNS.items()}
    chosen |= {name: {**run, **common, "longer": _LONGER[method]} for name, run in _NOISY.items()}
    edges = {name: {**common, **run, "longer": 1.0} for name, (_, run) in _EDGES.items()}
    short = {**common, **_ONE, "delta": "0.01", "longer": 1.0, "stated": {"T": "7/50"}}
    beyond = ("nu", "C", "G") if method == "fedavg" else ("nu", "C")
    return (
        *checks("monte-carlo", build, chosen),
        *runs.outside(build, chosen["40 users, epsilon = 500"], *beyond),
        *runs.outside(build, {**common, **_ONE, "delta": "0.25", "longer": 1.0}, "l"),
        Check("monte-carlo", "just outside T >= 1", build, short, "not-applicable"),
        *checks("monte-carlo", build, edges, {name: verdict for name, (verdict, _) in _EDGES.items()}),
    )
