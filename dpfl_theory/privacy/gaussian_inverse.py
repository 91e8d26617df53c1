"""The Gaussian mechanism's epsilon for a delta, and its noise for both, to all digits and at any size of epsilon."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import erfcx, ndtr, ndtri_exp

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import mpmath, optimize
from dpfl_theory.privacy.gaussian import gaussian_delta

WIDENED = 1e-15
"""Relative error that a noise multiplier in double precision may have; limits allow for it."""


def gaussian_epsilon(noise_multiplier: float, delta: float, chance: float = 1.0) -> tuple[float, float]:
    r"""The smallest epsilon of the Gaussian mechanism at delta, as (low, high), at any size of epsilon.

    T releases with noise multiplier z are one with :math:`z/\sqrt T`, so this is exact for compositions too.

    Args:
        noise_multiplier: z > 0, the standard deviation over the l2 sensitivity (unit 1).
        delta: in (0, 1).
        chance: the probability, in (0, 1], that the mechanism is used at all; the observer sees whether it was used.

    Returns:
        low <= epsilon <= high; `gaussian_delta` certifies both, also for a multiplier that is wrong by `WIDENED`.

    >>> low, high = gaussian_epsilon(1.0, 1e-5)
    >>> print(f"{low:.10f} {high:.10f}")
    4.3771780957 4.3771780957
    >>> print(f"{gaussian_epsilon(0.02, 1e-5)[1]:.6f}")
    1462.285016
    """
    if delta >= chance:
        return 0.0, 0.0
    fewer, more = noise_multiplier * (1 - WIDENED), noise_multiplier * (1 + WIDENED)
    with mpmath.workdps(_digits(noise_multiplier)):
        target = mpmath.mpf(delta) / mpmath.mpf(chance)
        if gaussian_delta(0, fewer)[1] <= target:
            return 0.0, 0.0
        root = _solved(noise_multiplier, target)
        low, high = _enclosed(
            root,
            lambda e: gaussian_delta(e, more)[0] >= target,
            lambda e: gaussian_delta(e, fewer)[1] <= target,
        )
    return low, high


def gaussian_delta_limits(noise_multiplier: float, epsilon: float, chance: float = 1.0) -> tuple[float, float]:
    """The smallest delta at epsilon, as (low, high) in double precision; the arguments are those of `gaussian_epsilon`.

    >>> low, high = gaussian_delta_limits(0.02, 1234.5)
    >>> print(f"{low:.10g} {high:.10g}")
    0.6140706479 0.6140706479
    """
    with mpmath.workdps(_digits(noise_multiplier)):
        low = gaussian_delta(epsilon, noise_multiplier * (1 + WIDENED))[0] * chance
        high = gaussian_delta(epsilon, noise_multiplier * (1 - WIDENED))[1] * chance
        return max(0.0, math.nextafter(float(low), -1)), min(chance, math.nextafter(float(high), 2))


def gaussian_multiplier(epsilon: float, delta: float, chance: float = 1.0) -> tuple[float, float]:
    """The smallest noise multiplier of the Gaussian mechanism that is (epsilon, delta)-private, as (low, high).

    Raises InputError when any noise is enough, which is so for delta >= chance.

    >>> low, high = gaussian_multiplier(1.0, 1e-5)
    >>> print(f"{low:.8f} {high:.8f}")
    3.73063163 3.73063163
    """
    if delta >= chance:
        raise InputError("any noise is enough for this epsilon and delta: there is nothing to calibrate")

    def width(a: float) -> float:
        """1/z: a = 1/(2z) - epsilon z is a quadratic equation for z."""
        return a + math.sqrt(a * a + 2.0 * epsilon)

    goal = math.log(delta / chance)
    a = float(optimize.brentq(lambda a: _log_profile(a, width(a)) - goal, float(ndtri_exp(goal)) - 1e-9, 39.0))
    with mpmath.workdps(_digits(width(a))):
        target, e = mpmath.mpf(delta) / mpmath.mpf(chance), mpmath.mpf(epsilon)

        def excess(a: Any) -> Any:
            other = -mpmath.sqrt(a * a + 2 * e)  # a - 1/z
            return mpmath.log((mpmath.ncdf(a) - mpmath.exp(e) * mpmath.ncdf(other)) / target)

        a = mpmath.findroot(excess, (a, a + 1e-9), tol=mpmath.mpf(10) ** -30, verify=False)
        return _enclosed(
            1 / (a + mpmath.sqrt(a * a + 2 * e)),
            lambda z: gaussian_delta(e, z * (1 + WIDENED))[0] >= target,
            lambda z: gaussian_delta(e, z * (1 - WIDENED))[1] <= target,
        )


def _digits(noise_multiplier: float) -> int:
    """The number of digits with which differences of 1/(2z) and epsilon z keep fifty."""
    return 65 + 2 * round(abs(math.log10(noise_multiplier)))


def _enclosed(root: Any, below: Any, above: Any) -> tuple[float, float]:
    """The doubles next to a root that two tests certify, from below and from above."""
    found = []
    for sign, certified in ((-1, below), (1, above)):
        step = 1e-15
        value = float(root * (1 + sign * step))
        while not certified(value):
            step *= 2
            value = float(root * (1 + sign * step))
            if step > 1e-3:  # a root at 0 from below, or delta so flat that no double near the root is certified
                value = 0.0 if sign < 0 else math.inf
                break
        found.append(value)
    return found[0], found[1]


def _solved(z: float, target: Any) -> Any:
    """The epsilon at which the Gaussian mechanism has the delta ``target``: Newton's method from double precision."""
    width, goal = 1.0 / z, float(mpmath.log(target))

    def excess(a: float) -> float:
        return _log_profile(a, width) - goal

    # a = 1/(2z) - epsilon z; delta <= Phi(a), and a = 1/(2z) is epsilon 0.
    low, high = float(ndtri_exp(goal)), min(0.5 * width, 39.0)
    a = float(optimize.brentq(excess, low - 1e-9, high, xtol=1e-12)) if excess(high) > 0 else high
    exact, log_target = mpmath.mpf(z), mpmath.log(target)
    epsilon = (1 / (2 * exact) - mpmath.mpf(a)) / exact
    for _ in range(50):
        left = mpmath.ncdf(1 / (2 * exact) - epsilon * exact)
        right = mpmath.exp(epsilon) * mpmath.ncdf(-1 / (2 * exact) - epsilon * exact)
        step = (mpmath.log(left - right) - log_target) * (left - right) / right
        epsilon = max(epsilon + step, mpmath.mpf(0))
        if abs(step) <= epsilon * mpmath.mpf(10) ** -25:
            break
    return epsilon


def _log_profile(a: float, width: float) -> float:
    r"""log delta, in double precision, for :math:`a = 1/(2z) - \varepsilon z` and the width 1/z.

    With Mills' ratio M, delta is :math:`\varphi(a)\,(M(-a) - M(1/z - a))`.
    """
    if a > 0:
        lost = math.exp(-0.5 * a * a) / math.sqrt(2 * math.pi) * _mills(width - a)
        return math.log(max(float(ndtr(a)) - lost, 1e-300))
    if width < 1e-5:
        middle = -a + 0.5 * width
        gained = width * (1 - middle * _mills(middle))
    else:
        gained = _mills(-a) - _mills(width - a)
    return math.log(max(gained, 1e-300)) - 0.5 * a * a - 0.5 * math.log(2 * math.pi)


def _mills(x: float) -> float:
    """Phi(-x)/phi(x)."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))
