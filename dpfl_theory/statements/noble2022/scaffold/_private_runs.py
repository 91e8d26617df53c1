"""DP-SCAFFOLD-warm and DP-FedAvg at Theorem 4.2's noise scale sigma_g*, with the step sizes of the proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Experiment, Statement, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.statements import experiments
from dpfl_theory.statements.instances import Instance
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _step_size as steps
from dpfl_theory.statements.noble2022._instances import points_of, run_of
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8

CONSTANTS = {"scaffold": 102.0, "fedavg": 12.0}
"""Constants that serve in Theorem 4.2: its algebra checks derive them."""
_LONGER = {"scaffold": 12.0, "fedavg": 3.25}
"""eta~ over the step that balances the bound, where the noise makes most of the excess."""


def experiment(instance: Mapping[str, Any], statement: Statement) -> Experiment:
    """A run at sigma_g*, with B = 1 and G from the users' gradients; ``c`` of the instance, else one that serves.

    ``longer`` of the instance multiplies the step that balances the bound, still at most the limit: the theorem says
    that some step sizes serve.
    """
    problem, method = experiments.problem_of(instance, runs.FAMILIES), instance["method"]
    budget = {"epsilon": float(instance["epsilon"]), "delta": float(instance["delta"])}
    at = {**budget, "s": float(instance["share"]), "l": int(instance["size"]) / problem.n, "M": float(problem.n)}
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
    if method == "fedavg":  # the step size of Theorem C.2 (2) repaired
        known: Any = found.algorithm
        eta = steps.step("convex", {**found.values, **more}, longer)
        found = runs.as_fedavg(found, eta / (known.run.local_steps * known.run.global_step))
    return runs.chosen_values(found, statement, **more)


def private_runs(method: str) -> tuple[Check, ...]:
    """The runs of Theorem 4.2, long and quiet enough that standing still would exceed the bound, and one whose noise
    the users must average; and those just outside its hypotheses. method: ``scaffold`` or ``fedavg``."""
    common = {"method": method, "delta": "1e-5", "longer": 1.0}

    def run(epsilon: str, users: Instance, size: int, T: int, **more: Any) -> Instance:
        return {**common, **run_of(users, size, 1, T, 0.0, **more), "epsilon": epsilon}

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        return runs.claimed(experiment(instance, statement), instance)

    apart, few = {"spread": 0.3}, {"replicates": 24}
    records = points_of(20, **apart, records=10, record_spread=0.05)
    quiet = run("500", points_of(40, **apart), 40, 800, **few)
    two = run("500", points_of(8, spread=0.0), 8, 2, **few)
    one = run("3000", points_of(8, spread=0.0), 1, 7, eta_g=1.0, **few)
    noisy = run("5.4", points_of(300, spread=0.0), 300, 200, distance=0.1)
    chosen = {
        "40 users, epsilon = 500": quiet,
        "20 users of 10 records, one at a time, epsilon = 150": run("150", records, 20, 1000, share=0.1, **few),
        "one of eight users, epsilon = 3000": run("3000", points_of(8, **apart), 1, 2000, eta_g=1.0, **few),
        "300 users, noise leads": {**noisy, "longer": _LONGER[method]},
        "just inside delta <= 1/2": {**two, "delta": "0.5"},
        "just inside T l/delta >= 2": {**one, "delta": "0.4375"},
    }
    outside = {
        "nu-smooth F_i": {**quiet, "constants": {"nu": 0.99}},
        "gradients of at most C": {**quiet, "constants": {"C": 0.99}},
        "dissimilarity (G, B)": {**quiet, "constants": {"G": 0.99}},
        "lM >= 1": {**one, "delta": "0.25", "constants": {"l": 0.98}},
        "T >= 1": {**one, "delta": "0.01", "stated": {"T": "7/50"}},
        "delta <= 1/2": {**two, "delta": "0.505"},
        "T l/delta >= 2": {**one, "delta": "0.44"},
    }
    if method == "scaffold":  # no dissimilarity is assumed
        del outside["dissimilarity (G, B)"]
    beyond = {f"just outside {name}": instance for name, instance in outside.items()}
    return checks("monte-carlo", build, chosen) + checks("monte-carlo", build, beyond, "not-applicable")
