"""Tails of privacy losses against integration in 35 digits: far out, for tiny rates, for little and for much noise."""

from __future__ import annotations

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from dpfl_theory.privacy.tails import (
    FullParticipation,
    GaussianMixturePair,
    Mixture,
    Replaced,
    SampledUnit,
    SampledUnitReversed,
    SubstitutedUnit,
    SubstitutedUnitReversed,
)

DIGITS = 35
RATES = (1e-6, 0.01, 0.5, 0.999)
NOISES = (0.05, 0.4, 3.0, 500.0)
KINDS = (FullParticipation, SampledUnit, SampledUnitReversed, Replaced, SubstitutedUnit, SubstitutedUnitReversed)


def means(kind):
    """The means of (what P and Q share, P's own component, Q's own component)."""
    return {
        FullParticipation: (0, 1, 0),
        SampledUnit: (0, 1, 0),
        SampledUnitReversed: (0, 0, 1),
        Replaced: (0, 1, -1),
        SubstitutedUnit: (0, 2, 1),
        SubstitutedUnitReversed: (0, 1, 2),
    }[kind]


class Exact:
    """A pair of mixtures (weight, mean) with one standard deviation, in `DIGITS` digits, by quadrature only."""

    def __init__(self, p, q, z):
        self.p, self.q = ([(mpmath.mpf(w), mpmath.mpf(m)) for w, m in c if w] for c in (p, q))
        self.z = mpmath.mpf(z)
        self.ends = min(m for _, m in self.p + self.q), max(m for _, m in self.p + self.q)

    @classmethod
    def of(cls, tails):
        q = mpmath.mpf(getattr(tails, "q", 1))
        shared, own, other = means(type(tails))
        return cls([(1 - q, shared), (q, own)], [(1 - q, shared), (q, other)], tails.z)

    def density(self, components, x):
        return sum(w * mpmath.npdf(x, m, self.z) for w, m in components)

    def loss(self, x):
        def log_density(components):  # less that of the standard component, which both share
            logs = [mpmath.log(w) + (m * x - m * m / 2) / self.z**2 for w, m in components]
            largest = max(logs)
            return largest + mpmath.log(sum(mpmath.exp(one - largest) for one in logs))

        return log_density(self.p) - log_density(self.q)

    @functools.cached_property
    def peak(self):
        """(left of all that counts, the point of the largest loss, right of all that counts)."""
        reach = 250 * self.z**2 + 60 * self.z + 5
        low, high = self.ends[0] - reach, self.ends[1] + reach
        points = np.linspace(float(low), float(high), 20_001)
        near = int(np.argmax(self._rough(self.p, points) - self._rough(self.q, points)))
        a, b = mpmath.mpf(points[max(near - 1, 0)]), mpmath.mpf(points[min(near + 1, len(points) - 1)])
        for _ in range(80):
            c, d = a + (b - a) / 3, b - (b - a) / 3
            a, b = (c, b) if self.loss(c) < self.loss(d) else (a, d)
        return low, (a + b) / 2, high

    def _rough(self, components, x):
        logs = [float(mpmath.log(w)) + float(m) * (x - float(m) / 2) / float(self.z) ** 2 for w, m in components]
        return np.logaddexp.reduce(logs, axis=0)

    def region(self, epsilon):
        """The interval on which the loss exceeds epsilon; the loss rises up to its peak and falls behind it."""
        low, peak, high = self.peak
        if self.loss(peak) <= epsilon:
            return None

        def crossing(outside, inside):
            if self.loss(outside) > epsilon:
                return outside
            for _ in range(130):
                middle = (outside + inside) / 2
                outside, inside = (outside, middle) if self.loss(middle) > epsilon else (middle, inside)
            return inside

        return crossing(low, peak), crossing(high, peak)

    def masses(self, epsilon):
        """The masses that P and Q give to losses above epsilon."""
        region = self.region(epsilon)
        return tuple(self._mass(c, region) if region else mpmath.mpf(0) for c in (self.p, self.q))

    def _mass(self, components, region):
        total = mpmath.mpf(0)
        for w, m in components:
            left, right = ((end - m) / self.z for end in region)
            near = max(left, -right, mpmath.mpf(-10))  # from the near end on, as far as 1e-22 of the mass reaches
            far = near + min(20, 60 / max(near, 3))
            left, right = (near, min(right, far)) if left > -right else (max(left, -far), -near)
            total += w * gauss_legendre(lambda x: mpmath.exp(-x * x / 2), left, right) if right > left else 0
        return total / mpmath.sqrt(2 * mpmath.pi)


@functools.cache
def nodes():
    return mpmath.calculus.quadrature.GaussLegendre(mpmath.mp).calc_nodes(4, mpmath.mp.prec)


