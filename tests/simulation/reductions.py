"""What each algorithm becomes in a special case: laws between algorithms, each a function of their classes.

A reduction returns what is wrong as a list of sentences; tests/mutants runs it with a faulty class in the place of a
sound one. ``a`` has the package's algorithms, operators and oracles as attributes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from oracles.compare import ARRAY, differs, play, problem_of, starting_points
from oracles.families import Transformed

import dpfl_theory.simulation as package
from dpfl_theory.algorithms.adaptive_clipping import AdaptiveClipping
from dpfl_theory.algorithms.averaging import with_momentum
from dpfl_theory.algorithms.dp_ftrl import DPFTRL
from dpfl_theory.algorithms.dp_mcmahan import DPMcMahanFedAvg
from dpfl_theory.algorithms.dp_sgd import DPSGD
from dpfl_theory.algorithms.error_feedback import DPNormSGD, ErrorFeedback, InformedClip21, InformedNormEC
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
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import (
    DPTwoSidedFedAvg,
    ModelClippedFedAvg,
    TwoSidedFedAvg,
    UnclippedTwoSidedFedAvg,
)
from dpfl_theory.kernels.engine import NOISE, SERVER_NOISE
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.simulation import Cohort, FullGradient, NoisyGradient, RecordGradient

Zoo = Any
ROUNDS, REPLICATES, SEED = 7, 3, 8
DESCRIBED = (
    *(FedAvg, DPFedAvg, DPNormFedAvg, ScaffNew, DPScaffNew, UnclippedScaffNew),
    *(TwoSidedFedAvg, DPTwoSidedFedAvg, UnclippedTwoSidedFedAvg, ModelClippedFedAvg),
    *(DPMcMahanFedAvg, AdaptiveClipping, LocalDP, DPFTRL, DPSGD),
    *(Scaffold, DPScaffold, RecordLevelFedAvg, InformedClip21, InformedNormEC, DPNormSGD),
    *(McMahanFedAvg, FedProx, FedNova, FedAvgM, FedAdam, FedYogi, FedAdagrad, FedDyn),
)
COHORTS = (Cohort(), Cohort("fixed", 3), Cohort("with-replacement", 4))
"""Their size is known, so that dividing by |P_t| and by r is the same."""
OPPOSITE = Transformed(change=lambda z, stream: -z if stream == SERVER_NOISE else z)
"""zhang2021 adds the noise to a model difference, das2022 and shulgin2025 to a gradient: the same up to its sign."""


def zoo(**faulty: type) -> Zoo:
    """All public names of the algorithms' package and descriptions of algorithms, some of them replaced."""
    described = {**{kind.__name__: kind for kind in DESCRIBED}, "with_momentum": with_momentum}
    return SimpleNamespace(**{**{name: getattr(package, name) for name in package.__all__}, **described, **faulty})


def run(algorithm: Any, problem: Problem, engine: Any = ARRAY, rounds: int = ROUNDS) -> Any:
    return play(algorithm, problem, rounds, starting_points(problem, REPLICATES), SEED, engine=engine)


def same(what: str, found: np.ndarray, expected: np.ndarray, relative: float = 1e-10) -> list[str]:
    scale = float(np.max(np.abs(expected - expected[0]))) or float(np.max(np.abs(expected)))
    return differs(what, found, expected, scale, relative)


def descent(problem: Problem, step: float, rounds: int = ROUNDS) -> np.ndarray:
    """Gradient descent on f from the usual starting points, (rounds + 1, replicates, d)."""
    w = [starting_points(problem, REPLICATES)]
    for _ in range(rounds):
        w.append(np.array([x - step * problem.gradient(x) for x in w[-1]]))
    return np.array(w)


def gradients(problem: Problem, w: np.ndarray) -> np.ndarray:
    """grad f_i of all clients, (n, replicates, d)."""
    return np.array([[problem.client_gradient(i, x) for x in w] for i in range(problem.n)])


# --- ScaffNew and SCAFFOLD -------------------------------------------------------------------------------------------


