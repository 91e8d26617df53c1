"""The foundations of hou2023's validations: their noise, their theory, and their decisions about optima."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpfl_theory import privacy, statements
from dpfl_theory.core.formula import prescription_of, symbols_of


@pytest.fixture(scope="module")
def hou() -> Any:
    """The helpers next to the scripts, imported as the scripts import them."""
    from validations.hou2023 import _figure12, _limits, _setting, _sweeps, _theory

    return SimpleNamespace(base=_setting, figure12=_figure12, limits=_limits, sweeps=_sweeps, theory=_theory)


def entry(best: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    """A made-up optimum of DP-ScaffNew."""
    optimum = {"best": best, "low": low, "high": high, "trivial": False, "non_trivial": True, **more}
    return {"setting": "s", "algorithm": "scaffnew", "epsilon": "1", "axis": [1, 2, 4, 8], "optimum": optimum}


def test_the_noise_is_lemma_1s(hou: Any) -> None:
    lemma = statements.get("hou2023.lemma1")
    assert lemma.prescription is not None
    s = symbols_of(lemma)
    at = {"C": 0.7, "p": 0.05, "T": 240, "v": hou.base.V, "delta": hou.base.DELTA, "epsilon": 3.3}
    variance = float(prescription_of(lemma)["noise_variance"].subs({s[k]: v for k, v in at.items()}))
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

    With 4000 replicates, a z value beyond 5 has probability below 1e-6.
    """
    problem = quadratic.problem
    here = hou.base.Setting("start", problem, problem.constants.w_star)
    sigma, replicates = 0.3, 4000
    expected = sigma**2 * np.trace(problem.hessian) / (2 * problem.n)
    for algorithm in ("fedavg", "scaffnew"):  # with one local step the mean of the updates is the gradient of f: zero
        gap, _ = hou.base.Grid(here, algorithm, None, replicates, 1, "cpu").final(1, 1, [sigma])
        assert abs(gap.mean() - expected) < 5 * gap.std(ddof=1) / math.sqrt(replicates)


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
        return hou.limits.optimum(grid, np.array(means)[:, None] * np.exp(0.1 * noise))

    inside = found([3.0, 1.0, 2.0, 3.0])
    assert (inside.best, inside.tied, inside.non_trivial, inside.trivial) == (2, (2,), True, False)
    end = found([1.0, 2.0, 3.0, 4.0])
    assert (end.best, end.tied, end.non_trivial, end.trivial) == (1, (1,), False, True)
    flat = found([1.0, 1.0, 5.0, 1.0])
    assert (flat.low, flat.high, flat.tied) == (1, 8, (1, 2, 8))
    assert (flat.non_trivial, flat.trivial) == (False, False)
    assert inside.value == pytest.approx(1.0, abs=0.1)
    assert (hou.limits.resampled_best(grid, np.array([3.0, 1.0, 2.0, 3.0])[:, None] + 0.1 * noise, 50) == 2).all()


def test_without_differences_the_end_is_trivial(hou: Any) -> None:
    """Values at the floor are equal in all replicates: no number of local steps is better than one."""
    samples = np.array([[1e-12] * 5, [1e-12] * 5, [1e-3] * 5])
    found = hou.limits.optimum((1, 2, 4), samples)
    assert found.trivial
    assert not found.non_trivial
    ratio = hou.limits.ratio(samples[1:2], samples, 1)
    assert (ratio.estimate, ratio.low, ratio.high) == pytest.approx((1.0, 1.0, 1.0), rel=1e-12)


def test_a_trivial_optimum_is_rarely_taken_for_another(hou: Any) -> None:
    """All means are equal, so an end is as good as any. At 1% a count as large as the limit has probability below
    1e-6."""
    rng = np.random.default_rng(1)
    trials, grid, most = 2000, tuple(range(8)), stats.binom.ppf(1 - 1e-6, 2000, hou.limits.FALSE_ALARM)
    found = [hou.limits.optimum(grid, np.exp(rng.normal(size=(8, 32)))) for _ in range(trials)]
    assert sum(o.non_trivial for o in found) <= most
    assert sum(3 not in o.tied for o in found) <= most


