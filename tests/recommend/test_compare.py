"""Hyper-parameters found by runs: certified noise, a search that finds what a grid finds, and no advice to do harm."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import account
from dpfl_theory.problems import make
from dpfl_theory.recommend import search as search_module
from dpfl_theory.recommend.compare import compare
from dpfl_theory.recommend.search import Plan, Trial, measure, search
from dpfl_theory.recommend.tuned import Axis, Budget, Tuned, rounds_up_to, tuned

PROBLEM = make("logistic-synthetic", clients=8, dimension=3, records=40, seed=2)
BUDGET = Budget(3.0, 1e-5, rounds=64)
SMALL = Plan(points=48, replicates=2, generations=4, finalists=6, second=8, best=3, third=24, last=48)
START = PROBLEM.value(np.zeros(PROBLEM.d)) - PROBLEM.constants.f_star

every = pytest.mark.parametrize("name", sorted(tuned()))


@pytest.mark.exhaustive
@every
@pytest.mark.parametrize("cohort", [None, 4.0])
def test_noise_is_certified_for_the_budget_and_no_more_than_that_takes(name: str, cohort: float | None) -> None:
    if cohort is not None and not tuned()[name].samplings:
        with pytest.raises(InputError, match=f"no accountant certifies {name} for that, all clients take part"):
            tuned()[name](PROBLEM, Budget(3.0, 1e-5, cohort=cohort))
        return
    one = tuned()[name](PROBLEM, Budget(3.0, 1e-5, rounds=16, cohort=cohort))
    values = one.values([0.6] * len(one.axes))
    run = one.mechanism(values).with_(noise_multiplier=one.multiplier(values))
    assert account(run, delta=1e-5).epsilon.high <= 3.0
    assert account(run.with_(noise_multiplier=0.999 * one.multiplier(values)), delta=1e-5).epsilon.high > 3.0
    sigma = one.certified(values)[one.noise]
    assert one.hyperparameters(values, 2.0 * one.multiplier(values))[one.noise] == pytest.approx(2.0 * sigma)


@every
def test_points_and_values_are_one_another(name: str) -> None:
    one = tuned()[name](PROBLEM, BUDGET)
    rng = np.random.default_rng(0)
    for point in rng.random((20, len(one.axes))):
        values = one.values(point)
        assert one.values(one.point(values)) == pytest.approx(values)
        assert 1 <= values["rounds"] <= one.most_rounds


@pytest.mark.exhaustive
@every
def test_hyperparameters_and_values_are_one_another(name: str) -> None:
    one = tuned()[name](PROBLEM, BUDGET)
    for point in np.random.default_rng(3).random((20, len(one.axes))):
        values = one.values(point)
        placed = one.placed(one.certified(values))
        if name == "dp-scaffnew":  # T is a whole number of iterations
            assert placed.pop("rounds") == pytest.approx(
                values.pop("rounds"), rel=1.0 / one.iterations({**values, **one.values(point)})
            )
        assert placed == pytest.approx({key: values[key] for key in placed})
        assert placed.keys() == values.keys()


def test_axes_take_their_ends_and_their_values() -> None:
    assert Axis("x", (0.1, 10.0)).at(0.5) == pytest.approx(1.0)
    assert [Axis("x", (1, 5, 25), between=False).at(u) for u in (0.0, 0.34, 0.99, 1.0)] == [1, 5, 25, 25]
    assert rounds_up_to(1) == (1,)
    assert rounds_up_to(64)[-1] == 64


@pytest.mark.exhaustive
@every
def test_a_search_finds_what_a_grid_finds(name: str) -> None:
    """The grid has twice as many points; its winner is run again. Six standard errors: one false alarm in 10^8."""
    one = tuned()[name](PROBLEM, BUDGET)
    found = search(one, 0, SMALL)
    share = round((2 * SMALL.points * SMALL.generations) ** (1 / len(one.axes)))
    grid = itertools.product(*([(k + 0.5) / share for k in range(share)] for _ in one.axes))
    first = measure(one, [one.values(p) for p in grid], 2, 77)
    again = measure(one, [f.values for f in sorted(first, key=lambda f: f.mean)[:6]], 12, 78)
    best = measure(one, [min(again, key=lambda f: f.mean).values], 48, 79)[0]
    assert found.mean <= 1.1 * best.mean + 6 * (found.error + best.error)


def test_runs_are_those_of_the_hyperparameters() -> None:
    """The same choice by itself and among others, without noise, which does not depend on the replicate then."""
    one = tuned()["dp-fedavg"](PROBLEM, BUDGET)
    rng = np.random.default_rng(1)
    chosen = [one.values(p) for p in rng.random((12, len(one.axes)))]
    together = measure(one, chosen, 2, 0, noise=False)
    for values, found in zip(chosen, together):
        assert found.values == values
        (alone,) = measure(one, [values], 2, 0, noise=False)
        np.testing.assert_allclose(found.gaps, alone.gaps, rtol=1e-9)


def test_what_is_told_was_measured_with_other_seeds_than_the_choice() -> None:
    one = tuned()["dp-clip21"](PROBLEM, BUDGET)
    found = search(one, 0, SMALL)
    (again,) = measure(one, [found.values], SMALL.last, 103)
    np.testing.assert_array_equal(found.gaps, again.gaps)
    assert len(found.gaps) == SMALL.last
    assert SMALL.runs == 48 * 2 * 4 + 6 * 8 + 3 * 24 + 48


def test_a_start_is_looked_at_again_whatever_a_few_runs_make_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best choice of a search, given to one of a single generation, is what that one ends with, or what is better;
    where the first look is planted to rank it last, too."""
    one = tuned()["dp-clip21"](PROBLEM, BUDGET)
    good = search(one, 0, SMALL)
    few = Plan(points=4, replicates=2, generations=1, finalists=2, second=8, best=2, third=24, last=48)
    alone, started = search(one, 5, few), search(one, 5, few, [good.values])
    assert alone.mean > 1.5 * good.mean
    assert started.values == good.values
    honest = search_module.measure

    def unlucky(tuned: Tuned, chosen: Sequence[dict[str, float]], replicates: int, seed: int) -> list[Trial]:
        found = honest(tuned, chosen, replicates, seed)
        if replicates == few.replicates:
            found = [replace(f, gaps=f.gaps + 1e6) if f.values == good.values else f for f in found]
        return found

    monkeypatch.setattr(search_module, "measure", unlucky)
    assert search(one, 5, few, [good.values]).values == good.values


