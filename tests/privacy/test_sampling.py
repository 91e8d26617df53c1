"""Sampling of clients: what is claimed of one round against its definition, with messages enumerated in the plane.

Each claim is compared with the hockey-stick divergence of the two distributions that the definition of the scheme
gives, for arbitrary messages of norm at most 1 and for the worst ones.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from dpfl_theory.privacy import sampling
from dpfl_theory.privacy.events import Repeated
from dpfl_theory.privacy.pld import delta_limits
from dpfl_theory.privacy.tails import (
    FullParticipation,
    Mixture,
    Replaced,
    SampledUnit,
    SampledUnitReversed,
    SubstitutedUnit,
    SubstitutedUnitReversed,
)

QUADRATURE = 4e-3
"""Relative error of the divergences in the plane, whose integrand has a kink."""

UNLIKELY = 1e-7
"""Chance that a simulation refutes a true claim."""


def claimed(tails, epsilon):
    p, q = tails(np.array([epsilon]))
    return float(p[0] - math.exp(epsilon) * q[0])


def hockey_stick(p, q, epsilon, per_deviation=16):
    """The divergence of two mixtures of (weight, mean vector, standard deviation), on a grid."""
    (low, high), dimension = _box(p + q), len(p[0][1])
    h = min(sd for _, _, sd in p + q) / per_deviation
    axes = np.meshgrid(*(np.arange(a, b, h) for a, b in zip(low, high, strict=True)), indexing="ij", sparse=True)
    total = 0.0
    for factor, mixture in ((1.0, p), (-math.exp(epsilon), q)):
        for weight, mean, sd in mixture:
            parts = (np.exp(-(((x - m) / sd) ** 2) / 2) for x, m in zip(axes, mean, strict=True))
            total = total + factor * weight * math.prod(parts) / (2 * math.pi * sd**2) ** (dimension / 2)
    return float(np.maximum(total, 0).sum() * h**dimension)


def _box(components):
    means, reach = np.array([m for _, m, _ in components]), 6 * max(sd for _, _, sd in components)
    return means.min(axis=0) - reach, means.max(axis=0) + reach


def merged(components):
    """Equal components counted once."""
    weights = defaultdict(float)
    for weight, mean, sd in components:
        weights[tuple(np.round(mean, 12)), sd] += weight
    return [(weight, np.array(mean), sd) for (mean, sd), weight in weights.items()]


def in_ball(rng, dimension):
    """A random point of the unit ball, on its surface half of the time."""
    direction = rng.normal(size=dimension)
    direction /= np.linalg.norm(direction)
    return direction * (1.0 if rng.random() < 0.5 else rng.random() ** (1 / dimension))


def both_orders(release, p, q, epsilon):
    """(divergence, claim) in both orders."""
    return (
        (hockey_stick(p, q, epsilon), claimed(release.forward, epsilon)),
        (hockey_stick(q, p, epsilon), claimed(release.backward, epsilon)),
    )


# One client among messages at a point: Poisson sampling and sampling of a fixed size

SCHEMES = {
    "poisson, zero-out": lambda q, z: sampling.poisson(q, z, replace=False),
    "poisson, replace": lambda q, z: sampling.poisson(q, z, replace=True),
    "fixed, zero-out": lambda q, z: sampling.fixed_size(q, z, replace=False),
    "fixed, replace": lambda q, z: sampling.fixed_size(q, z, replace=True),
}


def restricted(scheme, absent, own, other):
    """What is left of three free points: Poisson sampling has nothing in the client's place, zero-out noise only."""
    nothing = 0 * own
    return (nothing if "poisson" in scheme else absent), own, (nothing if "zero-out" in scheme else other)


