"""Planted faults in the algorithms, the quadratics' kernels and the array engine: each must be noticed.

A fault is a change of the source text; the changed module is compiled apart from the package, and the comparison with
the oracles and the laws of tests/laws run on it. The table of what noticed what is printed at the end of the test run.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from laws.test_algorithm_laws import EXAMPLES, LAWS, ragged
from oracles.compare import ARRAY, disagreements, play, problem_of, starting_points

from dpfl_theory.algorithms import Cohort, FedAvg, ScaffNew, Schedule
from dpfl_theory.problems.quadratic import Quadratic


def mutated(module: str, old: str, new: str) -> types.ModuleType:
    """A copy of a module with every ``old`` in its source replaced; a fault that no longer applies is an error."""
    original = importlib.import_module(f"dpfl_theory.{module}")
    source = Path(str(original.__file__)).read_text()
    assert old in source, f"{module} no longer contains {old!r}: bring the planted fault up to date"
    copy = types.ModuleType(f"{original.__name__}_with_a_fault")
    sys.modules[copy.__name__] = copy  # dataclasses look their module up
    try:
        exec(compile(source.replace(old, new), copy.__name__, "exec"), copy.__dict__)
    finally:
        del sys.modules[copy.__name__]
    return copy


def reference_cases(cls: type, cohort: type = Cohort) -> list[Any]:
    """Algorithms that between them use every hyper-parameter."""
    if cls.__name__ == "ScaffNew":
        return [cls(0.5, 0.4, 0.8, [0.1, 0.3, 0.2]), cls([0.3, 0.5, 0.2], 0.5)]
    return [
        cls(Schedule(0.4, 0.8), 3, 0.3, "clip", [1.0, 3.0, 2.0], cohort("poisson", 2.5), [0.1, 0.5, 0.3]),
        cls([0.3, 0.2, 0.1], 2, None, "normalise", 1.0, cohort("fixed", 2), 0.3, "average"),
        cls(0.3),
    ]


def suite(
    cls: type, cohort: type = Cohort, engine: Any = ARRAY, wrap: Callable[[Any], Any] = lambda problem: problem
) -> list[str]:
    """The names of the comparisons that notice something; a crash counts."""
    checks: dict[str, Callable[[], list[str]]] = {
        "oracle": lambda: [
            sentence
            for algorithm in reference_cases(cls, cohort)
            for name in ("dense", "low-rank", "huber")
            for sentence in disagreements(algorithm, wrap(problem_of(name)), 8, engine=engine)
        ]
    }
    original = next(known for known in EXAMPLES if known.__name__ == cls.__name__)
    for law in LAWS:
        checks[law.__name__] = lambda law=law: [s for example in EXAMPLES[original].values() for s in law(cls, example)]
    return [found for name, check in checks.items() if (found := noticed(name, check))]


def noticed(name: str, check: Callable[[], list[str]]) -> str:
    """The name of the check when it notices something, with how when the faulty code could not even run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return name if check() else ""
        except Exception as error:
            return f"{name} ({type(error).__name__})"


