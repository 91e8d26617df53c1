"""Chernoff's bounds of a sum, computed again with fractions and many digits, and its distribution by enumeration."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpfl_theory.privacy.convolution import ORDERS, _power, retained_range, self_convolved

SAMPLES = {
    "coin": [0.5, 0.5],
    "rare": [1 - 1e-6, 0.0, 0.0, 1e-6],
    "left": [0.7, 0.2, 0.1],
    "bell": [math.exp(-0.5 * ((k - 40) / 6) ** 2) for k in range(100)],
    "one": [1.0],
}


def masses_of(name: str) -> np.ndarray:
    masses = np.array(SAMPLES[name])
    return masses / masses.sum()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("times", [1, 3, 200])
@pytest.mark.parametrize("lost", [1e-3, 1e-15])
def test_the_bounds_are_chernoffs(name: str, times: int, lost: float) -> None:
    """P(S >= t) <= E e^(s(S - t)) = lost/2 at t = (T log E e^(sX) + log(2/lost))/s, for the orders s = k/n of both
    signs."""
    masses = masses_of(name)
    n = len(masses)
    with mpmath.workdps(40):
        highest, lowest = mpmath.inf, -mpmath.inf
        for k in range(1, ORDERS + 1):
            s = mpmath.mpf(k) / n
            up = mpmath.fsum(mpmath.mpf(float(m)) * mpmath.exp(s * i) for i, m in enumerate(masses))
            down = mpmath.fsum(mpmath.mpf(float(m)) * mpmath.exp(-s * i) for i, m in enumerate(masses))
            highest = min(highest, (times * mpmath.log(up) + mpmath.log(2 / mpmath.mpf(lost))) / s)
            lowest = max(lowest, -(times * mpmath.log(down) + mpmath.log(2 / mpmath.mpf(lost))) / s)
        low, high = retained_range(masses, times, lost)
        assert high == min((n - 1) * times, int(mpmath.ceil(highest)))
        assert low == max(0, int(mpmath.floor(lowest)))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("times", [1, 2, 5, 9])
def test_the_distribution_of_a_sum(name: str, times: int) -> None:
    masses = masses_of(name)
    exact = np.ones(1)
    for _ in range(times):
        exact = np.convolve(exact, masses)
    first, found = self_convolved(masses, times, 1e-15)
    np.testing.assert_allclose(found, exact[first : first + len(found)], atol=1e-15)
    assert exact[:first].sum() + exact[first + len(found) :].sum() <= 1e-15


def test_what_is_left_out_is_rare_and_the_rest_is_short() -> None:
    masses = masses_of("bell")
    first, found = self_convolved(masses, 400, 1e-12)
    low, high = retained_range(masses, 400, 1e-12)
    assert (first, len(found)) == (low, high - low + 1)
    assert len(found) < 0.1 * 400 * 99
    assert found.sum() == pytest.approx(1.0, abs=1e-11)
    assert first > 0
    mean, variance = 400 * masses @ np.arange(100), 400 * (masses @ (np.arange(100) - masses @ np.arange(100)) ** 2)
    sums = first + np.arange(len(found))
    assert found @ sums == pytest.approx(mean, rel=1e-9)
    assert found @ (sums - mean) ** 2 == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 7, 8, 100, 1023])
def test_powers(exponent: int) -> None:
    base = np.exp(2j * np.pi * np.arange(5) / 7)
    before = base.copy()
    np.testing.assert_allclose(_power(base, exponent), np.exp(2j * np.pi * exponent * np.arange(5) / 7), rtol=1e-10)
    np.testing.assert_array_equal(base, before)  # the base is left as it was
