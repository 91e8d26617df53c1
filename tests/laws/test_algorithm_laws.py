"""Laws of every algorithm. A subclass of Algorithm in dpfl_theory.simulation needs an entry in EXAMPLES; without one, a
test fails.

Each law is a function that returns faults as a list of sentences; tests/mutants shows that they can fail. Where a law
transforms the problem, the engine's noise is transformed with it, so laws hold with noise, on every path. Where a law
cannot hold for an example, the example says why, and a test verifies that it does not.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import families
from oracles.compare import ARRAY, ENGINES, differs, play, problem_of, starting_points
from oracles.families import Transformed, dyadic, ragged
from simulation.reductions import DESCRIBED

import dpfl_theory.simulation as package
from dpfl_theory.algorithms.adaptive_clipping import AdaptiveClipping
from dpfl_theory.algorithms.averaging import with_momentum
from dpfl_theory.algorithms.dp_ftrl import DPFTRL
from dpfl_theory.algorithms.dp_mcmahan import DPMcMahanFedAvg
from dpfl_theory.algorithms.dp_sgd import DPSGD
from dpfl_theory.algorithms.error_feedback import DPNormSGD, InformedClip21, InformedNormEC
from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg, FedAvg, server_noise
from dpfl_theory.algorithms.fedavgm import FedAvgM
from dpfl_theory.algorithms.feddyn import FedDyn
from dpfl_theory.algorithms.fednova import FedNova
from dpfl_theory.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
from dpfl_theory.algorithms.fedprox import FedProx
from dpfl_theory.algorithms.local_dp import LocalDP
from dpfl_theory.algorithms.mcmahan import McMahanFedAvg
from dpfl_theory.algorithms.record_level import DPScaffold, RecordLevelFedAvg
from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew, UnclippedScaffNew
from dpfl_theory.algorithms.scaffold import Scaffold, all_users
from dpfl_theory.algorithms.two_step_sizes import (
    DPTwoSidedFedAvg,
    ModelClippedFedAvg,
    TwoSidedFedAvg,
    UnclippedTwoSidedFedAvg,
)
from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.quadratic import random_quadratic
from dpfl_theory.simulation import (
    Algorithm,
    Cohort,
    NoisyGradient,
    RecordGradient,
    Simulation,
    WeightedAverage,
    simulate,
)

Unit = tuple[int, int]  # exponents of the objective's and the parameters' unit
LENGTH, SLOPE, NUMBER = (0, 1), (1, -1), (0, 0)


@dataclasses.dataclass(frozen=True)
class Example:
    """An algorithm with typical hyper-parameters.

    build: (class, step, threshold, sigma) -> algorithm, where the step has unit X^2/F; without sigma there is no noise;
    threshold, sigma: their units, None for those that the example does not use;
    descent: (class, step) -> the algorithm without noise and bounds and with one local step, which is gradient
    descent for one client;
    records: whether the laws run on least squares instead of quadratics, since record gradients need records;
    exempt: name of a law -> one sentence on why it cannot hold.
    """

    build: Callable[[Any, float, float, float], Any]
    threshold: Unit | None
    sigma: Unit | None
    descent: Callable[[Any, float], Any]
    records: bool = False
    exempt: Mapping[str, str] = dataclasses.field(default_factory=dict)


def _fedavg(build: Callable[..., Any], threshold: Unit | None = SLOPE, sigma: Unit | None = SLOPE) -> Example:
    return Example(build, threshold, sigma, lambda cls, step: cls(step))


def _bounded(build: Callable[..., Any]) -> Example:
    return Example(build, SLOPE, SLOPE, lambda cls, step: Simulation(cls(eta=step, C=1e6, sigma=0.0)))


def _two_sided(build: Callable[..., Any], threshold: Unit | None = LENGTH, sigma: Unit | None = LENGTH) -> Example:
    return Example(build, threshold, sigma, lambda cls, step: cls(step))


def _of_records(build: Callable[..., Any], threshold: Unit = SLOPE, sigma: Unit = NUMBER) -> Example:
    return Example(build, threshold, sigma, lambda cls, step: cls(step, gradient=RecordGradient()), records=True)


_ORIGIN = {
    "translations_translate_the_run": "models are clipped to a length from the origin of the parameters",
    "a_shared_minimiser_is_a_fixed_point": "a minimiser that is longer than the threshold is clipped itself",
}


def _described(
    values: Mapping[str, Any],
    more: Callable[[float, float, float], Mapping[str, Any]],
    threshold: Unit | None,
    sigma: Unit | None,
    single: Mapping[str, Any],
    cohort: Cohort | None = None,
    gradient: Callable[[float, float, float], Any] | None = None,
    parts: Mapping[str, Any] | None = None,
    **others: Any,
) -> Example:
    """The simulation of a description with these values and those that step, threshold and sigma give.

    single: the values of one local step without noise and bounds. parts: replaced parts of the round.
    """
    cohort = cohort or Cohort()

    def build(cls: Any, e: float, C: float, s: float) -> Any:
        run = cls(local_step=e, **values, **more(e, C, s)).replaced(**(parts or {}))
        return Simulation(run, cohort, *(() if gradient is None else (gradient(e, C, s),)))

    def descent(cls: Any, step: float) -> Any:
        whole = (Cohort(), RecordGradient()) if others.get("records") and cls.protects != "record" else ()
        return Simulation(cls(local_step=step, **single), *whole)

    return Example(build, threshold, sigma, descent, **others)


def _private(e: float, C: float, s: float) -> dict[str, float]:
    return {"threshold": C, "sigma": s}


def _short(e: float, C: float, s: float) -> dict[str, float]:
    return {"threshold": 0.5 * C, "sigma": s}


def _nothing(e: float, C: float, s: float) -> dict[str, float]:
    return {}


def _of_noise(e: float, C: float, s: float) -> dict[str, float]:
    return {"sigma": s}


def _of_steps(e: float, C: float, s: float) -> dict[str, float]:
    return {"threshold": C, "noise_multiplier": s}


def _by_multiplier(e: float, C: float, s: float) -> dict[str, float]:
    return {"threshold": C, "noise_multiplier": s}


_ONE = {"global_step": 1.0, "local_steps": 1}
_QUIET = {"threshold": 1e6, "sigma": 0.0}
_LOUD = {**_ONE, "threshold": 1e6, "noise_multiplier": 0.0}
_ALL_RECORDS = {**_ONE, "threshold": 1e6, "noise_multiplier": 0.0, "share": 1.0}


def _steps(global_step: float, local_steps: int) -> dict[str, Any]:
    return {"global_step": global_step, "local_steps": local_steps}


_COORDINATES = {"rotations_rotate_the_run": "the server's optimizer scales each coordinate by its own past squares"}
_DOUBLED = {
    "one_client_is_gradient_descent": "with one client h/alpha is its last move, so that a round moves w twice as far"
}
_STILL = {**_ONE, "adaptivity": 1e12, "first_decay": 0.0}


def _adaptive(e: float, C: float, s: float) -> dict[str, float]:
    return {"global_step": 0.3 * C, "adaptivity": 0.2 * C, "first_decay": 0.6}


TWICE, THREE, SOME = Cohort("with-replacement", 3), Cohort("fixed", 3), Cohort("poisson", 3)
EXAMPLES: dict[type, dict[str, Example]] = {
    DPFedAvg: {
        "clipped": _bounded(lambda cls, e, C, s: Simulation(cls(eta=e, E=3, beta=0.7 * e, C=C, sigma=s), SOME)),
        "repeated": _bounded(lambda cls, e, C, s: Simulation(cls(eta=e, E=2, C=C, sigma=s), TWICE)),
        "momentum": _bounded(
            lambda cls, e, C, s: Simulation(
                with_momentum(cls)(eta=0.5 * e, E=2, C=C, sigma=s, momentum=0.6), THREE
            )
        ),
    },
    DPNormFedAvg: {
        "normalised": Example(
            lambda cls, e, C, s: Simulation(
                cls(eta=e, E=2, beta=1.3 * e, C=C, sigma=s).replaced(noise=server_noise), THREE
            ),
            SLOPE, SLOPE, lambda cls, step: Simulation(FedAvg(eta=step)),
        ),
    },
    FedAvg: {
        "plain": Example(
            lambda cls, e, C, s: Simulation(cls(eta=e, E=4)), None, None, lambda cls, step: Simulation(cls(eta=step))
        ),
    },
    TwoSidedFedAvg: {
        "noisy": _described(_steps(1.5, 3), _nothing, None, SLOPE, _ONE, THREE, lambda e, C, s: NoisyGradient(s)),
        "records": _described(
            _steps(1.2, 2), _nothing, SLOPE, NUMBER, _ONE, THREE,
            lambda e, C, s: RecordGradient(0.5, C, s), records=True,
        ),
        "plain": _described(_steps(1.5, 4), _nothing, None, None, _ONE),
    },
    DPTwoSidedFedAvg: {
        "clipped": _described(
            _steps(1.5, 3), _private, LENGTH, LENGTH, {**_ONE, **_QUIET}, THREE, lambda e, C, s: NoisyGradient(s / e)
        ),
        "poisson": _described(_steps(0.8, 2), _private, LENGTH, LENGTH, {**_ONE, **_QUIET}, SOME),
        "repeated": _described(_steps(1.2, 2), _private, LENGTH, LENGTH, {**_ONE, **_QUIET}, TWICE),
        "median": _described(
            _steps(1.2, 2), lambda e, C, s: {"threshold": C, "sigma": 0.0}, LENGTH, NUMBER, {**_ONE, **_QUIET}, SOME,
            lambda e, C, s: RecordGradient(0.6, "median", s), records=True,
        ),
    },
    UnclippedTwoSidedFedAvg: {
        "noisy": _described(_steps(1.2, 3), _of_noise, None, LENGTH, {**_ONE, "sigma": 0.0}, THREE),
    },
    RecordLevelFedAvg: {
        "some": _described(
            {**_steps(1.2, 2), "share": 0.5}, _of_steps, SLOPE, NUMBER, _ALL_RECORDS, THREE, records=True
        ),
    },
    ModelClippedFedAvg: {
        "fixed": _described(
            {"local_steps": 2}, _short, LENGTH, LENGTH, {"local_steps": 1, **_QUIET}, THREE,
            lambda e, C, s: NoisyGradient(s / e), exempt=_ORIGIN,
        ),
        "poisson": _described(
            {"local_steps": 3}, _short, LENGTH, LENGTH, {"local_steps": 1, **_QUIET}, SOME, exempt=_ORIGIN
        ),
    },
    DPNormSGD: {
        "fixed": Example(
            lambda cls, e, C, s: Simulation(cls(gamma=0.5 * e * C, alpha=C, sigma=s), THREE, NoisyGradient(s * C)),
            SLOPE, NUMBER, lambda cls, step: Simulation(cls(gamma=1e12 * step, alpha=1e12, sigma=0.0)),
        ),
        "repeated": Example(
            lambda cls, e, C, s: Simulation(cls(gamma=0.5 * e * C, alpha=C, sigma=s), TWICE),
            SLOPE, NUMBER, lambda cls, step: Simulation(cls(gamma=1e12 * step, alpha=1e12, sigma=0.0)),
        ),
        "records": Example(
            lambda cls, e, C, s: Simulation(
                cls(gamma=0.5 * e * C, alpha=2.0 * C, sigma=0.0), SOME, RecordGradient(0.5, C, s)
            ),
            SLOPE, NUMBER,
            lambda cls, step: Simulation(cls(gamma=1e12 * step, alpha=1e12, sigma=0.0), gradient=RecordGradient()),
            records=True,
        ),
    },
    InformedClip21: {
        "clipped": Example(
            lambda cls, e, C, s: Simulation(cls(gamma=e, tau=0.3 * C, sigma=s, memory=0.0)), SLOPE, SLOPE,
            lambda cls, step: Simulation(cls(gamma=step, tau=1e6, sigma=0.0, memory=0.0)),
        ),
        "records": Example(
            lambda cls, e, C, s: Simulation(
                cls(gamma=e, tau=0.3 * C, sigma=0.0, memory=0.0), gradient=RecordGradient(0.5, C, s)
            ),
            SLOPE, NUMBER,
            lambda cls, step: Simulation(cls(gamma=step, tau=1e6, sigma=0.0, memory=0.0), gradient=RecordGradient()),
            records=True,
        ),
        "plain": Example(
            lambda cls, e, C, s: Simulation(cls(gamma=e, tau=1e6, sigma=0.0, memory=0.5)), None, None,
            lambda cls, step: Simulation(cls(gamma=step, tau=1e6, sigma=0.0, memory=0.5)),
        ),
    },
    InformedNormEC: {
        "smoothed": Example(
            lambda cls, e, C, s: Simulation(cls(gamma=0.3 * e * C, beta=0.5 * C, alpha=C, sigma=s, memory=0.5)),
            SLOPE, NUMBER, lambda cls, step: Simulation(cls(gamma=step, beta=1.0, alpha=1.0, sigma=0.0, memory=1.0)),
            exempt={
                "one_client_is_gradient_descent": "the server's steps have the length gamma, whatever the gradients are"
            },
        ),
    },
    DPScaffNew: {
        "clipped": Example(
            lambda cls, e, C, s: Simulation(cls(eta=e, p=0.4, C=C, sigma=s), gradient=NoisyGradient(s / e)),
            LENGTH, LENGTH, lambda cls, step: Simulation(cls(eta=step, p=1.0, C=1e6, sigma=0.0)),
        ),
    },
    UnclippedScaffNew: {
        "noisy": Example(
            lambda cls, e, C, s: Simulation(cls(eta=e, p=0.5, sigma=s)), None, LENGTH,
            lambda cls, step: Simulation(cls(eta=step, p=1.0, sigma=0.0)),
        ),
    },
    ScaffNew: {
        "records": Example(
            lambda cls, e, C, s: Simulation(cls(eta=e, p=0.6), gradient=RecordGradient(0.5, C, s)), SLOPE, NUMBER,
            lambda cls, step: Simulation(cls(eta=step, p=1.0), gradient=RecordGradient()), records=True,
        ),
        "plain": Example(
            lambda cls, e, C, s: Simulation(cls(eta=e, p=0.6)), None, None,
            lambda cls, step: Simulation(cls(eta=step, p=1.0)),
        ),
    },
    Scaffold: {
        "noisy": _described(_steps(1.4, 3), _nothing, None, SLOPE, _ONE, THREE, lambda e, C, s: NoisyGradient(s)),
        "warm": _described(
            _steps(1.0, 2), _nothing, None, SLOPE, _ONE, THREE, lambda e, C, s: NoisyGradient(s),
            {"warm_start": 2, "warm_members": all_users},
        ),
        "plain": _described(_steps(1.2, 4), _nothing, None, None, _ONE),
    },
    DPScaffold: {
        "warm": _described(
            {**_steps(0.8, 2), "share": 0.5}, _of_steps, SLOPE, NUMBER, _ALL_RECORDS, Cohort("fixed", 2),
            parts={"warm_start": 1}, records=True,
        ),
    },
    McMahanFedAvg: {
        "noisy": _described(_steps(1.4, 3), _nothing, None, SLOPE, _ONE, SOME, lambda e, C, s: NoisyGradient(s)),
        "batches": _described({**_steps(1.2, 2), "batch_size": 2}, _nothing, None, None, _ONE, THREE, records=True),
        "plain": _described(_steps(1.0, 4), _nothing, None, None, _ONE),
    },
    FedProx: {
        "noisy": _described(
            _steps(1.2, 3), lambda e, C, s: {"proximal": 0.3 / e}, None, SLOPE, {**_ONE, "proximal": 0.0}, THREE,
            lambda e, C, s: NoisyGradient(s),
        ),
    },
    FedNova: {
        "noisy": _described(
            {**_steps(1.2, 3), "momentum_factor": 0.5}, _nothing, None, SLOPE, _ONE, THREE,
            lambda e, C, s: NoisyGradient(s),
        ),
        "batches": _described(
            {**_steps(0.5, 2), "batch_size": 2, "momentum_factor": 0.3}, _nothing, None, None, _ONE, THREE,
            records=True,
        ),
    },
    FedAvgM: {
        "noisy": _described(
            {**_steps(0.7, 2), "decay": 0.6}, _nothing, None, SLOPE, {**_ONE, "decay": 0.0}, THREE,
            lambda e, C, s: NoisyGradient(s),
        ),
    },
    FedAdam: {
        "noisy": _described(
            {"local_steps": 2, "second_decay": 0.8}, _adaptive, LENGTH, SLOPE,
            {**_STILL, "second_decay": 0.0, "global_step": 1e12}, THREE, lambda e, C, s: NoisyGradient(s),
            exempt=_COORDINATES,
        ),
    },
    FedYogi: {
        "noisy": _described(
            {"local_steps": 2, "second_decay": 0.8}, _adaptive, LENGTH, SLOPE,
            {**_STILL, "second_decay": 0.8, "global_step": 2e12}, THREE, lambda e, C, s: NoisyGradient(s),
            exempt=_COORDINATES,
        ),
    },
    FedAdagrad: {
        "noisy": _described(
            {"local_steps": 2}, _adaptive, LENGTH, SLOPE, {**_STILL, "global_step": 2e12}, THREE,
            lambda e, C, s: NoisyGradient(s), exempt=_COORDINATES,
        ),
    },
    FedDyn: {
        "noisy": _described(
            {"local_steps": 3}, lambda e, C, s: {"strength": 0.5 / e}, None, SLOPE,
            {"local_steps": 1, "strength": 1.0}, THREE, lambda e, C, s: NoisyGradient(s), exempt=_DOUBLED,
        ),
    },
    DPMcMahanFedAvg: {
        "capped": _described(
            {**_steps(1.2, 2), "cap": 3.0}, _by_multiplier, LENGTH, NUMBER, _LOUD, SOME,
        ),
    },
    AdaptiveClipping: {
        "momentum": _described(
            {**_steps(1.2, 2), "momentum": 0.5, "clip_rate": 0.7}, _by_multiplier, LENGTH, NUMBER, _LOUD, THREE
        ),
    },
    LocalDP: {"poisson": _described(_steps(1.2, 2), _by_multiplier, LENGTH, NUMBER, _LOUD, SOME)},
    DPFTRL: {
        "trees": _described({**_steps(1.2, 2), "restart": 3}, _by_multiplier, LENGTH, NUMBER, _LOUD, THREE),
    },
    DPSGD: {
        "all": Example(
            lambda cls, e, C, s: Simulation(cls(eta=e, C=C, s=1.0, z=s)), SLOPE, NUMBER,
            lambda cls, step: Simulation(cls(eta=step, C=1e6, s=1.0, z=0.0)), records=True,
        ),
    },
    WeightedAverage: {  # with almost no weight on earlier iterates, the average is the newest one
        "scaffnew": Example(
            lambda cls, e, C, s: cls(Simulation(DPScaffNew(eta=e, p=0.4, C=C, sigma=s)), 0.8),
            LENGTH, LENGTH, lambda cls, step: cls(Simulation(ScaffNew(eta=step, p=1.0)), 1e-300),
        ),
        "plain": Example(
            lambda cls, e, C, s: cls(Simulation(FedAvg(eta=e, E=2)), 1.0), None, None,
            lambda cls, step: cls(Simulation(FedAvg(eta=step)), 1e-300),
        ),
    },
}  # fmt: skip

ROUNDS, REPLICATES, STEP, THRESHOLD, SIGMA = 8, 3, 0.4, 1.0, 0.3
Law = Callable[[type, Example], list[str]]


def servers(
    cls: type, example: Example, problem: Problem, start: np.ndarray, engine: Any = None, **scale: float
) -> Any:
    """The server's vectors (rounds + 1, replicates, d); objective and parameters in units of F and X."""
    F, X = scale.get("F", 1.0), scale.get("X", 1.0)
    threshold, sigma = (F**f * X**x for f, x in (example.threshold or NUMBER, example.sigma or NUMBER))
    algorithm = example.build(cls, STEP * X**2 / F, THRESHOLD * threshold, SIGMA * sigma)
    return play(algorithm, problem, ROUNDS, start, 12, engine=engine or ARRAY).servers