def gauss_legendre(f, a, b):
    """24 nodes on every two units, which is exact to 20 digits for Gaussian densities."""
    count = math.ceil((b - a) / 2)
    half = (b - a) / (2 * count)
    return half * sum(w * f(a + half * (2 * k + 1 + x)) for k in range(count) for x, w in nodes())


def losses(exact, tails):
    """Losses that P exceeds often, seldom and with probability 1e-30; each a float, at which the pair is evaluated."""
    z = exact.z
    if isinstance(tails, SubstitutedUnitReversed):
        largest = exact.loss(exact.peak[1])
        return [float(share * largest) for share in (1e-3, 0.5, 0.99, 0.999999)]
    if isinstance(
        tails, SampledUnitReversed
    ):  # within a thousandth of the largest loss a float cannot say how near it is
        found = [float(exact.loss(x)) for x in (z, -2 * z, -11.5 * z, (1 - 6 * z * z) / 2)]
        return [e for e in found if e > 0 and math.expm1(-e) / tails.q + 1 > 1e-3]
    found = [float(exact.loss(means(type(tails))[1] + k * z)) for k in (-1, 2, 11.5)]
    return [e for e in found if 0 < e < 300]


@pytest.mark.exhaustive
@pytest.mark.parametrize("z", NOISES)
@pytest.mark.parametrize("kind", KINDS)
def test_tails_and_delta_are_the_integrals(kind, z):
    with mpmath.workdps(DIGITS):
        for tails in [FullParticipation(z)] if kind is FullParticipation else [kind(q, z) for q in RATES]:
            exact = Exact.of(tails)
            checked = losses(exact, tails)
            assert checked
            accuracy = (
                1e-7 if kind is SubstitutedUnitReversed else 1e-10
            )  # at its peak the interval's width is a root of what is left
            for epsilon in checked:
                p, q = (float(mass[0]) for mass in tails(np.array([epsilon])))
                true_p, true_q = exact.masses(mpmath.mpf(epsilon))
                delta = true_p - mpmath.exp(epsilon) * true_q
                at = f"{tails} at {epsilon!r}"
                for found, true in ((p, true_p), (q, true_q)):
                    assert float(abs(found - true) / (true + mpmath.mpf("1e-290"))) < accuracy, at
                error = abs(p - math.exp(epsilon) * q - delta)
                assert error <= 1e-12 * true_p + 1e-290, at
                if delta > 1e-4 * true_p:
                    assert error <= 10 * accuracy * delta, at


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 100.0])
def test_delta_at_the_ends_of_the_range(kind, epsilon):
    with mpmath.workdps(DIGITS):
        for z, rate in ((0.05, 0.5), (0.4, 1e-6), (3.0, 1.0), (500.0, 0.999)):
            tails = FullParticipation(z) if kind is FullParticipation else kind(rate, z)
            p, q = (float(mass[0]) for mass in tails(np.array([epsilon])))
            true_p, true_q = Exact.of(tails).masses(mpmath.mpf(epsilon))
            delta = true_p - mpmath.exp(epsilon) * true_q
            assert abs(p - math.exp(epsilon) * q - delta) <= 1e-12 * max(p, true_p) + 1e-290, tails


def test_a_delta_of_1e_30_is_right_to_nine_digits():
    """Such a delta is a difference of two tails; a difference of probabilities near 1 would be noise."""
    for tails in (
        FullParticipation(2.0),
        SampledUnit(0.01, 0.8),
        Replaced(0.1, 1.5),
        SubstitutedUnit(0.01, 0.9),
        SampledUnitReversed(0.4, 9.0),
    ):
        with mpmath.workdps(DIGITS):
            exact = Exact.of(tails)
            epsilon = float(
                exact.loss(
                    (-1 if isinstance(tails, SampledUnitReversed) else 1) * (means(type(tails))[1] + 11.1 * tails.z)
                )
            )
            true_p, true_q = exact.masses(mpmath.mpf(epsilon))
            delta = true_p - mpmath.exp(epsilon) * true_q
            p, q = (float(mass[0]) for mass in tails(np.array([epsilon])))
            assert 1e-32 < delta < 1e-28
            assert abs(p - math.exp(epsilon) * q - delta) < 1e-9 * delta


