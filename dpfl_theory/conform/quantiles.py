"""Quantiles, from functions whose import takes less time than that of all distributions."""

from __future__ import annotations

import math

from dpfl_theory.lazy import special


def normal(tail: float) -> float:
    """The number that a normal one exceeds with this probability.

    >>> round(normal(0.025), 4)
    1.96
    """
    return float(-special.ndtri(tail))


def chi_square_over_degrees(share: float, degrees: int) -> float:
    """The quantile of a chi-square distribution, over its degrees of freedom: of a sample variance of 1.

    >>> round(chi_square_over_degrees(0.5, 100), 4)
    0.9933
    """
    return float(2.0 * special.gammaincinv(0.5 * degrees, share) / degrees)


def binomial(share: float, trials: int, p: float) -> int:
    """The smallest count whose distribution function is at least ``share``.

    >>> binomial(0.5, 10, 0.5), binomial(1e-9, 100, 0.5)
    (5, 21)
    """
    count: int = math.ceil(special.bdtrik(share, trials, p))
    less = max(count - 1, 0)
    return less if special.bdtr(less, trials, p) >= share else count


def binomial_tails(low: int, high: int, trials: int, p: float) -> tuple[float, float]:
    """The probabilities of a count below ``low``, and of one above ``high``.

    >>> binomial_tails(1, 1, 2, 0.5)
    (0.25, 0.25)
    """
    below = float(special.bdtr(low - 1, trials, p)) if low > 0 else 0.0
    return below, float(special.bdtrc(high, trials, p))