def test_a_run_that_diverges_is_no_choice() -> None:
    quadratic = make("quadratic", clients=4, dimension=3, seed=1)
    one = tuned()["dp-clip21"](quadratic, BUDGET)
    values = {**one.values([0.9] * len(one.axes)), "step": 1e8, "rounds": 64}
    assert measure(one, [values], 2, 0)[0].mean > search(one, 0, SMALL).mean


@pytest.mark.slow
def test_a_comparison_says_what_to_take() -> None:
    found = compare(PROBLEM, BUDGET, plan=SMALL)
    means = [row["suboptimality"]["mean"] for row in found["algorithms"]]
    clients = sum(row["protects"] == "client" for row in found["algorithms"])
    assert means == sorted(means[:clients]) + sorted(means[clients:])
    assert len(means) == len(tuned())
    assert found["start"]["suboptimality"] == pytest.approx(START)
    assert found["recommended"] == found["algorithms"][0]["name"]
    assert means[0] < 0.5 * START
    for row in found["algorithms"]:
        assert row["epsilon"]["low"] <= row["epsilon"]["high"] <= BUDGET.epsilon
        assert row["vectors"] <= BUDGET.rounds
        assert sum(cause["share"] or 0.0 for cause in row["causes"]) == pytest.approx(1.0)
        assert row["causes"][0]["without"] <= row["suboptimality"]["mean"] + 6 * row["suboptimality"]["error"]
    assert found["algorithms"][0]["accuracy"]["mean"] > found["start"]["accuracy"]["mean"]


def test_nothing_is_recommended_that_ends_no_better_than_the_start() -> None:
    found = compare(PROBLEM, Budget(0.01, 1e-5, rounds=8), algorithms=("dp-clip21", "dp-fedavg"), plan=SMALL)
    assert found["recommended"] is None
    assert found["advice"].startswith("Nothing found at this budget (epsilon = 0.01")


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(InputError, match="unknown algorithm 'dp-magic'"):
        compare(PROBLEM, BUDGET, algorithms=("dp-magic",))
