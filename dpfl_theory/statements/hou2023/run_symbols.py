"""Runs of Algorithm 2 in hou2023's symbols: Lemma 1's variance p T v C^2 ln(1/delta)/epsilon^2 determines v."""

from __future__ import annotations

import math
from dataclasses import replace

from dpfl_theory.statements.hou2023._symbols import SYMBOLS
from dpfl_theory.statements.run_symbols import NoiseFormula, Run, RunSymbols, named

__all__ = ["RUNS", "SYMBOLS"]


def _constants(run: Run) -> dict[str, float]:
    import numpy as np

    assert run.problem is not None
    c, psi = run.problem.constants, math.nan
    if c.w_star is not None:
        control = (run["eta"] / run["p"]) ** 2 * float(np.sum(run.problem.gradients_at_star**2))
        away = c.w_star if run.start is None else run.start - c.w_star
        psi = run.clients * float(np.sum(away**2)) + control
    return {"L": c.L_max, "mu": c.mu_min, "psi_0": psi}


def _departure(run: Run) -> str:
    C = run.hyperparameters.get("C")
    return "" if C is None else f"? whether clipping to C = {C:.6g} was never active"


PRIVATE = RunSymbols(
    algorithm="dp-scaffnew",
    symbols={
        **named("eta", "p"),
        "C": lambda run: run.hyperparameters.get("C", 1.0),  # without clipping only v C^2 matters
        "T": lambda run: run.rounds,
        "N": lambda run: run.clients,
        "d": lambda run: run.dim,
        "noise_variance": lambda run: run.hyperparameters.get("sigma", 0.0) ** 2,
        # Without a budget any one serves, since the bounds depend on the variance only.
        "epsilon": lambda run: 1.0 if run.epsilon is None else run.epsilon,
        "delta": lambda run: 1e-5 if run.delta is None else run.delta,
    },
    prescribing=("hou2023.lemma1",),
    constants=_constants,
    bounds=("hou2023.theorem1",),
    other_runs=("hou2023.theorem1.clipped",),
    departure=_departure,
    noise=(
        NoiseFormula(
            "hou2023.lemma1",
            "v",
            r"\sigma^2 \ge v C^2 p T \ln(1/\delta) / \epsilon^2",
            "epsilon <= u p T",
            "dp-scaffnew",
        ),
    ),
    inputs=("clip", "epsilon", "delta", "constant"),
    start=lambda one: {"eta": 1, "p": 1.0, "C": one.slope / one.smoothness, "iterations": one.most_rounds},
    hyperparameters=("eta", "p", "C", "iterations"),
    chosen=("eta", "p", "T"),
)

RUNS = (PRIVATE, replace(PRIVATE, algorithm="scaffnew", noise=(), inputs=()))
