"""The parts of the accountant on grids of a few points, where every sum can be written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from dpfl_theory.privacy import pld
from dpfl_theory.privacy.events import Event, Release, Repeated, WithProbability, gaussian, simplified
from dpfl_theory.privacy.gaussian import gaussian_delta
from dpfl_theory.privacy.gaussian_inverse import gaussian_epsilon
from dpfl_theory.privacy.grid import LARGEST, Grid
from dpfl_theory.privacy.pld import CertifiedInterval, delta_limits, epsilon_high, epsilon_limits, epsilon_low
from dpfl_theory.privacy.sampling import poisson
from dpfl_theory.privacy.tails import FullParticipation, SampledUnit, SampledUnitReversed

INF = math.inf


def profile(epsilon: float, z: float) -> float:
    """delta(epsilon) of one Gaussian release."""
    left, right = log_ndtr(0.5 / z - epsilon * z), epsilon + log_ndtr(-0.5 / z - epsilon * z)
    return float(np.exp(left) * -np.expm1(right - left))


@pytest.mark.parametrize(
    ("low", "estimate", "high", "width"),
    [(1.0, 2.0, 3.0, 1.0), (1.0, 1.0, 1.5, 0.5), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, INF), (1.0, INF, INF, INF),
     (INF, INF, INF, 0.0), (2.0, 2.0, 2.0, 0.0), (1.0, 0.5, 2.0, 2.0),
     (1.0, 1.0, 1.0 + 1.23e-11, 1.2e-11)],
)  # fmt: skip
def test_the_width_of_limits(low: float, estimate: float, high: float, width: float) -> None:
    assert CertifiedInterval(low, estimate, high).width == width


# Curves and their roots


def falling(rate: float) -> Callable[[float], float]:
    return lambda epsilon: math.exp(-rate * epsilon)


@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0, 1e9])
@pytest.mark.parametrize("delta", [0.5, 1e-5, 1e-30])
def test_the_root_of_a_curve(rate: float, delta: float) -> None:
    truth = math.log(1 / delta) / rate
    for near in (None, truth, 1.01 * truth, 1.5 * truth, 4.0 * truth, 1e6 * truth):
        found = pld._root(pld._Curve(falling(rate), near), delta)
        assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-12)


@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0, 1e9])
def test_limits_enclose_the_root(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots are known to a share of 1e-13: the upper limit is rounded up, the lower one down."""
    event, delta = Repeated(poisson(0.1, 2.0, False), 2), 1e-3
    curve, truth = pld._Curve(falling(rate)), math.log(1 / delta) / rate
    monkeypatch.setattr(pld, "_upper", lambda event, delta: [curve])
    assert truth * (1 - 2e-11) <= pld._low(event, [curve], delta) < truth
    assert truth < pld._high(event, delta) <= truth * (1 + 2e-11)


def test_roots_at_the_ends() -> None:
    half: Callable[[float], float] = lambda epsilon: 0.5 * math.exp(-epsilon)  # noqa: E731
    assert pld._root(pld._Curve(half), 0.5) == 0.0
    assert pld._root(pld._Curve(half), 0.6) == 0.0
    assert pld._root(pld._Curve(half, 3.0), 0.6) == 0.0
    assert pld._root(pld._Curve(half, 3.0), 0.49) == pytest.approx(math.log(0.5 / 0.49), rel=1e-9)
    assert pld._root(pld._Curve(half, 0.001), 0.1) == pytest.approx(math.log(5), rel=1e-10)  # near is below the root
    assert pld._root(pld._Curve(lambda epsilon: 1.0), 0.5) == INF
    assert pld._root(pld._Curve(lambda epsilon: 1.0), 0.5, 7.0) == 7.0
    assert pld._root(pld._Curve(lambda epsilon: 0.0), 1e-200) == 0.0
    step: Callable[[float], float] = lambda epsilon: 1.0 if epsilon < 6e4 else 0.0  # noqa: E731
    assert pld._root(pld._Curve(step), 0.5) == pytest.approx(6e4)
    late: Callable[[float], float] = lambda epsilon: 1.0 if epsilon < 2e5 else 0.0  # noqa: E731
    assert pld._root(pld._Curve(late), 0.5) == INF