def scaffnew_that_always_communicates(a: Zoo) -> list[str]:
    """p = 1: the mean of the h_i is zero, so x follows gradient descent on f plus the mean of the clients' noise z_i,
    all x_i = x, and one round fixes the control variates whatever they were before: with all gradients at x_t,
    ``h_i = grad f_i - grad f + (1/eta) (mean z - z_i)``."""
    wrong, eta, sigma = [], 0.3, 0.2
    for name in ("dense", "logistic"):
        problem = problem_of(name)
        found = run(a.Simulation(a.UnclippedScaffNew(eta=eta, p=1.0, sigma=sigma)), problem)
        for k in range(ROUNDS):
            x, after, (x_i, h_i) = found.servers[k], found.servers[k + 1], found.states[k + 1].inner
            z = sigma * ARRAY.normal(found.context.replicates, k, problem.n, problem.d, NOISE)
            g = gradients(problem, x)
            wrong += same("x", np.array([x, after]), np.array([x, x - eta * g.mean(axis=0) + z.mean(axis=0)]))
            wrong += same("x_i", x_i, np.tile(after, (problem.n, 1, 1)))
            h = g - g.mean(axis=0) + (z.mean(axis=0) - z) / eta
            wrong += differs("h_i", h_i, h, float(np.max(np.abs(h))))
            wrong += differs("sum of the h_i", h_i.sum(axis=0), 0.0 * x, float(np.max(np.abs(h))), 1e-13)
        quiet = a.Simulation(a.ScaffNew(eta=eta, p=1.0))
        wrong += same("without noise, x", run(quiet, problem).servers, descent(problem, eta))
    return wrong


def scaffold_without_control_variates_is_fedavg(a: Zoo) -> list[str]:
    """noble2022 Section 3.3: c_i = 0 throughout gives (DP-)FedAvg, for every gradient oracle and cohort."""

    class Held(a.Scaffold):  # type: ignore[misc, name-defined]
        def round(self, o: Any, w: Any, state: Any) -> Any:
            return super().round(o, w, tuple(0.0 * part for part in state))

    wrong = []
    oracles = (FullGradient(), NoisyGradient(0.3), RecordGradient(0.5, 0.6, 0.5))
    for cohort, gradient in itertools.product(COHORTS[:2], oracles):
        problem = problem_of("logistic")
        plain = a.Simulation(a.TwoSidedFedAvg(eta_l=0.4, eta_g=1.3, Q=3), cohort, gradient)
        held = a.Simulation(Held(eta_l=0.4, eta_g=1.3, K=3), cohort, gradient)
        wrong += same(f"{cohort.scheme}, {gradient}: x", run(held, problem).servers, run(plain, problem).servers)
    return wrong


def scaffold_of_equal_clients_is_fedavg(a: Zoo) -> list[str]:
    """All clients equal and all taking part: c_i = c in every round, though neither is zero."""
    matrix = np.diag([1.0, 0.5, 0.1])
    problem = from_matrices(np.tile(matrix, (4, 1, 1)), np.tile([1.0, -2.0, 0.5], (4, 1)))
    scaffold = run(a.Simulation(a.Scaffold(eta_l=0.5, eta_g=1.2, K=3)), problem)
    fedavg = run(a.Simulation(a.TwoSidedFedAvg(eta_l=0.5, eta_g=1.2, Q=3)), problem)
    wrong = same("x", scaffold.servers, fedavg.servers)
    if float(np.max(np.abs(scaffold.states[1].inner[0]))) < 0.1:
        wrong.append("the control variates are zero")
    return wrong


# --- clipped FedAvg and DP-SGD ---------------------------------------------------------------------------------------


def one_normalised_local_step_is_dp_sgd(a: Zoo) -> list[str]:
    """E = 1, C = 1 and the server's noise: DP-NormFedAvg is DP-SGD with alpha = 0 and step beta."""
    wrong, beta, sigma = [], 0.4, 0.5
    normalised = DPNormFedAvg(eta=0.3, beta=beta, E=1, C=1.0, sigma=sigma).replaced(noise=server_noise)
    for cohort, name in itertools.product((*COHORTS, Cohort("poisson", 2.5)), ("dense", "huber")):
        problem = problem_of(name)
        dp_sgd = a.Simulation(a.DPNormSGD(gamma=beta, alpha=0.0, sigma=sigma), cohort)
        found = run(a.Simulation(normalised, cohort), problem).servers
        wrong += same(f"{cohort.scheme}, {name}", run(dp_sgd, problem).servers, found)
    return wrong


