"""Laws of every algorithm. A subclass of Algorithm in dpfl_theory.algorithms joins by an entry in EXAMPLES; without
one, a test fails.

Each law is a function that returns what is wrong as a list of sentences; tests/mutants shows that they can fail. Where
a law transforms the problem, the engine's noise is transformed with it, so laws hold with noise, on every path.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.compare import ARRAY, ENGINES, differs, play, problem_of, starting_points

import dpfl_theory.algorithms as package
from dpfl_theory.algorithms import Algorithm, Cohort, FedAvg, ScaffNew, simulate
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.quadratic import Quadratic, from_matrices, random_quadratic

Unit = tuple[int, int]  # exponents of the objective's and the parameters' unit


@dataclasses.dataclass(frozen=True)
class Example:
    """An algorithm with typical hyper-parameters.

    build: (class, step, threshold, sigma) -> algorithm, where the step has unit X^2/F;
    threshold, sigma: their units;  descent: (class, step) -> the algorithm without noise and bounds and with one local
    step, for which one client makes it gradient descent.
    """

    build: Callable[[Any, float, float, float], Any]
    threshold: Unit
    sigma: Unit
    descent: Callable[[Any, float], Any]


_FEDAVG = {"threshold": (1, -1), "sigma": (1, -1), "descent": lambda cls, step: cls(step)}
_SCAFFNEW = {"threshold": (0, 1), "sigma": (0, 1), "descent": lambda cls, step: cls(step, 1.0)}
EXAMPLES: dict[type, dict[str, Example]] = {
    FedAvg: {
        "clipped": Example(lambda cls, e, C, s: cls(e, 3, 0.7 * e, "clip", C, Cohort("poisson", 3), s), **_FEDAVG),
        "normalised": Example(
            lambda cls, e, C, s: cls(e, 2, 1.3 * e, "normalise", C, Cohort("fixed", 3), s, "average"), **_FEDAVG
        ),
        "plain": Example(lambda cls, e, C, s: cls(e, 4), **_FEDAVG),
    },
    ScaffNew: {
        "clipped": Example(lambda cls, e, C, s: cls(e, 0.4, C, s), **_SCAFFNEW),
        "plain": Example(lambda cls, e, C, s: cls(e, 0.6), **_SCAFFNEW),
    },
}  # fmt: skip

ROUNDS, LANES, STEP, THRESHOLD, SIGMA = 8, 3, 0.4, 1.0, 0.3
Law = Callable[[type, Example], list[str]]


def ragged() -> Quadratic:
    """Four quadratic clients of ranks 3, 1, 2 and 0."""
    rng = np.random.default_rng(3)
    factors = [rng.standard_normal((3, rank)) for rank in (3, 1, 2)]
    matrices = [a @ a.T / np.linalg.norm(a, 2) ** 2 for a in factors] + [np.zeros((3, 3))]
    return from_matrices(np.array(matrices), rng.standard_normal((4, 3)))


def servers(
    cls: type, example: Example, problem: Problem, start: np.ndarray, engine: Any = None, **scale: float
) -> Any:
    """The server's vectors (rounds + 1, lanes, d); objective and parameters in units of F and X."""
    F, X = scale.get("F", 1.0), scale.get("X", 1.0)
    threshold, sigma = (F**f * X**x for f, x in (example.threshold, example.sigma))
    algorithm = example.build(cls, STEP * X**2 / F, THRESHOLD * threshold, SIGMA * sigma)
    return play(algorithm, problem, ROUNDS, start, 12, engine=engine or ARRAY).servers


def compare(what: str, found: np.ndarray, expected: np.ndarray) -> list[str]:
    return differs(what, found, expected, float(np.max(np.abs(expected - expected[0]))))


