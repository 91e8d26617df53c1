"""ScaffNew and DP-ScaffNew against the NumPy reference of hou2023 Algorithm 2 and against what the paper says of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from oracles.compare import CPU, ENGINES, PROBLEMS, disagreements, play, problem_of, starting_points
from scipy import stats
from short_forms import fedavg

from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew, UnclippedScaffNew
from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import COIN
from dpfl_theory.problems import make
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.simulation import Cohort, Simulation, simulate


def private(eta: Any, p: float, C: Any, sigma: Any) -> Simulation:
    """DP-ScaffNew, without clipping where C is None."""
    run: Algorithm = UnclippedScaffNew(eta=eta, p=p, sigma=sigma)
    return Simulation(run if C is None else DPScaffNew(eta=eta, p=p, C=C, sigma=sigma))


def plain(eta: Any, p: float) -> Simulation:
    return Simulation(ScaffNew(eta=eta, p=p))


@pytest.mark.exhaustive(keep=10)
@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("p", [0.3, 1.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_agrees_with_the_reference(name: str, p: float, clip: bool, engine: Any) -> None:
    """The server's and the clients' vectors and the control variates, with steps, thresholds and noise of each
    replicate."""
    problem = problem_of(name)
    eta = 1.0 / problem.constants.L_max
    for step, sigma in ((0.5 * eta, 0.0), ([eta, 0.5 * eta, 0.1 * eta], [0.0, 0.1, 0.4])):
        threshold = [0.3, 1.0, 100.0] if clip else None
        algorithm = private(step, p, threshold, sigma)
        assert disagreements(algorithm, problem, 14, seed=6, engine=engine) == []


def test_the_comparison_sees_clipping_and_communication() -> None:
    """The case above would be empty if nothing were clipped or sent: thresholds and probabilities make a difference."""
    problem = problem_of("dense")
    start = starting_points(problem, 3)
    runs = [
        play(private(0.5, p, C, 0.0), problem, 14, start, 6, 4).servers
        for p, C in ((0.3, None), (0.3, [0.3, 1.0, 100.0]), (1.0, None))
    ]
    moved = np.abs(runs[0] - runs[1]).max(axis=(0, 2))
    assert moved[0] > 0.1
    assert moved[2] == 0.0
    assert np.abs(runs[0] - runs[2]).max() > 0.1


def test_communicating_always_is_gradient_descent_on_f() -> None:
    """p = 1, equal clients' starts: control variates move, but the server's vector does not depend on them."""
    problem = problem_of("logistic")
    start = starting_points(problem, 1)
    w = start[0]
    found = play(plain(0.4, 1.0), problem, 5, start).servers[:, 0]
    for k in range(5):
        w = w - 0.4 * problem.gradient(w)
        assert np.allclose(found[k + 1], w, rtol=1e-12, atol=1e-14)
    same = simulate(fedavg(0.4), problem, 5, start=start, device="cpu").final[0]
    assert np.allclose(same, found[-1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_the_control_variates_sum_to_zero(clip: float | None) -> None:
    """hou2023 eq. (3), with noise, with and without clipping; and they do not vanish themselves."""
    run = play(private(0.5, 0.4, clip, 0.8), problem_of("dense"), 60, starting_points(problem_of("dense"), 5))
    for state in run.states:
        _, h_i = state.inner
        size = float(np.max(np.abs(h_i)))
        assert np.max(np.abs(h_i.sum(axis=0))) <= 1e-12 * size
    assert size > 0.1


class Coins(CpuEngine):
    """All sequences of T coins at once: bit t of replicate s decides round t of replicate s."""

    def uniform(self, replicates: Any, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        assert stream == COIN
        return np.where((np.arange(replicates.count) >> round_) & 1, 0.0, 1.0 - 2.0**-53)[:, None]


@pytest.mark.parametrize(("p", "step"), [(1.0, 1.0), (0.5, 1.0), (0.2, 0.7), (0.8, 0.3)])
def test_psi_contracts_at_the_stated_rate(p: float, step: float) -> None:
    """E psi_T <= (1 - min(mu eta, p^2))^T psi_0 without noise. The expectation is taken over all 2^T sequences of
    coins, so there is no sampling error. Steps are multiples of 1/L. The start lies along the slowest
    direction, where a claim of a threefold faster rate would be false."""
    T = 9
    centres = 0.5 * np.random.default_rng(8).standard_normal((4, 2))
    problem = from_matrices(np.tile(np.diag([1.0, 1.0 / 30.0]), (4, 1, 1)), centres)
    c = problem.constants
    eta = step / c.L_max
    algorithm = plain(eta, p)
    start = np.tile(c.w_star + np.array([0.3, 10.0]), (2**T, 1))
    run = simulate(algorithm, problem, T, 2**T, start=start, observe=["scaffnew-lyapunov"], series=True, device=Coins())
    psi = run["scaffnew-lyapunov"].series
    heads = np.array([[(s >> t) & 1 for s in range(2**T)] for t in range(T)])
    speed = min(c.mu_min * eta, p**2)
    for t in range(T + 1):
        chance = np.prod(np.where(heads[:t], p, 1.0 - p), axis=0) * 0.5 ** (T - t)  # the later coins do not matter
        assert np.sum(chance) == pytest.approx(1.0, rel=1e-12)
        assert chance @ psi[t] <= (1.0 - speed) ** t * psi[0, 0] * (1.0 + 1e-12)
    assert chance @ psi[T] > (1.0 - 3.0 * speed) ** T * psi[0, 0]
    h_star = np.array([problem.client_gradient(i, c.w_star) for i in range(problem.n)])
    by_hand = problem.n * np.sum((start[0] - c.w_star) ** 2) + (eta / p) ** 2 * np.sum(h_star**2)
    assert psi[0, 0] == pytest.approx(by_hand, rel=1e-12)


def test_converges_to_the_minimiser_where_fedavg_does_not() -> None:
    problem = make("quadratic", clients=5, dimension=3, condition=8.0, heterogeneity=2.0, seed=4)
    c = problem.constants
    run = simulate(
        plain(1.0 / c.L_max, 0.35), problem, 600, 20, 1, ["distance-squared", "scaffnew-lyapunov"], device="cpu"
    )
    assert np.max(run["distance-squared"].last) < 1e-20
    assert np.max(run["scaffnew-lyapunov"].last) < 1e-20
    biased = simulate(fedavg(1.0 / c.L_max, 3), problem, 600, device="cpu", observe=["distance-squared"])
    assert biased["distance-squared"].last[0] > 1e-3


def test_replicates_communicate_in_rounds_of_their_own() -> None:
    """The coins of a replicate are those of its address; counts are binomial, rate 2e-9 for each replicate and for the
    total."""
    replicates, T, p = 60, 50, 0.3
    problem = problem_of("dense")
    run = play(plain(0.2, p), problem, T, starting_points(problem, replicates), 5, 7)
    coins = np.array([CPU.uniform(run.context.replicates, t, 1, COIN)[:, 0] < p for t in range(T)])
    counts = coins.sum(axis=0)
    assert len(np.unique(counts)) > 5
    assert np.all((stats.binom.cdf(counts, T, p) > 1e-9) & (stats.binom.sf(counts - 1, T, p) > 1e-9))
    assert 1e-9 < stats.binom.cdf(counts.sum(), T * replicates, p) < 1 - 1e-9
    for t in range(T):  # the server moves exactly where the coin came up
        moved = np.any(run.servers[t + 1] != run.servers[t], axis=1)
        assert np.array_equal(moved, coins[t])


def test_clients_agree_after_communicating_and_drift_between() -> None:
    problem = problem_of("dense")
    run = play(private(0.2, 0.4, None, 0.3), problem, 20, starting_points(problem, 4), 5)
    for before, after in zip(run.states, run.states[1:]):
        spread = np.ptp(after.inner[0], axis=0).max(axis=1)
        communicated = np.any(after.w != before.w, axis=1)
        assert np.all(spread[communicated] == 0.0)
        assert np.all(spread[~communicated] > 0.0)
        assert np.array_equal(after.inner[1][:, ~communicated], before.inner[1][:, ~communicated])


def test_the_description_is_plain_data() -> None:
    described = json.loads(json.dumps(private(np.array([0.1, 0.2]), 0.5, np.int64(3), np.arange(2)).describe()))
    values = {"eta": [0.1, 0.2], "p": 0.5, "C": 3, "sigma": [0.0, 1.0]}
    assert described == {"algorithm": "dp-scaffnew", **values, "cohort": Cohort().describe()}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"eta": 0.0}, "the step is 0: a finite positive number is needed"),
        ({"p": 0.0}, "the probability of a communication is 0.0: give a number in (0, 1]"),
        ({"p": 1.5}, "the probability of a communication is 1.5: give a number in (0, 1]"),
        ({"p": float("nan")}, "the probability of a communication is nan: give a number in (0, 1]"),
        ({"p": "0.5"}, "the probability of a communication is '0.5': give a number in (0, 1]"),
        (
            {"p": [0.5, 0.5]},
            "the probability of a communication is [0.5, 0.5]: one number for all replicates and rounds is needed",
        ),
        ({"C": -1.0}, "the threshold of a difference is -1: a finite positive number is needed"),
        ({"sigma": [0.0, -1.0]}, "the noise of one message is -1: a finite number that is not negative is needed"),
        (
            {"C": [1.0, 2.0]},
            "the threshold of a difference has 2 values for 3 replicates: give one number, or one for each replicate",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    run = DPScaffNew(**{"eta": 0.1, "p": 1.0, "C": 1.0, "sigma": 0.0, **arguments})
    with pytest.raises(InputError) as caught:
        simulate(run, problem_of("dense"), 1, 3, device="cpu")
    assert str(caught.value) == sentence