def test_more_grids_leave_more_values(hou: Any) -> None:
    samples = np.exp(np.random.default_rng(2).normal(size=(2, 32)) + np.array([[0.0], [0.75]]))
    assert hou.limits.optimum((1, 2), samples, 1).tied == (1,)
    assert hou.limits.optimum((1, 2), samples, 100).tied == (1, 2)


def skewed(rng: np.random.Generator, means: list[float], shared: Any) -> Any:
    """Lognormal samples (len(means), replicates) with these means; the rows share their randomness by replicate."""
    x = 0.8 * shared + 0.3 * rng.normal(size=(len(means), shared.size))
    return np.array(means)[:, None] * np.exp(x - (0.8**2 + 0.3**2) / 2.0)


def test_ratios_of_smallest_means_are_covered_and_told_apart(hou: Any) -> None:
    """The ratio is 3, with near ties of the best. At 1% a count as large as the limit has probability below 1e-6."""
    rng = np.random.default_rng(3)
    trials, missed, seen = 400, 0, 0
    for _ in range(trials):
        shared = rng.normal(size=40)
        upper, lower = (skewed(rng, means, shared) for means in ([3.0, 3.1, 9.0], [2.0, 1.0, 1.05, 5.0]))
        found = hou.limits.ratio(upper, lower, 1)
        missed += not found.low <= 3.0 <= found.high
        seen += found.low > 2.0
        inverse = hou.limits.ratio(lower, upper, 1)
        assert (inverse.low, inverse.high) == pytest.approx((1.0 / found.high, 1.0 / found.low), rel=1e-9)
    assert missed <= stats.binom.ppf(1 - 1e-6, trials, hou.limits.FALSE_ALARM)
    assert seen > 0.9 * trials


def test_differences_at_the_best_are_covered(hou: Any) -> None:
    """A second quantity is 0.3 at the one's best row and 0.1 at the other's; the rate is as for the ratios."""
    rng = np.random.default_rng(4)
    trials, missed, seen = 400, 0, 0
    for _ in range(trials):
        shared, noise = rng.normal(size=40), 0.02 * rng.normal(size=(2, 3, 40))
        cases = [skewed(rng, [1.0, 1.1, 4.0], shared), skewed(rng, [5.0, 1.0, 1.02], shared)]
        tests = [np.array([[0.3], [0.28], [0.9]]) + noise[0], np.array([[0.9], [0.1], [0.12]]) + noise[1]]
        found = hou.limits.difference_at_best((cases[0], tests[0]), (cases[1], tests[1]), 1)
        missed += not found.low <= 0.2 <= found.high
        seen += found.low > 0.1
    assert missed <= stats.binom.ppf(1 - 1e-6, trials, hou.limits.FALSE_ALARM)
    assert seen > 0.9 * trials


def test_limits_of_a_mean_are_students(hou: Any) -> None:
    samples = np.random.default_rng(5).normal(size=20)
    found = hou.limits.mean(samples, 7).over(2.0)
    low, high = stats.t.interval(1 - 0.01 / 7, 19, samples.mean(), stats.sem(samples))
    assert (found.estimate, found.low, found.high) == pytest.approx((samples.mean() / 2, low / 2, high / 2))


