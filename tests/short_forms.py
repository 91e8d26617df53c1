"""Simulations of descriptions, by short arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.algorithms.averaging import with_momentum
from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg, FedAvg, server_noise
from dpfl_theory.algorithms.scaffold import Scaffold, all_users
from dpfl_theory.algorithms.two_step_sizes import (
    DPTwoSidedFedAvg,
    ModelClippedFedAvg,
    TwoSidedFedAvg,
    UnclippedTwoSidedFedAvg,
)
from dpfl_theory.simulation import Cohort, FullGradient, Gradient, Simulation

__all__ = ["Bound", "bound_of", "clip", "fedavg", "model_clipped", "normalise", "scaffold", "two_sided"]

Bound = tuple[type[DPFedAvg], Any]
"""A bound on updates: the algorithm with it, and the threshold."""


class NoisyFedAvg(DPFedAvg):
    """DP-FedAvg without a bound on updates."""

    name = "noisy-fedavg"
    threshold = None
    bound = FedAvg.bound


def clip(threshold: Any) -> Bound:
    """Updates that are clipped to a threshold."""
    return DPFedAvg, threshold


def normalise(threshold: Any) -> Bound:
    """Updates that are scaled to a length."""
    return DPNormFedAvg, threshold


def bound_of(name: str, threshold: Any = None) -> Bound | None:
    """The bound of this name: none, clip or normalise."""
    return {"none": lambda _: None, "clip": clip, "normalise": normalise}[name](threshold)


def fedavg(
    local_step: Any,
    local_steps: int = 1,
    global_step: Any = None,
    bound: Bound | None = None,
    cohort: Cohort | None = None,
    sigma: Any = 0.0,
    noise: str = "per-client",
    momentum: Any = None,
) -> Simulation:
    """FedAvg with these values, by default without bound and noise; the global step is the local one by default.

    noise: added ``per-client``, or by the server on the ``average``.
    """
    noisy = noise == "average" or not np.array_equal(sigma, 0.0)
    kind: Any = (NoisyFedAvg if noisy else FedAvg) if bound is None else bound[0]
    values = {"local_step": local_step, "local_steps": local_steps}
    values |= {} if global_step is None else {"global_step": global_step}
    values |= {"sigma": sigma} if kind is not FedAvg else {}
    values |= {} if bound is None else {"threshold": bound[1]}
    if momentum is not None:
        kind, values = with_momentum(kind), {**values, "momentum": momentum}
    run = kind(**values)
    if noise == "average":
        run = run.replaced(noise=server_noise)
    return Simulation(run, Cohort() if cohort is None else cohort)


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
