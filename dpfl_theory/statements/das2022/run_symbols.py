"""Runs of Algorithm 1 in das2022's symbols.

sigma^2 = K C^2 rho^2/d, eta = rho/(2 alpha L), K = 2 alpha gamma/(C rho^2) and C = GE determine rho, alpha, gamma and
G: they follow from Theorem 3 with Definition 2, and from Theorem 4, for all of the paper's bounds.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpfl_theory.lazy import numpy as np
from dpfl_theory.statements.das2022._symbols import SYMBOLS
from dpfl_theory.statements.run_symbols import NoiseFormula, Run, RunSymbols, named

__all__ = ["RUNS", "SYMBOLS", "excess"]


def excess(cohort: float, clients: float) -> float:
    """kappa, if clients join independently."""
    return (1.0 - cohort / clients) / cohort


def _constants(run: Run) -> dict[str, float]:
    assert run.problem is not None
    c = run.problem.constants
    if c.w_star is None:
        return {"L": c.L_max, "D": math.nan, "Delta": math.nan, "Delta_max": math.nan}
    deltas, away = c.delta_i_star, c.w_star if run.start is None else run.start - c.w_star
    own = {"D": float(np.linalg.norm(away)), "Delta": float(deltas.mean()), "Delta_max": float(deltas.max())}
    return {"L": c.L_max, **own}


def _departure(run: Run) -> str:
    if not math.isclose(run["beta"], run["eta"], rel_tol=1e-12):
        return f"beta = {run['beta']:.6g} is not eta = {run['eta']:.6g}"
    return "" if run["sigma"] > 0 else "there is no noise, so that rho = 0 does not lie in (0, 1)"


CLIPPED = RunSymbols(
    algorithm="dp-fedavg",
    symbols={
        **named("eta", "C", "E"),
        "K": lambda run: run.rounds,
        "noise_variance": lambda run: run["sigma"] ** 2,
        "n": lambda run: run.clients,
        "r": lambda run: run.cohort,
        "d": lambda run: run.dim,
        "kappa": lambda run: excess(run.cohort, run.clients) if run.independent else 0.0,
    },
    prescribing=("das2022.definition2", "das2022.theorem3", "das2022.theorem4a", "das2022.theorem6"),
    cancelled=("epsilon", "delta"),
    constants=_constants,
    bounds=("das2022.theorem4a", "das2022.theorem6", "das2022.eq4"),
    departure=_departure,
    noise=(
        NoiseFormula(
            "das2022.theorem3",
            "q",
            r"\sigma^2 = q K C^2 \log(1/\delta) / (n^2 \varepsilon^2)",
            "epsilon < O(r^2 K/n^2)",
            "dp-fedavg",
        ),
    ),
    inputs=("cohort", "rho"),
    start=lambda one: {**dict.fromkeys(("eta", "beta", "C", "E"), 1), "rounds": one.most_rounds},
    most_rounds=8_000,
    hyperparameters=("eta", "beta", "C", "rounds", "E"),
    chosen=("eta", "E", "K"),
    left_open=lambda one: {"local_steps": 1, "alpha": 1.0},  # the shortest run that the theorem allows
)

NORMALISED = replace(
    CLIPPED, algorithm="dp-normfedavg", bounds=("das2022.theorem4b", "das2022.theorem7", "das2022.eq5"), noise=()
)

RUNS = (CLIPPED, NORMALISED)
