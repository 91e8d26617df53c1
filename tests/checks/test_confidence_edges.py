"""Confidence limits of a few replicates, by closed forms: Student's t with one and two degrees of freedom, and the
capital written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfl_theory.checks import confidence
from dpfl_theory.checks.confidence import asymptotic_limits, least_lower_limit, lower_limit, upper_limit

STAKES = [1.0 - 0.5 ** (0.0005 * 24000.0 ** (k / 47)) for k in range(48)]


def capital(x: list[float], mean: float) -> float:
    """The mean over the stakes of prod_t (1 + stake (x_t/mean - 1))."""
    return math.fsum(math.prod(1.0 + s * (v / mean - 1.0) for v in x) for s in STAKES) / 48


SAMPLES = [[1.0] * 12, [0.0, 2.0, 2.0, 3.0, 1.0, 2.5, 0.5, 2.0], [0.0] * 30 + [5.0], [0.125, 4.0, 0.125, 0.25, 8.0]]


@pytest.mark.parametrize("x", SAMPLES, ids=len)
@pytest.mark.parametrize("alpha", [0.3, 1e-2, 1e-5])
@pytest.mark.parametrize("least", [0.0, -2.0, 3.0])
def test_the_capital_at_the_limit_is_one_over_alpha(x: list[float], alpha: float, least: float) -> None:
    moved = np.array(x) + least
    low, high = lower_limit(moved, alpha, least), upper_limit(-moved, alpha, -least)
    assert high == -low
    assert least <= low < moved.mean()
    assert capital(x, low - least) == pytest.approx(1.0 / alpha, rel=1e-6)


def test_a_mean_of_zero_and_one_replicate() -> None:
    assert lower_limit(np.full(9, 3.0), 0.01, 3.0) == 3.0
    assert lower_limit(np.zeros(9), 0.01) == 0.0
    one = lower_limit(np.array([2.0]), 0.25)
    assert capital([2.0], one) == pytest.approx(4.0)
    tiny = lower_limit(np.full(40, 1e-300), 0.01)
    assert tiny == pytest.approx(1e-300 * lower_limit(np.ones(40), 0.01), rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("x", "least", "below"),
    [([1.0, -1.1e-9], 0.0, "1.1e-09"), ([0.5, -0.1], 0.0, "0.1"), ([2.0 - 2e-9, 2.0], 2.0, None),
     ([1e3, -1e-7], 0.0, None),
     ([-5.0 - 4e-9, -5.0], -5.0, None), ([-5.0 - 6e-9, -5.0], -5.0, "6e-09"), ([1e3, -1.1e-6], 0.0, "1.1e-06"),
     ([0.0, -0.9e-9, 1.0], 0.0, None), ([1e-3, -2e-12], 0.0, "2e-12")],
)  # fmt: skip
def test_a_replicate_below_its_range_by_more_than_rounding(x: list[float], least: float, below: str | None) -> None:
    """Rounding is 1e-9 of the largest distance from the end of the range, or of that end."""
    if below is None:
        assert least <= lower_limit(np.array(x), 0.5, least) <= least + max(x) - min(x)
    else:
        with pytest.raises(ValueError, match=f"a replicate lies {below} below its range"):
            lower_limit(np.array(x), 0.5, least)


def test_what_rounding_put_below_the_range_counts_as_its_end() -> None:
    x = np.array([1.0, 1.0, -1e-10, 1.0])
    assert lower_limit(x, 0.1) == lower_limit(np.maximum(x, 0.0), 0.1)


@pytest.mark.parametrize("least", [0.0, -3.0, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_least_limit_is_that_of_some_column_and_of_no_larger_one(least: float, seed: int) -> None:
    """Also where a column with a larger mean has the smaller limit, since it varies more."""
    rng = np.random.default_rng(seed)
    x = least + rng.exponential(size=(40, 5)) ** rng.uniform(0.2, 6.0, size=5) * rng.uniform(0.5, 1.5, size=5)
    for alpha in (0.2, 1e-4):
        every = [lower_limit(x[:, k], alpha, least) for k in range(5)]
        assert least_lower_limit(x, alpha, least) == min(every)
        order = np.argsort(every)[::-1]
        assert least_lower_limit(x[:, order], alpha, least) == min(every)


def test_the_least_limit_of_special_columns() -> None:
    steady, wild = np.full(30, 1.0), np.array([0.0] * 20 + [9.0] * 10)
    assert wild.mean() > steady.mean()
    found = least_lower_limit(np.stack([steady, wild], axis=1), 1e-3)
    assert found == lower_limit(wild, 1e-3) < lower_limit(steady, 1e-3)
    refused = np.full(30, 1.5)  # its limit is above that of the steady one, and the wild one comes after it
    assert steady.mean() < refused.mean() < wild.mean()
    assert least_lower_limit(np.stack([wild, refused, steady], axis=1), 1e-3) == found
    zero = np.zeros(30)
    assert least_lower_limit(np.stack([steady, zero, wild], axis=1), 1e-3) == 0.0
    assert least_lower_limit(np.stack([steady + 2, zero + 2], axis=1), 1e-3, 2.0) == 2.0
    assert least_lower_limit(steady[:, None], 1e-3) == lower_limit(steady, 1e-3)
    assert least_lower_limit(np.stack([steady, steady], axis=1), 1e-3) == lower_limit(steady, 1e-3)
    shifted = least_lower_limit(np.stack([steady, wild], axis=1) - 1.0, 1e-3, -1.0)
    assert shifted == pytest.approx(found - 1.0, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-4])
@pytest.mark.parametrize(("centre", "half"), [(0.0, 1.0), (3.0, 0.5), (-7.0, 2.0)])
def test_two_replicates_have_limits_by_cauchy(alpha: float, centre: float, half: float) -> None:
    """With one degree of freedom Student's t is Cauchy: the upper tail alpha/2 begins at cot(pi alpha/2)."""
    low, high = asymptotic_limits(np.array([centre - half, centre + half]), alpha)
    t = 1.0 / math.tan(math.pi * alpha / 2)
    assert low == pytest.approx(centre - half * t, rel=1e-9)
    assert high == pytest.approx(centre + half * t, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_three_replicates_have_limits_in_closed_form(alpha: float, sign: float, offset: float) -> None:
    """0, 0 and 3: mean 1, variance 3, third moment 2; Johnson's shift is 2/(6 * 3 * 3), and t with two degrees of
    freedom is q sqrt(2/(1 - q^2)) for q = 1 - alpha."""
    low, high = asymptotic_limits(sign * np.array([0.0, 0.0, 3.0]) + offset, alpha)
    q = 1 - alpha
    centre, width = offset + sign * (1 + 1 / 27), q * math.sqrt(2 / (1 - q * q))
    assert low == pytest.approx(centre - width, rel=1e-9)
    assert high == pytest.approx(centre + width, rel=1e-9)


def test_replicates_that_vary_little_or_not_at_all() -> None:
    for x in ([3.0], [3.0, 3.0, 3.0], [0.0, 0.0], [1e200, 1e200]):
        assert asymptotic_limits(np.array(x), 0.05) == (-math.inf, math.inf)
    for x in ([1.0, 2.0], [1.0 - math.sqrt(0.5), 1.0 + math.sqrt(0.5)], [0.0, 1e-9]):
        low, high = asymptotic_limits(np.array(x), 0.5)
        assert -math.inf < low < high < math.inf
    with np.errstate(invalid="ignore"):
        assert asymptotic_limits(np.array([0.0, math.inf]), 0.05) == (-math.inf, math.inf)


@pytest.mark.parametrize("power", [-1000, -400, -170, -166, 166, 170, 300, 400, 1000])
def test_limits_are_multiples_of_the_unit(power: int) -> None:
    """Third powers of 1e200 overflow, those of 1e-200 vanish. A power of two rounds nothing."""
    x = np.array([0.0, 0.25, 3.0, 1.0, 0.5])
    low, high = asymptotic_limits(x, 0.1)
    unit = 2.0**power
    assert asymptotic_limits(x * unit, 0.1) == pytest.approx((low * unit, high * unit), rel=1e-12, abs=0)
    assert math.isfinite(low * unit)
    assert low * unit != 0.0
    assert asymptotic_limits(-x * unit, 0.1) == pytest.approx((-high * unit, -low * unit), rel=1e-12, abs=0)


def test_the_ends_of_double_precision() -> None:
    x = np.array([0.0, 0.25, 3.0, 1.0, 0.5])
    low, high = asymptotic_limits(x, 0.1)
    for unit in (2.0**-1070, 2.0**1020):
        found = asymptotic_limits(x * unit, 0.1)
        assert found[1] == pytest.approx(high * unit, rel=1e-2, abs=0)
        assert found[0] == pytest.approx(low * unit, rel=0.3, abs=0)


@pytest.mark.parametrize("kind", ["exponential", "heavy", "rare", "narrow", "wide", "equal"])
@pytest.mark.parametrize("count", [2, 30, 700])
def test_the_limit_is_that_of_sixty_halvings(kind: str, count: int) -> None:
    """Digit for digit, from fewer values."""
    rng = np.random.default_rng(count)
    draws = {
        "exponential": rng.exponential(size=count),
        "heavy": rng.pareto(1.2, size=count),
        "rare": (rng.random(count) < 0.05) + 0.0,
        "narrow": 1.0 + 1e-9 * rng.random(count),
        "wide": rng.lognormal(0.0, 5.0, size=count),
        "equal": np.full(count, 2.0),
    }
    x = draws[kind]
    for alpha in (0.05, 1e-9):
        low, high = 0.0, float(x.mean())
        for _ in range(60 if high > 0.0 else 0):
            middle = 0.5 * (low + high)
            if confidence._log_capital(x, middle) >= math.log(1.0 / alpha):
                low = middle
            else:
                high = middle
        assert lower_limit(x, alpha) == low
