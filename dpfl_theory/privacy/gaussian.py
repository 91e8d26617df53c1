"""The Gaussian mechanism: its exact privacy profile, and where a prescribed noise fails."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import mpmath

Number = float | int | str | Fraction | Any
"""Anything that mpmath reads exactly: a decimal text such as "1e-5" is that number, a float its binary value."""


def gaussian_delta(epsilon: Number, noise_multiplier: Number, digits: int = 50) -> tuple[Any, Any]:
    r"""The smallest delta with which the Gaussian mechanism is (epsilon, delta)-differentially private, as (low, high).

    .. math:: \delta(\varepsilon) = \Phi\Big(\frac{1}{2z} - \varepsilon z\Big)
              - e^{\varepsilon}\, \Phi\Big(-\frac{1}{2z} - \varepsilon z\Big), \qquad z = \sigma/\Delta_2

    Args:
        epsilon: the privacy budget, >= 0 (unit 1).
        noise_multiplier: z, the standard deviation per coordinate over the l2 sensitivity, > 0 (unit 1).
        digits: correct digits; the difference of the two terms is widened by their rounding, and the precision is
        raised until the limits agree to half of these digits.

    Returns:
        mpmath numbers low <= delta <= high.

    Raises:
        InputError: when epsilon is negative or the noise multiplier is not positive.

    Source: Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, Theorem 8. It holds in
    any dimension: the noise is spherical, so only the direction in which two neighbouring answers differ matters. delta
    grows with their distance, so the sensitivity itself is the worst case.

    >>> low, high = gaussian_delta(1, 3)
    >>> print(f"{float(low):.12f}")
    0.000207512202
    >>> low <= high and float((high - low) / high) < 1e-25
    True
    """
    precision = digits + 15
    while True:
        with mpmath.workdps(precision):
            e, z = _number(epsilon), _positive("the noise multiplier", noise_multiplier)
            if e < 0:
                raise InputError(f"epsilon is {epsilon}: give a number that is at least 0")
            left = mpmath.ncdf(1 / (2 * z) - e * z)
            right = mpmath.exp(e) * mpmath.ncdf(-1 / (2 * z) - e * z)
            rounding = (left + right) * (1 + e + (e * z + 1 / z) ** 2) * mpmath.mpf(10) ** (5 - precision)
            low, high = max(left - right - rounding, mpmath.mpf(0)), min(left - right + rounding, mpmath.mpf(1))
            if high - low <= high * mpmath.mpf(10) ** (-digits // 2) or precision > 40 * digits:
                return low, high
        precision *= 2


def smallest_failing_epsilon(scale: Number, delta: Number, digits: int = 12) -> Any:
    """The epsilon above which the noise multiplier scale/epsilon no longer gives (epsilon, delta).

    With such noise the true delta grows with epsilon from 0 to 1, so that there is exactly one such epsilon, found by
    bisection.

    >>> print(f"{float(smallest_failing_epsilon('4.8448052626', '1e-5')):.6f}")  # sqrt(2 log(1.25/delta))
    8.419771
    """
    with mpmath.workdps(65):
        s, target = _positive("the scale", scale), _delta(delta)
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        while gaussian_delta(high, s / high)[0] <= target:
            low, high = high, 2 * high
        while high - low > high * mpmath.mpf(10) ** -digits:
            middle = (low + high) / 2
            if gaussian_delta(middle, s / middle)[0] > target:
                high = middle
            else:
                low = middle
        return high


def _number(value: Number) -> Any:
    try:
        number = mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(value)
    except (TypeError, ValueError):
        raise InputError(f"{value!r} is not a number: give a decimal number") from None
    if not mpmath.isfinite(number):
        raise InputError(f"{value} is not a finite number: give a decimal number")
    return number


def _positive(name: str, value: Number) -> Any:
    number = _number(value)
    if number <= 0:
        raise InputError(f"{name} is {value}: give a positive number")
    return number


def _delta(value: Number) -> Any:
    number = _number(value)
    if not 0 < number < 1:
        raise InputError(f"delta is {value}: it must lie in (0, 1)")
    return number
