"""How shulgin2025's statements are run: alpha-NormEC, with server normalisation, and Clip21.

The memories are a share of the first gradients. A run's symbols are taken from the algorithm and the problem
(`measured`), so that the hypotheses test the actual run.

Exponents of Corollaries 1 and 2 are fitted over geometric grids on which all terms but the curvature's have one order.
Let R and alpha be multiples of t = (d log(1/delta)/(n epsilon^2))^(1/4), with the best beta_0. Then the other three
terms of Corollary 2 are multiples of t; those of Corollary 1 are multiples of 1/sqrt(K + 1) for fixed R, c and D. A
check compares the far end of its grid with the bound itself, which has no free constant. It fits the slope of ln(min_k
E||grad f(x^k)||) over ln(symbol) with a confidence interval. Only too little decrease would refute the order: functions
with the same symbols, whose slope lasts, have exactly the claimed exponents, and others may fall faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.error_feedback import InformedClip21, InformedNormEC
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.lazy import numpy as np
from dpfl_theory.statements import experiments, rates
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.shulgin2025._instances import ONE_ROUND, TABLE, chosen, quadratics
from dpfl_theory.statements.shulgin2025._line import one_round
from dpfl_theory.statements.shulgin2025.run_symbols import NORM_EC, longest_gradient

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem


def _setting(instance: Mapping[str, Any]) -> tuple[Problem, Array, float, float]:
    """The problem, the start, f(x^0) - f_inf and max_i ||grad f_i(x^0)||."""
    problem = experiments.problem_of(instance, {"diagonal": _diagonal})
    start = experiments.start_of(problem, instance if instance["distance"] else {"start": "origin"}, 99)
    gap = problem.value(start) - problem.constants.f_star
    return problem, start, gap, longest_gradient(problem, start)


def _share(R: float, first: float) -> float:
    """A share of the first gradients that leaves the largest residual R."""
    return 1.0 + R / first if first < R else 1.0 - R / first


def measured(problem: Problem, run: InformedNormEC, start: Array, K: int) -> dict[str, float]:
    """The symbols of K + 1 rounds of the algorithm on the problem, and the largest first residual."""
    own = {p.symbol: getattr(run, attribute) for attribute, p in run.parameters.items()}
    values = experiments.measured(NORM_EC, problem, start, K + 1, experiments.cohort_of({}), own)
    del values["R"]
    return {**values, "residual_0": abs(1.0 - run.memory) * values["residual_0"]}


def _run_of(instance: Mapping[str, Any], problem: Problem, start: Array, share: float, **own: float) -> Experiment:
    """``own``: alpha, beta, gamma, sigma unless it is the instance's, and symbols that a run does not determine."""
    K, sigma = int(instance["K"]), float(own.pop("sigma", instance.get("sigma", 0.0)))
    alpha, beta, gamma = (own.pop(name) for name in ("alpha", "beta", "gamma"))
    run = InformedNormEC(gamma=gamma, alpha=alpha, beta=beta, sigma=sigma, memory=share)
    values = {**measured(problem, run, start, K), **own}
    return experiments.experiment(run, problem, start, K + 1, values, instance)


def experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Theorems 1 and 2. ``cushion``: R over the largest of the first residuals (1 unless given)."""
    problem, start, _gap, first = _setting(instance)
    R = instance.get("cushion", 1.0) * abs(1.0 - instance["share"]) * first
    return _run_of(instance, problem, start, instance["share"], **chosen(instance, R, problem.constants.L_max))


def accurate(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """R = D/sqrt(K + 1), D in units of M = L_max sqrt(2 (f(x^0) - f_inf)/L); alpha in units of R. The step is at
    Corollary 1's limit, or, where ``step`` is 0, that of (12)."""
    problem, start, gap, first = _setting(instance)
    c, root = problem.constants, math.sqrt(instance["K"] + 1)
    D = instance["D"] * c.L_max * math.sqrt(2 * gap / c.L_f)
    own = chosen(instance, D / root, c.L_max)
    length = instance["step"] * D * own["beta"] / ((own["alpha"] + D) * c.L_max) or math.sqrt(2 * gap / c.L_f)
    own |= {"gamma": length / root, "D": D, "c": length}
    return _run_of(instance, problem, start, _share(own["R"], first), **own)