def test_the_swapped_pair_backwards_exceeds_a_loss_on_an_interval_only():
    """Both of its ends count: the mass is less than that of the half-line beyond the left one."""
    tails = SubstitutedUnitReversed(0.3, 1.0)
    x = np.linspace(-12, 14, 2_000_001)
    p = 0.7 * np.exp(-(x**2) / 2) + 0.3 * np.exp(-((x - 1) ** 2) / 2)
    q = 0.7 * np.exp(-(x**2) / 2) + 0.3 * np.exp(-((x - 2) ** 2) / 2)
    for epsilon in (0.0, 0.01, 0.05, 0.1):
        inside = p > math.exp(epsilon) * q
        width = (x[1] - x[0]) / math.sqrt(2 * math.pi)
        found = [float(mass[0]) for mass in tails(np.array([epsilon]))]
        np.testing.assert_allclose(found, [p[inside].sum() * width, q[inside].sum() * width], rtol=1e-4)
        assert inside[0] == (epsilon == 0)
        assert not inside[-1]
    largest = float(np.log(p / q).max())
    assert tails(np.array([largest * 0.9999]))[0] > 0
    for epsilon in (largest * 1.0001, 1.0, 50.0):
        assert [float(mass[0]) for mass in tails(np.array([epsilon]))] == [0.0, 0.0]