FEDAVG = "algorithms.fedavg", "FedAvg"
SCAFFNEW = "algorithms.scaffnew", "ScaffNew"
ALGORITHM_FAULTS: list[tuple[str, tuple[str, str], str, str]] = [
    ("threshold E C for C", FEDAVG, "per_lane(self.threshold)", "per_lane(self.threshold) * self.local_steps"),
    ("divisor |S| for r", FEDAVG, "(cohort / r", "(cohort / xp.maximum(cohort.sum(axis=1, keepdims=True), 1)"),
    ("divisor n for r", FEDAVG, "(cohort / r", "(cohort / context.problem.n"),
    ("sum for mean", FEDAVG, "(cohort / r", "(cohort"),
    ("everybody takes part", FEDAVG, "(cohort / r", "(xp.ones_like(cohort) / r"),
    ("variance for deviation", FEDAVG, "context.per_lane(self.sigma)", "context.per_lane(self.sigma) ** 2"),
    ("noise whatever the cohort", FEDAVG, "deviation * xp.sqrt(cohort.sum(axis=1) / r)", "deviation"),
    ("cohort's share without its root", FEDAVG, "xp.sqrt(cohort.sum(axis=1) / r)", "(cohort.sum(axis=1) / r)"),
    ("noise r times too small", FEDAVG, "xp.sqrt(cohort.sum(axis=1) / r)", "xp.sqrt(cohort.sum(axis=1)) / r"),
    ("noise placements swapped", FEDAVG, 'self.noise == "client"', 'self.noise == "average"'),
    ("noise not multiplied by beta", FEDAVG, "beta[:, None] * (signal + noise)", "beta[:, None] * signal - noise"),
    ("noise subtracted", FEDAVG, "(signal + noise)", "(signal - noise)"),
    ("noise of another round", FEDAVG, "normal(context.lanes, k, 1", "normal(context.lanes, k + 1, 1"),
    ("one noise for all lanes", FEDAVG, "SERVER_NOISE)[0]", "SERVER_NOISE)[0][:1]"),
    ("noise on one coordinate", FEDAVG, "SERVER_NOISE)[0]", "SERVER_NOISE)[0] * (xp.arange(w.shape[1]) == 0)"),
    ("global step ignored", FEDAVG, "eta if self.global_step is None", "eta if True"),
    ("schedule frozen", FEDAVG, "step_at(self.local_step, k)", "step_at(self.local_step, 0)"),
    ("schedule one round late", FEDAVG, "step_at(self.local_step, k)", "step_at(self.local_step, max(k - 1, 0))"),
    ("E - 1 local steps", FEDAVG, "eta, self.local_steps)", "eta, max(1, self.local_steps - 1))"),
    ("E + 1 local steps", FEDAVG, "eta, self.local_steps)", "eta, self.local_steps + 1)"),
    ("local steps with beta", FEDAVG, "local_phase(w, eta,", "local_phase(w, beta,"),
    ("clipping and normalising swapped", FEDAVG, 'self.bounding == "normalise")', 'self.bounding == "clip")'),
    ("model difference, not update", FEDAVG, "beta[:, None] * (signal", "beta[:, None] * (eta[:, None] * signal"),
    ("ascent", FEDAVG, "return w - beta", "return w + beta"),
    ("weight decay", FEDAVG, "return w - beta", "return 0.999 * w - beta"),
    ("clients weighted by their number", FEDAVG, "(cohort / r", "(cohort * xp.arange(cohort.shape[1]) / r"),
    ("h with the wrong sign", SCAFFNEW, "(state.x_i) - state.h_i", "(state.x_i) + state.h_i"),
    ("no control variates", SCAFFNEW, "(state.x_i) - state.h_i", "(state.x_i)"),
    ("first client for all", SCAFFNEW, "sent.mean(axis=0)", "sent[0]"),
    ("h moves the other way", SCAFFNEW, "(mean[None] - sent)", "(sent - mean[None])"),
    ("h update without p", SCAFFNEW, "(self.probability / eta)", "(1.0 / eta)"),
    ("h update with eta/p", SCAFFNEW, "(self.probability / eta)", "(eta / self.probability)"),
    ("h moves in every round", SCAFFNEW, "h_i=xp.where(everyone,", "h_i=xp.where(everyone | True,"),
    ("h without the mean", SCAFFNEW, "(mean[None] - sent)", "(-sent)"),
    ("difference from the client's own vector", SCAFFNEW, "moved - state.x[None]", "moved - state.x_i"),
    ("clients keep their vectors", SCAFFNEW, "x_i=xp.where(everyone, x[None], moved)", "x_i=moved"),
    ("always communicating", SCAFFNEW, "< self.probability", "< 1.0"),
    ("communicating with 1 - p", SCAFFNEW, "[:, 0] < self.probability", "[:, 0] > self.probability"),
    ("sum for mean ", SCAFFNEW, "sent.mean(axis=0)", "sent.sum(axis=0)"),
    ("variance for deviation ", SCAFFNEW, "context.per_lane(self.sigma)", "(context.per_lane(self.sigma) ** 2)"),
    ("noise on the average only", SCAFFNEW, "engine.normal(context.lanes, k, n,", "engine.normal(context.lanes, k, 1,"),
    ("threshold times eta", SCAFFNEW, "self.threshold)[None", "self.threshold * np.ravel(self.step)[0])[None"),
    ("normalised for clipped", SCAFFNEW, "xp.where(length > bound,", "xp.where(length > 0.0,"),
    ("gradients at the server's vector", SCAFFNEW, "gradients(state.x_i)", "gradients(0 * state.x_i + state.x[None])"),
]  # fmt: skip

