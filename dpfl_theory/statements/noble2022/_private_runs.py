"""DP-SCAFFOLD-warm and DP-FedAvg at Theorem 4.2's noise scale sigma_g*, with the step sizes of the proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.formula import evaluate, prescription_of
from dpfl_theory.statements.model import Check, Statement, checks
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022.fedavg import _step_size as steps
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8

__all__ = ["CONSTANTS", "experiment", "fedavg_of", "private_runs"]

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
        found, steps.step("convex", {**found.values, **more}, longer) / (known.local_steps * known.global_step)
    )


def _points(clients: int, **more: Any) -> dict[str, Any]:
    return runs.points_of(clients, **{"spread": 0.3, **more})


_RUNS: dict[str, dict[str, Any]] = {
    "40 users, epsilon = 500": {**runs.run_of(_points(40), 40, 1, 800, 0.0, lanes=24), "epsilon": "500"},
    "20 users of 10 records, one at a time, epsilon = 150": {
        **runs.run_of(_points(20, records=10, record_spread=0.05), 20, 1, 1000, 0.0, share=0.1, lanes=24),
        "epsilon": "150",
    },
    "one of eight users, epsilon = 3000": {
        **runs.run_of(_points(8), 1, 1, 2000, 0.0, eta_g=1.0, lanes=24),
        "epsilon": "3000",
    },
}
_NOISY: dict[str, dict[str, Any]] = {
    "300 users, noise leads": {
        **runs.run_of(_points(300, spread=0.0), 300, 1, 200, 0.0, distance=0.1),
        "epsilon": "5.4",
    },
}
_FEW = {**runs.run_of(_points(8, spread=0.0), 8, 1, 1, 0.0, lanes=24), "epsilon": "500"}
_ONE = {**runs.run_of(_points(8, spread=0.0), 1, 1, 7, 0.0, eta_g=1.0, lanes=24), "epsilon": "3000"}
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
