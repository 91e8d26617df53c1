"""Runs of alpha-NormEC in shulgin2025's symbols. The memories start at 0: R is the longest of the first gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfl_theory.lazy import numpy as np
from dpfl_theory.statements.run_symbols import NoiseFormula, Run, RunSymbols, named
from dpfl_theory.statements.shulgin2025._symbols import SYMBOLS

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem

__all__ = ["NORM_EC", "RUNS", "SYMBOLS", "longest_gradient"]


def longest_gradient(problem: Problem, w: Array) -> float:
    """max_i ||grad f_i(w)||."""
    return max(float(np.linalg.norm(problem.client_gradient(i, w))) for i in range(problem.n))


def _constants(run: Run) -> dict[str, float]:
    problem = run.problem
    assert problem is not None
    c, start = problem.constants, np.zeros(problem.d) if run.start is None else run.start
    R = longest_gradient(problem, start)
    return {"gap": problem.value(start) - c.f_star, "L": c.L_f, "L_max": c.L_max, "R": R, "residual_0": R}


NORM_EC = RunSymbols(
    algorithm="dp-norm-ec",
    symbols={
        **named("gamma", "alpha", "beta", "sigma"),
        "K": lambda run: run.rounds - 1,
        "n": lambda run: run.clients,
        "d": lambda run: run.dim,
    },
    # beta_0 and c follow from Corollary 2, the constant of `recommend`, v = c^2, from the noise.
    prescribing=("shulgin2025.corollary2", "shulgin2025.noise"),
    constants=_constants,
    bounds=("shulgin2025.theorem1", "shulgin2025.theorem2"),
    noise=(
        NoiseFormula(
            "shulgin2025.noise",
            "c",
            r"\sigma = c \sqrt{(K+1) \log(1/\delta)} / \epsilon",
            "epsilon <= u (K+1)",
            "dp-norm-ec",
            ranged_by="shulgin2025.noise.any-epsilon",
        ),
    ),
    inputs=("epsilon", "delta", "constant"),
    start=lambda one: {**dict.fromkeys(("gamma", "alpha", "beta"), 1.0), "rounds": one.most_rounds},
    hyperparameters=("gamma", "beta", "alpha", "rounds"),
    chosen=("gamma", "alpha", "beta", "K"),
    left_open=lambda one: {"alpha": one.slope / 10},  # a smoothing well below the first gradients
)

RUNS = (NORM_EC,)
