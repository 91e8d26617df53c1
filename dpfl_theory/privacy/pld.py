r"""Composition by privacy loss distributions (PLD), with certified limits on both sides.

A composition adds losses, so its distribution is a convolution of the releases' grids
(`dpfl_theory.privacy.grid`). Double precision would lose deltas below 1e-13 in the rounding of the Fourier transform.
Losses are therefore weighted by :math:`e^{\lambda \ell}` before and unweighted after, with the lambda at which the
moments bound is smallest, so that the tail that matters becomes the bulk.

Without sampling, releases under Gaussian noise are one Gaussian release, whose closed form is valid at any epsilon
(`dpfl_theory.privacy.gaussian_inverse`). Where losses are too large for a grid, the limits are those of
`dpfl_theory.privacy.coarse`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfl_theory.lazy import optimize
from dpfl_theory.privacy.coarse import coarse_delta, coarse_high, coarse_low
from dpfl_theory.privacy.convolution import self_convolved
from dpfl_theory.privacy.events import (
    Event,
    Release,
    Repeated,
    WithProbability,
    gaussian_multiplier,
    leaf,
    release_count,
    simplified,
)
from dpfl_theory.privacy.gaussian_inverse import gaussian_delta_limits, gaussian_epsilon
from dpfl_theory.privacy.grid import LARGEST, Array, Grid, cells, end, mass
from dpfl_theory.privacy.tails import Tails

CELLS = {"above": 300, "below": 500}
"""Cells within one standard deviation of the losses that count; the error from above is of second order in their
width.
"""

LONGEST = 1 << 22
"""Largest number of grid points of one release or one composition."""

FAR = 1e5
"""The largest epsilon of the search."""

_ROOT = 1e-11
"""The relative precision of a root, by which upper limits are raised and lower ones lowered."""

_SMALLEST = 1e-290
"""Tails below this may have lost digits."""

_SMALLEST_DELTA = 1e-250
"""Below this, double precision gives no lower limit of epsilon."""

TRUNCATED = 1e-15
"""Mass that one convolution may omit, as a share of the weighted losses."""

ROUNDING = 1e-14
"""Rounding of one release's share in a convolution, as a share of the weighted losses."""


@dataclass(frozen=True)
class CertifiedInterval:
    """A privacy parameter: certified lower and upper limits, and a value in between.

    >>> CertifiedInterval(0.9, 1.0, 1.1).width
    0.2
    """

    low: float
    estimate: float
    high: float

    @property
    def width(self) -> float:
        """(high - low)/estimate, to 12 digits; 0 for a single value, inf where the estimate is 0 or infinite."""
        if self.low == self.high:
            return 0.0
        return round((self.high - self.low) / self.estimate, 12) if 0 < self.estimate < math.inf else math.inf


def epsilon_limits(event: Event, delta: float) -> CertifiedInterval:
    """The smallest epsilon >= 0 with which the event is (epsilon, delta)-differentially private, as limits.

    >>> from dpfl_theory.privacy.events import gaussian
    >>> limits = epsilon_limits(Repeated(gaussian(10.0), 100), 1e-5)  # as one release with noise multiplier 1
    >>> print(f"{limits.low:.6f} {limits.high:.6f}")
    4.377178 4.377178
    """
    event = simplified(event)
    if (exact := one_gaussian(event)) is not None:
        return _around_the_middle(*gaussian_epsilon(exact[0], delta, exact[1]))
    high = _high(event, delta)
    lower = _lower(event, delta)
    low = _low(event, lower, delta)
    centre = max(_root(curve, delta, FAR) for curve in lower)
    low = min(low, high)
    return CertifiedInterval(low, min(max(centre, low), high), high)


def epsilon_high(event: Event, delta: float) -> float:
    """Only the certified upper limit of `epsilon_limits`, in half the time."""
    event = simplified(event)
    exact = one_gaussian(event)
    return _high(event, delta) if exact is None else gaussian_epsilon(exact[0], delta, exact[1])[1]