def compare(what: str, found: np.ndarray, expected: np.ndarray) -> list[str]:
    return differs(what, found, expected, float(np.max(np.abs(expected - expected[0]))))


# --- laws ------------------------------------------------------------------------------------------------------------


def one_client_is_gradient_descent(cls: type, example: Example) -> list[str]:
    """Without noise and bound, one client with one local step does w <- w - step grad f(w)."""
    wrong = []
    for problem in families.one_client(example.records):
        step = 0.7 / problem.constants.L_max
        start = starting_points(problem, 2)
        expected = [start]
        for _ in range(5):
            expected.append(np.array([w - step * problem.gradient(w) for w in expected[-1]]))
        for name, engine in ENGINES.items():
            found = play(example.descent(cls, step), problem, 5, start, engine=engine).servers
            wrong += compare(f"{name}: the run", found, np.array(expected))
    return wrong


def the_order_of_clients_is_immaterial(cls: type, example: Example) -> list[str]:
    order = np.array([2, 0, 3, 1])
    wrong = []
    for problem in families.heterogeneous(example.records):
        start = starting_points(problem, REPLICATES)
        expected = servers(cls, example, problem, start)
        found = servers(cls, example, families.reordered(problem, order), start, Transformed(order))
        wrong += compare("after a permutation the run", found, expected)
    return wrong