def test_one_release_takes_off_what_the_other_distribution_has() -> None:
    def tails(p: float, q: float) -> Any:
        return lambda epsilon: (np.full_like(epsilon, p), np.full_like(epsilon, q))

    for upper in (True, False):
        curve = pld._single(tails(0.5, 0.1), 0.25, upper)
        assert curve.delta(1.0) == pytest.approx(0.25 * (0.5 - math.exp(1.0) * 0.1))
        assert curve.delta(2.0) == 0.0  # never negative
        assert (curve.near, curve.error, curve.allowance) == (None, 0.0, 0.0)
        # Q's tail that may have lost its digits, at a loss that is counted and at one beyond.
        assert pld._single(tails(0.5, 1e-291), 0.25, upper).delta(LARGEST) == 0.125
        assert pld._single(tails(0.5, 1e-291), 0.25, upper).delta(LARGEST + 1) == (0.125 if upper else 0.0)
        assert pld._single(tails(0.5, 0.0), 0.25, upper).delta(0.0) == 0.125
        assert pld._single(tails(0.5, 1e-280), 0.25, upper).delta(1e4) == 0.0


# Grids


def grid_of(rng: np.random.Generator, start: int, n: int, h: float = 0.1) -> Grid:
    masses = rng.uniform(size=n)
    return Grid(start, masses / masses.sum(), h)


def test_weights_and_their_sum() -> None:
    grid = Grid(-1, np.array([0.2, 0.3, 0.0, 0.5]), 0.5, 0.125)
    weighted, log_mass = pld._weighted(grid, 2.0)
    expected = np.array([0.2 * math.exp(-1.0), 0.3, 0.0, 0.5 * math.exp(2.0)])
    np.testing.assert_allclose(weighted.masses, expected / expected.sum(), rtol=1e-14)
    assert log_mass == pytest.approx(math.log(expected.sum()), rel=1e-14)
    assert (weighted.start, weighted.h, weighted.infinite) == (-1, 0.5, 0.125)
    far, log_far = pld._weighted(Grid(0, np.array([0.5, 0.5]), 1000.0), 5.0)
    assert log_far == pytest.approx(5000.0 + math.log(0.5))  # without overflow
    assert far.masses.tolist() == [0.0, 1.0]


def test_deviations() -> None:
    grid = Grid(-1, np.array([0.25, 0.0, 0.0, 0.75]), 2.0)
    assert pld._deviation(grid, 0.0) == pytest.approx(6.0 * math.sqrt(0.25 * 0.75))
    low, high = 0.25 * math.exp(-0.1), 0.75 * math.exp(0.2)  # at the losses -2 and 4
    share = low / (low + high)
    assert pld._deviation(grid, 0.05) == pytest.approx(6.0 * math.sqrt(share * (1 - share)))
    assert pld._deviation(Grid(3, np.array([1.0]), 0.5), 1.0) == 0.5  # at least a cell's width