def epsilon_low(event: Event, delta: float) -> float:
    """Only a certified lower limit: that of `epsilon_limits`, unless it is above the upper one."""
    event = simplified(event)
    exact = one_gaussian(event)
    return _low(event, _lower(event, delta), delta) if exact is None else gaussian_epsilon(exact[0], delta, exact[1])[0]


def delta_limits(event: Event, epsilon: float) -> CertifiedInterval:
    """The smallest delta with which the event is (epsilon, delta)-differentially private, as limits.

    >>> from dpfl_theory.privacy.events import gaussian
    >>> limits = delta_limits(gaussian(3.0), 1.0)
    >>> print(f"{limits.low:.12f} {limits.high:.12f}")
    0.000207512202 0.000207512202
    """
    event, guess = simplified(event), 1e-6
    if (exact := one_gaussian(event)) is not None:
        return _around_the_middle(*gaussian_delta_limits(exact[0], epsilon, exact[1]))
    if _too_large(event, 0.25):
        low, high = coarse_delta(event, epsilon)
        return CertifiedInterval(low, low, high)
    for _ in range(8):  # the grids are made for a delta: guess it, then do better
        high = max(curve.delta(epsilon) for curve in _upper(event, guess))
        if high <= 0 or 0.1 < high / guess < 10:
            break
        guess = min(max(high, 1e-100), 0.5)
    lower = _lower(event, guess)
    low = max(curve.delta(epsilon + curve.error) - curve.allowance for curve in lower)
    centre = max(curve.delta(epsilon) for curve in lower)
    low = min(max(0.0, low), high)
    return CertifiedInterval(low, min(max(centre, low), high), high)


def _around_the_middle(low: float, high: float) -> CertifiedInterval:
    return CertifiedInterval(low, low + (high - low) / 2, high)


def one_gaussian(event: Event) -> tuple[float, float] | None:
    """The noise multiplier of an event that is one Gaussian release, and the probability that it happens; else None.

    >>> from dpfl_theory.privacy.events import gaussian
    >>> one_gaussian(simplified(Repeated(WithProbability(gaussian(8.0), 1.0), 16)))
    (2.0, 1.0)
    """
    inner, chance = (event.event, event.probability) if isinstance(event, WithProbability) else (event, 1.0)
    if isinstance(inner, Release) and (z := gaussian_multiplier(inner)) is not None:
        return z, chance
    return None


def _high(event: Event, delta: float) -> float:
    high = max(_root(curve, delta) * (1 + _ROOT) for curve in _upper(event, delta))
    return coarse_high(event, delta) if math.isinf(high) else high


def _low(event: Event, lower: list[_Curve], delta: float) -> float:
    if delta < _SMALLEST_DELTA:
        return 0.0
    low = max(0.0, *(_root(curve, delta + curve.allowance, FAR) * (1 - _ROOT) - curve.error for curve in lower))
    return max(low, coarse_low(event, delta)) if _too_large(event, delta) else low


@dataclass(frozen=True)
class _Curve:
    """delta as a function of epsilon, an epsilon above its root, near which it is most accurate, and the amount that
    the lower limit subtracts."""

    delta: Callable[[float], float]
    near: float | None = None
    error: float = 0.0
    allowance: float = 0.0


def _upper(event: Event, delta: float) -> list[_Curve]:
    """Curves that bound the event from above, one for each order of a pair that dominates."""
    release = leaf(event)
    orders = dict.fromkeys([(release.forward, release.backward), (release.backward, release.forward)])
    if release_count(event) == 1:
        return [_single(p, _chance(event), True) for p, _ in orders]
    expected = release_count(event) * _chance(event)
    if expected <= delta:  # no release happens with a larger probability
        return [_Curve(lambda epsilon: expected)]
    if _too_large(event, delta):
        return [_Curve(lambda epsilon: 1.0)]
    return [_composed(event, pair, delta, True) for pair in orders]


