"""The comparisons of `exact_moments`: algorithms, and the exact expectation of a second moment of each run.

Cohorts, DP-FedAvg, DP-ScaffNew and DP-SCAFFOLD-warm run on one problem, three quadratics in one dimension, where linear
recursions in rational numbers give the moments. The noise in alpha-NormEC's estimate has the same second moment for all
messages; its runs are on random quadratics, whose messages are normalised and not linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.algorithms.record_level import DPScaffold
from dpfl_theory.algorithms.scaffnew import UnclippedScaffNew
from dpfl_theory.algorithms.scaffold import Scaffold, all_users
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg, UnclippedTwoSidedFedAvg
from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import Dataset
from dpfl_theory.problems.linear_model import from_dataset
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.simulation import Cohort, NoisyGradient, Simulation, simulate
from dpfl_theory.simulation.base import Algorithm
from dpfl_theory.simulation.observables import get
from dpfl_theory.statements.das2022._sampling_moments import second_moment
from dpfl_theory.statements.hou2023._runs import expected_psi
from dpfl_theory.statements.hou2023.observations import gap
from dpfl_theory.statements.noble2022._moments import Users, rounds
from dpfl_theory.statements.shulgin2025 import theorem2

__all__ = ["CENTRES", "ETA_L", "START", "UNIT", "VARIANCE", "Comparison", "Q", "comparisons"]

Q = (Fraction(1), Fraction(1, 4), Fraction(1, 10))
CENTRES = (Fraction(0), Fraction(1), Fraction(-2))
START = Fraction(8)
UNIT = Fraction(1, 10)  # C^2 v ln(1/delta)/epsilon^2 of hou2023's noise
ETA_L, VARIANCE = Fraction(1, 2), Fraction(16)  # of noble2022's local steps: noise is a large part of the moments


@dataclass(frozen=True)
class Comparison:
    """An expectation: its name, its exact value, and the run and observable whose last value has it as its mean; its
    mean square where ``squared``."""

    name: str
    exact: Fraction
    algorithm: Algorithm
    problem: Problem
    rounds: int
    observable: str
    squared: bool = False

    def replicates(self, replicates: int, seed: int, device: str, first_replicate: int = 0) -> np.ndarray:
        """One independent value for each replicate, (replicates,); the same replicate has the same value."""
        start = np.full(self.problem.d, float(START))
        every = self.rounds if get(self.observable).of_state else 1
        run = simulate(
            self.algorithm,
            self.problem,
            self.rounds,
            replicates,
            seed,
            [self.observable],
            start=start,
            first_replicate=first_replicate,
            every=every,
            device=device,
        )
        values = np.asarray(run[self.observable].last)
        return values**2 if self.squared else values


def comparisons(iterations: int) -> Iterator[Comparison]:
    """das2022's cohorts, then the algorithms of hou2023 for this number of iterations, and those of the other
    papers."""
    problem = from_matrices(np.array([[[float(q)]] for q in Q]), np.array([[float(c)] for c in CENTRES]))
    yield from _cohorts(problem)
    yield from _hou2023(problem, iterations)
    yield from _noble2022(problem)
    yield from _lemma_sums(problem)
    yield from _shulgin2025()


def _cohorts(problem: Problem) -> Iterator[Comparison]:
    """The squared average of a cohort, of each kind."""
    gradients = tuple(q * (START - centre) for q, centre in zip(Q, CENTRES))
    whole = math.lcm(*(g.denominator for g in gradients))
    members = tuple((int(g * whole),) for g in gradients)
    for scheme, r in (("poisson", 1), ("poisson", 2), ("fixed", 1), ("fixed", 2)):
        kind = "independent" if scheme == "poisson" else "fixed"
        exact = second_moment(members, Fraction(r), kind) / whole**2
        algorithm = Simulation(FedAvg(eta=0.01), Cohort(scheme, r))
        yield Comparison(f"cohort, {kind}, r = {r}", exact, algorithm, problem, 1, "signal-squared")


def _hou2023(problem: Problem, T: int) -> Iterator[Comparison]:
    """E f - f* of DP-FedAvg and E psi of DP-ScaffNew for several numbers of local steps."""
    for tau in (1, 2, 3, 6):
        exact = gap("dp-fedavg", (Q, CENTRES, START), tau, T, UNIT)
        count = T // tau
        run = UnclippedTwoSidedFedAvg(eta_l=1.0, eta_g=1.0, Q=tau, sigma=math.sqrt(float(UNIT) * count))
        fedavg = Simulation(run)
        yield Comparison(f"DP-FedAvg, tau = {tau}", exact, fedavg, problem, count, "suboptimality")
    star = sum((a * b for a, b in zip(Q, CENTRES)), Fraction(0)) / sum(Q)
    shifts = [[q * (star - centre)] for q, centre in zip(Q, CENTRES)]
    for tau in (1, 2, 3, 6):
        p = Fraction(1, tau)
        variance = p * T * UNIT
        exact = expected_psi([[q] for q in Q], [START - star], shifts, Fraction(1), p, T, variance)
        scaffnew = Simulation(UnclippedScaffNew(eta=1.0, p=1.0 / tau, sigma=math.sqrt(variance)))
        yield Comparison(f"DP-ScaffNew, p = 1/{tau}", exact, scaffnew, problem, T, "scaffnew-lyapunov")


def _users(K: int, size: int, eta_g: Fraction, variance: Fraction = VARIANCE) -> Users:
    offsets = tuple(q * c for q, c in zip(Q, CENTRES))
    return Users(Q, offsets, K, ETA_L, eta_g, size, START, variance)


def _steps(users: Users) -> dict[str, Any]:
    """The values of an algorithm with these local steps."""
    steps = {"local_step": users.eta_l, "global_step": users.eta_g}
    return {**{name: float(v) for name, v in steps.items()}, "local_steps": users.local_steps}


def _cohort(users: Users) -> Cohort:
    return Cohort("fixed", users.size) if users.size < len(Q) else Cohort()


def _warm(users: Users) -> Simulation:
    """DP-SCAFFOLD-warm, whose gradients have Gaussian errors."""
    return Simulation(_warmed(Scaffold(**_steps(users))), _cohort(users), _noisy(users))


def _warmed(run: Description) -> Description:
    return run.replaced(warm_members=all_users).with_values(warm_start=1)


def _noisy(users: Users) -> NoisyGradient:
    return NoisyGradient(math.sqrt(users.variance))


def _setting(users: Users, count: int) -> str:
    who = f"{users.size} of {len(Q)} users" if users.size < len(Q) else "all users"
    return f"{who}, K = {users.local_steps}, eta_g = {users.eta_g}, {count} round{'s' if count > 1 else ''}"


def _noble2022(problem: Problem) -> Iterator[Comparison]:
    """E(x^T - x*)^2 of DP-SCAFFOLD-warm and DP-FedAvg; then with records, noise, and a threshold that never acts."""
    for K, size, eta_g, count in (
        (3, 3, Fraction(1), 1),
        (2, 3, Fraction(3, 2), 2),
        (1, 1, Fraction(1), 3),
        (3, 1, Fraction(1), 2),
        (2, 2, Fraction(3, 2), 3),
    ):
        users = _users(K, size, eta_g)
        name, exact = f"DP-SCAFFOLD, {_setting(users, count)}", rounds(users, count)[-1].distance_after
        yield Comparison(name, exact, _warm(users), problem, 1 + count, "distance-squared")
    users = _users(2, 2, Fraction(3, 2))
    exact = rounds(users, 3, control=False)[-1].distance_after
    fedavg = Simulation(TwoSidedFedAvg(**_steps(users)), _cohort(users), _noisy(users))
    yield Comparison(f"DP-FedAvg, local noise, {_setting(users, 3)}", exact, fedavg, problem, 3, "distance-squared")
    records, private, variance = _records()
    users = _users(2, 1, Fraction(3, 2), variance)
    name, exact = f"DP-SCAFFOLD, records, {_setting(users, 1)}", rounds(users, 1)[-1].distance_after
    warm = Simulation(_warmed(DPScaffold(**_steps(users), **private)), _cohort(users))
    yield Comparison(name, exact, warm, records, 2, "distance-squared")


def _records() -> tuple[Problem, dict[str, float], Fraction]:
    """The same users with four records each, whose gradients are apart from their mean by -3, -1, 1 and 3 everywhere;
    the values of steps that draw two of them, with noise of variance 4; the variance of these steps, (5/3) + 4."""
    apart, drawn, noise, threshold = (-3, -1, 1, 3), 2, Fraction(2), 1000
    R = len(apart)
    x = np.repeat([math.sqrt(q) for q in Q], R)[:, None]
    y = x[:, 0] * np.repeat([float(c) for c in CENTRES], R) + np.tile(apart, len(Q)) / x[:, 0]
    own = list(np.arange(len(Q) * R).reshape(len(Q), R))
    problem = from_dataset(Dataset("three users", x, y, 1), own, "squared", name="least-squares")
    private = {"s": drawn / R, "C": float(threshold), "sigma_g": float(noise * drawn / (2 * threshold))}
    spread = Fraction(sum(e * e for e in apart), R - 1) / drawn * (1 - Fraction(drawn, R))
    return problem, private, spread + noise**2


def _lemma_sums(problem: Problem) -> Iterator[Comparison]:
    """The drift of all users, drawn or not, and the lag of the points where control variates were taken."""
    users = _users(2, 1, Fraction(3, 2))
    exact = rounds(users, 1)[0]
    for what, value in (("drift", exact.drift), ("lag", exact.lag_after)):
        name = f"DP-SCAFFOLD, {what}, {_setting(users, 1)}"
        yield Comparison(name, value, _warm(users), problem, 2, f"scaffold-{what}")


def _shulgin2025() -> Iterator[Comparison]:
    """E||vhat^{K+1} - v^{K+1}||^2 by Lemma 3's recursion; then with Corollary 2's sigma and beta, by its noise term.

    The algorithm draws the mean of the clients' noises, with deviation sigma/sqrt(n), and not each of them.
    """
    for n, d, K, beta in (
        (1, 1, 0, Fraction(1)),
        (3, 1, 5, Fraction(1, 2)),
        (2, 3, 3, Fraction(2)),
        (6, 4, 1, Fraction(1, 4)),
    ):
        sigma = Fraction(3, 2)
        exact = theorem2.second_moment(K, n, d, sigma, beta)
        yield _estimate(f"n = {n}, d = {d}, K = {K}, beta = {beta}", exact, n, d, K, float(sigma), float(beta))
    import sympy as sp

    n, d, K, c, beta_0, epsilon, log = 4, 2, 4, Fraction(2), Fraction(3), Fraction(8), 12
    symbols = {"c": c, "beta_0": beta_0, "epsilon": epsilon, "n": n, "d": d, "delta": sp.exp(-log)}
    twice = theorem2.squared(theorem2.COROLLARY2, symbols, "privacy noise")
    deviation = float(c) * math.sqrt((K + 1) * log) / float(epsilon)
    yield _estimate(f"Corollary 2, n = {n}, d = {d}, K = {K}", twice / 4, n, d, K, deviation, float(beta_0) / (K + 1))


def _estimate(setting: str, exact: Fraction, n: int, d: int, K: int, sigma: float, beta: float) -> Comparison:
    problem = make("quadratic", clients=n, dimension=d, seed=1)
    algorithm = Simulation(NormEC(gamma=0.1, alpha=0.1, beta=beta, sigma=sigma))
    return Comparison(f"alpha-NormEC, {setting}", exact, algorithm, problem, K + 1, "estimate-noise", squared=True)