@pytest.mark.parametrize("tilt", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("start", [-7, 0, 5])
def test_gains_are_the_sum_over_larger_losses(tilt: float, start: int) -> None:
    grid = grid_of(np.random.default_rng(1), start, 12)
    gains, losses = pld._gains(grid, tilt), grid.losses()
    for epsilon in (0.0, 0.04, 0.1, 0.25, 0.5999, 0.601, 1.05, 1.6, 1.7, 50.0):
        above = losses > epsilon + 1e-12
        expected = grid.masses[above] @ (-np.expm1(epsilon - losses[above]) * np.exp(-tilt * (losses[above] - epsilon)))
        assert gains(epsilon) == pytest.approx(float(expected), rel=1e-9, abs=1e-16)


def test_gains_of_losses_far_above_are_nothing() -> None:
    assert pld._gains(Grid(100, np.array([1.0]), 1.0), 10.0)(0.0) == 0.0
    assert pld._gains(Grid(100, np.array([1.0]), 1.0), 6.0)(0.0) == pytest.approx(math.exp(-600.0))


def enumerated(event: Event, losses: dict[int, float]) -> dict[int, float]:
    """The distribution of an event's loss, in cells, from that of one release."""
    match event:
        case Release():
            return losses
        case Repeated(inner, times):
            one, total = enumerated(inner, losses), {0: 1.0}
            for _ in range(times):
                step: dict[int, float] = {}
                for (a, p), (b, q) in itertools.product(total.items(), one.items()):
                    step[a + b] = step.get(a + b, 0.0) + p * q
                total = step
            return total
        case WithProbability(inner, chance):
            found = {k: chance * v for k, v in enumerated(inner, losses).items()}
            found[0] = found.get(0, 0.0) + 1 - chance
            return found


RELEASE = gaussian(1.0)
EVENTS: list[Event] = [
    RELEASE,
    Repeated(RELEASE, 3),
    WithProbability(RELEASE, 0.3),
    Repeated(WithProbability(RELEASE, 0.3), 4),
    WithProbability(Repeated(RELEASE, 2), 0.6),
    Repeated(WithProbability(Repeated(RELEASE, 2), 0.25), 3),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("start", [-3, 0, 2, -9])
def test_an_event_on_the_grid_is_its_enumeration(event: Event, start: int) -> None:
    """Weights are applied before and removed after: the result is the distribution itself."""
    grid, tilt = grid_of(np.random.default_rng(2), start, 5), 1.5
    grid = Grid(grid.start, grid.masses, grid.h, 0.125)
    weighted, log_one = pld._weighted(grid, tilt)
    found, log_mass, infinite = pld._fold(event, weighted, log_one)
    expected = enumerated(event, {start + i: float(m) for i, m in enumerate(grid.masses)})
    unweighted = found.masses * np.exp(log_mass - tilt * found.losses())
    for k, mass in enumerate(unweighted):
        assert mass == pytest.approx(expected.pop(found.start + k, 0.0), rel=1e-9, abs=1e-12)
    assert not any(v > 1e-12 for v in expected.values())
    assert log_mass == pytest.approx(pld._log_moment(event, log_one), rel=1e-12)
    assert found.h == grid.h
    assert infinite == pytest.approx(1 - finite(event, 0.875), rel=1e-12)


def finite(event: Event, one: float) -> float:
    """The probability that no loss is infinite."""
    match event:
        case Release():
            return one
        case Repeated(inner, times):
            return finite(inner, one) ** times
        case WithProbability(inner, chance):
            return 1 - chance + chance * finite(inner, one)


def test_chances_and_moments() -> None:
    nested = Repeated(WithProbability(Repeated(WithProbability(RELEASE, 0.5), 3), 0.25), 7)
    assert pld._chance(nested) == 0.125
    assert pld._chance(RELEASE) == 1.0
    inner = 3 * math.log(0.5 + 0.5 * math.exp(0.7))
    assert pld._log_moment(nested, 0.7) == pytest.approx(7 * math.log(0.75 + 0.25 * math.exp(inner)))


def test_the_tilt_makes_the_moments_bound_least() -> None:
    """Two losses, +-1: the bound (T log(cosh-like moment) + log(1/delta))/lambda is searched again on a fine grid."""
    grid, event, delta = Grid(-1, np.array([0.3, 0.0, 0.7]), 1.0), Repeated(RELEASE, 20), 0.05

    def bound(lam: float) -> float:
        return (20 * math.log(0.3 * math.exp(-lam) + 0.7 * math.exp(lam)) + math.log(1 / delta)) / lam

    grid_search = min(bound(math.exp(x)) for x in np.linspace(-9, 6, 3001))
    found = pld._tilt(event, grid, delta)
    assert bound(found) == pytest.approx(grid_search, rel=1e-4)
    # Losses of the size 1e-6 need an order near 1e6, and those of 1e3 one near 1e-3.
    for h in (1e-6, 1e3):
        scaled = pld._tilt(event, Grid(-1, grid.masses, h), delta) * h
        assert bound(scaled) == pytest.approx(grid_search, rel=1e-3)


# Events as a whole


def test_what_hardly_happens_and_what_is_infinite() -> None:
    """An upper curve is the chance of any release where that is below delta, and 1 where losses leave the range."""
    rare = Repeated(WithProbability(gaussian(0.5), 1e-4), 10)
    assert [c.delta(0.0) for c in pld._upper(rare, 1e-3)] == [pytest.approx(1e-3)]
    assert [c.delta(9.0) for c in pld._upper(rare, 1e-3)] == [pytest.approx(1e-3)]
    assert [c.delta(0.0) for c in pld._lower(rare, 1e-3)] == [0.0]
    assert pld._upper(rare, 0.9e-3)[0].delta(0.0) < 0.9e-3 < 1e-3
    assert pld._lower(rare, 0.9e-3)[0].delta(0.0) > 0.0
    loud = Repeated(WithProbability(gaussian(0.01), 0.5), 3)
    assert [c.delta(5.0) for c in pld._upper(loud, 1e-5)] == [1.0]
    # Where losses leave the range, all three releases happen with a larger probability than delta.
    limits = epsilon_limits(loud, 1e-5)
    assert epsilon_high(loud, 1e-5) == limits.high
    assert limits.low >= 599.0
    assert sum_of_profiles(loud, limits.high)[1] <= 1e-5 <= sum_of_profiles(loud, limits.low)[0]
    assert limits.high == pytest.approx(gaussian_epsilon(0.01 / math.sqrt(3), 1e-5)[1], rel=1e-12)


def sum_of_profiles(event: Any, epsilon: float) -> tuple[float, float]:
    """Limits of delta of releases by chance: the mean of the exact profiles over how many happen."""
    times, chance, z = event.times, event.event.probability, event.event.event.forward.z
    low = high = 0.0
    for k in range(1, times + 1):
        weight = math.comb(times, k) * chance**k * (1 - chance) ** (times - k)
        one = gaussian_delta(epsilon, z / math.sqrt(k))
        low, high = low + weight * float(one[0]), high + weight * float(one[1])
    return low, high


def test_an_infinite_loss_that_no_gaussian_explains_is_infinite() -> None:
    """Half of P's mass, where Q has none: nothing finite is certified above, and below it shows the largest loss."""

    def half(epsilon: Any) -> Any:
        return np.full_like(epsilon, 0.5), np.zeros_like(epsilon)

    for event in (Release(half, half), Repeated(Release(half, half), 3)):
        assert epsilon_high(event, 1e-5) == INF
        limits = epsilon_limits(event, 1e-5)
        assert limits.high == INF
        assert limits.low >= 599.0  # one release alone is counted where nothing is certified


def test_how_much_may_be_lost_to_losses_out_of_range() -> None:
    """Infinite losses of all releases together may have the probability 2 delta, and no more."""
    times, chance, z = 50, 0.5, 0.0331
    lost = float(ndtr(0.5 / z - z * LARGEST))
    total = -math.expm1(times * chance * math.log1p(-lost))
    assert 1e-7 < total < 1e-3
    event = Repeated(WithProbability(gaussian(z), chance), times)
    assert pld._upper(event, 0.499 * total)[0].delta(1e5) == 1.0
    assert pld._upper(event, 0.501 * total)[0].delta(1e5) == pytest.approx(total, rel=0.03)


@pytest.mark.parametrize(("z", "times", "chance"), [(4.0, 60, 0.5), (1.0, 3, 0.9), (40.0, 900, 0.2)])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_limits_enclose_the_mean_over_the_number_of_releases(z: float, times: int, chance: float, delta: float) -> None:
    from scipy.stats import binom

    count = np.arange(1, times + 1)

    def truth(epsilon: float) -> float:
        return float(binom.pmf(count, times, chance) @ [profile(epsilon, z / math.sqrt(k)) for k in count])

    event = Repeated(WithProbability(gaussian(z), chance), times)
    limits = epsilon_limits(event, delta)
    assert truth(limits.high) <= delta <= truth(limits.low)
    assert limits.low <= limits.estimate <= limits.high
    assert truth(limits.high) >= 0.98 * delta
    assert truth(limits.low) <= 1.1 * delta
    assert epsilon_high(event, delta) == limits.high
    assert epsilon_low(event, delta) == pytest.approx(limits.low, rel=1e-12)
    deltas = delta_limits(event, limits.high)
    assert deltas.low <= truth(limits.high) <= deltas.high <= 1.02 * truth(limits.high)
    assert deltas.low >= 0.9 * truth(limits.high)
    assert deltas.low <= deltas.estimate <= deltas.high


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 40.0])
def test_delta_of_one_release_is_its_profile(epsilon: float) -> None:
    for event, z, chance in ((gaussian(2.0), 2.0, 1.0), (WithProbability(gaussian(0.2), 0.25), 0.2, 0.25)):
        limits = delta_limits(event, epsilon)
        assert limits.high == pytest.approx(chance * profile(epsilon, z), rel=1e-9)
        low, high = (chance * value for value in gaussian_delta(epsilon, z))
        assert limits.low <= low <= high <= limits.high
        assert limits.low <= limits.estimate <= limits.high
        # A multiplier that is wrong by a share of 1e-15 changes delta by phi(1/2z - epsilon z)/z times that share.
        moved = chance * math.exp(-0.5 * (0.5 / z - epsilon * z) ** 2) / math.sqrt(2 * math.pi) / z
        assert limits.high - limits.low <= 2.5e-15 * moved + 4 * math.ulp(limits.high)


