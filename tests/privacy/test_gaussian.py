"""The Gaussian mechanism in many digits: its profile by the error function, and where noise fails."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from dpfl_theory.errors import InputError
from dpfl_theory.privacy.gaussian import gaussian_delta, smallest_failing_epsilon


def profile(epsilon: Any, z: Any) -> Any:
    """P(X > t) - e^epsilon P(X > t + 1/z) for X ~ N(0, 1) and t = epsilon z - 1/(2z), by erfc in 300 digits."""
    with mpmath.workdps(300):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(z)
        t = e * s - 1 / (2 * s)
        return (mpmath.erfc(t / mpmath.sqrt(2)) - mpmath.exp(e) * mpmath.erfc((t + 1 / s) / mpmath.sqrt(2))) / 2


@pytest.mark.parametrize(
    ("epsilon", "z"),
    [(0, 1), (0, "0.01"), (0, 1000), ("0.5", 2), (1, 3), (5, "0.4"), (20, 1), (100, "0.2"), (3, 10), (50, 2), (300, 1),
     (0, "1e40"), (0, "1e90"), ("1e-30", "1e45"), (0, "2e35"), (1000, "1e6"), (1000, 1000)],
)  # fmt: skip
def test_the_profile_is_that_of_two_half_lines(epsilon: Any, z: Any) -> None:
    low, high = gaussian_delta(epsilon, z)
    with mpmath.workdps(300):
        truth = profile(epsilon, z)
        assert 0 <= low <= truth <= high <= 1
        assert high - low <= truth * mpmath.mpf("1.001e-25")


@pytest.mark.parametrize("digits", [10, 20, 50, 80])
def test_digits_are_those_asked_for(digits: int) -> None:
    low, high = gaussian_delta(10, 1, digits)
    with mpmath.workdps(130):
        assert low <= profile(10, 1) <= high
        assert high - low <= high * mpmath.mpf(10) ** (-digits // 2)
    if digits == 10:  # and not many more
        assert high - low > high * mpmath.mpf(10) ** -30


def test_total_variation_and_extremes() -> None:
    """At epsilon 0 it is 2 Phi(1/(2z)) - 1; far out it is not negative, and never above 1."""
    for z in (0.1, 1.0, 50.0):
        assert float(gaussian_delta(0, z)[0]) == pytest.approx(math.erf(0.5 / z / math.sqrt(2)), rel=1e-12, abs=0)
    low, high = gaussian_delta(1, "1e-9")
    assert high == 1
    assert 1 - low < 1e-20
    low, high = gaussian_delta(400, 30)
    assert 0 <= low <= high
    assert high < mpmath.mpf(10) ** -1000


def test_where_no_precision_is_enough_the_limits_are_wide_but_right() -> None:
    """At z = 1e3000 the difference of the two terms lies beyond the 2000 digits that are tried at most."""
    low, high = gaussian_delta(0, "1e3000")
    with mpmath.workdps(50):
        truth = 1 / mpmath.sqrt(2 * mpmath.pi) / mpmath.mpf("1e3000")
        assert low == 0
        assert truth < high < mpmath.mpf("1e-1900")


def test_numbers_are_taken_exactly() -> None:
    third = gaussian_delta(1, Fraction(1, 3))
    with mpmath.workdps(100):
        truth = profile(1, mpmath.mpf(1) / 3)
        assert abs(third[0] - truth) < truth * mpmath.mpf(10) ** -25
    tenth, double = gaussian_delta("0.1", "0.1")[0], gaussian_delta(0.1, 0.1)[0]
    assert tenth != double  # the float 0.1 is another number
    assert abs(tenth - double) < 1e-14


@pytest.mark.parametrize(
    ("epsilon", "z", "said"),
    [(-1, 1, "epsilon is -1: give a number that is at least 0"), ("-1e-30", 1, "epsilon is -1e-30"),
     (1, 0, "the noise multiplier is 0: give a positive number"), (1, -2, "the noise multiplier is -2"),
     ("x", 1, "'x' is not a number"), (1, math.inf, "inf is not a finite number"), (math.nan, 1, "nan is not a finite"),
     ([], 1, "is not a number")],
)  # fmt: skip
def test_what_is_refused(epsilon: Any, z: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        gaussian_delta(epsilon, z)
    assert said in str(caught.value)


@pytest.mark.parametrize("delta", ["1e-5", "0.01", "1e-12"])
@pytest.mark.parametrize("share", [0.3, 1, 2])
def test_the_epsilon_from_which_noise_over_epsilon_is_not_enough(delta: str, share: float) -> None:
    """There the true delta of the noise multiplier scale/epsilon is just delta."""
    with mpmath.workdps(60):
        scale = share * mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta)))
        found = smallest_failing_epsilon(scale, delta)
        at = [profile(found * f, scale / (found * f)) for f in (1 - 1.5e-12, 1 + 1.5e-12)]
        assert at[0] < mpmath.mpf(delta) < at[1]
        coarse = smallest_failing_epsilon(scale, delta, digits=3)
        assert abs(coarse / found - 1) < 2e-3
        assert abs(coarse / found - 1) > 1e-12
    with pytest.raises(InputError, match="the scale is -1"):
        smallest_failing_epsilon(-1, delta)
    for wrong in (1, 0, -0.5):
        with pytest.raises(InputError, match=f"delta is {wrong}: it must lie in"):
            smallest_failing_epsilon(1, wrong)
