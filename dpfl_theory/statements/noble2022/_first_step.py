"""One round of one local step from x^0 = x*: the part of Theorems C.1 and C.2 that no constant saves.

The printed right sides of their convex and non-convex parts are 0 there, whatever the constant that O hides. So a
counterexample needs no constant: any noise moves the model. Its only gradients are taken at x*.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Experiment, Statement, Values, WorstCase
from dpfl_theory.semantics.base import expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022._moments import rounds, single_user

__all__ = ["cases", "checks", "performance", "worst"]


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One user, nu = 1, D_0 = F_0 = 0: the error of the step is +xi or -xi, xi^2 <= V = Sigma^2/2.

    A smooth function that is bounded below by F* has F(x) - F* >= ||F'(x)||^2/2 everywhere, convex or not.
    """
    from PEPit import PEP, Expression

    exact, problem = Fraction(str(instance["eta~ nu"])), PEP()
    functions, V, least = declared(problem, instance["class"], 1), Expression(), Expression()
    world = FunctionClass(problem, functions, V)
    functions[0].add_point((world.zero.known, world.zero.known, least))
    algorithm = Scaffold(eta_l=float(exact), eta_g=1.0, K=1)

    def observed() -> Mapping[str, Any]:
        x = world.resolved(run_round(algorithm, world, world.zero, errors=True).x)
        square, excess = world.square(world.gradient(0, x)), world.value(0, x) - least
        problem.add_constraint(square / 2 <= excess)
        return {"excess": excess, "gradient": square}

    side = str(instance["side"])
    values = {**_ONE, "eta_l": exact, "D0": 0, "F0": 0, "Sigma^2": 2 * V, side: expected(world, observed)[side]}
    return WorstCase(problem, values, f"the first step from x*, {instance['class']}, against 0")


_ONE = dict.fromkeys(("K", "M", "l", "s", "R", "T", "eta_g", "c", "nu", "B"), 1) | {"G": 0, "varsigma": 0}


def cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """E||grad F(x^1)||^2 for F(x) = nu x^2/2 near x* and one user, noise of second moment Sigma_g^2/2 in each step, at
    x^0 = x*, in fractions; the instance gives eta~ over its limit."""
    found = []
    for share in map(Fraction, instance["eta~ over its limit"]):
        nu, Sigma = Fraction(2), Fraction(1, 3)
        eta = share / (24 * nu)
        (first,) = rounds(single_user(nu, eta, Fraction(0), Sigma**2 / 2), 1)
        values = {**_ONE, "nu": nu, "Sigma": Sigma, "eta_l": eta, "D0": 0, "F0": 0, "gradient": first.slope_after}
        found.append(Values(values, {"eta~": eta, "nu": nu, "Sigma": Sigma}))
    return found


def worst(side: str, step: str) -> Check:
    """The worst case of the first step; side: ``excess`` or ``gradient``; step: eta~ nu as text."""
    kind = "convex" if side == "excess" else "non-convex"
    instance = {"class": kind, "side": side, "eta~ nu": step}
    return Check("worst-case", "one step from the minimiser, one user", performance, instance, "violated")


def _experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Three users with the same Huber loss, x^0 = x*, T = K = 1: the output is x^1, which has all of the weight."""
    found = runs.experiment(instance)
    more: dict[str, float] = {"c": float(instance["c"])}
    algorithm: Any = found.algorithm
    eta_l = algorithm.run.local_step
    if instance["method"] == "fedavg":
        more |= {"G": runs.dissimilarity(found.problem), "B": 1.0}
        eta_l = 1 / (16 * found.values["nu"] * algorithm.run.global_step)
        found = runs.as_fedavg(found, eta_l)
    return runs.chosen_values(found, statement, **more, eta_l=eta_l)


def checks(side: str, method: str) -> tuple[Check, ...]:
    """The worst case and a run; side: ``excess`` or ``gradient``; method: ``scaffold`` or ``fedavg``."""
    problem = {"family": "points", "parameters": {"clients": 3}}
    step = "1/24" if method == "scaffold" else "1/16"
    run = {**runs.run_of(problem, 3, 1, 1, 0.5, distance=0.0, replicates=128), "method": method, "c": 1e6}
    return (worst(side, step), Check("monte-carlo", "one step from the minimiser", _experiment, run, "violated"))