def test_both_orders_of_a_pair_are_counted() -> None:
    """Forward and backward differ: the larger one decides, whichever it is."""
    small, large = FullParticipation(3.0), FullParticipation(1.0)
    for forward, backward in ((small, large), (large, small)):
        one = Release(forward, backward)
        assert delta_limits(one, 1.0).high == pytest.approx(profile(1.0, 1.0), rel=1e-9)
        assert delta_limits(one, 1.0).low == pytest.approx(profile(1.0, 1.0), rel=1e-9)
    # What occurs may be less than the bound.
    bounded = Release(large, large, ((small, small),))
    assert delta_limits(bounded, 1.0).high == pytest.approx(profile(1.0, 1.0), rel=1e-9)
    assert delta_limits(bounded, 1.0).low == pytest.approx(profile(1.0, 3.0), rel=1e-9)
    limits = epsilon_limits(bounded, 1e-5)
    assert profile(limits.high, 1.0) == pytest.approx(1e-5, rel=1e-6)
    assert profile(limits.low, 3.0) == pytest.approx(1e-5, rel=1e-6)
    assert (epsilon_high(bounded, 1e-5), epsilon_low(bounded, 1e-5)) == (limits.high, limits.low)
    assert pld.one_gaussian(bounded) is None
    assert pld.one_gaussian(gaussian(1.0)) == (1.0, 1.0)
    # Two of them are a Gaussian release of half the variance as a bound, and not as what occurs.
    twice = epsilon_limits(Repeated(bounded, 2), 1e-5)
    assert 0.98e-5 <= profile(twice.high, 1.0 / math.sqrt(2)) <= 1e-5
    assert 1e-5 <= profile(twice.low, 3.0 / math.sqrt(2)) <= 1.1e-5
    assert simplified(Repeated(gaussian(1.0), 2)) == gaussian(1.0 / math.sqrt(2))
    assert simplified(Repeated(bounded, 2)) == Repeated(bounded, 2)
    assert len(pld._upper(Repeated(bounded, 3), 1e-5)) == 1
    assert len(pld._upper(Repeated(Release(large, small), 3), 1e-5)) == 2


