"""Sums of independent draws, against exact binomials, dp-accounting, and Chernoff's bound taken at its word."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from dp_accounting.pld.common import compute_self_convolve_bounds, self_convolve

from dpfl_theory.privacy.convolution import retained_range, self_convolved


@pytest.mark.parametrize("times", [1, 2, 3, 64, 541])
def test_coins_are_binomial(times: int) -> None:
    """Every count within rounding of the exact probability, and what is left out as rare as promised."""
    p = Fraction(3, 10)
    first, masses = self_convolved(np.array([0.7, 0.3]), times, 1e-15)
    exact = [float(comb(times, k) * p**k * (1 - p) ** (times - k)) for k in range(times + 1)]
    last = first + len(masses)
    assert masses == pytest.approx(exact[first:last], abs=1e-15 * times + 1e-16)
    assert sum(exact[:first]) + sum(exact[last:]) <= 1e-15


@pytest.mark.parametrize(("n", "times"), [(3, 1), (50, 2), (1000, 7), (4000, 540)])
def test_dp_accounting_convolves_alike(n: int, times: int) -> None:
    rng = np.random.default_rng(n)
    masses = np.exp(-0.5 * ((np.arange(n) - 0.3 * n) / (n / 9 + 1)) ** 2) * rng.uniform(0.5, 1.0, n)
    masses /= masses.sum()
    assert retained_range(masses, times, 1e-15) == compute_self_convolve_bounds(masses, times, 1e-15)  # type: ignore[arg-type]
    (first, known), (low, found) = self_convolve(masses, times, 1e-15), self_convolved(masses, times, 1e-15)
    assert first == low
    assert np.abs(found - np.asarray(known)).max() < 1e-15
    assert found.sum() == pytest.approx(1.0, abs=1e-13)