def one_round(points, q, z):
    absent, own, other = points
    return [(1 - q, absent, z), (q, own, z)], [(1 - q, absent, z), (q, other, z)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_messages_in_the_plane_exceed_the_claim(scheme):
    rng = np.random.default_rng(20)
    for _ in range(25):
        q, z, epsilon = float(rng.choice([0.01, 0.2, 0.6, 0.95])), 10 ** rng.uniform(-0.4, 0.6), rng.choice([0, 0.1, 1])
        points = restricted(scheme, *(in_ball(rng, 2) for _ in range(3)))
        for divergence, claim in both_orders(SCHEMES[scheme](q, z), *one_round(points, q, z), epsilon):
            assert divergence <= claim * (1 + QUADRATURE) + 1e-9, (q, z, epsilon, points)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("q", "z", "epsilon"), [(0.3, 1.0, 0.5), (0.05, 0.5, 1.0), (0.8, 3.0, 0.1)])
def test_the_worst_messages_reach_the_claim_and_their_neighbours_do_not_exceed_it(scheme, q, z, epsilon):
    """Opposite messages on one line; each is then turned and shortened, which must not help."""
    rng, release, one = np.random.default_rng(21), SCHEMES[scheme](q, z), np.array([1.0, 0.0])
    for order, signs in enumerate(((-1, 1, -1), (1, 1, -1)) if scheme == "fixed, zero-out" else ((-1, 1, -1),) * 2):
        points = restricted(scheme, *(s * one for s in signs))
        if scheme == "fixed, replace" and order == 1:
            points = -points[0], points[1], points[2]
        divergence, claim = both_orders(release, *one_round(points, q, z), epsilon)[order]
        assert divergence == pytest.approx(claim, rel=QUADRATURE), (order, points)
        for _ in range(4):
            angles, lengths = rng.normal(0, 0.4, 3), 1 - 0.2 * rng.random(3) * (rng.random(3) < 0.3)
            moved = [
                length * np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]) @ x
                for x, a, length in zip(points, angles, lengths, strict=True)
            ]
            near, _ = both_orders(release, *one_round(restricted(scheme, *moved), q, z), epsilon)[order]
            assert near <= claim * (1 + QUADRATURE)


