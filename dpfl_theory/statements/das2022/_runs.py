"""How das2022's statements are run: from an instance of the table to a problem, Algorithm 1 and the symbols' values.

The number of rounds K is an integer, and gamma is the one for which the statement prescribes it. The noise has Theorem
3's variance; q, epsilon, delta and n enter only through rho.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms import get
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.core.inverse import completed
from dpfl_theory.statements import experiments
from dpfl_theory.statements.das2022._instances import TABLE
from dpfl_theory.statements.das2022.definition2 import DEFINITION2
from dpfl_theory.statements.das2022.run_symbols import CLIPPED
from dpfl_theory.statements.das2022.theorem3 import THEOREM3
from dpfl_theory.statements.instances import Runs

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_OPEN = {"q": 1.0, "delta": 1e-5}
"""Where a statement writes rho out: epsilon follows from rho with these, and only rho matters."""


def experiment(statement: Statement, instance: Mapping[str, Any], algorithm: str = "dp-fedavg") -> Experiment:
    """A run of the algorithm of this name. A statement with alpha gets the instance's; in others eta is ``step``/L."""
    problem = experiments.problem_of(instance)
    start, cohort = experiments.start_of(problem, instance, [0, 99]), experiments.cohort_of(instance)
    rounds, E, symbols = int(instance["rounds"]), int(instance["E"]), {s.name for s in statement.symbols}
    C_hat = problem.constants.G_max if "G" in symbols else _threshold_per_step(problem, instance)
    values = experiments.measured(CLIPPED, problem, start, rounds, cohort, {"E": E})
    values |= {"G": problem.constants.G_max, "C_hat": C_hat, "C": C_hat * E, "rho": float(instance["rho"]), **_OPEN}
    values = completed((DEFINITION2,), values)  # epsilon
    chosen = {"alpha": instance["alpha"]} if "alpha" in symbols else {"eta": instance["step"] / values["L"]}
    values = completed((statement,), values | chosen)
    sigma = math.sqrt(completed((THEOREM3,), values)["noise_variance"])
    run = get(algorithm)(eta=values["eta"], E=E, C=values["C"], sigma=sigma)
    dropped = {"share that the limit drops, rho E/alpha": values["rho"] * E / values.get("alpha", math.inf)}
    notes = dropped if "limit" in instance else {}
    return experiments.experiment(run, problem, start, rounds, values, instance, notes=notes)


def _threshold_per_step(problem: Problem, instance: Mapping[str, Any]) -> float:
    """C_hat: the instance's own, or ``margin`` times the least that the theorems allow, 4 sqrt(L max Delta)."""
    if "C_hat" in instance:
        return float(instance["C_hat"])
    c = problem.constants
    return float(instance["margin"]) * 4.0 * math.sqrt(c.L_max * float(c.delta_i_star.max()))


def isotropic(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """A run on clients ``(L/2)||w - m_i||^2 + b_i`` whose updates are never as long as C, with cohorts of exactly r of
    n clients, so that the mean gap is known.

    With s = (1 - eta L)^E, ``w_{k+1} - w* = s (w_k - w*) + (1 - s)(mean of the cohort's m_i - w*) - eta zeta_k``. The
    cohort's mean has the variance of the m_i, 2 Delta/L, times (n - r)/(r (n - 1)).
    """
    found = experiment(statement, instance)
    v = found.values
    s, noise = (1.0 - v["eta"] * v["L"]) ** v["E"], (v["eta"] * v["C"] * v["rho"]) ** 2 * v["K"]
    drawn = 2.0 * v["Delta"] / v["L"] * (v["n"] - v["r"]) / (v["r"] * max(v["n"] - 1.0, 1.0))
    square, total = v["D"] ** 2, 0.0
    for _ in range(found.rounds):
        total, square = total + square, s**2 * square + (1.0 - s) ** 2 * drawn + noise
    gap = 0.5 * v["L"] * total / found.rounds
    return replace(found, known={"unclipped-gap": gap, "clipped-length": 0.0, "unclipped-heterogeneity": v["Delta"]})


CLIP = Runs(TABLE, experiment)
"""Runs of DP-FedAvg with clipping."""
NORMALISE = Runs(TABLE, partial(experiment, algorithm="dp-normfedavg"))
"""Runs of DP-NormFedAvg."""