# Two orders that differ: adding and removing a client under Poisson sampling

ASYMMETRIC = Repeated(poisson(0.3, 1.0, replace=False), 3)


def orders(epsilon: float) -> tuple[float, float]:
    """delta of three rounds in both orders, by integration of two rounds' losses on a fine grid."""
    x, step = np.linspace(-11.0, 12.0, 1501, retstep=True)
    absent = np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    present = 0.7 * absent + 0.3 * np.exp(-0.5 * (x - 1) ** 2) / math.sqrt(2 * math.pi)
    loss = np.log(present) - np.log(absent)
    found = []
    for mass, one, tails in ((present, loss, PRESENT), (absent, -loss, ABSENT)):
        weights = np.outer(mass, mass).ravel() * step**2
        rest = epsilon - np.add.outer(one, one).ravel()
        kept = weights > 1e-22
        weights, rest = weights[kept], rest[kept]
        p, q = tails[0](np.abs(rest))
        q_back, p_back = tails[1](np.abs(rest))
        above = np.where(rest >= 0, p - np.exp(rest) * q, 1 - p_back - np.exp(rest) * (1 - q_back))
        found.append(float(weights @ np.maximum(above, 0.0)))
    return found[0], found[1]


PRESENT = (SampledUnit(0.3, 1.0), SampledUnitReversed(0.3, 1.0))
ABSENT = PRESENT[::-1]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_the_worse_of_two_orders_decides(delta: float) -> None:
    limits = epsilon_limits(ASYMMETRIC, delta)
    at_high, at_low = orders(limits.high), orders(limits.low)
    assert min(at_high) < 0.8 * max(at_high)  # the orders differ
    assert max(at_high) == pytest.approx(delta, rel=2e-3)
    assert max(at_low) >= delta
    assert max(at_low) <= 1.1 * delta
    assert limits.low < limits.estimate < limits.high
    assert max(orders(limits.estimate)) == pytest.approx(delta, rel=5e-3)
    assert epsilon_high(ASYMMETRIC, delta) == limits.high
    assert epsilon_low(ASYMMETRIC, delta) == pytest.approx(limits.low, rel=1e-12)
    deltas = delta_limits(ASYMMETRIC, limits.high)
    assert deltas.low < deltas.estimate < deltas.high
    assert deltas.low <= max(at_high) <= deltas.high <= 1.01 * max(at_high)
    assert deltas.low >= 0.9 * max(at_high)
    assert deltas.estimate == pytest.approx(max(at_high), rel=5e-3)