COHORT = "algorithms.cohort", "Cohort"
COHORT_FAULTS = [
    ("poisson with 1 - r/n", COHORT, "u < self.divisor(n) / n", "u > self.divisor(n) / n"),
    ("poisson with r/(n + 1)", COHORT, "u < self.divisor(n) / n", "u < self.divisor(n) / (n + 1)"),
    ("one client too many", COHORT, "size = int(self.divisor(n))", "size = int(self.divisor(n)) + 1"),
    ("one cohort for all lanes", COHORT, "stream=COHORT)", "stream=COHORT)[:1] + xp.zeros((context.lanes.count, 1))"),
    ("one cohort for all rounds", COHORT, "context.lanes, k, n,", "context.lanes, 0, n,"),
    ("divisor n", COHORT, "self.size is None else float(self.size)", "self.size is None else float(n)"),
]  # fmt: skip

ARRAY_ENGINE, QUADRATIC = ("kernels.array", "ArrayEngine"), ("problems.quadratic", "QuadraticKernels")
LENGTHS = "xp.sqrt((updates * updates).sum(axis=2))"
KERNEL_FAULTS = [
    ("clipped by the squared norm", ARRAY_ENGINE, LENGTHS, "(updates * updates).sum(axis=2)"),
    ("clipped by the largest coordinate", ARRAY_ENGINE, LENGTHS, "abs(updates).max(axis=2)"),
    ("small updates clipped", ARRAY_ENGINE, "norms > threshold[:, None]", "norms < threshold[:, None]"),
    ("first lane forgotten", ARRAY_ENGINE, "(lanes.first, lanes.first + lanes.count", "(0, lanes.count"),
    ("sine for cosine", ARRAY_ENGINE, "xp.cos(angle)", "xp.sin(angle)"),
    ("nine rounds of Philox", ARRAY_ENGINE, "range(10)", "range(9)"),
    ("segments one column off", ARRAY_ENGINE, 'side="right") - 1', 'side="left") - 1'),
    ("steps of another lane", QUADRATIC, "xp.asarray(rows))", "xp.asarray(rows[::-1].copy()))"),
    ("eigenvalues squared", QUADRATIC, "self.eigenvalues * total", "self.eigenvalues**2 * total"),
    ("q = 1 + eta lambda", QUADRATIC, "q = 1.0 - self", "q = 1.0 + self"),
    ("doubling without the last step", QUADRATIC, 'if bit == "1"', "if False"),
    ("centre forgotten", QUADRATIC, "self.basis_t - self.shift", "self.basis_t"),
    ("updates normalised when short", QUADRATIC, "shrink = (norms > bound)", "shrink = (norms < bound)"),
    ("old step sizes kept", QUADRATIC, "self._factors[:2] != (key, steps)", "False"),
]  # fmt: skip


@pytest.mark.parametrize("fault", ALGORITHM_FAULTS, ids=lambda f: f[0].strip())
def test_fault_in_an_algorithm_is_noticed(fault: Any, record_property: Any) -> None:
    name, (module, cls), old, new = fault
    killers = suite(getattr(mutated(module, old, new), cls))
    record_property("kill", (f"{cls}: {name.strip()}", ", ".join(killers)))
    assert killers


