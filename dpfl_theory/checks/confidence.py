"""Confidence limits for a mean from independent replicates.

The rigorous limits use betting. For X >= 0 with mean m and a stake phi in (0, 1), the capital
``prod_t (1 + phi (X_t/m - 1))`` is a nonnegative martingale with mean 1 for every distribution of X. By Ville's
inequality, the probability that it ever exceeds 1/alpha is at most alpha. A fixed mixture over stakes keeps this and
adapts to the unknown variance. The capital decreases in m, hence ``{m : capital < 1/alpha}`` is a half-line, whose end
is a lower confidence limit: valid at every sample size and at all sample sizes at once, with no bound on X from above.

An upper limit for Z <= b is b minus the lower limit for b - Z.

Source: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_STAKES = 1.0 - 0.5 ** np.geomspace(0.0005, 12.0, 48)


def _log_capital(x: NDArray[np.float64], mean: float) -> float:
    """Log of the mixture capital against ``E X = mean > 0`` for X >= 0, shape (replicates,)."""
    logs = np.log1p(_STAKES[:, None] * (x[None, :] / mean - 1.0)).sum(axis=1)
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


def lower_limit(x: NDArray[np.float64], alpha: float, minimum: float = 0.0) -> float:
    """A lower confidence limit for E X, X >= ``minimum``, valid at all sample sizes at once with error probability
    alpha.

    x: independent replicates, shape (replicates,). Raises ValueError when a replicate is below ``minimum``.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).exponential(size=2000)
    >>> bool(0.8 < lower_limit(x, 1e-6) < 1.0)
    True
    """
    shifted = np.asarray(x, dtype=np.float64) - minimum
    smallest = float(shifted.min())
    scale = float(np.abs(shifted).max())
    if smallest < -1e-9 * max(scale, abs(minimum)):
        raise ValueError(f"a replicate lies {-smallest:.3g} below its range")
    shifted = np.maximum(shifted, 0.0)
    mean = float(shifted.mean())
    target = math.log(1.0 / alpha)
    if mean == 0.0:
        return minimum
    return minimum + _bisect(lambda at: _log_capital(shifted, at) - target, mean)


def _bisect(excess: Callable[[float], float], maximum: float) -> float:
    """The last point at which a decreasing function is not negative, after sixty halvings of [0, maximum].

    Brent's method encloses the root first, between points whose values are known. A halving then needs a value only
    where it falls between these. The result is the same, from half of the values or fewer.
    """
    from scipy.optimize import brentq

    rejected, accepted = 0.0, maximum
    known: dict[float, float] = {}

    def value_at(at: float) -> float:
        nonlocal rejected, accepted
        if at in known:
            return known[at]
        value = known[at] = excess(at)
        if value >= 0.0:
            rejected = max(rejected, at)
        else:
            accepted = min(accepted, at)
        return value

    low, high, enclosed = 0.0, maximum, False
    for _ in range(60):
        middle = 0.5 * (low + high)
        if rejected < middle < accepted:
            value_at(middle)
        if not enclosed and 0.0 < rejected < accepted < maximum:
            brentq(value_at, rejected, accepted, xtol=1e-16 * accepted, rtol=1e-15, disp=False)
            enclosed = True
        if middle <= rejected:
            low = middle
        else:
            high = middle
    return low


def upper_limit(x: NDArray[np.float64], alpha: float, maximum: float) -> float:
    """An upper confidence limit for E X, X <= ``maximum``, valid at all sample sizes at once with error probability
    alpha."""
    return -lower_limit(-np.asarray(x, dtype=np.float64), alpha, -maximum)


def least_lower_limit(x: NDArray[np.float64], alpha: float, minimum: float = 0.0) -> float:
    """The smallest of the columns' lower confidence limits, x (replicates, columns).

    It is a lower limit for the least of their expectations with error probability alpha, since that column's own limit
    is wrong no more often.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).exponential(size=(2000, 3)) * [1.0, 2.0, 1.0]
    >>> least_lower_limit(x, 1e-6) == min(lower_limit(x[:, k], 1e-6) for k in range(3))
    True
    """
    x = np.asarray(x, dtype=np.float64)
    found = math.inf
    for k in np.argsort(x.mean(axis=0), kind="stable"):
        if found == minimum:
            break
        column = np.maximum(x[:, k] - minimum, 0.0)
        if column.mean() > found - minimum and _log_capital(column, found - minimum) >= math.log(1.0 / alpha):
            continue  # the capital rejects the smallest limit so far: this column's own is no smaller
        found = min(found, lower_limit(x[:, k], alpha, minimum))
    return found


def asymptotic_limits(x: NDArray[np.float64], alpha: float) -> tuple[float, float]:
    """Two-sided limits for E X from the central limit theorem, Johnson's skewness-corrected t: not a finite-sample
    bound."""
    from scipy import stats

    x, unit = _in_units(x)
    count = len(x)
    mean, deviation = float(x.mean()), float(x.std(ddof=1)) if count > 1 else math.inf
    if not math.isfinite(deviation) or deviation == 0.0:
        return -math.inf, math.inf  # equal replicates contain no information about rare values
    error = deviation / math.sqrt(count)
    third = float(((x - mean) ** 3).mean())
    shift = third / (6.0 * deviation**2 * count) if deviation > 0 else 0.0
    quantile = float(stats.t.isf(alpha / 2.0, count - 1))
    return unit * (mean + shift - quantile * error), unit * (mean + shift + quantile * error)


def _in_units(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Numbers whose third powers are finite too, and the power of two that they are multiples of, by which nothing is
    rounded."""
    x = np.asarray(x, dtype=np.float64)
    largest = float(np.abs(x).max(initial=0.0))
    if not math.isfinite(largest) or largest == 0.0 or 1e-50 <= largest <= 1e50:
        return x, 1.0
    unit = 2.0 ** min(max(math.frexp(largest)[1], -1000), 1000)
    return x / unit, unit