def fedavg_is_two_sided_fedavg(a: Zoo) -> list[str]:
    """Any number E of local steps: das2022's updates are zhang2021's differences divided by -eta."""
    wrong, eta, beta, C, sigma = [], 0.3, 0.4, 2.5, 0.5
    for cohort, name in itertools.product(COHORTS, ("low-rank", "logistic")):
        problem = problem_of(name)
        r = cohort.divisor(problem.n)
        fedavg = a.Simulation(a.DPFedAvg(eta=eta, E=4, beta=beta, C=C, sigma=sigma), cohort)
        expected = run(fedavg, problem).servers
        private = {"c": eta * C, "sigma": eta * math.sqrt(r) * sigma}
        two_sided = a.Simulation(a.DPTwoSidedFedAvg(eta_l=eta, eta_g=beta / eta, Q=4, **private), cohort)
        wrong += same(cohort.scheme, run(two_sided, problem, OPPOSITE).servers, expected)
    return wrong


def models_that_are_not_clipped_are_averaged(a: Zoo) -> list[str]:
    """Beyond every model's length, model clipping is FedAvg with eta_g = 1, in average and noise."""
    wrong = []
    for cohort in COHORTS:
        clipped, plain = (
            run(a.Simulation(one, cohort), problem_of("dense")).servers
            for one in (
                a.ModelClippedFedAvg(eta_l=0.3, Q=3, c=1e6, sigma=0.4),
                a.UnclippedTwoSidedFedAvg(eta_l=0.3, eta_g=1.0, Q=3, sigma=0.4),
            )
        )
        wrong += same(cohort.scheme, clipped, plain)
    return wrong


# --- EF21 ------------------------------------------------------------------------------------------------------------


def clip21_beyond_every_length_is_gradient_descent(a: Zoo) -> list[str]:
    """v = grad f from the first round on, whatever v_i was before."""
    wrong = []
    for name, share in itertools.product(("dense", "huber"), (0.0, 1.0, 0.3)):
        problem = problem_of(name)
        algorithm = a.Simulation(a.InformedClip21(gamma=0.4, tau=1e9, sigma=0.0, memory=share))
        wrong += same(f"share {share}", run(algorithm, problem).servers, descent(problem, 0.4))
    return wrong


def constant_gradients() -> Problem:
    """Huber losses far from their minima: grad f_i(w) does not depend on w."""
    return make("huber", clients=5, dimension=4, records=3, threshold=0.02, heterogeneity=1.0, seed=3)


def errors_of_memories(algorithm: Any) -> np.ndarray:
    """||grad f_i - v_i|| (rounds + 1, n, replicates) where the gradients are constant."""
    problem = constant_gradients()
    start = np.full((REPLICATES, problem.d), 1e3) + starting_points(problem, REPLICATES)
    states = play(algorithm, problem, 40, start, SEED, engine=ARRAY).states
    return np.array([np.linalg.norm(gradients(problem, start) - state.inner[1], axis=2) for state in states])


def memories_approach_a_constant_target_as_stated(a: Zoo) -> list[str]:
    """shulgin2025 (8), (16): r <- |1 - beta/(alpha + r)| r for smoothed normalisation, also where it overshoots, and
    r <- max(0, r - tau) for clipping; noise at the server does not reach the memories."""
    wrong = []
    for alpha, beta, sigma in ((0.02, 0.003, 0.0), (0.01, 0.05, 0.5), (0.0, 0.004, 0.5)):
        smoothed = a.InformedNormEC(gamma=1e-9, beta=beta, alpha=alpha, sigma=sigma, memory=0.0)
        r = errors_of_memories(a.Simulation(smoothed.replaced(direction=ErrorFeedback.direction)))
        expected = np.abs(1.0 - beta / (alpha + r[:-1])) * r[:-1]
        wrong += differs(f"alpha {alpha}: the error", r[1:], expected, float(r[0].max()))
        if (expected > r[:-1]).any() != (beta > 2.0 * alpha):
            wrong.append(f"alpha {alpha}: the errors grow where they should not, or never")
    r = errors_of_memories(a.Simulation(a.InformedClip21(gamma=1e-9, tau=0.002, sigma=0.5, memory=0.0)))
    wrong += differs("clipping: the error", r[1:], np.maximum(r[:-1] - 0.002, 0.0), float(r[0].max()))
    return wrong if r[-1].max() < 1e-12 < r[5].min() else [*wrong, "the errors do not end at zero, or too early"]


