"""The exponents of the repaired Corollary 3.2.1: runs over geometric grids at the way that makes its bound least.

With identical clients and full gradients sigma_l = sigma_g = 0, so that of the bound the initialisation, 4 gap/S, and
the privacy term, of order S d log(1/delta)/(N epsilon)^2, are left, S = eta_g eta_l Q T: at the best S each is half of
it, and the bound is a multiple of sqrt(d log(1/delta))/(N epsilon). A check holds the far end of its grid to the bound
itself, which has no free constant, and fits the slope of ln(mean squared gradient) over ln(letter) with a confidence
interval. Too little decrease alone would refute the rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpfl_theory.statements import rates
from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.formula import evaluate, prescription_of
from dpfl_theory.statements.model import Statement, checks
from dpfl_theory.statements.zhang2021 import theorem3_2
from dpfl_theory.statements.zhang2021._letters import repaired_limits
from dpfl_theory.statements.zhang2021._runs import simulated

__all__ = ["CHECKS", "REGIMES", "at", "best_way", "fitted", "private", "runs_of"]

SEED = 2021
"""Of the fitted runs, which is no check's."""
_THRESHOLD = 4.0


def _regime(letter: str, claimed: str, grid: list[Any], **more: Any) -> dict[str, Any]:
    base = {"epsilon": 2.0, "clients": 160, "P": 20, "dimension": 1, "T": 600, "Q": 1, "delta": 1e-2, "distance": 1.5}
    where = {"letter": letter, "term": "initialisation and privacy", "claimed": claimed, "grid": grid}
    return {**where, **base, "lanes": 160, **more}


REGIMES: tuple[dict[str, Any], ...] = (
    _regime("epsilon", "-1", [0.5, 1.0, 2.0]),
    _regime("N", "-1", [40, 80, 160], Q=2),
    _regime("d", "1/2", [1, 2, 4]),
    _regime("T", "0", [400, 800, 1600]),
)


def at(instance: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The instance with its letter at this value."""
    return {**instance, {"d": "dimension", "N": "clients"}.get(instance["letter"], instance["letter"]): value}


def described(instance: Mapping[str, Any], product: float) -> dict[str, Any]:
    """The run of one point of a grid as `_runs.simulated` takes it, with this share of the largest product eta_g eta_l:
    identical clients, each the mean of the Huber losses of d scaled coordinates, ||x||^2/2 where the run goes."""
    n, d = int(instance["clients"]), int(instance["dimension"])
    problem = {"family": "huber-axes", "parameters": {"clients": n, "dimension": d, "threshold": _THRESHOLD}}
    own = {"eta Q L": "1/1000", "product": product, "c": 1e9, "sigma": 0.0, "sigma_g": 0.0}
    return {**instance, "problem": problem, **own}


def private(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Theorem 3.1's run with the threshold Q G, which no update exceeds, and the noise of the repaired Theorem 3.2.

    instance: as `_runs.simulated`; epsilon, delta; c_prime, over G, where it is not 1."""
    from dpfl_theory.algorithms import Clip
    from dpfl_theory.algorithms.reach import fedavg_reach

    found = simulated(repaired_limits)(statement, instance)
    G, v = found.problem.constants.G_max, dict(found.values)
    c_prime = float(instance.get("c_prime", 1.0)) * G
    values = {**v, "G": G, "c_prime": c_prime, "epsilon": float(instance["epsilon"]), "delta": float(instance["delta"])}
    noise, of = prescription_of(theorem3_2.REPAIRED)["noise_variance"], {**values, "c": v["eta_l"] * v["Q"] * c_prime}
    deviation = math.sqrt(evaluate(noise, of)) / v["eta_l"] / math.sqrt(v["P"])  # of the average, over eta_l
    algorithm: Any = replace(found.algorithm, bounding=Clip(v["Q"] * c_prime), sigma=deviation)  # type: ignore[type-var]
    reach = fedavg_reach(algorithm, found.problem, found.rounds, found.start)
    return replace(found, algorithm=algorithm, values=values, reach=reach, random=True)


def best_way(statement: Statement, values: Mapping[str, float]) -> float:
    """The S = eta_g eta_l Q T at which 4 gap/S and the privacy term, which is proportional to S, are equal."""
    now = values["eta_g"] * values["eta_l"] * values["Q"] * values["T"]
    terms = rates.terms(statement, values)
    return now * math.sqrt(terms["initialisation"] / terms["privacy"])


def runs_of(instance: Mapping[str, Any], statement: Statement) -> list[Experiment]:
    """The run of each point of a grid, at the best way S."""
    found = []
    for value in instance["grid"]:
        one = at(instance, value)
        farthest = private(statement, described(one, 1.0)).values
        way = farthest["eta_g"] * farthest["eta_l"] * farthest["Q"] * farthest["T"]
        found.append(private(statement, described(one, best_way(statement, farthest) / way)))
    return found


def _exponent(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    (last,) = runs_of({**instance, "grid": instance["grid"][-1:]}, statement)
    return replace(last, notes=rates.Fit(lambda: fitted(instance, runs_of(instance, statement), statement)))


CHECKS = checks("monte-carlo", _exponent, {f"exponent of {r['letter']}, identical clients": r for r in REGIMES})


def _squares(run: Experiment) -> Any:
    """The mean over the rounds of ||grad f(x^t)||^2, shape (lanes,)."""
    from dpfl_theory.algorithms import simulate

    name = "gradient-norm-squared"
    done = simulate(run.algorithm, run.problem, run.rounds, run.lanes, SEED, [name], start=run.start, device="cpu")
    return done[name].mean


def fitted(instance: Mapping[str, Any], found: Sequence[Experiment], statement: Statement) -> dict[str, Any]:
    """The slope over the grid with its interval, the bound's own, the least share of the bound that its two terms have,
    the least share of what is left that vanishes with the noise, and the least constant of each bound."""
    import numpy as np

    letters, samples, bounds, shares, vanishing = [], [], [], [], []
    for value, run in zip(instance["grid"], found):
        sample, terms = _squares(run), rates.terms(statement, run.values)
        bound = math.fsum(terms.values())
        letters.append(float(value))
        samples.append(sample)
        bounds.append(bound)
        shares.append((terms["initialisation"] + terms["privacy"]) / bound)
        quiet: Any = run.algorithm
        quiet = replace(run, algorithm=replace(quiet, sigma=0.0), lanes=2)
        vanishing.append(1.0 - float(np.mean(_squares(quiet)) / np.mean(sample)))
    return rates.exponent(instance, letters, samples, bounds, shares, vanishing)
