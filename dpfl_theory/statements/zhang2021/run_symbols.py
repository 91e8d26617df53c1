"""Runs of Algorithm 3 in zhang2021's symbols: the budget follows from Theorem 3.2's noise, repaired."""

from __future__ import annotations

import math

from dpfl_theory.statements.run_symbols import NoiseFormula, Run, RunSymbols, named
from dpfl_theory.statements.zhang2021._symbols import SYMBOLS

__all__ = ["RUNS", "SYMBOLS"]


def _largest_epsilon(run: Run) -> float:
    """ln(1/delta)/2, beyond which the noise is not known to be sufficient."""
    assert run.delta is not None
    return math.log(1 / run.delta) / 2


TWO_STEP_SIZES = RunSymbols(
    algorithm="dp-fedavg-two-sided",
    symbols={
        **named("eta_l", "eta_g", "Q", "c"),
        "T": lambda run: run.rounds,
        "N": lambda run: run.clients,
        "P": lambda run: run.cohort,
        "noise_variance": lambda run: run["sigma"] ** 2,
        "epsilon": lambda run: None,  # the theorem's, not the run's own
    },
    prescribing=("zhang2021.theorem3.2.repaired",),
    noise=(
        NoiseFormula(
            "zhang2021.theorem3.2",
            "v",
            r"\sigma^2 \ge v c^2 P T \ln(1/\delta) / (N^2 \varepsilon^2)",
            "epsilon <= u (P/N)^2 T",
            "dp-fedavg",
            "sigma_of_one_message",
        ),
    ),
    inputs=("cohort", "epsilon", "delta"),
    limits={"epsilon": _largest_epsilon},
    start=lambda one: {**dict.fromkeys(("eta_l", "eta_g", "c", "Q"), 1), "rounds": one.most_rounds},
    hyperparameters=("eta_l", "eta_g", "c", "rounds", "Q"),
    chosen=("eta_l", "eta_g", "Q", "T"),
    left_open=lambda one: {"local_steps": 1, "rounds": one.most_rounds},
)

RUNS = (TWO_STEP_SIZES,)