@pytest.mark.parametrize("fault", COHORT_FAULTS, ids=lambda f: f[0])
def test_fault_in_the_sampling_is_noticed(fault: Any, record_property: Any) -> None:
    name, (module, cls), old, new = fault
    killers = suite(FedAvg, getattr(mutated(module, old, new), cls))
    record_property("kill", (f"{cls}: {name}", ", ".join(killers)))
    assert killers


@pytest.mark.parametrize("fault", KERNEL_FAULTS, ids=lambda f: f[0])
def test_fault_in_a_kernel_is_noticed(fault: Any, record_property: Any) -> None:
    name, (module, cls), old, new = fault
    faulty = getattr(mutated(module, old, new), cls)
    engine: Any = ARRAY
    if cls == "ArrayEngine":
        engine = faulty(np, "array", "with a fault")
        killers = suite(FedAvg, engine=engine)
    else:
        killers = suite(FedAvg, wrap=lambda problem: with_kernels(problem, faulty))
    record_property("kill", (f"{cls}: {name}", ", ".join(killers)))
    assert killers


def with_kernels(problem: Any, kernels: type) -> Any:
    """The quadratic with another numerical side."""
    if not isinstance(problem, Quadratic):
        return problem

    class Faulty(Quadratic):
        def kernels(self, engine: Any) -> Any:
            return kernels(self, engine)

    return Faulty(**{field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)})


def test_the_suite_passes_what_is_sound() -> None:
    """Recompiled without a fault, nothing is noticed; so what is noticed above is the fault."""
    for module, cls in (FEDAVG, SCAFFNEW):
        assert suite(getattr(mutated(module, "return", "return"), cls)) == []
    assert suite(FedAvg, mutated(COHORT[0], "return", "return").Cohort) == []
    assert suite(FedAvg, engine=mutated(ARRAY_ENGINE[0], "xp", "xp").ArrayEngine(np, "array", "")) == []
    faulty = mutated(QUADRATIC[0], "return", "return").QuadraticKernels
    assert suite(FedAvg, wrap=lambda problem: with_kernels(problem, faulty)) == []


WITNESSES = {
    "one_client_is_gradient_descent": "ascent",
    "the_order_of_clients_is_immaterial": "clients weighted by their number",
    "rotations_rotate_the_run": "noise on one coordinate",
    "the_unit_of_the_objective_is_immaterial": "model difference, not update",
    "the_unit_of_the_parameters_is_immaterial": "noise not multiplied by beta",
    "translations_translate_the_run": "weight decay",
    "a_shared_minimiser_is_a_fixed_point": "weight decay",
    "lanes_do_not_see_each_other": "one noise for all lanes",
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_every_law_notices_some_fault(law: Any) -> None:
    _, (module, cls), old, new = next(f for f in ALGORITHM_FAULTS if f[0] == WITNESSES[law.__name__])
    faulty = getattr(mutated(module, old, new), cls)
    assert any(law(faulty, example) for example in EXAMPLES[FedAvg].values())
    assert not any(law(FedAvg, example) for example in EXAMPLES[FedAvg].values())


def test_names_of_faults_are_unique() -> None:
    names = [f"{fault[1][1]} {fault[0]}" for fault in (*ALGORITHM_FAULTS, *COHORT_FAULTS, *KERNEL_FAULTS)]
    assert len(names) == len(set(names))


def test_the_cases_reach_what_the_faults_change() -> None:
    """Runs in the suite clip some updates and not others, and at least once nobody takes part."""
    algorithm = reference_cases(FedAvg)[0]
    problem = problem_of("dense")
    run = play(algorithm, problem, 8, starting_points(problem, 3), 11, 4)
    share = np.mean([h.update_norms > h.threshold[:, None] for h in run.rounds])
    assert 0.05 < share < 0.95
    assert len({int(s) for h in run.rounds for s in h.cohort.sum(axis=1)}) >= 3
    assert len({ScaffNew, FedAvg} & set(EXAMPLES)) == 2
    assert ragged().n == 4
