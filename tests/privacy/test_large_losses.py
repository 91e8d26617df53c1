"""Losses that no grid holds: truths in many digits lie within the limits, whose distance stays small."""

from __future__ import annotations

import math

import mpmath
import pytest
from scipy.stats import binom

from dpfl_theory.privacy import sampling
from dpfl_theory.privacy.coarse import coarse_delta, coarse_high, coarse_low
from dpfl_theory.privacy.events import Repeated, WithProbability, gaussian
from dpfl_theory.privacy.gaussian import gaussian_delta
from dpfl_theory.privacy.gaussian_inverse import gaussian_delta_limits, gaussian_epsilon, gaussian_multiplier
from dpfl_theory.privacy.pld import delta_limits, epsilon_high, epsilon_limits, epsilon_low

# The Gaussian mechanism


@pytest.mark.exhaustive(keep=12)
@pytest.mark.parametrize("noise", [1e-100, 1e-9, 0.02, 1.0, 37.0, 1e6, 1e12])
@pytest.mark.parametrize("delta", [0.999, 0.3, 1e-5, 1e-40, 1e-300])
def test_the_gaussian_epsilon_is_certified(noise, delta):
    low, high = gaussian_epsilon(noise, delta)
    assert 0 <= low <= high < math.inf
    with mpmath.workdps(300):
        assert gaussian_delta(high, mpmath.mpf(noise))[1] <= delta
        if low > 0:
            assert gaussian_delta(low, mpmath.mpf(noise))[0] >= delta
        else:
            assert high < 1e-12 or gaussian_delta(0, mpmath.mpf(noise))[0] <= delta
    if low > 1e-6 / noise:  # where delta is not nearly the total variation
        assert high <= low * (1 + 1e-9)
        least, enough = gaussian_multiplier(low, delta)
        assert least <= enough
        assert enough == pytest.approx(noise, rel=1e-9, abs=0)


@pytest.mark.parametrize("chance", [1e-3, 0.2])
def test_a_gaussian_that_may_not_happen(chance):
    low, high = gaussian_epsilon(0.05, 1e-5, chance)
    inner = gaussian_epsilon(0.05, 1e-5 / chance)
    assert low == pytest.approx(inner[0], rel=1e-12)
    assert high == pytest.approx(inner[1], rel=1e-12)
    assert gaussian_epsilon(0.05, chance, chance) == (0.0, 0.0)
    below, above = gaussian_delta_limits(0.05, low, chance)
    assert below <= 1e-5 * (1 + 1e-9)
    assert above >= 1e-5 * (1 - 1e-9)
    assert above <= chance


def test_what_no_noise_is_needed_for():
    with pytest.raises(ValueError, match="any noise is enough"):
        gaussian_multiplier(1.0, 0.1, 0.1)


def test_an_event_without_sampling_takes_the_closed_form():
    event = Repeated(Repeated(gaussian(0.3), 10), 4)
    low, high = gaussian_epsilon(0.3 / math.sqrt(40), 1e-7)
    limits = epsilon_limits(event, 1e-7)
    assert (limits.low, limits.high) == (low, high)
    assert low > 300
    assert epsilon_high(event, 1e-7) == high
    assert epsilon_low(event, 1e-7) == low
    deltas = delta_limits(event, 1000.0)
    exact = gaussian_delta(1000.0, 0.3 / mpmath.sqrt(40))
    assert deltas.low <= exact[0] <= exact[1] <= deltas.high <= deltas.low * (1 + 1e-10)


# A random number of Gaussian releases, which is seen: the mean of the closed forms


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("times", "chance", "noise", "delta"),
    [
        (100, 0.01, 0.01, 1e-5),
        (30, 0.1, 0.05, 1e-3),
        (7, 0.5, 1e-3, 1e-9),
        (1000, 0.9, 0.02, 1e-5),
        (3, 1e-3, 0.01, 1e-6),
    ],
)
def test_a_random_number_of_large_losses(times, chance, noise, delta):
    def truth(epsilon):
        parts = (
            binom.pmf(j, times, chance) * gaussian_delta(epsilon, noise / mpmath.sqrt(j))[0]
            for j in range(1, times + 1)
            if binom.pmf(j, times, chance) > 1e-20
        )
        return sum(parts)

    event = Repeated(WithProbability(gaussian(noise), chance), times)
    low, high = coarse_low(event, delta), coarse_high(event, delta)
    assert truth(low) >= delta * (1 - 1e-9)
    assert truth(high) <= delta * (1 + 1e-9)
    assert 0 < low < high < 2.5 * low
    limits = epsilon_limits(event, delta)
    assert truth(limits.low) >= delta * (1 - 1e-9)
    assert truth(limits.high) <= delta * (1 + 1e-9)


# One release of each kind, by the threshold at which the likelihood ratio is e^epsilon