def prescribed(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The repaired (12): alpha = beta = (M + M^2/D)/sqrt(K + 1), R = (D + M)/sqrt(K + 1), D in units of M; with an
    ``R`` in the instance D/sqrt(K + 1), as (12) is restored."""
    problem, start, gap, first = _setting(instance)
    c, root = problem.constants, math.sqrt(instance["K"] + 1)
    length = math.sqrt(2 * gap / c.L_f)
    M = c.L_max * length
    D = instance["D"] * M
    R, weight = (D if "R" in instance else D + M) / root, (M + M**2 / D) / root
    own = {"R": R, "alpha": weight, "beta": weight, "gamma": length / root, "D": D}
    return _run_of(instance, problem, start, _share(R, first), **own)


def private(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2: as Theorem 2 is run, sigma = c sqrt((K + 1) log(1/delta))/epsilon and beta_0 = beta (K + 1)."""
    quiet = experiment(statement, {**instance, "sigma": 0.0})
    c, epsilon, v = instance["c"], instance["epsilon"], quiet.values
    sigma = c * math.sqrt((v["K"] + 1) * math.log(1 / instance["delta"])) / epsilon
    chosen = {name: v[name] for name in ("R", "alpha", "beta", "gamma")}
    found = _run_of(instance, quiet.problem, quiet.start, instance["share"], sigma=sigma, **chosen)
    budget = {"delta": instance["delta"], "beta_0": v["beta"] * (v["K"] + 1), "c": c, "epsilon": epsilon}
    return replace(found, values={**found.values, **budget})


def accurate_private(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2 at R = alpha = t = (d log(1/delta)/(n epsilon^2))^(1/4), or the multiple ``R`` of it, with the beta_0
    that minimises its bound as K grows."""
    problem, start, gap, first = _setting(instance)
    c, L_max, t, K, delta = instance["c"], problem.constants.L_max, *(instance[name] for name in ("t", "K", "delta"))
    log = math.log(1 / delta)
    epsilon, beta_0 = math.sqrt(problem.d * log / problem.n) / t**2, math.sqrt(gap * L_max / c) / t
    sigma, beta, R = c * math.sqrt((K + 1) * log) / epsilon, beta_0 / (K + 1), instance.get("R", 1.0) * t
    own = {"R": R, "alpha": R, "beta": beta, "gamma": beta / (2 * L_max), "sigma": sigma}
    own |= {"delta": delta, "beta_0": beta_0, "c": c, "epsilon": epsilon}
    return _run_of(instance, problem, start, _share(R, first), **own)


def flat(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2 on Huber's function of the first of d coordinates. Its slope t = (d log(1/delta)/(n epsilon^2))^(1/4)
    lasts longer than the run; gap = L = c = 1, R = alpha = t, beta_0 = 1/t."""
    n, d, K, t, delta = (instance[name] for name in ("n", "d", "K", "t", "delta"))
    log = math.log(1 / delta)
    epsilon, beta = math.sqrt(d * log / n) / t**2, 1 / (t * (K + 1))
    own = {"R": t, "alpha": t, "beta": beta, "gamma": beta / 2, "sigma": math.sqrt((K + 1) * log) / epsilon}
    own |= {"delta": delta, "beta_0": 1 / t, "c": 1.0, "epsilon": epsilon}
    return _run_of(instance, *_lasting(n, d, t), 0.0, **own)


def flat_and_quiet(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 1 on one such function, t = 1/sqrt(K + 1), L = gap = D = alpha = beta = 1, c = 1/2, zero memories."""
    t = 1 / math.sqrt(instance["K"] + 1)
    own = {"alpha": 1.0, "beta": 1.0, "gamma": t / 2, "R": t, "D": 1.0, "c": 0.5}
    problem, start = _lasting(1, 1, t)
    return _run_of(instance, problem, start, 0.0, **own)


def _diagonal(curvatures: Sequence[float]) -> Problem:
    """One client with these curvatures along the axes, and its minimiser at 0."""
    from dpfl_theory.problems.quadratic import from_matrices

    return from_matrices(np.diag(curvatures)[None], np.zeros((1, len(curvatures))))


def _lasting(n: int, d: int, t: float) -> tuple[Problem, Array]:
    """n clients with Huber's function of the first of d coordinates, of slope t, and the point where it is 1."""
    from dpfl_theory.problems.data import Dataset
    from dpfl_theory.problems.linear_model import from_dataset

    records = Dataset("one coordinate", np.eye(1, d).repeat(n, axis=0), np.zeros(n), 1)
    problem = from_dataset(records, [np.array([i]) for i in range(n)], "huber", threshold=t)
    return problem, np.eye(1, d)[0] * (1 / t + t / 2)


def _first_round(problem: Problem, start: Array, share: float, sent: Callable[..., Array]) -> dict[str, float]:
    """||grad f(x^0)||, ||v^1|| and ||grad f(x^0) - v^1|| without the engine; sent: the messages, from the residuals
    and their lengths."""
    gradients = np.array([problem.client_gradient(i, start) for i in range(problem.n)])
    missing = (1.0 - share) * gradients
    estimate = (share * gradients + sent(missing, np.linalg.norm(missing, axis=1)[:, None])).mean(axis=0)
    mean = gradients.mean(axis=0)
    vectors = {"slope": mean, "estimate": estimate, "error": estimate - mean}
    return {name: float(np.linalg.norm(vector)) for name, vector in vectors.items()}


def first_round(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """One round of alpha-NormEC."""
    found = experiment(statement, {**instance, "K": 0})
    v, share = found.values, instance["share"]
    own = _first_round(found.problem, found.start, share, lambda e, r: v["beta"] * e / (v["alpha"] + r))
    return replace(found, values={**v, "slope": own["slope"], "error": own["error"]})


def clip21(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """K + 1 rounds of Clip21."""
    problem, start, gap, first = _setting(instance)
    c, share = problem.constants, instance["share"]
    R = abs(1.0 - share) * first
    tau, gamma = instance["tau"] * (R or first), instance["step"] / c.L_f
    if instance.get("inactive"):
        gamma = min(gamma, instance["step"] * tau / (c.L_max * math.sqrt(2 * c.L_f * gap)))
    run = InformedClip21(gamma=gamma, tau=tau, sigma=0.0, memory=share)
    values = {"gap": gap, "L": c.L_f, "L_max": c.L_max, "K": float(instance["K"]), "gamma": run.step}
    values |= {"tau": run.threshold, "sigma": run.sigma, "R": R, "residual_0": abs(1.0 - run.memory) * first}
    values |= _first_round(problem, start, share, lambda e, r: np.minimum(1.0, tau / np.where(r > 0.0, r, tau)) * e)
    return experiments.experiment(run, problem, start, int(instance["K"]) + 1, values, instance)


SEED = 2025
"""The seed of the fitted runs, which no check uses."""


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
        return accurate(statement, {**instance, **own})
    if instance["family"] == "slopes that last, no noise":
        return flat_and_quiet(statement, instance)
    n, d = int(instance["n"]), int(instance["d"])
    t = (d * math.log(1 / instance["delta"]) / (n * float(instance["epsilon"]) ** 2)) ** 0.25
    if instance["family"] == "slopes that last":
        return flat(statement, {**instance, "t": t})
    return accurate_private(statement, {**instance, "problem": quadratics(1.0, 0.0, clients=n, dimension=d), "t": t})


def fit(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of the grid's far end, with notes on the whole grid."""
    *_, last = grid = [with_symbol(instance, value) for value in instance["grid"]]
    notes = rates.Fit(lambda: fitted(instance, [build_one(statement, one) for one in grid], statement))
    return replace(build_one(statement, last), notes=notes)


def least(run: Experiment) -> Any:
    """||grad f(x^k)|| in the round with the least mean, shape (replicates,): with noise a third of the replicates
    choose the round, and the others are returned."""
    from dpfl_theory.simulation import simulate

    replicates = run.replicates if run.random else 2
    kept: dict[str, Any] = {"start": run.start, "series": True, "device": "cpu"}
    done = simulate(run.algorithm, run.problem, run.rounds, replicates, SEED, ["gradient-norm"], **kept)
    values = done["gradient-norm"].every_round[: run.rounds]
    if not run.random:
        return values.min(axis=0)
    choosing = replicates // 3
    return values[int(values[:, :choosing].mean(axis=1).argmin()), choosing:]


def fitted(instance: Mapping[str, Any], found: Sequence[Experiment], statement: Statement) -> dict[str, Any]:
    """Notes on one grid: all terms but the curvature's, and where noise contributes, what vanishes with it."""
    quiet = partial(experiments.without_noise, random=False) if instance["family"] == "isotropic quadratics" else None

    def share(terms: Mapping[str, float], bound: float) -> float:
        left_out = 0.0 if instance["term"] == "all three" else terms["curvature"]
        return math.fsum((*terms.values(), -left_out)) / bound

    return rates.fitted(statement, instance, found, least, share, quiet)


NORMALISE = Runs(TABLE, experiment, edges=False)
"""Runs of alpha-NormEC."""
ROUND = Runs(ONE_ROUND, one_round, "exact")
"""One round, just inside and just outside each hypothesis."""