@pytest.mark.parametrize(
    ("sets", "claimed", "verdict"),
    [
        ([(5,), (5, 10)], [(5, 10), (5, 10)], "reproduced"),
        ([(5,), (5, 20)], [(5, 10), (5, 10)], "inconclusive"),
        ([(5, 20), (20,)], [(5, 10), (5, 10)], "not-reproduced"),
        ([(5,), (20,)], [(5, 10), ()], "inconclusive"),
    ],
)
def test_an_optimum_lies_where_its_confidence_set_says(
    hou: Any, sets: list[tuple[int, ...]], claimed: list[tuple[int, ...]], verdict: str
) -> None:
    assert hou.limits.all_in(sets, claimed) == verdict


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        ([[(5,), (5,)], [(2,), (2,)]], "reproduced"),
        ([[(5,), (5, 10)], [(2,), (2,)]], "inconclusive"),
        ([[(5, 10), (5, 10)]], "inconclusive"),
        ([[(5,), (5,)], [(2, 5), (5, 10), (10, 20)]], "not-reproduced"),
    ],
)
def test_optima_are_the_same_only_where_they_are_resolved(
    hou: Any, groups: list[list[tuple[int, ...]]], verdict: str
) -> None:
    assert hou.limits.all_equal(groups) == verdict


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ([(1.0, 2.0), (0.5, 1.5)], "reproduced"),
        ([(1.0, 2.0), (0.5, 2.5)], "inconclusive"),
        ([(2.1, 2.5), (0.5, 2.5)], "not-reproduced"),
        ([(0.1, 0.4)], "not-reproduced"),
    ],
)
def test_values_lie_where_their_limits_do(hou: Any, ends: list[tuple[float, float]], verdict: str) -> None:
    found = [hou.limits.Limits(sum(end) / 2, *end) for end in ends]
    assert hou.limits.all_within(found, 0.5, 2.0) == verdict


@pytest.mark.parametrize(("off", "verdict"), [(1.0, "reproduced"), (4.0, "not-reproduced")])
def test_figure_12_finds_a_made_up_optimum(hou: Any, off: float, verdict: str) -> None:
    """Means are smallest at 1/p* and T*, or at 4 times both; without clipping they are as large, or 4 times larger."""
    theory = hou.theory.Theory(hou.base.logistic(0))
    epsilon = 100.0 * theory.worthwhile()
    steps, T = 1.0 / theory.prescribed("p", epsilon), round(theory.prescribed("T", epsilon))
    grid, iterations = (steps / 4, steps, 4 * steps), (T // 4, T, 4 * T)
    noise = 0.2 * np.random.default_rng(6).normal(size=(3, 3, 1, 60))
    away = np.abs(np.log(grid) - math.log(off * steps))[:, None] + np.abs(np.log(iterations) - math.log(off * T))
    gap = np.exp(3.0 * away[:, :, None, None] + noise)
    bound = np.array([[theory.bound(1.0 / s, t, epsilon) for t in iterations] for s in grid])[:, :, None, None]
    psi = 0.5 * bound * np.exp(noise) if off == 1.0 else 2.0 * bound.max() * gap
    table = hou.figure12.Table(grid, iterations, (epsilon,), 1, T, gap, psi)
    entries = [hou.figure12.at_epsilon(theory, table, 0)]
    free = [vars(hou.limits.ratio(gap[1, 1], off * gap[1, 1], 1))]
    claims = hou.figure12.claims(entries, theory, table, hou.figure12.bounds(theory, table), free)
    about = ("best of the tested numbers", "minimises E[f(x_T)", "minimises E[psi_T]", "E psi_T is", "at most 2", "10%")
    for words in about:
        assert [claim["verdict"] for claim in claims if words in claim["claim"]] == [verdict], words


@pytest.mark.parametrize("known", [True, False])
def test_figure_12_elsewhere_refutes_nothing_that_the_paper_says(known: bool) -> None:
    """For any data, the range of epsilon is ours: no claim is reported as not reproduced."""
    from validations.hou2023 import hou2023_figure12 as script

    failed = [{"claim": str(i), "verdict": "not-reproduced", "paper": "-", "measured": "-"} for i in range(8)]
    made = script._claims(failed, found="breast-cancer", known=known)
    assert [c["claim"] for c in made if c.get("ours")] == ["5", "6"]
    assert {c["verdict"] for c in made if c.get("ours")} == {"no"}
    papers = [c for c in made if not c.get("ours")]
    assert {c["verdict"] for c in papers} == {"does-not-carry-over"}
    assert all(("mushroom" in c["differs"]) == known for c in papers if c["claim"] != "4")
    assert "clipping is active" in next(c["differs"] for c in papers if c["claim"] == "4")
    assert {c["expected"] for c in made if "expected" in c} == ({"does-not-carry-over", "no"} if known else set())


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
