"""Simulations of described algorithms."""

from __future__ import annotations

from typing import Any

from dpfl_theory.algorithms.base import Algorithm as Simulation

__all__ = ["simulation"]


def simulation(run: Any, cohort: Any = None) -> Simulation:
    """The simulation of a configured description."""
    from dpfl_theory.algorithms import Clip, Cohort, FedAvg, Normalise, ScaffNew, TwoSidedFedAvg

    cohort = Cohort() if cohort is None else cohort
    name = run.name
    if name == "fedavg":
        return FedAvg(run.local_step, run.local_steps, run.global_step, cohort=cohort)
    if name in ("dp-fedavg", "dp-normfedavg"):
        bound = Clip if name == "dp-fedavg" else Normalise
        where = (
            "per-client" if type(run).noise is type(run).__mro__[-1] or "noise" not in vars(type(run)) else "average"
        )
        where = (
            "average"
            if type(run).__name__
            and "noise" in vars(type(run))
            and type(run).__mro__[1].name == name
            and type(run).__mro__[1] is not type(run)
            and type(run).__mro__[1].__name__ == type(run).__name__
            else "per-client"
        )
        return FedAvg(run.local_step, run.local_steps, run.global_step, bound(run.threshold), cohort, run.sigma, where)
    if name == "fedavg-two-sided":
        return TwoSidedFedAvg(run.local_step, run.global_step, run.local_steps, cohort=cohort)
    if name == "dp-fedavg-two-sided":
        return TwoSidedFedAvg(run.local_step, run.global_step, run.local_steps, run.threshold, run.sigma, cohort)
    return ScaffNew(
        run.step, run.probability, getattr(run, "threshold", None), run.sigma if name == "dp-scaffnew" else 0.0
    )