def rotations_rotate_the_run(cls: type, example: Example) -> list[str]:
    rotation, _ = np.linalg.qr(np.random.default_rng(9).standard_normal((3, 3)))
    problem = families.base(example.records)
    start = starting_points(problem, REPLICATES)
    engine = Transformed(change=lambda z, _: z @ rotation.T if z.shape[-1] == 3 else z)  # a number has no direction
    found = servers(cls, example, families.rotated(problem, rotation), start @ rotation.T, engine)
    return compare("after a rotation the run", found, servers(cls, example, problem, start) @ rotation.T)


def the_unit_of_the_objective_is_immaterial(cls: type, example: Example) -> list[str]:
    """f -> c f with step/c, and threshold and sigma in their units, gives the same path."""
    wrong = []
    problem = families.base(example.records)
    start = starting_points(problem, REPLICATES)
    expected = servers(cls, example, problem, start)
    for c in (1e-3, 8.0):
        found = servers(cls, example, families.objective_times(problem, c), start, F=c)
        wrong += compare(f"with the objective times {c} the run", found, expected)
    return wrong


def the_unit_of_the_parameters_is_immaterial(cls: type, example: Example) -> list[str]:
    """w -> s w with step s^2, and threshold and sigma in their units, gives the path times s."""
    wrong = []
    problem = families.base(example.records)
    start = starting_points(problem, REPLICATES)
    expected = servers(cls, example, problem, start)
    for s in (1e-3, 8.0):
        found = servers(cls, example, families.parameters_times(problem, s), s * start, X=s)
        wrong += compare(f"with the parameters times {s} the run", found / s, expected)
    return wrong