def test_limits_are_never_below_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = Repeated(WithProbability(gaussian(50.0), 0.5), 5)
    assert epsilon_limits(quiet, 0.3) == CertifiedInterval(0.0, 0.0, 0.0)
    assert epsilon_low(quiet, 0.3) == 0.0
    monkeypatch.setattr(pld, "_upper", lambda *_: [pld._Curve(lambda epsilon: 1e-6)])
    monkeypatch.setattr(pld, "_lower", lambda *_: [pld._Curve(lambda epsilon: 1e-9, allowance=1e-8)])
    assert delta_limits(quiet, 1.0) == CertifiedInterval(0.0, 1e-9, 1e-6)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 4.0])
def test_deltas_of_every_size(epsilon: float) -> None:
    """The grid is made for a guessed delta, which is corrected until it has the right size."""
    limits = delta_limits(ASYMMETRIC, epsilon)
    truth = max(orders(epsilon))
    assert limits.low <= truth * (1 + 1e-6)
    assert truth <= limits.high * (1 + 1e-6)
    assert limits.high == pytest.approx(truth, rel=1e-2)
    assert 0.8 * limits.high <= limits.low <= limits.high


def test_what_is_lost_in_either_order_counts() -> None:
    """Losses of the order whose tail is longer may leave the range, whichever order that is."""
    short, long = SampledUnit(0.5, 1.0), FullParticipation(0.0331)
    lost = float(ndtr(0.5 / 0.0331 - 0.0331 * LARGEST))
    for pair in ((short, long), (long, short)):
        event = Repeated(WithProbability(Release(*pair), 0.5), 50)
        assert [c.delta(1e5) for c in pld._upper(event, lost)] == [1.0]


