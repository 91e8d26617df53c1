r"""Certified limits of epsilon for losses that are too large for a grid. The observer sees in which releases the unit
takes part.

A release hides a unit by random participation and by noise. With little noise only the participation remains, and then

* **from above**, an observer who also sees in which releases the unit takes part sees J Gaussian releases with noise
  multiplier z, so that :math:`\delta(\varepsilon) \le P[J > m] + \delta_{z/\sqrt m}(\varepsilon)` for each m;
* **from below**, a test counts the releases that lie near or beyond the unit's message, up to :math:`\eta z` before it.
  A release without the unit lies there with probability :math:`\Phi(\eta - 1/z)` at most, far below any chance.

For small z the limits agree up to one participation; for a message over its opposite, up to a factor of four.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln, log_ndtr

from dpfl_theory.lazy import stats
from dpfl_theory.privacy.events import Event, Release, Repeated, WithProbability, leaf, release_count
from dpfl_theory.privacy.gaussian_inverse import gaussian_epsilon
from dpfl_theory.privacy.tails import (
    FullParticipation,
    GaussianMixturePair,
    Mixture,
    Replaced,
    SampledUnit,
    SampledUnitReversed,
    SubstitutedUnit,
    SubstitutedUnitReversed,
    Tails,
)

MARGINS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
"""The values of eta that are tried: the threshold's distance before the message, in standard deviations."""

REACHED = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9)
"""Probabilities of a count that are tried within an event; at the end, also those just above delta."""

SAFE = 1e-9
"""Relative error that is assumed in logarithms of probabilities."""

Test = tuple[float, float]
"""Logarithms of a lower limit of P's mass of a test, and of an upper limit of Q's."""


def coarse_high(event: Event, delta: float) -> float:
    """An upper limit of epsilon at delta; inf for a release that is not composed of Gaussians.

    >>> from dpfl_theory.privacy.sampling import poisson
    >>> event = Repeated(poisson(0.01, 1e-3, False), 100)
    >>> print(f"{coarse_low(event, 1e-5):.4g} {coarse_high(event, 1e-5):.4g}")  # seven and eight participations
    3.493e+06 4.012e+06
    """
    release = leaf(event)
    seen = [_participation(release.forward), _participation(release.backward)]
    chance, z = max(chance for chance, _ in seen), min(z for _, z in seen)
    if z == 0:
        return math.inf
    most = _most(event, 1, chance, 0.5 * delta)
    if most >= release_count(event):
        return gaussian_epsilon(z / math.sqrt(release_count(event)), delta)[1]
    return gaussian_epsilon(z / math.sqrt(most), 0.5 * delta)[1] if most else 0.0


def coarse_low(event: Event, delta: float) -> float:
    """A lower limit of epsilon at delta, by tests that count."""
    found = 0.0
    for tails, _ in leaf(event).pairs():
        for eta in MARGINS:
            for log_p, log_q in _tests(event, tails, eta, delta):
                p = math.exp(log_p) * (1 - SAFE)
                if p > delta:
                    found = max(found, (math.log(p - delta) - log_q) * (1 - SAFE))
    return found


def coarse_delta(event: Event, epsilon: float) -> tuple[float, float]:
    """Limits of delta at epsilon: a unit that does not take part has no loss, and with little noise the observer sees
    participation.

    >>> from dpfl_theory.privacy.sampling import poisson
    >>> low, high = coarse_delta(Repeated(poisson(0.1, 1e-3, False), 10), 5.0)
    >>> print(f"{low:.8f} {high:.8f}")  # 1 - 0.9^10
    0.65132156 0.65132156
    """
    release = leaf(event)
    chance = max(_participation(tails)[0] for tails in (release.forward, release.backward))
    high = min(1.0, (1 - _absent(event, chance)) * (1 + SAFE))
    low = 0.0
    for tails, _ in release.pairs():
        for eta in MARGINS:
            for log_p, log_q in _tests(event, tails, eta, 0.5):
                low = max(low, math.exp(log_p) * (1 - SAFE) - math.exp(min(epsilon + log_q * (1 - SAFE), 700.0)))
    return min(low, high), high


def _absent(event: Event, chance: float) -> float:
    """The probability of taking part in no release."""
    match event:
        case Release():
            return 1 - chance
        case Repeated(inner, times):
            return float(_absent(inner, chance) ** times)
        case WithProbability(inner, probability):
            return 1 - probability + probability * _absent(inner, chance)