class Transformed(ArrayEngine):
    """An engine whose per-client numbers come in another order, and whose normal vectors are rotated."""

    def __init__(self, order: np.ndarray | None = None, rotation: np.ndarray | None = None) -> None:
        super().__init__(np, "array", "transformed")
        self.order, self.rotation = order, rotation

    def uniform(self, lanes: Any, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        u = super().uniform(lanes, round_, clients, stream, step)
        return u[:, self.order] if self.order is not None and clients == len(self.order) else u

    def normal(self, lanes: Any, round_: int, clients: int, d: int, stream: int, step: int = 0) -> Any:
        z = super().normal(lanes, round_, clients, d, stream, step)
        z = z[self.order] if self.order is not None and clients == len(self.order) else z
        return z if self.rotation is None else z @ self.rotation.T


def reordered(problem: Problem, order: np.ndarray) -> Problem:
    """The problem with client order[j] in place j."""
    p: Any = problem if isinstance(problem, Quadratic) else problem.data  # type: ignore[attr-defined]
    parts = [np.arange(p.offsets[i], p.offsets[i + 1]) for i in order]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    rows = np.concatenate(parts)
    if isinstance(problem, Quadratic):
        return Quadratic("reordered", p.basis[rows], p.eigenvalues[rows], offsets, p.centres[order])
    return LinearModel(
        dataclasses.replace(p, x=p.x[rows], y=p.y[rows], threshold=p.threshold[rows], offsets=offsets)
    )  # fmt: skip


# --- laws ------------------------------------------------------------------------------------------------------------


def one_client_is_gradient_descent(cls: type, example: Example) -> list[str]:
    """No noise, no bound, one client, one local step: w <- w - step grad f(w)."""
    wrong = []
    for problem in (random_quadratic(1, 3, seed=1), make("logistic-synthetic", clients=1, dimension=3, records=9)):
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
    logistic = make("logistic-synthetic", clients=4, dimension=3, records=6, ridge=0.1)
    for problem in (ragged(), logistic):
        start = starting_points(problem, LANES)
        expected = servers(cls, example, problem, start)
        found = servers(cls, example, reordered(problem, order), start, Transformed(order=order))
        wrong += compare("after a permutation the run", found, expected)
    return wrong


def rotations_rotate_the_run(cls: type, example: Example) -> list[str]:
    rotation, _ = np.linalg.qr(np.random.default_rng(9).standard_normal((3, 3)))
    problem = ragged()
    turned = dataclasses.replace(problem, basis=problem.basis @ rotation.T, centres=problem.centres @ rotation.T)
    start = starting_points(problem, LANES)
    found = servers(cls, example, turned, start @ rotation.T, Transformed(rotation=rotation))
    return compare("after a rotation the run", found, servers(cls, example, problem, start) @ rotation.T)


def the_unit_of_the_objective_is_immaterial(cls: type, example: Example) -> list[str]:
    """f -> c f with step/c, and threshold and sigma in their units: the same path."""
    wrong = []
    for c in (1e-3, 8.0):
        problem, start = ragged(), starting_points(ragged(), LANES)
        scaled = dataclasses.replace(problem, eigenvalues=c * problem.eigenvalues)
        found = servers(cls, example, scaled, start, F=c)
        wrong += compare(f"with the objective times {c} the run", found, servers(cls, example, problem, start))
    return wrong


def the_unit_of_the_parameters_is_immaterial(cls: type, example: Example) -> list[str]:
    """w -> s w with step s^2, and threshold and sigma in their units: the path times s."""
    wrong = []
    for s in (1e-3, 8.0):
        problem, start = ragged(), starting_points(ragged(), LANES)
        scaled = dataclasses.replace(problem, eigenvalues=problem.eigenvalues / s**2, centres=s * problem.centres)
        found = servers(cls, example, scaled, s * start, X=s)
        wrong += compare(f"with the parameters times {s} the run", found / s, servers(cls, example, problem, start))
    return wrong


def translations_translate_the_run(cls: type, example: Example) -> list[str]:
    """Also far away, where coordinates must not lose the digits of the distance."""
    wrong = []
    for shift in (np.array([3.0, -1.0, 2.0]), np.array([2.0**17, 0.0, -(2.0**18)])):
        problem, start = ragged(), np.round(starting_points(ragged(), LANES) * 2**20) / 2**20
        problem = dataclasses.replace(problem, centres=np.round(problem.centres * 2**20) / 2**20)  # sums are exact
        moved = dataclasses.replace(problem, centres=problem.centres + shift)
        found = servers(cls, example, moved, start + shift)
        room = 1e-16 * float(np.max(np.abs(shift))) * ROUNDS * 10
        expected = servers(cls, example, problem, start)
        travelled = float(np.max(np.abs(expected - start)))
        wrong += differs("after a translation the run", found - shift, expected, 1.0, 1e-10 * travelled + room)
    return wrong


def a_shared_minimiser_is_a_fixed_point(cls: type, example: Example) -> list[str]:
    """Without noise a run that starts where every client is at its minimum stays there, to the last bit."""
    centre = np.random.default_rng(2).standard_normal(3)
    problem = dataclasses.replace(random_quadratic(4, 3, seed=2), centres=np.tile(centre, (4, 1)))
    start = np.tile(centre, (2, 1))
    wrong = []
    for name, engine in ENGINES.items():
        found = play(example.build(cls, STEP, THRESHOLD, 0.0), problem, ROUNDS, start, engine=engine).servers
        if not np.array_equal(found, np.tile(start, (ROUNDS + 1, 1, 1))):
            wrong.append(f"{name}: the run leaves the shared minimiser")
    return wrong


def lanes_do_not_see_each_other(cls: type, example: Example) -> list[str]:
    """A lane's path is that of the lane alone."""
    problem, start = ragged(), starting_points(ragged(), LANES)
    whole = servers(cls, example, problem, start)
    wrong = []
    for s in range(LANES):
        alone = play(example.build(cls, STEP, THRESHOLD, SIGMA), problem, ROUNDS, start[s : s + 1], 12, s, ARRAY)
        wrong += compare(f"lane {s} alone", alone.servers[:, 0], whole[:, s])
    return wrong


LAWS: list[Law] = [
    one_client_is_gradient_descent,
    the_order_of_clients_is_immaterial,
    rotations_rotate_the_run,
    the_unit_of_the_objective_is_immaterial,
    the_unit_of_the_parameters_is_immaterial,
    translations_translate_the_run,
    a_shared_minimiser_is_a_fixed_point,
    lanes_do_not_see_each_other,
]
CASES = {f"{cls.__name__}-{kind}": (cls, example) for cls, kinds in EXAMPLES.items() for kind, example in kinds.items()}


# --- tests -----------------------------------------------------------------------------------------------------------


def algorithms() -> set[type]:
    """All concrete algorithms of the package, found by scanning it."""
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")
    found, todo = set(), [Algorithm]
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if cls.__module__.startswith(package.__name__ + ".") and not getattr(cls, "__abstractmethods__", None):
            found.add(cls)
    return found


def test_every_algorithm_has_examples() -> None:
    found = algorithms()
    assert {FedAvg, ScaffNew} <= found
    assert {cls.__name__ for cls in found ^ set(EXAMPLES)} == set(), "give each algorithm an entry in EXAMPLES"
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(case: str, law: Law) -> None:
    assert law(*CASES[case]) == []


@pytest.mark.parametrize("case", CASES)
def test_examples_use_what_they_are_given(case: str) -> None:
    """A threshold or noise level that an example ignores would empty the laws (plain examples have none)."""
    cls, example = CASES[case]
    problem, start = ragged(), starting_points(ragged(), LANES)
    base, other_C, other_sigma, other_step = (
        play(example.build(cls, *arguments), problem, ROUNDS, start, 12).servers
        for arguments in ((0.4, 1.0, 0.3), (0.4, 1.1, 0.3), (0.4, 1.0, 0.4), (0.5, 1.0, 0.3))
    )
    plain = case.endswith("plain")
    assert np.array_equal(base, other_C) == plain
    assert np.array_equal(base, other_sigma) == plain
    assert not np.allclose(base, other_step)
    assert example.build(cls, 0.4, 1.0, 0.3).describe()["algorithm"] == cls.__name__


@given(
    steps=st.integers(1, 40),
    factors=st.lists(st.sampled_from([1e-12, 1e-3, 0.4, 1.0, 1.5, 2.0, 2.2]), min_size=1, max_size=4),
    rank=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_local_steps_on_quadratics_are_one_linear_map(steps: int, factors: list[float], rank: int, seed: int) -> None:
    """E steps at once, u_i = (w - w_{i,E})/eta, against E explicit gradient steps; no digits are lost at tiny steps.
    At eta = 2/L gradients cancel in pairs, so the scale is that of the largest gradient or update."""
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
            assert differs("norms", phase.norms[s], norms, scale, 1e-12 * steps) == []


def tiny_runs() -> dict[str, list[Any]]:
    """Every example on tiny problems of each kind, on the CPU engine."""
    problems = {
        "quadratic": random_quadratic(3, 2, 1, seed=1),
        "logistic": make("logistic-synthetic", clients=3, dimension=2, records=3, ridge=0.1),
        "huber": make("huber-scalar", minimisers=[0.0, 1.0, 5.0], thresholds=[1.0, 0.5, 2.0]),
        "softmax": make("softmax-synthetic", clients=3, dimension=1, records=4, classes=3, ridge=0.1),
    }
    runs = {}
    for case, (cls, example) in CASES.items():
        for kind, problem in problems.items():
            algorithm = example.build(cls, 0.3, 0.4, 0.2)
            run = simulate(algorithm, problem, 3, 2, 2**63 + 1, start=np.full(problem.d, 0.5), device="cpu")
            runs[f"{case} {kind}"] = [run.final.tolist(), run["suboptimality"].mean.tolist()]
    return runs


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
    """Clients differ, and their ranks, too."""
    assert np.diff(ragged().offsets).tolist() == [3, 1, 2, 0]
    assert problem_of("dense").constants.delta_i_star.min() > 0.0