def translations_translate_the_run(cls: type, example: Example) -> list[str]:
    """The law holds also far away, where coordinates must not lose the digits of the distance."""
    wrong = []
    problem = families.translated(families.base(example.records), np.zeros(3))
    start = dyadic(starting_points(problem, REPLICATES))
    expected = servers(cls, example, problem, start)
    travelled = float(np.max(np.abs(expected - start)))
    for shift in (np.array([3.0, -1.0, 2.0]), np.array([2.0**17, 0.0, -(2.0**18)])):
        found = servers(cls, example, families.translated(problem, shift), start + shift)
        room = 1e-16 * float(np.max(np.abs(shift))) * ROUNDS * 10
        wrong += differs("after a translation the run", found - shift, expected, 1.0, 1e-10 * travelled + room)
    return wrong


def a_shared_minimiser_is_a_fixed_point(cls: type, example: Example) -> list[str]:
    """Without noise a run that starts where every client is at its minimum stays there, to the last bit."""
    centre = dyadic(np.random.default_rng(2).standard_normal(3), 10)
    problem = families.shared_minimiser(example.records, centre)
    start = np.tile(centre, (2, 1))
    wrong = []
    for name, engine in ENGINES.items():
        found = play(example.build(cls, STEP, THRESHOLD, 0.0), problem, ROUNDS, start, engine=engine).servers
        if not np.array_equal(found, np.tile(start, (ROUNDS + 1, 1, 1))):
            wrong.append(f"{name}: the run leaves the shared minimiser")
    return wrong


