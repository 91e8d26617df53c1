"""The foundations of zhang2021's validation of Figure 1: its draws, and its intervals over partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpfl_theory.problems.data import load


@pytest.fixture(scope="module")
def figure() -> Any:
    """The script, with its helper imported as the script imports it."""
    from validations.zhang2021 import zhang2021_figure1

    return zhang2021_figure1


def test_a_draw_holds_out_a_fifth_and_every_partition_covers_the_rest(figure: Any) -> None:
    for key, drawn in figure.draws(0, 3).items():
        total = {"digits": 1797, "synthetic": 2000}[key]
        assert len(drawn.test.y) == round(0.2 * total)
        assert len(drawn.pool.y) == total - len(drawn.test.y)
        if key == "digits":
            counts = np.bincount(drawn.pool.y.astype(int)) + np.bincount(drawn.test.y.astype(int))
            assert counts.tolist() == np.bincount(load("digits").y.astype(int)).tolist()
        for kind in figure.PARTITIONS:
            problem = drawn.problem(kind)
            assert problem.n == figure.CLIENTS
            rows = [sorted(map(tuple, np.round(x[:, :3], 9))) for x in (problem.data.x, drawn.pool.x)]
            assert rows[0] == rows[1]


@pytest.mark.parametrize("key", ["digits", "synthetic"])
def test_draws_repeat_and_differ(figure: Any, key: str) -> None:
    def held(seed: int, number: int) -> tuple[float, ...]:
        return tuple(figure.draws(seed, number)[key].test.y)

    def first(seed: int, number: int) -> tuple[float, ...]:
        return tuple(figure.draws(seed, number)[key].problem("shards2").data.x[0])

    for what in (held, first):
        assert what(0, 1) == what(0, 1)
        assert len({what(s, j) for s in (0, 1) for j in range(5)}) == 10


@pytest.mark.parametrize("family", [1, 3])
def test_the_interval_is_students_with_bonferronis_correction(figure: Any, family: int) -> None:
    x = np.random.default_rng(2).normal(1.0, 2.0, 10)
    mean, low, high = figure._interval(x, family)
    level = 1.0 - figure.FALSE_ALARM / family
    expected = stats.t.interval(level, 9, loc=x.mean(), scale=stats.sem(x))
    assert (mean, low, high) == pytest.approx((x.mean(), *expected), rel=1e-12)


def test_verdicts_are_wrong_no_more_often_than_stated(figure: Any) -> None:
    """Of 4000 empty claims, 4 false alarms are expected: more than 18 have a probability below 1e-7."""
    rng = np.random.default_rng(5)
    verdicts = [figure._verdict(*figure._interval(rng.standard_normal(10))[1:]) for _ in range(4000)]
    assert 4000 - verdicts.count("inconclusive") <= 18
    assert figure._verdict(*figure._interval(rng.standard_normal(10) + 9.0)[1:]) == "reproduced"
    assert figure._verdict(*figure._interval(rng.standard_normal(10) - 9.0)[1:]) == "not-reproduced"


def test_the_correlation_is_over_settings_in_each_partition(figure: Any) -> None:
    """The drop is a function of the deviation, rising on one data set and falling on the other."""
    rng = np.random.default_rng(3)
    samples = {}
    for key, sign in (("rising", 1.0), ("falling", -1.0)):
        for kind in figure.PARTITIONS:
            x = rng.random(10)
            samples[key, kind] = {"deviation": x, "spread": rng.random(10), "drop": sign * x**3}
    reported = figure._correlation(samples, "deviation", "standard deviation")
    assert "within rising: 1.00 (1.00 to 1.00)" in reported["measured"]
    assert "within falling: -1.00 (-1.00 to -1.00)" in reported["measured"]
    assert reported["verdict"] == "inconclusive"
    only = {case: x for case, x in samples.items() if case[0] == "rising"}
    assert figure._correlation(only, "deviation", "standard deviation")["verdict"] == "reproduced"
