"""The exponents of Corollaries 1 and 2: runs over geometric grids with every term but the curvature's of one order.

Let R and alpha be multiples of t = (d log(1/delta)/(n epsilon^2))^(1/4), with the best beta_0. Then the other three
terms of Corollary 2 are multiples of t. Those of Corollary 1 are multiples of 1/sqrt(K + 1), where R, c and D are
fixed. A check compares the far end of its grid with the bound itself, which has no free constant. It fits the slope of
ln(min_k E||grad f(x^k)||) over ln(symbol) with a confidence interval. Only too little decrease would refute the order:
functions with the same symbols, whose slope lasts, have exactly the claimed exponents, and others may fall faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Experiment, Statement
from dpfl_theory.statements import rates
from dpfl_theory.statements.shulgin2025 import _runs as experiments
from dpfl_theory.statements.shulgin2025._instances import quadratics

SEED = 2025
"""The seed of the fitted runs, which no check uses."""
_CHOOSING = 3
"""One replicate in this number chooses the round whose expectation the others estimate."""


def with_symbol(instance: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The instance with its symbol at this value."""
    symbol = instance["symbol"]
    return {**instance, "K": value - 1} if symbol == "K + 1" else {**instance, symbol: value}


def build_one(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of one point of a grid."""
    if instance["family"] == "quadratics":
        # Corollary 1's c is one number for all K where alpha and beta are: in units of R and alpha + R they are not.
        alpha = instance["alpha over D"] * math.sqrt(instance["K"] + 1)
        own = {"problem": quadratics(), "sigma": 0.0, "alpha": alpha, "beta": alpha / (alpha + 1.0)}
        return experiments.accurate(statement, {**instance, **own})
    if instance["family"] == "slopes that last, no noise":
        return experiments.flat_and_quiet(statement, instance)
    n, d = int(instance["n"]), int(instance["d"])
    t = (d * math.log(1 / instance["delta"]) / (n * float(instance["epsilon"]) ** 2)) ** 0.25
    if instance["family"] == "slopes that last":
        return experiments.flat(statement, {**instance, "t": t})
    problem = quadratics(1.0, 0.0, clients=n, dimension=d)
    return experiments.accurate_private(statement, {**instance, "problem": problem, "t": t})


def fit(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of the grid's far end, with notes on the whole grid."""

    def notes() -> dict[str, Any]:
        found = [build_one(statement, with_symbol(instance, value)) for value in instance["grid"]]
        return fitted(instance, found, statement)

    return replace(build_one(statement, with_symbol(instance, instance["grid"][-1])), notes=rates.Fit(notes))


def _least(run: Experiment) -> Any:
    """||grad f(x^k)|| in the round with the least mean, shape (replicates,): with noise some replicates choose the
    round, and the others are returned."""
    from dpfl_theory.simulation import simulate

    replicates = run.replicates if run.random else 2
    kept: dict[str, Any] = {"start": run.start, "series": True, "device": "cpu"}
    done = simulate(run.algorithm, run.problem, run.rounds, replicates, SEED, ["gradient-norm"], **kept)
    values = done["gradient-norm"].every_round[: run.rounds]
    if not run.random:
        return values.min(axis=0)
    choosing = replicates // _CHOOSING
    return values[int(values[:, :choosing].mean(axis=1).argmin()), choosing:]


def without_noise(run: Experiment) -> Experiment:
    """The same steps, and messages that the server receives without noise."""
    known: Any = run.algorithm
    return replace(run, algorithm=known.with_values(sigma=0.0), random=False)


def fitted(instance: Mapping[str, Any], found: Sequence[Experiment], statement: Statement) -> dict[str, Any]:
    """Notes on one grid: the slope with its interval, the bound's own slope, and the least constant of each bound.

    Also the named terms' least share of the bound, and the least share of the remaining gradient that vanishes with the
    noise (where noise contributes)."""
    import numpy as np

    samples, terms = [_least(run) for run in found], [rates.terms(statement, run.values) for run in found]
    bounds = [math.fsum(one.values()) for one in terms]
    every = instance["term"] == "all three"
    shares = [1.0 if every else 1.0 - one["curvature"] / bound for one, bound in zip(terms, bounds)]
    vanishing = [
        1.0 - float(np.mean(_least(without_noise(run))) / np.mean(sample))
        for run, sample in zip(found, samples)
        if instance["family"] == "isotropic quadratics"
    ]
    return rates.exponent(instance, [float(v) for v in instance["grid"]], samples, bounds, shares, vanishing)