def replicates_do_not_see_each_other(cls: type, example: Example) -> list[str]:
    """A replicate's path does not depend on the other replicates."""
    problem = families.base(example.records)
    start = starting_points(problem, REPLICATES)
    whole = servers(cls, example, problem, start)
    wrong = []
    for s in range(REPLICATES):
        alone = play(example.build(cls, STEP, THRESHOLD, SIGMA), problem, ROUNDS, start[s : s + 1], 12, s, ARRAY)
        wrong += compare(f"replicate {s} alone", alone.servers[:, 0], whole[:, s])
    return wrong


LAWS: list[Law] = [
    one_client_is_gradient_descent,
    the_order_of_clients_is_immaterial,
    rotations_rotate_the_run,
    the_unit_of_the_objective_is_immaterial,
    the_unit_of_the_parameters_is_immaterial,
    translations_translate_the_run,
    a_shared_minimiser_is_a_fixed_point,
    replicates_do_not_see_each_other,
]
CASES = {f"{cls.__name__}-{kind}": (cls, example) for cls, kinds in EXAMPLES.items() for kind, example in kinds.items()}


# --- tests -----------------------------------------------------------------------------------------------------------


def written() -> set[type]:
    """Algorithms of the package that are no descriptions, found by scanning it."""
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")
    found, todo = set(), [Algorithm]
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if (
            cls.__module__.startswith(package.__name__ + ".")
            and cls is not Simulation
            and not getattr(cls, "__abstractmethods__", None)
        ):
            found.add(cls)
    return found - {Simulation}