# --- momentum and averages -------------------------------------------------------------------------------------------


def no_momentum_is_the_algorithm(a: Zoo) -> list[str]:
    values, cohort = {"eta": 0.3, "E": 2, "C": 2.0, "sigma": 0.4}, Cohort("poisson", 2.5)
    found = a.Simulation(a.with_momentum(a.DPFedAvg)(**values, momentum=0.0), cohort)
    problem = problem_of("dense")
    expected = a.Simulation(a.DPFedAvg(**values), cohort)
    return same("m = 0", run(found, problem).servers, run(expected, problem).servers, 1e-13)


def momentum_has_its_closed_forms(a: Zoo) -> list[str]:
    """Constant gradient g: ``w_K = w_0 - eta g sum_{k=1}^K (1 - m^k)/(1 - m)``. Curvature lambda: w_k - w* is a
    combination of powers of the roots of ``x^2 - (1 + m - eta lambda) x + m``, with w_{-1} = w_0."""
    eta, m = 0.05, 0.7
    problem = constant_gradients()
    start = np.full((REPLICATES, problem.d), 1e3) + starting_points(problem, REPLICATES)
    heavy = a.Simulation(a.with_momentum(a.FedAvg)(eta=eta, momentum=m))
    found = play(heavy, problem, ROUNDS, start, SEED, engine=ARRAY).servers
    factor = np.array([sum((1.0 - m**j) / (1.0 - m) for j in range(1, K + 1)) for K in range(ROUNDS + 1)])
    g = np.array([problem.gradient(w) for w in start])
    wrong = same("constant gradient: w", found, start - eta * factor[:, None, None] * g, 1e-9)
    curved = from_matrices(np.array([[[2.0]]]), np.array([[3.0]]))
    heavy = a.Simulation(a.with_momentum(a.FedAvg)(eta=eta, momentum=m))
    found = run(heavy, curved, rounds=30).servers[:, :, 0] - 3.0
    b = (1.0 + m - eta * 2.0) / 2.0
    one, two = b + np.emath.sqrt(b * b - m), b - np.emath.sqrt(b * b - m)
    k = np.arange(1.0, 32.0)[:, None]  # w_{-1} = w_0 is power 0 and power 1
    power = ((1.0 - two) * one**k - (1.0 - one) * two**k) / (one - two)
    return wrong + same("quadratic: w - w*", found, power.real * found[0])


def the_average_is_the_weighted_mean_of_the_run(a: Zoo) -> list[str]:
    wrong, problem = [], problem_of("dense")
    inner = a.Simulation(a.DPScaffNew(eta=0.3, p=0.4, C=2.0, sigma=0.3))
    x = run(inner, problem).servers[1:]
    for ratio in (1.0, 0.7):
        found = run(a.WeightedAverage(inner, ratio), problem).servers
        whole = run(a.WeightedAverage(inner, ratio, with_start=True), problem).servers
        for T in range(1, ROUNDS + 1):
            omega = np.array([ratio ** -float(t) for t in range(1, T + 1)])
            expected = np.einsum("t,tsd->sd", omega / omega.sum(), x[:T])
            wrong += differs(f"ratio {ratio}: xbar_{T}", found[T], expected, float(np.max(np.abs(x - found[0]))))
            both = (expected * omega.sum() + found[0]) / (omega.sum() + 1.0)
            wrong += differs(f"ratio {ratio}, x_0 as well: xbar_{T}", whole[T], both, float(np.max(np.abs(x - both))))
    return wrong


REDUCTIONS: tuple[Callable[[Zoo], list[str]], ...] = (
    scaffnew_that_always_communicates,
    scaffold_without_control_variates_is_fedavg,
    scaffold_of_equal_clients_is_fedavg,
    one_normalised_local_step_is_dp_sgd,
    fedavg_is_two_sided_fedavg,
    models_that_are_not_clipped_are_averaged,
    clip21_beyond_every_length_is_gradient_descent,
    memories_approach_a_constant_target_as_stated,
    no_momentum_is_the_algorithm,
    momentum_has_its_closed_forms,
    the_average_is_the_weighted_mean_of_the_run,
)
