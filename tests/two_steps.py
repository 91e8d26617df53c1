"""Simulations of FedAvg with two step sizes, model clipping and SCAFFOLD, by short arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.algorithms import Cohort, FullGradient, Gradient, Simulation
from dpfl_theory.descriptions.scaffold import Scaffold, all_users
from dpfl_theory.descriptions.two_step_sizes import (
    DPTwoSidedFedAvg,
    ModelClippedFedAvg,
    TwoSidedFedAvg,
    UnclippedTwoSidedFedAvg,
)

__all__ = ["model_clipped", "scaffold", "two_sided"]


def _simulation(run: Any, cohort: Cohort | None, gradient: Gradient | None) -> Simulation:
    return Simulation(run, cohort or Cohort(), gradient or FullGradient())


def two_sided(
    local_step: Any,
    global_step: Any = 1.0,
    local_steps: Any = 1,
    threshold: Any = None,
    sigma: Any = 0.0,
    cohort: Cohort | None = None,
    gradient: Gradient | None = None,
) -> Simulation:
    """FedAvg with two step sizes, by default without bound and noise."""
    values = {"local_step": local_step, "global_step": global_step, "local_steps": local_steps}
    if threshold is not None:
        run: Any = DPTwoSidedFedAvg(**values, threshold=threshold, sigma=sigma)
    else:
        run = UnclippedTwoSidedFedAvg(**values, sigma=sigma) if np.any(sigma) else TwoSidedFedAvg(**values)
    return _simulation(run, cohort, gradient)


def model_clipped(
    local_step: Any,
    threshold: Any,
    local_steps: Any = 1,
    sigma: Any = 0.0,
    cohort: Cohort | None = None,
    gradient: Gradient | None = None,
) -> Simulation:
    """FedAvg whose clients clip their models."""
    run = ModelClippedFedAvg(local_step=local_step, threshold=threshold, local_steps=local_steps, sigma=sigma)
    return _simulation(run, cohort, gradient)


def scaffold(
    local_step: Any,
    global_step: Any = 1.0,
    local_steps: Any = 1,
    cohort: Cohort | None = None,
    gradient: Gradient | None = None,
    warm_start: Any = 0,
    everyone: bool = False,
    **parts: Any,
) -> Simulation:
    """SCAFFOLD with this number of warm rounds, perhaps of all users, and with replaced parts of the round."""
    steps = {"local_step": local_step, "global_step": global_step, "local_steps": local_steps}
    parts |= {"warm_members": all_users} if everyone else {}
    run = Scaffold(**steps).replaced(**parts).with_values(warm_start=warm_start)
    return _simulation(run, cohort, gradient)