def _too_large(event: Event, delta: float) -> bool:
    """Whether losses too large for double precision are more probable than delta allows."""
    release = leaf(event)
    lost = max(mass(p, LARGEST) for p in (release.forward, release.backward))
    return -math.expm1(release_count(event) * _chance(event) * math.log1p(-min(lost, 1 - 1e-16))) > 2 * delta


def _lower(event: Event, delta: float) -> list[_Curve]:
    """Curves of pairs that occur."""
    pairs = leaf(event).pairs()
    if release_count(event) == 1 or _too_large(event, delta):  # a part costs no more than the whole
        return [_single(p, _chance(event), False) for p, _ in pairs]
    if release_count(event) * _chance(event) <= delta:
        return [_Curve(lambda epsilon: 0.0)]
    return [_composed(event, pair, delta, False) for pair in pairs]


def _single(tails: Tails, chance: float, upper: bool) -> _Curve:
    """The curve of one release, P(loss > epsilon) - e^epsilon Q(loss > epsilon); where Q's tail is below the smallest
    numbers, a curve from above omits its term, and a curve from below subtracts all of P's tail."""

    def delta(epsilon: float) -> float:
        p, q = (float(tail.item()) for tail in tails(np.array([epsilon])))
        if q > _SMALLEST:
            return chance * max(0.0, p - math.exp(min(epsilon + math.log(q), 700.0)))
        return chance * (p if upper or epsilon <= LARGEST else 0.0)

    return _Curve(delta)


def _composed(event: Event, pair: tuple[Tails, Tails], delta: float, upper: bool) -> _Curve:
    count, used = release_count(event), release_count(event) * _chance(event)
    ends = end(pair[0], 1e-4 * delta / count), end(pair[1], 1e-4 * delta / count)
    span = sum(ends)
    grid = cells(pair, ends, span / 4096, upper)
    tilt = _tilt(event, grid, delta)
    for _ in range(2):
        deviation = _deviation(grid, tilt)
        h = max(
            deviation * math.sqrt(used / count) / CELLS["above" if upper else "below"],
            span / LONGEST,
            24 * deviation * math.sqrt(used) / LONGEST,
        )
        grid = cells(pair, ends, min(h, span / 64), upper)
    weighted, log_mass = _weighted(grid, tilt)
    total, log_mass, infinite = _fold(event, weighted, log_mass)
    gains = _gains(total, tilt)
    slack = (1 if upper else -1) * (count * ROUNDING + 1e-12)
    eta = 0.0 if upper else 1e-3 * delta

    def curve(epsilon: float) -> float:
        value = math.exp(min(log_mass - tilt * epsilon, 700.0)) * max(gains(epsilon) + slack, 0.0)
        return min(1.0, value + infinite)

    near = (log_mass - math.log(delta)) / tilt  # the moments bound
    return _Curve(curve, near, 0.0 if upper else grid.h * math.sqrt(0.5 * count * math.log(2 / eta)), eta)


def _gains(grid: Grid, tilt: float) -> Callable[[float], float]:
    r"""The sum over losses l > epsilon of :math:`m_l (1 - e^{\varepsilon - l}) e^{-\lambda (l - \varepsilon)}`, in
    constant time for each epsilon, from two sums that are accumulated from the right.
    """
    from scipy.signal import lfilter

    slow, fast = (
        lfilter([1.0], [1.0, -math.exp(-rate * grid.h)], grid.masses[::-1])[::-1] for rate in (tilt, tilt + 1)
    )

    def gains(epsilon: float) -> float:
        first = max(math.floor(epsilon / grid.h) + 1 - grid.start, 0)
        if first >= len(slow):
            return 0.0
        ahead = (grid.start + first) * grid.h - epsilon
        if tilt * ahead > 700:
            return 0.0
        return float(slow[first] - math.exp(-ahead) * fast[first]) * math.exp(-tilt * ahead)

    return gains


