"""Runs behind hou2023's observations: two choices of local steps or iterations against each other, with clipping.

Both runs have the same problem, threshold and privacy, and each has the noise that Lemma 1 prescribes for its own
number of communications. The catalogue imports this module to list its statements, so NumPy and the algorithms are
imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.problems import make
from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.formula import Letters
from dpfl_theory.statements.model import Check, Expected, Sides, Statement

if TYPE_CHECKING:
    from dpfl_theory.algorithms import Algorithm

__all__ = ["ERRORS", "compared", "duel", "sides"]

ERRORS = (
    Expected(
        "E_error",
        (("suboptimality", 1),),
        (1, 0),
        r"\mathbb{E}[f(x_T) - f(x^*)]",
        "expected error at the end of the run with the better choice",
        when="end",
    ),
    Expected(
        "E_rival_error",
        (("suboptimality", 1),),
        (1, 0),
        r"\mathbb{E}[f(x'_{T'}) - f(x^*)]",
        "expected error at the end of the run with the other choice",
        when="end",
        rival=True,
    ),
)

_PROBLEM = {"clients": 8, "dimension": 3, "condition": 20.0, "heterogeneity": 0.3, "seed": 3}


def sides(s: Letters) -> Sides:
    """The better choice's error against the other one's."""
    return Sides(lhs={"better choice": s.E_error}, rhs={"other choice": s.E_rival_error})


def duel(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of (tau, T) against that of ``against``; C over ||x_0 - x*||, unit: v ln(1/delta)/epsilon^2.

    eta = 1/L; DP-FedAvg has T/tau rounds, DP-ScaffNew T iterations with p = 1/tau.
    """
    import numpy as np

    problem = make("quadratic", **_PROBLEM)
    c = problem.constants
    assert c.w_star is not None
    direction = np.random.default_rng(99).standard_normal(problem.d)
    start = c.w_star + direction / np.linalg.norm(direction)
    values = {"C": float(instance["C"]), "unit": float(instance["unit"])}

    def run(tau: int, T: int, rival: Experiment | None = None) -> Experiment:
        sigma = values["C"] * math.sqrt(values["unit"] * T / tau)
        algorithm, rounds = _algorithm(str(instance["algorithm"]), 1.0 / c.L_max, tau, T, values["C"], sigma)
        return Experiment(problem, algorithm, rounds, start, values, int(instance["lanes"]), rival=rival)

    (tau, T), against = instance["choice"], instance["against"]
    return run(tau, T, rival=run(*against))


def _algorithm(name: str, eta: float, tau: int, T: int, C: float, sigma: float) -> tuple[Algorithm, int]:
    from dpfl_theory.algorithms import ScaffNew
    from dpfl_theory.algorithms.two_sided import TwoSidedFedAvg

    if name == "dp-scaffnew":
        return ScaffNew(eta, 1.0 / tau, C, sigma), T
    return TwoSidedFedAvg(eta, local_steps=tau, threshold=C, sigma=sigma), T // tau


def compared(
    algorithm: str,
    choice: tuple[int, int],
    others: tuple[tuple[int, int], ...],
    settings: Mapping[str, tuple[Any, Any]],
) -> Iterator[Check]:
    """One check for each (tau, T) in ``others`` and each of the settings, named: (C, unit)."""
    for named, (C, unit) in settings.items():
        for other in others:
            yield Check(
                "monte-carlo",
                f"{algorithm}, {named}: (tau, T) = {choice} against {other}",
                duel,
                {"algorithm": algorithm, "choice": choice, "against": other, "C": C, "unit": unit, "lanes": 4096},
            )