@pytest.mark.parametrize("times", [3, 200])
def test_a_curve_is_moved_by_the_rounding_of_the_transform(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By 1e-14 for each release and 1e-12 more, as a share of the weighted losses: up from above, down from below. At
    the moments bound, where the weight is delta, a gain of 1e-9 is delta times that, and what is infinite is added."""
    monkeypatch.setattr(pld, "_gains", lambda *_: lambda epsilon: 1e-9)
    event, delta = Repeated(WithProbability(gaussian(5.0), 0.5), times), 1e-3
    for curves, sign in ((pld._upper(event, delta), 1), (pld._lower(event, delta), -1)):
        for curve in curves:
            assert curve.near is not None
            infinite = curve.delta(1e6)
            assert 0 <= infinite <= 1e-4 * delta
            assert (infinite == 0) == (sign < 0)
            share = (curve.delta(curve.near) - infinite) / delta
            assert share == pytest.approx(1e-9 + sign * (times * 1e-14 + 1e-12), rel=1e-7)


def test_no_delta_exceeds_one() -> None:
    loud = Repeated(WithProbability(gaussian(0.25), 0.999), 4)
    assert [curve.delta(0.0) <= 1.0 for curve in pld._upper(loud, 1e-3)] == [True]
    assert pld._upper(loud, 1e-3)[0].delta(-50.0) == 1.0
    assert 0.999 < delta_limits(loud, 0.0).high <= 1.0


@pytest.mark.parametrize("z", [0.01, 0.03, 0.2])
@pytest.mark.parametrize("chance", [1.0, 0.25])
def test_limits_of_one_loud_release_are_on_the_right_side_of_its_exact_profile(z: float, chance: float) -> None:
    """Beyond a loss of 600 the other tail is no double any more: it is left out above, and P is given away below."""
    event, delta = WithProbability(gaussian(z), chance), 1e-5
    limits = epsilon_limits(event, delta)
    assert chance * gaussian_delta(limits.high, z)[1] <= delta * (1 + 1e-9)
    assert chance * gaussian_delta(limits.low, z)[0] >= delta * (1 - 1e-9)


# What is one Gaussian release, once or with some probability


@pytest.mark.parametrize("chance", [1.0, 0.25])
@pytest.mark.parametrize("z", [0.3, 2.0])
def test_limits_of_one_gaussian_release_enclose_the_root_of_its_profile(z: float, chance: float) -> None:
    """delta(epsilon) of a release that happens with probability q is q times the profile of the release."""
    event, delta = WithProbability(gaussian(z), chance), 1e-4
    low, high = epsilon_low(event, delta), epsilon_high(event, delta)
    assert 0 < low <= high <= low * (1 + 1e-9)
    assert chance * profile(high * (1 + 1e-9), z) <= delta * (1 + 1e-9)
    assert chance * profile(low * (1 - 1e-9), z) >= delta * (1 - 1e-9)
    found = epsilon_limits(event, delta)
    assert (found.low, found.high) == (low, high)
    assert found.low <= found.estimate <= found.high


def test_the_estimate_of_one_gaussian_release_is_the_middle_of_its_limits() -> None:
    for found in (epsilon_limits(gaussian(2.0), 1e-300), delta_limits(gaussian(2.0), 60.0)):
        assert found.low < found.high
        assert found.estimate == pytest.approx((found.low + found.high) / 2, rel=1e-16, abs=0)


def test_a_delta_below_double_precision_has_no_lower_limit_of_sampled_rounds() -> None:
    event, curve = poisson(0.1, 2.0, False), pld._Curve(lambda epsilon: math.exp(-epsilon))
    assert epsilon_low(event, 1e-260) == 0.0
    assert epsilon_low(event, 1e-200) > 0.0
    assert pld._low(event, [curve], 1e-250) == pytest.approx(250 * math.log(10), rel=1e-10)
    assert pld._low(event, [curve], math.nextafter(1e-250, 0.0)) == 0.0


# What is certified from below


def test_what_the_lower_limit_gives_away_is_added_to_delta_and_taken_off_epsilon() -> None:
    """With probability ``allowance`` a curve from below may be wrong by ``error``."""
    event, delta = Repeated(poisson(0.1, 2.0, False), 2), 1e-3
    curve = pld._Curve(lambda epsilon: math.exp(-epsilon), error=0.5, allowance=1e-3)
    assert pld._low(event, [curve], delta) == pytest.approx(-math.log(2e-3) - 0.5, rel=1e-9)
    assert pld._low(event, [pld._Curve(lambda epsilon: 0.0), curve], delta) == pld._low(event, [curve], delta)


@pytest.mark.parametrize("chance", [1.0, 0.25])
@pytest.mark.parametrize("epsilon", [590.0, 610.0, 650.0, 700.0])
def test_no_lower_limit_of_one_release_lies_above_its_exact_profile(chance: float, epsilon: float) -> None:
    """Losses have the mean 500 and the deviation 32. Beyond 600 the other tail has no digits, and to leave it out would
    raise a curve from below: its root would exceed the truth. The lower limit is that of smaller losses."""
    z = 1 / math.sqrt(1000.0)
    event = WithProbability(
        Release(FullParticipation(z), FullParticipation(z), ((FullParticipation(z), FullParticipation(z)),)), chance
    )
    assert pld.one_gaussian(event) is None  # a bound and what occurs, which here are the same
    delta = chance * float(gaussian_delta(epsilon, z)[0])
    for curve in pld._lower(event, delta):
        assert curve.delta(epsilon) <= delta * (1 + 1e-9)
    low = epsilon_low(event, delta)
    assert 0.9 * min(epsilon, LARGEST) <= low <= epsilon
    assert low == pytest.approx(epsilon_limits(event, delta).low, rel=1e-12)
    assert epsilon_high(event, delta) >= epsilon * (1 - 1e-9)


def test_losses_that_no_grid_holds_have_sharp_limits() -> None:
    """Ten rounds in which taking part is seen: delta is the probability of any, at each epsilon that is not as large as
    the losses, and epsilon is about the loss of as many participations as delta allows."""
    event = Repeated(poisson(0.1, 1e-3, False), 10)
    limits = delta_limits(event, 100.0)
    assert limits.low == pytest.approx(1 - 0.9**10, rel=1e-7)
    assert limits.low <= 1 - 0.9**10 <= limits.high <= limits.low * (1 + 1e-7)
    four = 4 / 2e-6
    assert 0.9 * four < epsilon_low(event, 5e-3) <= epsilon_limits(event, 5e-3).high < 1.5 * four


def test_losses_out_of_range_may_have_exactly_twice_delta() -> None:
    def half(epsilon: Any) -> Any:
        return np.full_like(epsilon, 0.5), np.zeros_like(epsilon)

    event = Release(half, half)
    assert -math.expm1(math.log1p(-0.5)) == 0.5
    assert not pld._too_large(event, 0.25)
    assert pld._too_large(event, math.nextafter(0.25, 0.0))