def binomial(count, rate):
    weights = binom.pmf(np.arange(count + 1), count, rate)
    kept = weights > 0
    return tuple(weights[kept]), tuple(np.arange(count + 1.0)[kept])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("weights", "steps", "z"),
    [
        ((0.3, 0.7), (0.0, 1.0), 0.3),
        ((0.999, 1e-3), (0.0, 1.0), 40.0),
        ((0.2, 0.3, 0.1, 0.4), (0.0, 0.5, 1.0, 7.0), 1.5),
        (*binomial(39, 0.2), 2.0),
        (*binomial(39, 0.6), 0.5),
        (*binomial(39, 0.05), 60.0),
    ],
)
def test_lines_are_the_integrals(weights, steps, z):
    still, back = (0.0,) * len(steps), tuple(-s for s in steps)
    for p, q in ((steps, still), (still, back), (steps, back)):
        line = GaussianMixturePair(weights, p, q, z)
        x = np.linspace(min(q) - 45 * z, max(p) + 45 * z, 200_001)
        density_p, density_q = (
            sum(w * np.exp(-(((x - m) / z) ** 2) / 2) for w, m in zip(weights, c, strict=True)) for c in (p, q)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.log(density_p) - np.log(density_q)
        width = (x[1] - x[0]) / (z * math.sqrt(2 * math.pi))
        for epsilon in np.quantile(loss[np.isfinite(loss) & (loss > 0) & (density_p > 1e-12)], (0.02, 0.3, 0.7, 0.95)):
            above = density_p > math.exp(epsilon) * density_q
            found = [float(mass[0]) for mass in line(np.array([epsilon]))]
            true = [density[above].sum() * width for density in (density_p, density_q)]
            # The quadrature places the threshold to one of its cells, the line to an interpolation; delta notices
            # neither, since it is stationary there.
            cell = np.array([density[np.argmax(above)] * width for density in (density_p, density_q)])
            assert (np.abs(np.subtract(found, true)) < 1.01 * cell + 1e-9 * np.array(true) + 1e-14).all()
            delta, exact = (a - math.exp(epsilon) * b for a, b in (found, true))
            assert delta == pytest.approx(exact, rel=1e-6, abs=1e-15), (line, epsilon)


def test_lines_with_two_components_are_the_closed_forms():
    q, z = 0.15, 1.3
    epsilon = np.array([0.0, 1e-3, 0.05, 0.1, 0.16, 0.17, 1.0, 9.0])
    pairs = [
        (GaussianMixturePair((1 - q, q), (0.0, 1.0), (0.0, 0.0), z), SampledUnit(q, z)),
        (GaussianMixturePair((1 - q, q), (0.0, 0.0), (0.0, -1.0), z), SampledUnitReversed(q, z)),
        (GaussianMixturePair((1 - q, q), (0.0, 1.0), (0.0, -1.0), z), Replaced(q, z)),
        (GaussianMixturePair((1.0,), (1.0,), (0.0,), z), FullParticipation(z)),
    ]
    for line, closed in pairs:
        for found, true in zip(line(epsilon), closed(epsilon), strict=True):
            np.testing.assert_allclose(found, true, rtol=1e-7, atol=1e-13, err_msg=str(closed))


def test_certain_participation_is_a_gaussian_mechanism():
    epsilon = np.array([0.0, 0.3, 2.0, 20.0])
    for z in (0.3, 2.0, 100.0):
        for one, other in (
            (SampledUnit(1.0, z), FullParticipation(z)),
            (SubstitutedUnit(1.0, z), FullParticipation(z)),
            (SubstitutedUnitReversed(1.0, z), FullParticipation(z)),
            (Replaced(1.0, z), FullParticipation(z / 2)),
        ):
            np.testing.assert_allclose(one(epsilon), other(epsilon), rtol=1e-9, atol=1e-200, err_msg=str(one))


@pytest.mark.parametrize("kind", KINDS)
def test_laws_of_tails(kind):
    """Tails fall, P's is at least e^epsilon times Q's, and at epsilon = 0 both orders give the same delta."""
    epsilon = np.concatenate([[0.0], np.geomspace(1e-6, 100, 300)])
    for q in RATES:
        for z in NOISES:
            p, other = kind(z)(epsilon) if kind is FullParticipation else kind(q, z)(epsilon)
            assert (np.diff(p) <= 1e-14).all()
            assert (np.diff(other) <= 1e-14).all()
            assert (p - np.exp(epsilon) * other >= -2e-13 * p).all(), (q, z)
            assert (p >= 0).all()
            assert (p <= 1 + 1e-15).all()
    for one, back in ((SampledUnit, SampledUnitReversed), (SubstitutedUnit, SubstitutedUnitReversed)):
        forward, backward = (np.subtract(*k(0.3, 1.7)(np.array([0.0])))[0] for k in (one, back))
        assert forward == pytest.approx(backward, rel=1e-12)


def test_delta_grows_with_the_rate_and_falls_with_the_noise():
    epsilon = np.array([0.0, 0.02, 0.2, 1.0, 4.0])

    def delta(tails):
        p, q = tails(epsilon)
        return p - np.exp(epsilon) * q

    for kind in (SampledUnit, SampledUnitReversed, Replaced, SubstitutedUnit):
        for q, z in ((1e-3, 0.5), (0.1, 1.0), (0.6, 3.0)):
            more_noise, more_often = delta(kind(q, 1.1 * z)), delta(kind(1.1 * q, z))
            there = delta(kind(q, z)) > 1e-12
            assert there.any()
            assert (more_noise[there] < delta(kind(q, z))[there]).all(), (kind, q, z)
            assert (more_often[there] > delta(kind(q, z))[there]).all(), (kind, q, z)


def test_a_mixture_is_the_mean_of_its_parts():
    epsilon = np.array([0.0, 0.5, 3.0])
    mixed = Mixture((0.25, 0.5), (FullParticipation(2.0), SampledUnit(0.1, 1.0)))(epsilon)
    for k in (0, 1):
        expected = 0.25 * FullParticipation(2.0)(epsilon)[k] + 0.5 * SampledUnit(0.1, 1.0)(epsilon)[k]
        np.testing.assert_allclose(mixed[k], expected, rtol=1e-15)


@pytest.mark.parametrize(("share", "z"), [(0.125, 0.01), (0.25, 0.025)])
def test_losses_beyond_the_largest_exponential(share: float, z: float) -> None:
    """The curve of a message that is seen with some probability goes on where e^epsilon overflows, at 709.8."""
    found = [float(SampledUnit(share, z)(np.array([e]))[0][0]) for e in (690.0, 709.0, 720.0, 900.0)]
    assert all(0.0 < b <= a for a, b in itertools.pairwise(found))
    with mpmath.workdps(700):
        for epsilon, value in zip((690.0, 709.0, 720.0, 900.0), found):
            odds = mpmath.log((mpmath.exp(epsilon) - 1 + mpmath.mpf(share)) / mpmath.mpf(share))
            x = z * odds + 0.5 / mpmath.mpf(z)
            exact = (1 - share) * mpmath.ncdf(-x) + share * mpmath.ncdf(1 / mpmath.mpf(z) - x)
            assert value == pytest.approx(float(exact), rel=1e-6, abs=0)


@pytest.mark.parametrize("z", [0.1, 12.0, 300.0])
def test_lines_with_little_and_much_noise_are_the_closed_form(z):
    """Points between which a line's loss is interpolated reach 40 standard deviations, whatever these are."""
    line, closed = GaussianMixturePair((0.6, 0.4), (0.0, 1.0), (0.0, 0.0), z), SampledUnit(0.4, z)
    largest = float(line.log_ratio(np.array([1 + 4 * z]))[0])
    epsilons = np.array([0.0, 0.1, 0.5, 0.9]) * largest
    for found, exact in zip(line(epsilons), closed(epsilons), strict=True):
        assert found == pytest.approx(exact, rel=1e-5, abs=0)


def test_weights_and_what_they_belong_to_are_as_many():
    for broken in (
        GaussianMixturePair((0.5, 0.5), (0.0,), (0.0, 0.0), 1.0),
        GaussianMixturePair((0.5, 0.5), (0.0, 1.0), (0.0, 0.0, 0.0), 1.0),
    ):
        with pytest.raises(ValueError, match="zip"):
            broken.log_ratio(np.zeros(1))
        with pytest.raises(ValueError, match="zip"):
            broken._tail((0.0,), np.zeros(1))
    with pytest.raises(ValueError, match="zip"):
        Mixture((0.5, 0.5), (FullParticipation(1.0),))(np.zeros(1))
