"""Runs of Theorems C.1 (1) and C.2 (1) as printed, at a number of rounds at which their floor does not show yet.

What refutes them is a distance from x* that no constant step gets rid of, far below what a simulation can see next to
the noise term. These runs say that with the constant c = 1 the printed bounds are no worse than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.noble2022 import _explicit_runs as runs

__all__ = ["checks"]

CONSTANT = 1.0


def _experiment(method: str) -> Callable[[Statement, Mapping[str, Any]], Experiment]:
    """The weighted mean with weights (1 - mu eta~/2)^{-t} and the printed step sizes: of x^0, ..., x^{T-1} for
    DP-SCAFFOLD-warm, whose first round stays at x^0, of x^1, ..., x^T for DP-FedAvg."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dpfl_theory.algorithms.average import WeightedAverage

        mu = float(instance["problem"]["parameters"]["ridge"])
        found = runs.experiment(instance)
        v: dict[str, float] = {
            **found.values,
            "mu": mu,
            "c": CONSTANT,
            "G": runs.dissimilarity(found.problem),
            "B": 1.0,
        }
        limits = {"scaffold": min(v["l"] ** (2 / 3) / (24 * v["nu"]), v["l"] / (54 * mu)), "fedavg": 1 / (16 * v["nu"])}
        eta = limits[method]
        eta_l = eta / (v["K"] * v["eta_g"])
        known: Any = found.algorithm
        chosen = replace(found, algorithm=replace(known, local_step=eta_l))
        if method == "fedavg":
            chosen = runs.as_fedavg(found, eta_l)
        weighted = WeightedAverage(chosen.algorithm, 1 - mu * eta / 2)
        run = replace(found, algorithm=weighted, rounds=int(v["T"]), values=v)
        return runs.chosen_values(run, statement, c=CONSTANT, eta_l=eta_l, mu=mu, G=v["G"], B=1.0)

    return build


def checks(method: str) -> tuple[Check, ...]:
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