def tail_delta(ours, theirs, noise, epsilon):
    """P(S) - e^epsilon Q(S) for the half line S beyond the threshold; (weight, mean) of both mixtures."""

    def density(mixture, x):
        return sum(w * mpmath.exp(-(((x - m) / noise) ** 2) / 2) for w, m in mixture)

    def excess(x):
        return mpmath.log(density(ours, x)) - mpmath.log(density(theirs, x)) - epsilon

    low, high = mpmath.mpf(-3), mpmath.mpf(5)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    p, q = (sum(w * mpmath.ncdf((m - low) / noise) for w, m in mixture) for mixture in (ours, theirs))
    return p - mpmath.exp(epsilon) * q


KINDS = {
    "poisson": (lambda q, z: sampling.poisson(q, z, False), (1, 0), 2.0),
    "poisson, replace": (lambda q, z: sampling.poisson(q, z, True), (1, -1), 5.0),
    "fixed": (lambda q, z: sampling.fixed_size(q, z, False), (2, 1), 5.0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("q", "noise", "delta"), [(0.1, 0.02, 1e-5), (0.5, 0.01, 1e-2), (0.01, 0.005, 1e-4)])
def test_one_large_loss(kind, q, noise, delta):
    build, (ours, theirs), width = KINDS[kind]
    release = build(q, noise)
    low, high = coarse_low(release, delta), coarse_high(release, delta)
    with mpmath.workdps(60):
        mixtures = [[(mpmath.mpf(1) - q, 0), (mpmath.mpf(q), mean)] for mean in (ours, theirs)]
        assert tail_delta(*mixtures, mpmath.mpf(noise), high) <= delta * (1 + 1e-9)
        if kind != "fixed":  # the larger of its two orders is not this one at every epsilon
            assert tail_delta(*mixtures, mpmath.mpf(noise), low) >= delta * (1 - 1e-9)
    assert 0 < low < high < width * low
    limits = epsilon_limits(release, delta)
    assert low <= limits.low <= limits.high <= high * (1 + 1e-12)


# Agreement with the grid where both work


SLOW = pytest.mark.exhaustive
ON_THE_GRID = [
    pytest.param(Repeated(sampling.poisson(0.02, 0.3, False), 20), id="poisson"),
    pytest.param(Repeated(sampling.fixed_size(0.1, 0.4, True), 10), id="fixed, replace"),
    pytest.param(Repeated(sampling.poisson(0.2, 0.2, True), 20), id="replace", marks=SLOW),
    pytest.param(Repeated(sampling.fixed_size(0.1, 0.1, False), 50), id="fixed", marks=SLOW),
    pytest.param(Repeated(sampling.poisson_own_noise(60, 6, 0.2, False), 10), id="own noise", marks=SLOW),
    pytest.param(Repeated(sampling.with_replacement(30, 3, 0.2, True), 10), id="with replacement", marks=SLOW),
    pytest.param(
        Repeated(WithProbability(Repeated(sampling.fixed_size(0.2, 0.3, True), 5), 0.1), 60), id="records", marks=SLOW
    ),
]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("event", ON_THE_GRID)
def test_the_limits_enclose_those_of_the_grid(event):
    limits = epsilon_limits(event, 1e-5)
    assert 0 < coarse_low(event, 1e-5) <= limits.high
    assert limits.low <= coarse_high(event, 1e-5)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-50, 1e-100])
def test_sampled_releases_with_hardly_any_noise(noise):
    """Both limits grow like 1/(2 z^2) times a number of participations that differs by one or two."""
    event = Repeated(sampling.poisson(0.01, noise, False), 100)
    limits = epsilon_limits(event, 1e-5)
    counts = [value * 2 * noise**2 for value in (limits.low, limits.high)]
    assert binom.sf(6, 100, 0.01) > 1e-5 > binom.sf(7, 100, 0.01)  # seven participations are probable enough
    assert 6.8 < counts[0] < 7.0 + 1e-6
    assert 7.0 - 1e-6 < counts[1] < 9.0
    assert epsilon_low(event, 1e-5) == limits.low
    assert epsilon_high(event, 1e-5) == limits.high
    taking_part = -math.expm1(100 * math.log1p(-0.01))
    at = delta_limits(event, 100.0)
    assert at.low <= taking_part * (1 + 1e-8)
    assert taking_part <= at.high
    assert at.high - at.low < 1e-7
    assert coarse_delta(event, 1e250)[0] == 0.0, "no loss is as large"


@pytest.mark.slow
def test_a_delta_at_the_end_of_double_precision_has_no_false_lower_limit():
    event = Repeated(sampling.poisson(0.5, 3.0, False), 2)
    limits = epsilon_limits(event, 1e-300)
    assert limits.low == 0.0
    assert limits.high > 10
