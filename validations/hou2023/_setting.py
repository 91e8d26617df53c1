"""Shared code of the validations of hou2023: convex problems, noise, and runs of both algorithms.

Algorithm 1 (DP-FedAvg) makes tau local steps in each of T/tau rounds. Algorithm 2 (DP-ScaffNew) communicates with
probability p = 1/tau in each of T iterations: tau local steps are expected. Both take full gradients and eta = 1/L.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from dpfl_theory.algorithms.scaffnew import DPScaffNew, UnclippedScaffNew
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, UnclippedTwoSidedFedAvg
from dpfl_theory.privacy import calibrate, get
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import from_dataset
from dpfl_theory.problems.partition import partition
from dpfl_theory.problems.quadratic import random_quadratic
from dpfl_theory.runtime import threads
from dpfl_theory.simulation import Run, Simulation, simulate
from dpfl_theory.simulation.base import Algorithm

ALGORITHMS = {"fedavg": "DP-FedAvg", "scaffnew": "DP-ScaffNew"}
DELTA = 1e-5
V = 4.0  # enough for a fixed number of rounds and epsilon <= 2 ln(1/delta): hou2023.lemma1.repaired
PAPER_EPSILONS = (0.5, 1.0, 2.0, 3.3)
CONDITION = 50.0
PROBLEMS = "convex problems, a quadratic with 40 clients and logistic regression with 5, for the paper's networks"
DIFFERS = f"{PROBLEMS}, and f(x_T) - f* for its test error rate"
"""The differences of the observations' runs from the paper's."""
INFINITE = "inf"  # the text for epsilon = infinity in the data files, where numbers are finite


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem with a starting point, and held-out records (features and labels -1, +1) if it has any."""

    name: str
    problem: Problem
    start: Array
    held_out: tuple[Array, Array] | None = None

    @property
    def step(self) -> float:
        """eta = 1/L [X^2/F]."""
        return 1.0 / self.problem.constants.L_max

    @cached_property
    def distance(self) -> float:
        """||x_0 - x*|| [X], in which thresholds are given."""
        w_star = self.problem.constants.w_star
        assert w_star is not None
        return float(np.linalg.norm(self.start - w_star))

    @cached_property
    def gap(self) -> float:
        """f(x_0) - f* [F]: a private run that ends above it is worse than no run."""
        return self.problem.value(self.start) - self.problem.constants.f_star

    def test_error(self, final: Array) -> Array:
        """Share of held-out records that are on the wrong side, for each row of ``final``."""
        assert self.held_out is not None
        x, y = self.held_out
        return np.asarray(np.mean(np.sign(final @ x.T) != y, axis=1))

    def describe(self) -> dict[str, Any]:
        """As plain data for the configuration."""
        c = self.problem.constants
        spread = float(np.sqrt(np.mean(np.sum(self.problem.gradients_at_star**2, axis=1))))
        return {
            "problem": self.problem.name,
            "clients": self.problem.n,
            "dimension": self.problem.d,
            "L": c.L_max,
            "mu": c.mu_min,
            "eta": self.step,
            "distance": self.distance,
            "gap": self.gap,
            "root mean square of the clients' gradients at w*, over L times the distance": spread
            / (c.L_max * self.distance),
        }


def quadratic(seed: int, clients: int = 40) -> Setting:
    """A strongly convex quadratic problem: every client has condition number 50, and its own centre."""
    problem = random_quadratic(clients=clients, dimension=5, condition=CONDITION, heterogeneity=0.1, seed=seed)
    w_star = problem.constants.w_star
    assert w_star is not None
    direction = np.random.default_rng([seed, 1]).standard_normal(problem.d)
    return Setting(f"quadratic, N = {clients}", problem, w_star + direction / np.linalg.norm(direction))


def ridge_for(build: Callable[..., Problem], condition: float) -> float:
    """The ridge mu [F/X^2] with L/mu = condition, L being the largest of the clients' constants, ridge included."""
    unit = build(ridge=1.0).constants.L_max - 1.0
    return unit / (condition - 1.0)


def logistic(seed: int, clients: int = 5, held_out: float = 0.2) -> Setting:
    """Ridge logistic regression on breast-cancer, 5 principal components and a bias, half of the records i.i.d., half
    sorted by label; a fifth of the records are held out."""
    found = load("breast-cancer", features=5, row_norm=1.0)
    order = np.random.default_rng([seed, 2]).permutation(len(found.y))
    test, train = np.split(order, [round(held_out * len(order))])
    kept = Dataset(found.name, found.x[train], found.y[train], found.classes)
    parts = partition("similarity", kept.y, clients, seed, percent=50.0)
    build = partial(from_dataset, kept, parts, "logistic", name="ridge logistic regression on breast-cancer")
    problem = build(ridge=ridge_for(build, CONDITION))
    signs = 2.0 * found.y - 1.0
    return Setting(f"logistic, N = {clients}", problem, np.zeros(problem.d), (found.x[test], signs[test]))


