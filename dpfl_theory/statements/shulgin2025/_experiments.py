"""Runs for shulgin2025's statements on alpha-NormEC: with server normalisation, memories a share of first gradients.

A run's symbols are taken from the algorithm and the problem (`measured`), so that the hypotheses test the actual run.
The catalogue imports this module to list its statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.error_feedback import InformedNormEC
from dpfl_theory.core import Check, Experiment, Statement, checks
from dpfl_theory.problems import make

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem

__all__ = [
    *("accurate", "accurate_private", "experiment", "first_round", "flat", "flat_and_quiet", "measured", "prescribed"),
    *("private", "runs", "start_of"),
]


def start_of(problem: Problem, distance: float) -> Array:
    """A point at this distance from w* in a fixed direction, for distance 0 the origin."""
    import numpy as np

    if not distance:
        return np.zeros(problem.d)
    assert problem.constants.w_star is not None
    direction = np.random.default_rng(99).standard_normal(problem.d)
    return np.asarray(problem.constants.w_star + distance * direction / np.linalg.norm(direction))


def experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """``cushion``: R over the largest of the first residuals (1 unless given)."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    R = instance.get("cushion", 1.0) * abs(1.0 - instance["share"]) * _first(problem, start)
    alpha = instance["alpha"] * R
    beta = instance["beta"] * (alpha + R)
    gamma = instance["step"] * beta * R / ((alpha + R) * problem.constants.L_max)
    return _run_of(instance, problem, start, instance["share"], R=R, alpha=alpha, beta=beta, gamma=gamma)


def _first(problem: Problem, start: Array) -> float:
    """max_i ||grad f_i(x^0)||."""
    import numpy as np

    return max(float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n))


def _share(R: float, first: float) -> float:
    """A share of the first gradients that leaves the largest residual R."""
    return 1.0 + R / first if first < R else 1.0 - R / first


def measured(problem: Problem, run: InformedNormEC, start: Array, K: int) -> dict[str, float]:
    """The symbols of K + 1 rounds, with the values of the problem and the algorithm, and the largest first residual."""
    c, own = problem.constants, {p.symbol: getattr(run, attribute) for attribute, p in run.parameters.items()}
    values = {
        "gap": problem.value(start) - c.f_star,
        "K": float(K),
        "L": c.L_f,
        "L_max": c.L_max,
        "n": float(problem.n),
        "d": float(problem.d),
        "residual_0": abs(1.0 - own.pop("memory")) * _first(problem, start),
    }
    return {**values, **own}


def _run_of(
    instance: Mapping[str, Any],
    problem: Problem,
    start: Array,
    share: float,
    *,
    alpha: float,
    beta: float,
    gamma: float,
    sigma: float | None = None,
    **more: float,
) -> Experiment:
    """``more``: symbols that a run does not determine, R among them."""
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    K, deviation = int(instance["K"]), float(instance["sigma"] if sigma is None else sigma)
    run = InformedNormEC(gamma=gamma, alpha=alpha, beta=beta, sigma=deviation, memory=share)
    values = {**measured(problem, run, start, K), **more}
    replicates, reach = int(instance.get("replicates", 2048)), Reach.anywhere(problem)
    return Experiment(problem, Simulation(run), K + 1, start, values, replicates, reach, random=deviation > 0.0)