def test_every_algorithm_has_examples() -> None:
    found = written() | {*DESCRIBED}
    assert {FedAvg, ScaffNew} <= found
    assert set(EXAMPLES) == {cls for cls, _ in CASES.values()}
    assert {cls.__name__ for cls in found ^ set(EXAMPLES)} == set(), "give each algorithm an entry in EXAMPLES"
    assert all(EXAMPLES.values())


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(case: str, law: Law) -> None:
    """Each exemption must be necessary: a law with an exemption must fail."""
    cls, example = CASES[case]
    assert bool(law(cls, example)) == (law.__name__ in example.exempt)


def test_exemptions_are_of_laws_and_give_reasons() -> None:
    for _, example in CASES.values():
        assert set(example.exempt) <= {law.__name__ for law in LAWS}
        assert all(len(reason.split()) > 5 for reason in example.exempt.values())


@pytest.mark.parametrize("case", CASES)
def test_examples_use_what_they_are_given(case: str) -> None:
    """An ignored threshold or noise level would make the laws empty."""
    cls, example = CASES[case]
    problem = families.base(example.records)
    base, other_C, other_sigma, other_step = (
        play(example.build(cls, *arguments), problem, ROUNDS, starting_points(problem, REPLICATES), 12).servers
        for arguments in ((0.4, 1.0, 0.3), (0.4, 1.1, 0.3), (0.4, 1.0, 0.4), (0.5, 1.0, 0.3))
    )
    assert np.array_equal(base, other_C) == (example.threshold is None)
    assert np.array_equal(base, other_sigma) == (example.sigma is None)
    assert not np.allclose(base, other_step)
    name = cls.name if issubclass(cls, Description) else cls.__name__
    assert example.build(cls, 0.4, 1.0, 0.3).describe()["algorithm"] == name


