"""Simulations of FedAvg's descriptions, by short arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.algorithms import Cohort, Simulation
from dpfl_theory.descriptions.averaging import with_momentum
from dpfl_theory.descriptions.fedavg import DPFedAvg, DPNormFedAvg, FedAvg, server_noise

__all__ = ["Bound", "bound_of", "clip", "fedavg", "normalise"]

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