def simulated(p, q, epsilon, rng, draws=200_000):
    """A lower limit of the divergence by empirical Bernstein (Maurer, Pontil 2009), wrong with chance `UNLIKELY`."""
    which = (rng.random(draws) < p[1][0]).astype(int)
    (_, first, z), (_, second, _) = p
    x = np.array([first, second])[which] + z * rng.normal(size=(draws, len(first)))
    log_p, log_q = (
        np.logaddexp.reduce([math.log(w) - ((x - m) ** 2).sum(axis=1) / (2 * z * z) for w, m, _ in c]) for c in (p, q)
    )
    gain, odds = np.maximum(0.0, -np.expm1(epsilon + log_q - log_p)), math.log(2 / UNLIKELY)
    return gain.mean() - math.sqrt(2 * gain.var(ddof=1) * odds / draws) - 7 * odds / (3 * (draws - 1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_messages_in_space_exceed_the_claim(scheme):
    """By simulation, in both orders of 6 configurations; all four tests together raise a false alarm once in 10^5."""
    rng = np.random.default_rng(22)
    for k in range(6):
        q, z, epsilon = float(rng.choice([0.1, 0.5, 0.9])), 10 ** rng.uniform(-0.3, 0.3), float(rng.choice([0.0, 0.2]))
        line = in_ball(rng, 3)
        line /= np.linalg.norm(line)
        points = (-line, line, -line) if k % 2 else tuple(in_ball(rng, 3) for _ in range(3))
        release = SCHEMES[scheme](q, z)
        p, q_ = one_round(restricted(scheme, *points), q, z)
        assert simulated(p, q_, epsilon, rng) <= claimed(release.forward, epsilon)
        assert simulated(q_, p, epsilon, rng) <= claimed(release.backward, epsilon)


def test_simulation_refutes_the_textbook_pair():
    """So it can see what it looks for: under zero-out another client's opposite message takes the client's place."""
    line, q, z, epsilon = np.array([2.0, 1.0, 2.0]) / 3, 0.5, 0.7, 0.5
    p, q_ = one_round((-line, line, 0 * line), q, z)
    found = simulated(p, q_, epsilon, np.random.default_rng(25))
    assert claimed(SampledUnit(q, z), epsilon) < found < claimed(SCHEMES["fixed, zero-out"](q, z).forward, epsilon)


def test_the_textbook_pair_is_wrong_for_a_fixed_size_under_zero_out():
    """Another client's opposite message takes the place of one that is not drawn."""
    q, z, epsilon = 0.3, 1.0, 0.5
    one = np.array([1.0])
    p, q_ = one_round((-one, one, 0 * one), q, z)
    assert hockey_stick(p, q_, epsilon, 200) > 1.05 * claimed(sampling.poisson(q, z, replace=False).forward, epsilon)


def test_which_pairs_the_schemes_name():
    assert sampling.full(4.0, replace=False).forward == FullParticipation(4.0)
    assert sampling.full(4.0, replace=True).forward == FullParticipation(2.0)
    for scheme in (sampling.poisson, sampling.fixed_size):
        assert scheme(1.0, 4.0, True) == sampling.full(4.0, True)
        assert scheme(1.0, 4.0, False) == sampling.full(4.0, False)
    assert sampling.poisson(0.2, 3.0, False).pairs() == (
        (SampledUnit(0.2, 3.0), SampledUnitReversed(0.2, 3.0)),
        (SampledUnitReversed(0.2, 3.0), SampledUnit(0.2, 3.0)),
    )
    assert set(sampling.poisson(0.2, 3.0, True).pairs()) == {(Replaced(0.2, 3.0), Replaced(0.2, 3.0))}
    fixed = sampling.fixed_size(0.2, 3.0, False)
    assert (fixed.forward, fixed.backward) == (SubstitutedUnit(0.2, 3.0), SampledUnit(0.2, 3.0))
    assert (SubstitutedUnit(0.2, 3.0), SubstitutedUnitReversed(0.2, 3.0)) in fixed.pairs()


# Every client enumerated: sampling with replacement, and clients that add their own noise


def drawn_with_replacement(messages, draws, z):
    n = len(messages)
    sequences = itertools.product(range(n), repeat=draws)
    return merged([(n**-draws, sum(messages[i] for i in s), z) for s in sequences])


def poisson_with_own_noise(messages, cohort, z):
    """Without the empty cohort, of which nothing is seen."""
    n, q = len(messages), cohort / len(messages)
    found = []
    for m in range(1, n + 1):
        sd = z * math.sqrt(m / cohort)
        found += [
            (q**m * (1 - q) ** (n - m), sum(messages[i] for i in chosen), sd)
            for chosen in itertools.combinations(range(n), m)
        ]
    return merged(found)


def random_messages(rng, n, dimension, replace):
    """The messages with and without the first client's; often the others' are opposite to it."""
    own = in_ball(rng, dimension)
    others = [in_ball(rng, dimension) for _ in range(n - 1)]
    other = in_ball(rng, dimension) if replace else 0 * own
    if rng.random() < 0.6:
        own /= np.linalg.norm(own)
        others = [-own if rng.random() < 0.8 else own for _ in others]
        other = -own if replace else other
    return [own, *others], [other, *others]


@pytest.mark.parametrize("replace", [False, True])
def test_no_messages_exceed_the_claim_when_drawn_with_replacement(replace):
    rng = np.random.default_rng(23)
    for _ in range(30):
        n, draws, dimension = int(rng.integers(3, 6)), int(rng.integers(2, 4)), int(rng.integers(1, 3))
        z, epsilon = 10 ** rng.uniform(0, 0.8), float(rng.choice([0, 0.05, 0.5, 2]))
        release = sampling.with_replacement(n, draws, z, replace)
        p, q = (drawn_with_replacement(x, draws, z) for x in random_messages(rng, n, dimension, replace))
        for divergence, claim in both_orders(release, p, q, epsilon):
            assert divergence <= claim * (1 + QUADRATURE) + 1e-9, (n, draws, dimension, z, epsilon)


@pytest.mark.parametrize("replace", [False, True])
def test_the_lower_limit_with_replacement_is_a_pair_that_occurs(replace):
    """The other clients send nothing, and the client draws the largest message (against its opposite, or nothing)."""
    n, draws, z = 4, 3, 1.5
    one, nothing = np.array([1.0]), np.array([0.0])
    p = drawn_with_replacement([one, nothing, nothing, nothing], draws, z)
    q = drawn_with_replacement([-one if replace else nothing, nothing, nothing, nothing], draws, z)
    ((forward, backward),) = sampling.with_replacement(n, draws, z, replace).attacks
    for epsilon in (0.0, 0.1, 0.4, 1.0):
        for order, (a, b) in zip((forward, backward), ((p, q), (q, p)), strict=True):
            assert claimed(order, epsilon) == pytest.approx(hockey_stick(a, b, epsilon, 400), rel=1e-4, abs=1e-9)


def test_one_draw_is_a_cohort_of_one():
    for replace in (False, True):
        one, fixed = sampling.with_replacement(20, 1, 2.0, replace), sampling.fixed_size(0.05, 2.0, replace)
        for epsilon in (0.0, 0.01, 0.3):
            assert claimed(one.forward, epsilon) == pytest.approx(claimed(fixed.forward, epsilon), rel=1e-12)
            assert claimed(one.backward, epsilon) == pytest.approx(claimed(fixed.backward, epsilon), rel=1e-12)


def test_a_lone_client_sends_every_message():
    assert sampling.with_replacement(1, 5, 10.0, False) == sampling.full(2.0, False)


@pytest.mark.parametrize("replace", [False, True])
def test_no_messages_exceed_the_claim_when_clients_add_the_noise(replace):
    rng = np.random.default_rng(24)
    for _ in range(30):
        n, dimension = int(rng.integers(2, 5)), int(rng.integers(1, 3))
        cohort, z = float(rng.choice([0.4, 1.0, 1.6])), 10 ** rng.uniform(-0.2, 0.8)
        epsilon = float(rng.choice([0, 0.05, 0.5, 2]))
        release = sampling.poisson_own_noise(n, cohort, z, replace)
        p, q = (poisson_with_own_noise(x, cohort, z) for x in random_messages(rng, n, dimension, replace))
        for divergence, claim in both_orders(release, p, q, epsilon):
            assert divergence <= claim * (1 + QUADRATURE) + 1e-9, (n, dimension, cohort, z, epsilon)


@pytest.mark.parametrize("replace", [False, True])
def test_the_claim_is_approached_when_more_coordinates_hold_noise_only(replace):
    """The length of n_0 noise-only coordinates is, given the cohort's size m, a chi-square variable times the variance,
    and it is all that they say. So the divergence is an integral over two numbers. It grows with n_0 to the claim,
    which lets the observer see m.
    """
    n, cohort, z, epsilon = 4, 1.6, 1.2, 0.3
    rate = cohort / n
    sizes = np.arange(1, n + 1)
    scale = z * np.sqrt(sizes / cohort)
    x = np.linspace(-22, 22, 1201)
    own, other = 1.0, (-1.0 if replace else 0.0)

    def seen(message, m):
        """The first coordinate's density for a cohort of m: the other clients send -1."""
        q = m / n
        drawn, not_drawn = message - (m - 1), -m
        return q * norm.pdf(x, drawn, scale[m - 1]) + (1 - q) * norm.pdf(x, not_drawn, scale[m - 1])

    def divergence(noise_only):
        middle, width = noise_only * scale**2, 9 * scale**2 * math.sqrt(2 * noise_only)
        lengths = np.unique(np.concatenate([np.linspace(max(a - w, 1e-9), a + w, 500) for a, w in zip(middle, width)]))
        total = np.zeros((len(x), len(lengths)))
        for m in sizes:
            weight = binom.pmf(m, n, rate)
            difference = seen(own, m) - math.exp(epsilon) * seen(other, m)
            total += weight * np.outer(
                difference, chi2.pdf(lengths / scale[m - 1] ** 2, noise_only) / scale[m - 1] ** 2
            )
        return float(np.trapezoid(np.maximum(total, 0).sum(axis=0) * (x[1] - x[0]), lengths))

    claim = claimed(sampling.poisson_own_noise(n, cohort, z, replace).forward, epsilon)
    found = [divergence(noise_only) for noise_only in (4, 16, 64, 1000)]
    assert found == sorted(found)
    assert found[0] < 0.99 * claim
    assert found[-1] == pytest.approx(claim, rel=2e-3)


def test_grouped_cohort_sizes_enclose_the_single_ones():
    """500 clients make more sizes than groups; the mixture of all sizes, one by one, lies between the limits."""
    n, cohort, z = 500, 150.0, 2.0
    rate = cohort / n
    release = sampling.poisson_own_noise(n, cohort, z, False)
    sizes = range(1, n + 1)
    weights = tuple(float(binom.pmf(m, n, rate)) for m in sizes)
    parts = tuple(sampling.fixed_size(m / n, z * math.sqrt(m / cohort), False) for m in sizes)
    single = Mixture(weights, tuple(p.forward for p in parts)), Mixture(weights, tuple(p.backward for p in parts))
    below = release.attacks[0][0]
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert claimed(below, epsilon) <= claimed(single[0], epsilon) <= claimed(release.forward, epsilon)
        assert claimed(single[1], epsilon) <= claimed(release.backward, epsilon)
        assert claimed(release.forward, epsilon) < 1.1 * claimed(below, epsilon)
    kept = sum(weight for weight, _, _ in sampling._groups(n, rate))
    assert kept == pytest.approx(1 - (1 - rate) ** n, abs=1e-12)
    assert sum(w for w, _, _ in sampling._groups(7, 0.01)) == pytest.approx(1 - 0.99**7, rel=1e-9)


def test_groups_hold_every_cohort_size_once():
    for clients, rate in ((2, 0.5), (63, 0.5), (64, 0.99), (500, 1e-3), (10_000, 0.3), (10_000, 0.9999)):
        groups = sampling._groups(clients, rate)
        assert groups[0][1] == 1 or binom.cdf(groups[0][1] - 1, clients, rate) < 1e-300
        for (_, _, last), (_, first, _) in itertools.pairwise(groups):
            assert first == last + 1
        assert groups[-1][2] == clients or binom.sf(groups[-1][2], clients, rate) < 1e-300
        for weight, first, last in groups:
            assert weight == pytest.approx(binom.pmf(np.arange(first, last + 1), clients, rate).sum(), rel=1e-9)


def test_two_rounds_of_a_fixed_size_are_within_the_limits():
    """Both orders of the bound belong to different data sets; the pair that occurs is enumerated on a fine grid."""
    q, z, epsilon = 0.4, 1.0, 0.8
    p, q_ = one_round(tuple(np.array([float(s)]) for s in (0, 2, 1)), q, z)
    x = np.linspace(-9, 11, 2001)
    density = [sum(w * norm.pdf(x, m[0], sd) for w, m, sd in c) * (x[1] - x[0]) for c in (p, q_)]
    both = [np.outer(d, d) for d in density]
    truth = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in (both, both[::-1]))
    limits = delta_limits(Repeated(sampling.fixed_size(q, z, False), 2), epsilon)
    assert limits.low < truth * (1 + 1e-4)
    assert truth < limits.high * (1 + 1e-4)
    assert limits.high < 1.1 * truth
