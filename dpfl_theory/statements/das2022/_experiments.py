"""How das2022's theorems are run: from an instance (plain data) to a problem, Algorithm 1 and the values of the
symbols.

The number of rounds K is an integer, and gamma is the one for which the statement prescribes it. The noise has Theorem
3's variance; q, epsilon, delta and n enter only through rho.

The catalogue imports this module to list its statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Experiment, Statement, checks
from dpfl_theory.core.inverse import completed
from dpfl_theory.problems import make
from dpfl_theory.statements.das2022.definition2 import DEFINITION2
from dpfl_theory.statements.das2022.run_symbols import excess
from dpfl_theory.statements.das2022.theorem3 import THEOREM3

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem
    from dpfl_theory.simulation import Cohort

_DELTA = 1e-5
"""Where a statement writes rho out: epsilon follows from rho with this delta and q = 1, and only rho matters."""

__all__ = [
    *("alpha_form_experiment", "general_experiment", "isotropic_experiment", "runs", "starting_point"),
    "step_experiment",
]


def starting_point(problem: Problem, distance: float, seed: int = 0) -> Array:
    """A point at the given distance from w* in a random direction (from 0 when there is no w*), shape (d,)."""
    import numpy as np

    w_star = problem.constants.w_star
    direction = np.random.default_rng([seed, 99]).standard_normal(problem.d)
    origin = np.zeros(problem.d) if w_star is None else w_star
    return np.asarray(origin + distance * direction / np.linalg.norm(direction))


def _run(
    problem: Problem, instance: Mapping[str, Any], values: Mapping[str, float], name: str, start: Array
) -> Experiment:
    """Algorithm 1 with these values of the symbols; the noise has Theorem 3's variance."""
    from dpfl_theory.algorithms import get
    from dpfl_theory.algorithms.fedavg import server_noise
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.statements.travel_bound import fedavg_reach

    rounds, sigma = round(values["K"]), math.sqrt(completed((THEOREM3,), values)["noise_variance"])
    run = get(name)(eta=values["eta"], E=int(values["E"]), C=values["C"], sigma=sigma)
    if instance.get("noise") == "average":
        run = run.replaced(noise=server_noise)
    algorithm = Simulation(run, _cohort(instance))
    reach = fedavg_reach(algorithm, problem, rounds, start)
    notes = {} if "limit" not in instance else {"share that the limit drops, rho E/alpha": _dropped(values)}
    return Experiment(
        problem, algorithm, rounds, start, dict(values), int(instance.get("replicates", 2048)), reach, notes
    )


def _dropped(values: Mapping[str, float]) -> float:
    """The part that alpha -> oo drops from Theorem 4's left side, relative to 2: about half of rho E/alpha."""
    return values["rho"] * values["E"] / values["alpha"]


def _symbols(problem: Problem, instance: Mapping[str, Any], start: Array, C_hat: float) -> dict[str, float]:
    """The values of the symbols that every statement of the paper may use."""
    import numpy as np

    c = problem.constants
    E, cohort = int(instance["E"]), _cohort(instance)
    r = cohort.divisor(problem.n)
    values = {
        "rho": float(instance["rho"]),
        "q": 1.0,
        "delta": _DELTA,
        "d": float(problem.d),
        "E": float(E),
        "K": float(int(instance["rounds"])),
        "L": c.L_max,
        "G": c.G_max,
        "C_hat": C_hat,
        "C": C_hat * E,
        "D": math.nan if c.w_star is None else float(np.linalg.norm(start - c.w_star)),
        "Delta": math.nan if c.w_star is None else float(c.delta_i_star.mean()),
        "Delta_max": math.nan if c.w_star is None else float(c.delta_i_star.max()),
        "n": float(problem.n),
        "r": r,
        "kappa": excess(r, problem.n) if cohort.scheme == "poisson" else 0.0,
    }
    return completed((DEFINITION2,), values)  # epsilon


def _start(problem: Problem, instance: Mapping[str, Any]) -> Array:
    """w_0: the instance's point, the origin, or a point at the instance's distance from w*."""
    import numpy as np

    if "point" in instance:
        return np.array(instance["point"], dtype=float)
    if instance.get("start") == "origin":
        return np.zeros(problem.d)
    return starting_point(problem, float(instance["distance"]))


def _cohort(instance: Mapping[str, Any]) -> Cohort:
    from dpfl_theory.simulation import Cohort

    return Cohort(**instance.get("cohort", {"scheme": "full"}))