def _participation(tails: Tails) -> tuple[float, float]:
    """The probability of participation, and the noise multiplier with which participation is then seen; 0
    if the event has no such multiplier."""
    match tails:
        case FullParticipation(z):
            return 1.0, z
        case SampledUnit(q, z) | SampledUnitReversed(q, z) | SubstitutedUnit(q, z) | SubstitutedUnitReversed(q, z):
            return q, z
        case Replaced(q, z):
            return q, z / 2
        case GaussianMixturePair(weights, p_means, q_means, z):
            apart = [abs(p - q) for p, q in zip(p_means, q_means, strict=True)]
            return min(1.0, sum(w for w, d in zip(weights, apart, strict=True) if d)), z / max(apart)
        case Mixture(weights, parts):
            seen = [_participation(part) for part in parts]
            return min(1.0, sum(w * c for w, (c, _) in zip(weights, seen, strict=True))), min(z for _, z in seen)
    return 1.0, 0.0


def _most(event: Event, copies: int, chance: float, share: float) -> int:
    """A number of participations in copies of the event that is exceeded with at most this probability."""
    match event:
        case Release():
            return _quantile(copies, chance, share)
        case Repeated(inner, times):
            return _most(inner, copies * times, chance, share)
        case WithProbability(inner, probability):
            happen = _quantile(copies, probability, 0.5 * share)
            return _most(inner, happen, chance, 0.5 * share) if happen else 0


def _quantile(count: int, chance: float, share: float) -> int:
    """The smallest k with P[Binomial(count, chance) > k] <= share."""
    if chance >= 1:
        return count
    k = max(0, int(stats.binom.isf(share, count, chance)) - 1)
    while stats.binom.sf(k, count, chance) > share * (1 - SAFE):
        k += 1
    return min(k, count)


def _tests(event: Event, tails: Tails, eta: float, delta: float) -> list[Test]:
    """Tests of an event, for one order of a pair that occurs."""
    match event:
        case Release():
            return list(_single(tails, eta))
        case WithProbability(inner, probability):
            log = math.log(probability)
            return [(log_p + log, log_q + log) for log_p, log_q in _tests(inner, tails, eta, delta)]
        case Repeated(inner, times):
            return [t for one in _tests(inner, tails, eta, delta) for t in _counted(one, times, delta)]


def _counted(one: Test, times: int, delta: float) -> Iterator[Test]:
    """Tests that at least k of some equal releases pass a test; the union bound over which ones pass under Q."""
    log_p, log_q = one
    p = math.exp(log_p)
    tried = {max(1, int(stats.binom.isf(reached, times, p))) for reached in (delta, *REACHED)}
    for k in sorted({1, times, *tried, *(k - 1 for k in tried)} - {0}):
        reached = float(stats.binom.logsf(k - 1, times, p))
        if math.isfinite(reached):
            ways = float(gammaln(times + 1) - gammaln(k + 1) - gammaln(times - k + 1)) * (1 + SAFE) + SAFE
            yield reached - SAFE, min(0.0, ways + k * log_q)


def _single(tails: Tails, eta: float) -> Iterator[Test]:
    """Half lines from eta standard deviations before a component of P on; Q's components lie at least 1 before it."""

    def test(chance: float, distance: float, z: float) -> Test:
        return _log(chance) + float(log_ndtr(eta)), float(log_ndtr(eta - distance / z)) * (1 - SAFE)

    match tails:
        case FullParticipation(z):
            yield test(1.0, 1.0, z)
        case SampledUnit(q, z) | Replaced(q, z) | SubstitutedUnit(q, z):
            yield test(q, 1.0, z)
        case SubstitutedUnitReversed(
            q, z
        ):  # an interval around P's component, which has Q's on both sides at distance 1
            log_p, log_q = test(q, 1.0, z)
            if (inside := -math.expm1(float(log_ndtr(-eta) - log_ndtr(eta)))) > 0:
                yield log_p + math.log(inside), log_q
        case GaussianMixturePair(weights, p_means, q_means, z):
            for mean in sorted({m for m in p_means if m > max(q_means)}):
                chance = sum(w for w, m in zip(weights, p_means, strict=True) if m >= mean)
                yield test(chance, mean - max(q_means), z)
        case Mixture(weights, parts):
            tests = [list(_single(part, eta)) for part in parts]
            if all(tests):  # the part is seen, and each has its own test
                logs = np.log(weights)
                yield (
                    float(np.logaddexp.reduce([w + t[0][0] for w, t in zip(logs, tests, strict=True)])),
                    float(np.logaddexp.reduce([w + t[0][1] for w, t in zip(logs, tests, strict=True)])),
                )


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
