"""What the validations of hou2023 rest on: their noise, their theory, and how they decide where an optimum lies."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpfl_theory import privacy, statements
from dpfl_theory.statements.model import sympy_symbols


@pytest.fixture(scope="module")
def hou() -> Iterator[Any]:
    """The helpers beside the scripts, imported as the scripts import them."""
    place = str(Path(__file__).parents[1] / "validations")
    sys.path.insert(0, place)
    import _hou2023
    import _hou2023_sweeps
    import _hou2023_theory

    yield type("Helpers", (), {"base": _hou2023, "sweeps": _hou2023_sweeps, "theory": _hou2023_theory})
    sys.path.remove(place)


def entry(best: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    """A made-up optimum of DP-ScaffNew."""
    optimum = {"best": best, "low": low, "high": high, "trivial": False, "non_trivial": True, **more}
    return {"setting": "s", "algorithm": "scaffnew", "epsilon": "1", "axis": [1, 2, 4, 8], "optimum": optimum}


def test_the_noise_is_lemma_1s(hou: Any) -> None:
    lemma = statements.get("hou2023.lemma1")
    assert lemma.prescription is not None
    s = sympy_symbols(lemma)
    at = {"C": 0.7, "p": 0.05, "T": 240, "v": hou.base.V, "delta": hou.base.DELTA, "epsilon": 3.3}
    variance = float(lemma.prescription()["noise_variance"].subs({s[k]: v for k, v in at.items()}))
    assert hou.base.printed_noise(0.7)(20, 240, 3.3) ** 2 == pytest.approx(variance, rel=1e-12)
    assert hou.base.printed_sigma(0.7, 12, math.inf) == 0.0


def test_the_certified_noise_is_enough_and_hardly_more(hou: Any) -> None:
    pairs = [(20, 240, 10.0), (1, 240, 10.0)]
    random = hou.base.certified_factors(pairs, "scaffnew")
    fixed = hou.base.certified_factors(pairs, "fedavg")
    mechanisms = {
        random[pairs[0]]: privacy.get("dp-scaffnew")(rounds=240, communication_probability=0.05),
        random[pairs[1]]: privacy.get("dp-scaffnew")(rounds=240, communication_probability=1.0),
        fixed[pairs[0]]: privacy.get("dp-fedavg")(clients=1, rounds=12),
    }
    for factor, mechanism in mechanisms.items():
        spent = privacy.account(mechanism.with_(noise_multiplier=factor), delta=hou.base.DELTA).epsilon
        assert 10.0 * (1 - 1e-3) < spent.high <= 10.0 * (1 + 1e-9)
    assert random[pairs[0]] > fixed[pairs[0]], "a random number of rounds costs more than its mean"


@pytest.fixture(scope="module")
def quadratic(hou: Any) -> Any:
    return hou.base.quadratic(0, clients=3)


def test_runs_are_algorithm_1_and_2(hou: Any, quadratic: Any) -> None:
    """Without noise: DP-FedAvg against a plain loop, and DP-ScaffNew with p = 1 against gradient descent."""
    problem, threshold, tau, rounds = quadratic.problem, 0.2 * quadratic.distance, 3, 4
    grid = hou.base.Grid(quadratic, "fedavg", threshold, 2, 0, "cpu")
    x = quadratic.start
    for _ in range(rounds):
        moved = np.repeat(x[None], problem.n, axis=0)
        for _ in range(tau):
            moved = np.stack([w - quadratic.step * problem.client_gradient(i, w) for i, w in enumerate(moved)])
        sent = moved - x
        lengths = np.linalg.norm(sent, axis=1, keepdims=True)
        x = x + np.mean(sent * np.minimum(1.0, threshold / lengths), axis=0)
    gap, error = grid.final(tau, tau * rounds, [0.0])
    assert error is None
    assert gap == pytest.approx(np.full((1, 2), problem.value(x) - problem.constants.f_star), rel=1e-9)
    x = quadratic.start
    for _ in range(rounds):
        x = x - quadratic.step * problem.gradient(x)
    gap, _ = grid.with_(algorithm="scaffnew", threshold=None).final(1, rounds, [0.0])
    assert gap == pytest.approx(np.full((1, 2), problem.value(x) - problem.constants.f_star), rel=1e-9)


def test_noise_of_both_algorithms_has_the_variance_of_one_message(hou: Any, quadratic: Any) -> None:
    """At the minimiser of one round, f moves by (L-weighted) noise only: E f - f* = sigma^2 tr(H)/(2 N).

    4000 lanes; a z value beyond 5 has probability below 1e-6.
    """
    problem = quadratic.problem
    here = hou.base.Setting("start", problem, problem.constants.w_star)
    sigma, lanes = 0.3, 4000
    expected = sigma**2 * np.trace(problem.hessian) / (2 * problem.n)
    for algorithm in ("fedavg", "scaffnew"):  # with one local step the mean of the updates is the gradient of f: zero
        gap, _ = hou.base.Grid(here, algorithm, None, lanes, 1, "cpu").final(1, 1, [sigma])
        assert abs(gap.mean() - expected) < 5 * gap.std(ddof=1) / math.sqrt(lanes)


def test_theory_is_the_minimum_of_the_bound_at_the_prescribed_probability(hou: Any) -> None:
    theory = hou.theory.Theory(hou.base.logistic(0))
    v = theory.values
    epsilon = 100.0 * theory.worthwhile()
    p, T = theory.prescribed("p", epsilon), theory.prescribed("T", epsilon)
    assert p == pytest.approx(math.sqrt(v["mu"] / v["L"]), rel=1e-12)
    noise = v["N"] * v["d"] * v["v"] * v["C"] ** 2 * math.log(1 / v["delta"]) / epsilon**2
    counts = np.arange(1, 2000)
    bound = (1 - v["mu"] / v["L"]) ** counts * theory.psi_0(p) + noise * counts
    assert abs(int(counts[np.argmin(bound)]) - T) <= 1
    assert theory.bound(p, 100, epsilon) == pytest.approx(bound[99], rel=1e-9)
    assert theory.prescribed("T", theory.worthwhile()) == pytest.approx(1.0, abs=1e-6)


def test_optimum_of_clear_cases(hou: Any) -> None:
    noise = np.random.default_rng(0).normal(size=(4, 50))
    grid = (1, 2, 4, 8)

    def found(means: list[float]) -> Any:
        return hou.sweeps.optimum(grid, np.array(means)[:, None] + 0.1 * noise)

    inside = found([3.0, 1.0, 2.0, 3.0])
    assert (inside.best, inside.low, inside.high, inside.non_trivial, inside.trivial) == (2, 2, 2, True, False)
    end = found([1.0, 2.0, 3.0, 4.0])
    assert (end.best, end.low, end.high, end.non_trivial, end.trivial) == (1, 1, 1, False, True)
    flat = found([1.0, 1.0, 1.0, 5.0])
    assert (flat.low, flat.high, flat.non_trivial, flat.trivial) == (1, 4, False, False)
    assert inside.value == pytest.approx(1.0, abs=0.1)


def test_without_differences_the_end_is_trivial(hou: Any) -> None:
    """Values at the floor are equal in all lanes: nothing is better than one local step."""
    found = hou.sweeps.optimum((1, 2, 4), np.array([[1e-12] * 5, [1e-12] * 5, [1e-3] * 5]))
    assert found.trivial
    assert not found.non_trivial


def test_a_trivial_optimum_is_rarely_taken_for_another(hou: Any) -> None:
    """All means equal: an end is as good as any. At 1% a count as large as the limit has probability below 1e-6."""
    rng = np.random.default_rng(1)
    trials, grid = 2000, tuple(range(8))
    wrong = sum(hou.sweeps.optimum(grid, rng.normal(size=(8, 32))).non_trivial for _ in range(trials))
    assert wrong <= stats.binom.ppf(1 - 1e-6, trials, hou.sweeps.FALSE_ALARM)


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [
        ([(8, 8, 16), (4, 4, 8), (1, 1, 2)], "reproduced"),
        ([(8, 8, 16), (4, 2, 8), (8, 2, 8)], "inconclusive"),
        ([(8, 8, 16), (2, 1, 2), (8, 4, 8)], "not-reproduced"),
        ([(1, 1, 2), (4, 4, 8), (8, 8, 16)], "not-reproduced"),
    ],
)
def test_trends(hou: Any, intervals: list[tuple[int, int, int]], verdict: str) -> None:
    entries = [entry(*interval) for interval in intervals]
    assert hou.sweeps.trend("falls", entries, "epsilon", False, "-")["verdict"] == verdict
    backwards = hou.sweeps.trend("grows", entries[::-1], "epsilon", True, "-")
    assert backwards["verdict"] == verdict


def test_existence_needs_every_optimum(hou: Any) -> None:
    good, bad = entry(2, 2, 4), entry(1, 1, 1, trivial=True, non_trivial=False)
    unclear = entry(2, 1, 4, non_trivial=False)
    for entries, verdict in (
        ([good, good], "reproduced"),
        ([good, unclear], "inconclusive"),
        ([good, unclear, bad], "not-reproduced"),
    ):
        assert hou.sweeps.existence("exists", entries, "-")["verdict"] == verdict


def test_test_error_counts_the_wrong_side(hou: Any) -> None:
    setting = hou.base.logistic(0)
    x, y = setting.held_out
    w = setting.problem.constants.w_star
    by_hand = sum(1 for row, label in zip(x, y) if label * float(row @ w) <= 0) / len(y)
    assert setting.test_error(np.stack([w, -w])) == pytest.approx([by_hand, 1 - by_hand])
    assert by_hand < 0.1
    assert len(y) == round(0.2 * 569)
    assert len(y) + len(setting.problem.data.y) == 569
