"""Runs of noble2022's algorithms in its symbols: Theorem 4.1's order of sigma_g determines the constant u."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpfl_theory.statements.noble2022._symbols import SYMBOLS
from dpfl_theory.statements.run_symbols import RunSymbols, named

__all__ = ["RUNS", "SYMBOLS"]


def _start(one: Any) -> dict[str, float]:
    """One local step on all records. No record's gradient exceeds the threshold, if such a threshold exists."""
    longest = one.problem.constants.G_record
    C = longest if math.isfinite(longest) else one.slope
    return {"eta_l": 1.0, "eta_g": 1.0, "K": 1, "rounds": one.most_rounds, "s": 1.0, "C": C}


FEDAVG = RunSymbols(
    algorithm="dp-fedavg-record",
    symbols={
        **named("eta_l", "eta_g", "K", "s", "C", "sigma_g"),
        "T": lambda run: run.rounds,
        "M": lambda run: run.clients,
        "l": lambda run: run.cohort / run.clients,
    },
    prescribing=("noble2022.theorem4.1.third-party",),
    inputs=("user_rate", "record_rate", "clip", "epsilon", "delta", "constant"),
    start=_start,
    hyperparameters=("eta_l", "eta_g", "rounds", "C", "K", "s"),
    chosen=("K", "T"),
    left_open=lambda one: {"local_steps": 1, "rounds": one.most_rounds},
)

SCAFFOLD = replace(FEDAVG, algorithm="dp-scaffold", chosen=("K", "T", "eta_l", "eta_g"), warm_round=True)

RUNS = (FEDAVG, SCAFFOLD)
