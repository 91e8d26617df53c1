"""From an instance, which is plain data, to a run and the values of a paper's symbols in it.

The catalogue imports this module to list its statements, so NumPy and the simulation are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Experiment
from dpfl_theory.problems import make
from dpfl_theory.statements.run_symbols import Run, RunSymbols

if TYPE_CHECKING:
    from dpfl_theory.core.algorithm import Algorithm
    from dpfl_theory.problems.base import Array, Problem
    from dpfl_theory.simulation import Cohort, Gradient

Families = Mapping[str, Callable[..., "Problem"]]


def problem_of(instance: Mapping[str, Any], own: Families | None = None) -> Problem:
    """The problem of an instance, ``{"family": ..., "parameters": {...}}``: of the catalogue, or of a paper's own
    families."""
    family, parameters = instance["problem"]["family"], instance["problem"].get("parameters", {})
    return own[family](**parameters) if own and family in own else make(family, **parameters)


def start_of(problem: Problem, instance: Mapping[str, Any], seed: int | Sequence[int]) -> Array:
    """The instance's ``point``, the ``start`` "origin", or a point at its ``distance`` from w* in a random direction
    (from 0 where there is no w*)."""
    import numpy as np

    if "point" in instance:
        return np.array(instance["point"], dtype=float)
    if instance.get("start") == "origin":
        return np.zeros(problem.d)
    w_star = problem.constants.w_star
    direction = np.random.default_rng(seed).standard_normal(problem.d)
    origin = np.zeros(problem.d) if w_star is None else w_star
    return np.asarray(origin + float(instance["distance"]) * direction / np.linalg.norm(direction))


def cohort_of(instance: Mapping[str, Any]) -> Cohort:
    """The instance's ``cohort``; all clients if it has none."""
    from dpfl_theory.simulation import Cohort

    return Cohort(**instance.get("cohort", {"scheme": "full"}))


def measured(
    declared: RunSymbols,
    problem: Problem,
    start: Array,
    rounds: int,
    cohort: Cohort,
    hyperparameters: Mapping[str, float],
) -> dict[str, float]:
    """The symbols that a run has by its paper's declaration, and those that are constants of its problem."""
    sizes = {"clients": problem.n, "cohort": cohort.divisor(problem.n), "dim": problem.d}
    independent = cohort.scheme == "poisson"
    run = Run(hyperparameters, rounds, **sizes, independent=independent, problem=problem, start=start)
    return {name: float(value) for name, value in (declared.given(run) | declared.constants(run)).items()}


def experiment(
    run: Algorithm,
    problem: Problem,
    start: Array,
    rounds: int,
    values: Mapping[str, float],
    instance: Mapping[str, Any],
    gradient: Gradient | None = None,
    **more: Any,
) -> Experiment:
    """The run of an algorithm from a start: the instance has the cohorts, the number of replicates, and ``noise``
    "average" where the server's average gets the noise. gradient: of the clients, the full one where it is None; more:
    other arguments of the `Experiment`.

    A run in which all clients take part without noise draws nothing.
    """
    from dpfl_theory.algorithms.fedavg import DPFedAvg, server_noise
    from dpfl_theory.simulation import FullGradient, Simulation
    from dpfl_theory.simulation.observables import Reach
    from dpfl_theory.statements.travel_bound import fedavg_reach

    if instance.get("noise") == "average":
        run = run.replaced(noise=server_noise)
    cohort = cohort_of(instance)
    algorithm = Simulation(run, cohort, gradient or FullGradient())
    bounded = isinstance(run, DPFedAvg)
    reach = fedavg_reach(algorithm, problem, rounds, start) if bounded else Reach.anywhere(problem)
    given = {"replicates": int(instance.get("replicates", 2048)), "reach": reach}
    given["random"] = cohort.scheme != "full" or getattr(run, "sigma", 1.0) > 0.0
    return Experiment(problem, algorithm, rounds, start, dict(values), **{**given, **more})


def without_noise(run: Experiment, **more: Any) -> Experiment:
    """The same run without noise on messages; more: other changes of it."""
    known: Any = run.algorithm
    return replace(run, algorithm=known.with_values(sigma=0.0), **more)