def settings(seed: int) -> list[Setting]:
    """The two problems of the observations."""
    return [quadratic(seed), logistic(seed)]


def printed_sigma(threshold: float, rounds: float, epsilon: float) -> float:
    """Lemma 1's standard deviation of one message's noise [X] with v = 4, for this (expected) number of rounds: pT."""
    return threshold * math.sqrt(V * rounds * math.log(1.0 / DELTA)) / epsilon


@dataclass(frozen=True)
class Grid:
    """Runs of one algorithm: ``replicates`` replicates for each epsilon, all of them in one batch."""

    setting: Setting
    algorithm: str
    threshold: float | None
    replicates: int
    seed: int
    device: str

    def __str__(self) -> str:
        """For names of points."""
        clipping = "no clipping" if self.threshold is None else f"C = {self.threshold:g}"
        return f"{ALGORITHMS[self.algorithm]}, {self.setting.name}, {clipping}"

    def run(
        self, tau: float, iterations: int, sigmas: Sequence[float], observe: Sequence[Any] = ("suboptimality",)
    ) -> Run:
        """T = iterations with (expected) tau local steps; replicates in order of sigmas [X]. Only the start and the end
        are observed: a value of the objective costs as much as a step.

        Each sigma has its own replicates; runs with the same number of sigmas share their noise and their coins.
        """
        s, replicates = self.setting, self.replicates * len(sigmas)
        sigma = np.repeat(np.asarray(sigmas, dtype=np.float64), self.replicates).tolist()
        algorithm: Algorithm
        if self.algorithm == "fedavg":
            steps = {"eta_l": s.step, "eta_g": 1.0, "Q": int(tau), "sigma": sigma}
            unclipped = self.threshold is None
            algorithm = Simulation(
                UnclippedTwoSidedFedAvg(**steps) if unclipped else DPTwoSidedFedAvg(**steps, c=self.threshold)
            )
            rounds = iterations // int(tau)
        else:
            values = {"eta": s.step, "p": 1.0 / tau, "sigma": sigma}
            clipped = self.threshold is not None
            run = DPScaffNew(**values, C=self.threshold) if clipped else UnclippedScaffNew(**values)
            algorithm = Simulation(run)
            rounds = iterations
        return simulate(
            algorithm,
            s.problem,
            rounds,
            replicates,
            self.seed,
            observe,
            start=s.start,
            every=rounds,
            device=self.device,
        )

    def final(self, tau: float, iterations: int, sigmas: Sequence[float]) -> tuple[Array, Array | None]:
        """f(x_T) - f* and the test error, each (sigmas, replicates)."""
        done = self.run(tau, iterations, sigmas)
        shape = (len(sigmas), self.replicates)
        error = None if self.setting.held_out is None else self.setting.test_error(done.final).reshape(shape)
        return done["suboptimality"].last.reshape(shape), error

    def with_(self, **changes: Any) -> Grid:
        """The same with other fields."""
        return replace(self, **changes)


def label(epsilon: float) -> str:
    """The form of an epsilon in data files."""
    return INFINITE if math.isinf(epsilon) else f"{epsilon:g}"


def certified_factors(pairs: Sequence[tuple[int, int, float]], algorithm: str) -> dict[tuple[int, int, float], float]:
    """sigma/C of one message that dpfl_theory.privacy certifies, for each (tau, T, epsilon) at delta = 1e-5.

    All messages and all coins are seen (local privacy), neighbours differ in one client (zero-out). Of DP-FedAvg's
    fixed number of rounds only the square root matters; of DP-ScaffNew's random number the whole distribution matters.
    """

    dp_fedavg: Any = get("dp-fedavg")
    dp_scaffnew: Any = get("dp-scaffnew")

    def job(case: tuple[int, int, float]) -> float:
        tau, T, epsilon = case
        if algorithm == "fedavg" or tau == 1:
            one = calibrate(dp_fedavg(clients=1, rounds=1), epsilon=epsilon, delta=DELTA)
            return one * math.sqrt(T // tau)
        run = dp_scaffnew(rounds=T, communication_probability=1.0 / tau)
        return calibrate(run, epsilon=epsilon, delta=DELTA, start=6.0 * math.sqrt(T / tau) / epsilon)

    with ThreadPoolExecutor(min(2, threads.available())) as pool:  # convolutions release the interpreter's lock
        return dict(zip(pairs, pool.map(job, pairs), strict=True))


Noise = Callable[[float, int, float], float]
"""tau, T, epsilon -> sigma [X]."""


def printed_noise(threshold: float) -> Noise:
    """Lemma 1's noise; none for epsilon = inf."""
    return lambda tau, T, epsilon: printed_sigma(threshold, T / tau, epsilon)


def certified_noise(threshold: float, factors: Mapping[tuple[int, int, float], float]) -> Noise:
    """The noise of `certified_factors`."""
    return lambda tau, T, epsilon: threshold * factors[int(tau), T, epsilon]
