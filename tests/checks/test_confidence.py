"""Confidence limits: coverage, validity at every sample size, and limits that a wrong formula would break."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpfl_theory.checks.confidence import _bisect, asymptotic_limits, lower_limit, upper_limit

DISTRIBUTIONS = {
    "uniform": (lambda rng, n: rng.uniform(size=n), 0.5),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "rare": (lambda rng, n: (rng.uniform(size=n) < 0.02) / 0.02, 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(0.0, 1.5, size=n), float(np.exp(1.125))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_lower_limit_covers_at_all_sample_sizes(name: str) -> None:
    """At alpha = 0.05 at most 5% of sequences may ever exceed the mean: of 120 sequences, each looked at 5 times,
    more than 15 do with probability below 1e-3 if the limit is valid."""
    draw, mean = DISTRIBUTIONS[name]
    rng = np.random.default_rng(1)
    failures = 0
    for _ in range(120):
        x = draw(rng, 1024)
        failures += any(lower_limit(x[:n], 0.05) > mean for n in (8, 32, 128, 512, 1024))
    assert failures <= 15


def test_limits_shrink_to_the_mean() -> None:
    x = np.random.default_rng(2).uniform(size=20000)
    low, high = lower_limit(x, 1e-6), upper_limit(x, 1e-6, 1.0)
    assert low < x.mean() < high
    assert high - low < 0.05


def test_limits_of_a_constant_close_in_geometrically() -> None:
    """The capital against mean m of a constant 1 is at least ((1 - phi) + phi/m)^n/48 for the largest stake."""
    assert lower_limit(np.ones(64), 1e-6) > 0.6
    assert lower_limit(np.ones(64), 1e-6) < 1.0


def test_scale_and_shift() -> None:
    x = np.random.default_rng(3).exponential(size=500)
    assert lower_limit(7.0 * x - 3.0, 1e-4, minimum=-3.0) == pytest.approx(7.0 * lower_limit(x, 1e-4) - 3.0, rel=1e-9)
    assert upper_limit(-x, 1e-4, 0.0) == pytest.approx(-lower_limit(x, 1e-4), rel=1e-9)


def test_order_of_the_replicates_does_not_matter() -> None:
    x = np.random.default_rng(4).exponential(size=300)
    assert lower_limit(x[::-1], 1e-4) == pytest.approx(lower_limit(x, 1e-4), rel=1e-12)


@pytest.mark.parametrize("root", [0.013, 0.4, 0.77, 0.999])
@pytest.mark.parametrize("bent", [lambda x: x, lambda x: x**3, np.log, lambda x: -1.0 / x])
def test_an_enclosed_root_is_that_of_sixty_halvings(root: float, bent: Callable[[float], float]) -> None:
    """The values between which the root lies spare half of the evaluations, and change no digit of the result."""
    asked = list[float]()

    def excess(at: float) -> float:
        asked.append(at)
        return float(bent(root) - bent(at))

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bent(root) - bent(middle) >= 0.0 else (low, middle)
    assert _bisect(excess, 1.0) == low
    assert len(asked) == len(set(asked)) <= 33
    assert all(0.0 < at < 1.0 for at in asked)


def test_zero_replicates_give_no_more_than_the_least() -> None:
    assert lower_limit(np.zeros(50), 1e-6) == 0.0


def test_a_replicate_below_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="below its range"):
        lower_limit(np.array([0.5, -0.1]), 0.01)


def test_asymptotic_limits_are_students_for_symmetric_data() -> None:
    x = np.array([-1.0, 1.0] * 200)
    low, high = asymptotic_limits(x, 0.05)
    assert low == pytest.approx(-high)
    assert high == pytest.approx(1.966 * x.std(ddof=1) / 20.0, rel=1e-3)


def test_replicates_at_the_end_of_their_range_up_to_rounding_are_allowed() -> None:
    at_most = np.full(64, 0.1 + 0.2)
    assert upper_limit(at_most, 1e-6, 0.3) == pytest.approx(0.3, rel=1e-12)
    with pytest.raises(ValueError, match="below its range"):
        upper_limit(np.full(64, 0.31), 1e-6, 0.3)