@given(
    steps=st.integers(1, 40),
    factors=st.lists(st.sampled_from([1e-12, 1e-3, 0.4, 1.0, 1.5, 2.0, 2.2]), min_size=1, max_size=4),
    rank=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_local_steps_on_quadratics_are_one_linear_map(steps: int, factors: list[float], rank: int, seed: int) -> None:
    """E steps as one map, u_i = (w - w_{i,E})/eta, agree with E explicit gradient steps; no digits are lost at tiny
    steps. At eta = 2/L gradients cancel in pairs, so the scale is that of the largest gradient or update."""
    problem = random_quadratic(3, 4, rank, seed=seed)
    eta = np.array(factors) / problem.constants.L_max
    w = starting_points(problem, len(eta), seed)
    expected, largest = np.zeros((3, len(eta), 4)), np.zeros(len(eta))
    for i in range(3):
        for s in range(len(eta)):
            at = w[s].copy()
            for _ in range(steps):
                gradient = problem.client_gradient(i, at)
                expected[i, s] += gradient
                largest[s] = max(largest[s], float(np.max(np.abs(gradient))))
                at -= eta[s] * gradient
    for engine in ENGINES.values():
        phase = problem.kernels(engine).local_phase(w, eta, steps)
        for s in range(len(eta)):
            scale = max(largest[s], float(np.max(np.abs(expected[:, s]))))
            assert differs("updates", phase.updates()[:, s], expected[:, s], scale, 1e-12 * steps) == []
            norms = np.linalg.norm(expected[:, s], axis=1)
            assert differs("norms", phase.lengths[s], norms, scale, 1e-12 * steps) == []


def tiny_runs() -> dict[str, list[Any]]:
    """Every example on tiny problems of each kind that it can use, on the CPU engine."""
    problems = {
        "logistic": make("logistic-synthetic", clients=3, dimension=2, records=3, ridge=0.1),
        "softmax": make("softmax-synthetic", clients=3, dimension=1, records=4, classes=3, ridge=0.1),
        "quadratic": random_quadratic(3, 2, 1, seed=1),
        "huber": make("huber-scalar", minimisers=[0.0, 1.0, 5.0], thresholds=[1.0, 0.5, 2.0]),
    }
    runs = {}
    for case, (cls, example) in CASES.items():
        for kind in ("logistic", "softmax") if example.records else problems:
            algorithm, problem = example.build(cls, 0.3, 0.4, 0.2), problems[kind]
            run = simulate(algorithm, problem, 3, 2, 2**63 + 1, start=np.full(problem.d, 0.5), device="cpu")
            runs[f"{case} {kind}"] = [run.final.tolist(), run["suboptimality"].mean.tolist()]
    return runs


@pytest.mark.slow
def test_without_the_compiler_the_numbers_are_the_same() -> None:
    here = Path(__file__).parent
    program = f"import sys, json, numba; sys.path[:0] = [{str(here)!r}, {str(here.parent)!r}]\n"
    program += "assert numba.config.DISABLE_JIT\nimport test_algorithm_laws as t; print(json.dumps(t.tiny_runs()))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    plain, compiled = json.loads(done.stdout), tiny_runs()
    assert set(plain) == set(compiled)
    for name in compiled:
        for a, b in zip(plain[name], compiled[name]):
            assert np.allclose(a, b, rtol=1e-12, atol=1e-14), name


def test_the_reference_problems_are_not_degenerate() -> None:
    """Clients differ, and so do their ranks and numbers of records."""
    assert np.diff(ragged().offsets).tolist() == [3, 1, 2, 0]
    assert np.diff(families.least_squares().data.offsets).tolist() == [5, 2, 4, 3]
    assert families.least_squares().constants.delta_i_star.min() > 0.0
    assert problem_of("dense").constants.delta_i_star.min() > 0.0