def _fold(event: Event, weighted: Grid, log_mass: float) -> tuple[Grid, float, float]:
    """The event's weighted losses (of mass 1), the logarithm of their weight, and the mass of an infinite loss."""
    match event:
        case Release():
            return weighted, log_mass, weighted.infinite
        case Repeated(inner, times):
            one, log_one, infinite = _fold(inner, weighted, log_mass)
            offset, masses = self_convolved(one.masses, times, TRUNCATED)
            grid = Grid(times * one.start + offset, np.maximum(masses, 0.0), one.h)
            return grid, times * log_one, -math.expm1(times * math.log1p(-infinite))
        case WithProbability(inner, probability):
            one, log_one, infinite = _fold(inner, weighted, log_mass)
            log_total = float(np.logaddexp(math.log1p(-probability), math.log(probability) + log_one))
            start = min(one.start, 0)
            masses = np.zeros(max(one.start + len(one.masses), 1) - start)
            masses[one.start - start :][: len(one.masses)] = one.masses * math.exp(
                math.log(probability) + log_one - log_total
            )
            masses[-start] += math.exp(math.log1p(-probability) - log_total)
            return Grid(start, masses, one.h), log_total, probability * infinite


def _root(curve: _Curve, delta: float, beyond: float = math.inf) -> float:
    """The smallest epsilon >= 0 at which a falling curve is at most delta, to a share of `_ROOT`; ``beyond`` when it is
    above `FAR`."""

    def excess(epsilon: float) -> float:
        return math.log(max(curve.delta(epsilon), 1e-300) / delta)

    if curve.near is not None and excess(curve.near) <= 0:
        high = curve.near
        lows = (high * (1 - share) for share in (0.03, 0.1, 0.3, 0.6, 0.9, 1.0))
        low = next((x for x in lows if excess(x) > 0), None)
        if low is None:
            return 0.0
    elif excess(0.0) <= 0:
        return 0.0
    else:
        low, high = 0.0, 1e-6
        while excess(high) > 0:
            low, high = high, 2 * high
            if high > FAR:
                return beyond
    return float(optimize.brentq(excess, low, high, xtol=1e-200, rtol=1e-13))


def _weighted(grid: Grid, tilt: float) -> tuple[Grid, float]:
    """The grid with masses weighted by e^(tilt loss) and divided by their sum, and the sum's logarithm."""
    with np.errstate(divide="ignore"):
        logs = np.log(grid.masses) + tilt * grid.losses()
    largest = float(logs.max())
    masses = np.exp(logs - largest)
    total = float(masses.sum())
    return Grid(grid.start, masses / total, grid.h, grid.infinite), largest + math.log(total)


def _tilt(event: Event, grid: Grid, delta: float) -> float:
    """The lambda at which the moments bound (log E e^(lambda loss) + log(1/delta))/lambda is smallest."""

    def bound(log_lambda: float) -> float:
        lam = math.exp(log_lambda)
        return (_log_moment(event, _weighted(grid, lam)[1]) - math.log(delta)) / lam

    found = optimize.minimize_scalar(bound, bounds=(-9.0, 25.0), method="bounded", options={"xatol": 1e-3})
    return math.exp(float(found.x))


def _log_moment(event: Event, log_one: float) -> float:
    match event:
        case Release():
            return log_one
        case Repeated(inner, times):
            return times * _log_moment(inner, log_one)
        case WithProbability(inner, probability):
            return float(np.logaddexp(math.log1p(-probability), math.log(probability) + _log_moment(inner, log_one)))


def _deviation(grid: Grid, tilt: float) -> float:
    weighted, _ = _weighted(grid, tilt)
    losses: Array = weighted.losses()
    mean = float(np.dot(losses, weighted.masses))
    return math.sqrt(max(float(np.dot((losses - mean) ** 2, weighted.masses)), grid.h**2))


def _chance(event: Event) -> float:
    """The probability that a release within the event happens."""
    match event:
        case Release():
            return 1.0
        case Repeated(inner, _):
            return _chance(inner)
        case WithProbability(inner, probability):
            return probability * _chance(inner)