def _threshold_per_step(problem: Problem, instance: Mapping[str, Any]) -> float:
    """C_hat: the instance's own, or ``margin`` times the least that the theorems allow, 4 sqrt(L max Delta)."""
    if "C_hat" in instance:
        return float(instance["C_hat"])
    c = problem.constants
    return float(instance["margin"]) * 4.0 * math.sqrt(c.L_max * float(c.delta_i_star.max()))


def alpha_form_experiment(statement: Statement, instance: Mapping[str, Any], name: str) -> Experiment:
    """An experiment for a statement with the constant alpha: Theorem 4, its asymptotic forms, and the second parts of
    Theorems 6 and 7.

    instance: problem {family, parameters}; distance ||w_0 - w*||, start "origin" or point w_0; rho, alpha, E, rounds K;
    cohort; noise; replicates; for Theorems 6 and 7 also C_hat, or margin (C_hat over the least that the hypothesis
    allows). Lipschitz forms have C = GE.
    """
    problem = make(instance["problem"]["family"], **instance["problem"].get("parameters", {}))
    start = _start(problem, instance)
    lipschitz = any(symbol.name == "G" for symbol in statement.symbols)
    C_hat = problem.constants.G_max if lipschitz else _threshold_per_step(problem, instance)
    values = _symbols(problem, instance, start, C_hat)
    values["alpha"] = float(instance["alpha"])
    return _run(problem, instance, completed((statement,), values), name, start)


def general_experiment(statement: Statement, instance: Mapping[str, Any], name: str) -> Experiment:
    """An experiment for the first parts of Theorems 6 and 7, where K and gamma are free.

    instance: as for the alpha form, with ``step`` (eta L, below 1/2) in place of alpha.
    """
    problem = make(instance["problem"]["family"], **instance["problem"].get("parameters", {}))
    start = _start(problem, instance)
    values = _symbols(problem, instance, start, _threshold_per_step(problem, instance))
    values["eta"] = float(instance["step"]) / values["L"]
    return _run(problem, instance, completed((statement,), values), name, start)


def isotropic_experiment(statement: Statement, instance: Mapping[str, Any], name: str) -> Experiment:
    """As `general_experiment`, for clients ``(L/2)||w - m_i||^2 + b_i`` whose updates are never as long as C, and
    cohorts of exactly r of n clients, so that the mean gap is known: with s = (1 - eta L)^E, ``w_{k+1} - w* = s (w_k -
    w*) + (1 - s)(mean of the cohort's m_i - w*) - eta zeta_k``. The cohort's mean has the variance of the m_i, 2
    Delta/L, times (n - r)/(r (n - 1))."""
    found = general_experiment(statement, instance, name)
    v = found.values
    s, noise = (1.0 - v["eta"] * v["L"]) ** v["E"], (v["eta"] * v["C"] * v["rho"]) ** 2 * v["K"]
    drawn = 2.0 * v["Delta"] / v["L"] * (v["n"] - v["r"]) / (v["r"] * max(v["n"] - 1.0, 1.0))
    square, total = v["D"] ** 2, 0.0
    for _ in range(found.rounds):
        total, square = total + square, s**2 * square + (1.0 - s) ** 2 * drawn + noise
    gap = 0.5 * v["L"] * total / found.rounds
    return replace(found, known={"unclipped-gap": gap, "clipped-length": 0.0, "unclipped-heterogeneity": v["Delta"]})


def step_experiment(statement: Statement, instance: Mapping[str, Any], name: str) -> Experiment:
    """An experiment for a step of the proofs of Theorems 6 and 7, where eta is any step size that the step allows.

    instance: as for `general_experiment`; nothing is prescribed.
    """
    problem = make(instance["problem"]["family"], **instance["problem"].get("parameters", {}))
    start = _start(problem, instance)
    values = _symbols(problem, instance, start, _threshold_per_step(problem, instance))
    values["eta"] = float(instance["step"]) / values["L"]
    return _run(problem, instance, values, name, start)


def runs(
    name: str,
    found: Mapping[str, Mapping[str, Any]],
    verdict: str = "holds",
    experiment: Callable[[Statement, Mapping[str, Any], str], Experiment] = alpha_form_experiment,
) -> tuple[Check, ...]:
    """A Monte-Carlo check on each named instance: runs of the algorithm of this name, and the expected verdict."""
    return checks("monte-carlo", lambda statement, i: experiment(statement, i, name), found, verdict)