def accurate(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """R = D/sqrt(K + 1), D in units of M = L_max sqrt(2 (f(x^0) - f_inf)/L); alpha in units of R. The step is at
    Corollary 1's limit, or, where ``step`` is 0, that of (12)."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    c, root = problem.constants, math.sqrt(instance["K"] + 1)
    gap = problem.value(start) - c.f_star
    D = instance["D"] * c.L_max * math.sqrt(2 * gap / c.L_f)
    R = D / root
    alpha = instance["alpha"] * R
    beta = instance["beta"] * (alpha + R)
    length = instance["step"] * D * beta / ((alpha + D) * c.L_max) or math.sqrt(2 * gap / c.L_f)
    share = _share(R, _first(problem, start))
    return _run_of(instance, problem, start, share, R=R, alpha=alpha, beta=beta, gamma=length / root, D=D, c=length)


def prescribed(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The repaired (12): alpha = beta = (M + M^2/D)/sqrt(K + 1), R = (D + M)/sqrt(K + 1), D in units of M; with an
    ``R`` in the instance D/sqrt(K + 1), as (12) is restored."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    c, root = problem.constants, math.sqrt(instance["K"] + 1)
    length = math.sqrt(2 * (problem.value(start) - c.f_star) / c.L_f)
    M = c.L_max * length
    D = instance["D"] * M
    R, weight = (D if "R" in instance else D + M) / root, (M + M**2 / D) / root
    share = _share(R, _first(problem, start))
    return _run_of(instance, problem, start, share, R=R, alpha=weight, beta=weight, gamma=length / root, D=D)


def private(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2: as Theorem 2 is run, sigma = c sqrt((K + 1) log(1/delta))/epsilon and beta_0 = beta (K + 1)."""
    quiet = experiment(statement, {**instance, "sigma": 0.0})
    c, epsilon, delta, v = instance["c"], instance["epsilon"], instance["delta"], quiet.values
    sigma = c * math.sqrt((v["K"] + 1) * math.log(1 / delta)) / epsilon
    chosen = {name: v[name] for name in ("R", "alpha", "beta", "gamma")}
    found = _run_of(instance, quiet.problem, quiet.start, instance["share"], sigma=sigma, **chosen)
    more = {"beta_0": v["beta"] * (v["K"] + 1), "c": c, "epsilon": epsilon, "delta": delta}
    return replace(found, values={**found.values, **more})


def accurate_private(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2 at R = alpha = t = (d log(1/delta)/(n epsilon^2))^(1/4), or the multiple ``R`` of it, with the beta_0
    that minimises its bound as K grows."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    c, constants, t, delta, K = instance["c"], problem.constants, instance["t"], instance["delta"], instance["K"]
    gap = problem.value(start) - constants.f_star
    epsilon = math.sqrt(problem.d * math.log(1 / delta) / problem.n) / t**2
    beta_0 = math.sqrt(gap * constants.L_max / c) / t
    sigma, beta = c * math.sqrt((K + 1) * math.log(1 / delta)) / epsilon, beta_0 / (K + 1)
    R = instance.get("R", 1.0) * t
    share, gamma = _share(R, _first(problem, start)), beta / (2 * constants.L_max)
    found = _run_of(instance, problem, start, share, R=R, alpha=R, beta=beta, gamma=gamma, sigma=sigma)
    return replace(found, values={**found.values, "beta_0": beta_0, "c": c, "epsilon": epsilon, "delta": delta})


def flat(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2 on Huber's function of the first of d coordinates. Its slope t = (d log(1/delta)/(n epsilon^2))^(1/4)
    lasts longer than the run; gap = L = c = 1, R = alpha = t, beta_0 = 1/t."""
    n, d, K, t, delta = (instance[name] for name in ("n", "d", "K", "t", "delta"))
    epsilon = math.sqrt(d * math.log(1 / delta) / n) / t**2
    problem, start = _lasting(n, d, t)
    beta = 1 / (t * (K + 1))
    sigma = math.sqrt((K + 1) * math.log(1 / delta)) / epsilon
    found = _run_of(instance, problem, start, 0.0, R=t, alpha=t, beta=beta, gamma=beta / 2, sigma=sigma)
    return replace(found, values={**found.values, "beta_0": 1 / t, "c": 1.0, "epsilon": epsilon, "delta": delta})


def flat_and_quiet(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Corollary 1 on one such function, t = 1/sqrt(K + 1), L = gap = D = alpha = beta = 1, c = 1/2, zero memories."""
    K = instance["K"]
    t = 1 / math.sqrt(K + 1)
    problem, start = _lasting(1, 1, t)
    more = {"R": t, "D": 1.0, "c": 0.5}
    return _run_of(instance, problem, start, 0.0, alpha=1.0, beta=1.0, gamma=t / 2, sigma=0.0, **more)


def _lasting(n: int, d: int, t: float) -> tuple[Problem, Array]:
    """n clients with Huber's function of the first of d coordinates, of slope t, and the point where it is 1."""
    import numpy as np

    from dpfl_theory.problems.data import Dataset
    from dpfl_theory.problems.linear_model import from_dataset

    records = Dataset("one coordinate", np.eye(1, d).repeat(n, axis=0), np.zeros(n), 1)
    problem = from_dataset(records, [np.array([i]) for i in range(n)], "huber", threshold=t)
    return problem, np.eye(1, d)[0] * (1 / t + t / 2)


def first_round(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """One round, of which ||grad f(x^0)|| and ||grad f(x^0) - v^1|| are computed without the engine."""
    import numpy as np

    found = experiment(statement, {**instance, "K": 0})
    v, problem = found.values, found.problem
    gradients = np.array([problem.client_gradient(i, found.start) for i in range(problem.n)])
    missing = (1.0 - instance["share"]) * gradients
    lengths = v["alpha"] + np.linalg.norm(missing, axis=1)
    estimate = (instance["share"] * gradients + v["beta"] * missing / lengths[:, None]).mean(axis=0)
    mean = gradients.mean(axis=0)
    more = {"slope": float(np.linalg.norm(mean)), "error": float(np.linalg.norm(mean - estimate))}
    return replace(found, values={**v, **more})


def runs(
    found: Mapping[str, Mapping[str, Any]],
    build: Callable[[Statement, Mapping[str, Any]], Experiment] = experiment,
    expected: str = "holds",
) -> tuple[Check, ...]:
    """A Monte-Carlo check on each named instance."""
    return checks("monte-carlo", build, found, expected)
