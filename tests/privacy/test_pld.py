"""Limits of epsilon and delta under composition: truths in closed form, by quadrature and by enumeration lie within."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as reference
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import binom, norm

from dpfl_theory.privacy import pld, sampling
from dpfl_theory.privacy.events import Release, Repeated, WithProbability, gaussian, release_count, simplified
from dpfl_theory.privacy.gaussian import gaussian_delta
from dpfl_theory.privacy.pld import delta_limits, epsilon_high, epsilon_limits


def profile(epsilon, z):
    """delta(epsilon) of the Gaussian mechanism, for arrays."""
    left, right = log_ndtr(0.5 / z - epsilon * z), epsilon + log_ndtr(-0.5 / z - epsilon * z)
    return np.exp(left) * -np.expm1(right - left)


def inverse(delta_of, delta):
    """The epsilon at which a falling delta is this one; 0 when it is less there already."""
    if delta_of(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of(high) > delta:
        high *= 2
    return brentq(lambda e: math.log(max(delta_of(e), 1e-300) / delta), 0.0, high, xtol=1e-14, rtol=1e-14)


def noise_for(epsilon, delta):
    """The noise multiplier of one Gaussian release that is just (epsilon, delta)."""
    return math.exp(brentq(lambda s: math.log(max(profile(epsilon, math.exp(s)), 1e-300) / delta), -4, 14))


@pytest.fixture
def on_the_grid(monkeypatch):
    """T Gaussian releases are composed on the grid, not merged to one."""
    monkeypatch.setattr(pld, "simplified", lambda event: event)


def enclosed(event, delta_of, delta, width=0.01, above=3e-4, delta_above=0.01):
    """The truth lies within the limits of epsilon, and at that epsilon within those of delta; return those of epsilon.

    ``above`` is what the upper limit may exceed the truth by: it converges faster than the lower one.
    """
    truth, limits = inverse(delta_of, delta), epsilon_limits(event, delta)
    assert limits.low <= truth <= limits.high
    assert limits.low <= limits.estimate <= limits.high
    assert limits.high - limits.low <= width * truth + 1e-15
    assert limits.high <= truth * (1 + above)
    at = truth if truth > 0 else 0.5 * delta
    deltas = delta_limits(event, at)
    assert deltas.low <= delta_of(at) <= deltas.high
    assert deltas.high <= delta_of(at) * (1 + delta_above)
    assert deltas.low >= delta_of(at) * 0.88
    return limits


# Gaussian releases: closed forms

BUDGETS = [
    (0.01, 1e-4, 10),
    (0.1, 1e-8, 300),
    (1.0, 1e-2, 2),
    (1.0, 1e-5, 5000),
    (8.0, 1e-12, 40),
    (100.0, 1e-6, 7),
]


@pytest.mark.usefixtures("on_the_grid")
@pytest.mark.parametrize(("epsilon", "delta", "times"), BUDGETS)
def test_gaussian_releases_on_the_grid(epsilon, delta, times):
    z = noise_for(epsilon, delta)
    enclosed(Repeated(gaussian(z * math.sqrt(times)), times), lambda e: profile(e, z), delta)
    low, high = (float(d) for d in gaussian_delta(epsilon, z))
    assert low == pytest.approx(delta, rel=1e-8, abs=0)  # the profile itself
    assert high == pytest.approx(delta, rel=1e-8, abs=0)


@pytest.mark.usefixtures("on_the_grid")
@pytest.mark.parametrize(("delta", "z", "times"), [(0.3, 25.0, 1000), (0.02, 200.0, 100), (0.5, 5.0, 25)])
def test_where_epsilon_is_near_zero_the_limits_are_wide_but_right(delta, z, times):
    """delta is nearly the total variation, and the curve nearly flat: the width is absolute."""
    limits = epsilon_limits(Repeated(gaussian(z), times), delta)
    truth = inverse(lambda e: profile(e, z / math.sqrt(times)), delta)
    assert limits.low <= truth <= limits.high
    assert limits.high - limits.low < 0.02


@pytest.mark.parametrize(
    ("times", "chance", "inner", "epsilon", "delta"),
    [(500, 0.1, 1, 1.0, 1e-5), (40, 0.02, 1, 3.0, 1e-10), (60, 0.5, 7, 0.05, 1e-7), (9, 0.25, 3, 50.0, 1e-3)],
)
def test_a_random_number_of_releases(times, chance, inner, epsilon, delta):
    """The number of releases is seen, and so delta is the mean of the closed forms over the binomial distribution."""
    count = np.arange(1, times + 1)
    weights = binom.pmf(count, times, chance)

    def delta_of(e, z):
        return float(weights @ profile(e, z / np.sqrt(count * inner)))

    z = math.exp(brentq(lambda s: math.log(max(delta_of(epsilon, math.exp(s)), 1e-300) / delta), -4, 9))
    release = gaussian(z) if inner == 1 else Repeated(gaussian(z), inner)
    enclosed(Repeated(WithProbability(release, chance), times), lambda e: delta_of(e, z), delta)


def test_one_release_has_the_closed_form():
    for z, chance, delta in ((0.5, 1.0, 1e-6), (3.0, 0.3, 1e-9), (80.0, 1.0, 1e-4), (1.0, 0.01, 1e-30)):
        event = WithProbability(gaussian(z), chance)
        limits = epsilon_limits(event, delta)
        # The release's delta at these limits, in 50 digits: both sides hold but for 1e-8.
        low, high = (float(gaussian_delta(e, z)[k]) * chance for e, k in ((limits.low, 1), (limits.high, 0)))
        assert high <= delta * (1 + 1e-9)
        assert low >= delta * (1 - 1e-8)
        assert limits.width < 1e-10


# Quadrature: two and three rounds


def single(forward, backward, epsilon):
    """delta of one release for any sign of epsilon: below 0 it follows from the other order."""
    at = np.abs(epsilon)
    (p, q), (p_back, q_back) = forward(at), backward(at)
    back = np.maximum(p_back - np.exp(at) * q_back, 0)
    return np.where(epsilon >= 0, np.maximum(p - np.exp(at) * q, 0), -np.expm1(-at) + np.exp(-at) * back)


def quadrature(pairs, densities, rounds):
    """delta after two or three equal rounds: the first ones' losses are integrated out.

    ``densities`` are (points, P's density times the step, loss), for each pair; the trapezoidal rule converges
    geometrically for them.
    """

    def delta_of(epsilon):
        found = []
        for (forward, backward), (mass, loss) in zip(pairs, densities, strict=True):
            if rounds == 3:
                mass, loss = np.outer(mass, mass).ravel(), np.add.outer(loss, loss).ravel()
            kept = mass > 1e-26
            found.append(mass[kept] @ single(forward, backward, epsilon - loss[kept]))
        return float(max(found))

    return delta_of


def on_a_line(p, q, z, points=301):
    """(mass, loss) of mixtures of (weight, mean) with one standard deviation."""
    ends = [m for _, m in p + q]
    x = np.linspace(min(ends) - 11 * z, max(ends) + 11 * z, points)
    p, q = (np.logaddexp.reduce([math.log(w) + norm.logpdf(x, m, z) for w, m in c]) for c in (p, q))
    return np.exp(p) * (x[1] - x[0]), p - q


def mixtures(q, other, one, third):
    return [(1 - q, other), (q, one)], [(1 - q, other), (q, third)]


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("rounds", [2, 3])
@pytest.mark.parametrize(("q", "z", "delta"), [(0.5, 3.0, 1e-10), (0.1, 2.0, 1e-6), (0.9, 1.0, 1e-3)])
def test_poisson_sampling_by_quadrature(q, z, delta, rounds):
    release = sampling.poisson(q, z, False)
    p, other = mixtures(q, 0, 1, 0)
    densities = [on_a_line(p, other, z), on_a_line(other, p, z)]
    enclosed(Repeated(release, rounds), quadrature(release.pairs(), densities, rounds), delta, width=0.012)


@pytest.mark.parametrize(("q", "z", "delta"), [(0.3, 2.0, 1e-8), (0.8, 1.5, 1e-4)])
def test_replaced_messages_by_quadrature(q, z, delta):
    release = sampling.poisson(q, z, True)
    truth = quadrature(release.pairs(), [on_a_line(*mixtures(q, 0, 1, -1), z)], 3)
    enclosed(Repeated(release, 3), truth, delta)


@pytest.mark.parametrize(("q", "z", "delta"), [(0.3, 6.5, 5e-7), (0.6, 3.0, 0.02)])
def test_a_fixed_size_by_quadrature(q, z, delta):
    """The bound is not one pair's, so that it exceeds the pairs that occur; it encloses them nevertheless."""
    release = sampling.fixed_size(q, z, False)
    order = [(0, 2, 1), (0, 1, 2), (0, 0, 1), (0, 1, 0)]
    swapped, back, absent, present = (on_a_line(*mixtures(q, *points), z) for points in order)
    truth = quadrature(release.pairs(), [swapped, absent, back, present], 2)
    enclosed(Repeated(release, 2), truth, delta, width=0.03, above=0.02, delta_above=0.1)


@pytest.mark.exhaustive(keep=1)
def test_cohorts_of_random_size_by_quadrature():
    """Every client adds noise: the pair is a mixture over the cohort's size, which is seen."""
    n, cohort, z, delta = 6, 2.4, 2.0, 1e-6
    release = sampling.poisson_own_noise(n, cohort, z, False)
    densities = []
    for points in ((0, 2, 1), (0, 0, 1), (0, 1, 2), (0, 1, 0)):
        masses, losses = [[(1 - cohort / n) ** n]], [[0.0]]
        for m in range(1, n + 1):
            sizes = mixtures(m / n, *points)
            kept = [[c for c in side if c[0] > 0] for side in sizes]
            mass, loss = on_a_line(*kept, z * math.sqrt(m / cohort))
            masses.append(binom.pmf(m, n, cohort / n) * mass)
            losses.append(loss)
        densities.append((np.concatenate(masses), np.concatenate(losses)))
    truth = quadrature(release.pairs(), densities, 2)
    enclosed(Repeated(release, 2), truth, delta, width=0.03, above=0.02, delta_above=0.1)


# Enumeration: mechanisms with a few outcomes


@dataclass(frozen=True)
class Discrete:
    """Outcomes (mass under P, mass under Q)."""

    outcomes: tuple[tuple[float, float], ...]

    def __call__(self, epsilon):
        losses = [math.log(p / q) if q and p else math.copysign(math.inf, p - q) for p, q in self.outcomes]
        return tuple(
            sum((np.where(epsilon < loss, o[k], 0.0) for o, loss in zip(self.outcomes, losses)), np.zeros_like(epsilon))
            for k in (0, 1)
        )

    def back(self):
        return Discrete(tuple((q, p) for p, q in self.outcomes))


def enumerated(one, times):
    """All outcomes of several independent uses, those with the same masses counted together."""
    total = {(1.0, 1.0): 1}
    for _ in range(times):
        step = defaultdict(int)
        for ((p, q), count), (a, b) in itertools.product(total.items(), one):
            step[float(f"{p * a:.12e}"), float(f"{q * b:.12e}")] += count
        total = step
    return [(p * count, q * count) for (p, q), count in total.items()]


def discrete_delta(outcomes):
    p, q = np.array(outcomes).T
    return lambda epsilon: float(
        max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())
    )


RESPONSES = ((0.6, 0.3), (0.1, 0.1), (0.2978, 0.5969), (0.002, 0.0001), (0.0002, 0.003))


@pytest.mark.parametrize(("inner", "chance", "outer"), [(1, 1.0, 8), (2, 0.3, 4), (3, 0.6, 2), (1, 0.05, 7)])
def test_nested_events_by_enumeration(inner, chance, outer):
    block = [(p * chance, q * chance) for p, q in enumerated(RESPONSES, inner)]
    if chance < 1:
        block.append((1 - chance, 1 - chance))
    truth = discrete_delta(enumerated(block, outer))
    forward = Discrete(RESPONSES)
    event = Repeated(WithProbability(Repeated(Release(forward, forward.back()), inner), chance), outer)
    for delta in (1e-2, 1e-4):
        enclosed(event, truth, delta, width=0.02, above=1e-3)


def test_outcomes_that_give_the_unit_away():
    """Each round names the unit with probability 0.001: no epsilon is enough for a delta below that of four rounds."""
    outcomes = (*RESPONSES[:2], (0.2968, 0.5969), *RESPONSES[3:], (0.001, 0.0))
    forward = Discrete(outcomes)
    event, surely = Repeated(Release(forward, forward.back()), 4), 1 - 0.999**4
    assert epsilon_high(event, 0.99 * surely) == math.inf
    truth, delta = discrete_delta(enumerated(outcomes, 4)), 1.5 * surely
    limits, deltas = epsilon_limits(event, delta), delta_limits(event, 2.0)
    assert limits.low <= inverse(truth, delta) <= limits.high < math.inf
    assert deltas.low <= truth(2.0) <= deltas.high <= truth(2.0) * 1.01


# dp-accounting as witness


def witness(q, z, times, delta, relation, pessimistic):
    distribution = reference.from_gaussian_mechanism(
        z,
        sampling_prob=q,
        value_discretization_interval=1e-4,
        pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic,
        neighboring_relation=relation,
    )
    return distribution.self_compose(times).get_epsilon_for_delta(delta)


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("q", "z", "times", "delta"), [(0.05, 2.0, 300, 1e-6), (0.01, 1.0, 1000, 1e-5), (0.5, 10.0, 50, 1e-8)]
)
def test_dp_accounting_agrees(q, z, times, delta, replace):
    relation = NeighboringRelation.REPLACE_ONE if replace else NeighboringRelation.REPLACE_SPECIAL
    limits = epsilon_limits(Repeated(sampling.poisson(q, z, replace), times), delta)
    above = witness(q, z, times, delta, relation, True)
    assert limits.low <= above
    assert witness(q, z, times, delta, relation, False) <= limits.high
    assert limits.high == pytest.approx(above, rel=5e-3)
    assert limits.width < 0.01


# Laws

RELEASES = {
    "poisson": sampling.poisson(0.1, 1.5, False),
    "poisson, replace": sampling.poisson(0.1, 3.0, True),
    "fixed": sampling.fixed_size(0.1, 3.0, False),
    "gaussian by chance": WithProbability(gaussian(2.0), 0.2),
}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", RELEASES)
def test_laws_of_composition(name):
    """Parts cost at least as much as the whole when delta is divided among them; the whole at least as each part."""
    event, delta = RELEASES[name], 1e-5
    whole, part = epsilon_limits(Repeated(event, 30), delta), epsilon_limits(Repeated(event, 20), delta)
    split = epsilon_high(Repeated(event, 20), 0.7 * delta) + epsilon_high(Repeated(event, 10), 0.3 * delta)
    assert part.high < whole.low
    assert whole.high < split
    twice = epsilon_limits(Repeated(Repeated(event, 6), 5), delta)
    assert twice == whole
    assert epsilon_limits(WithProbability(Repeated(event, 30), 1.0), delta) == whole
    assert epsilon_limits(Repeated(WithProbability(event, 1.0), 30), delta) == whole
    assert epsilon_high(Repeated(event, 30), delta) == whole.high
    less = epsilon_limits(WithProbability(Repeated(event, 30), 0.5), delta)
    assert less.high < whole.low
    # An event with probability p and delta is the event with delta/p.
    assert less.high == pytest.approx(epsilon_high(Repeated(event, 30), 2 * delta), rel=1e-3)


def test_an_event_that_hardly_happens_costs_nothing():
    rare = WithProbability(gaussian(0.5), 1e-4)
    assert epsilon_limits(Repeated(rare, 10), 1.1e-3).high == 0
    assert epsilon_limits(WithProbability(Repeated(sampling.poisson(0.3, 1.0, False), 5), 1e-7), 1e-6).high == 0
    assert 0 < delta_limits(Repeated(rare, 10), 0.0).high < 1e-3


def test_epsilon_and_delta_are_inverse_to_each_other():
    """At the upper limit of epsilon the true delta is at most delta, and at the lower limit at least that."""
    for event in (Repeated(RELEASES["poisson"], 40), Repeated(RELEASES["gaussian by chance"], 40)):
        for delta in (1e-3, 1e-9):
            limits = epsilon_limits(event, delta)
            at_high, at_low = delta_limits(event, limits.high), delta_limits(event, limits.low)
            assert at_high.low <= delta <= at_low.high
            assert at_high.high == pytest.approx(delta, rel=2e-3)
            assert at_low.low >= 0.9 * delta


def test_limits_are_monotone():
    event = Repeated(RELEASES["poisson, replace"], 25)
    deltas = (0.1, 1e-2, 1e-4, 1e-8, 1e-12)
    highs = [epsilon_high(event, delta) for delta in deltas]
    assert highs == sorted(highs)
    assert len(set(highs)) == len(highs)
    values = [delta_limits(event, epsilon).high for epsilon in (0.0, 0.2, 1.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] < 1


def test_the_lower_limit_is_below_the_upper_one_by_itself():
    """Not because it is cut there: the curves themselves are ordered at every epsilon."""
    for name, release in RELEASES.items():
        event = Repeated(release, 12)
        upper, lower = pld._upper(event, 1e-6), pld._lower(event, 1e-6)
        assert len(lower) >= len(upper) >= 1
        for epsilon in np.linspace(0, 2 * epsilon_high(event, 1e-6), 30):
            above = max(curve.delta(epsilon) for curve in upper)
            for curve in lower:
                assert curve.error > 0
                assert curve.delta(epsilon + curve.error) - curve.allowance <= above, (name, epsilon)


def test_simplified_events():
    assert simplified(Repeated(gaussian(8.0), 16)) == gaussian(2.0)
    assert simplified(Repeated(Repeated(gaussian(8.0), 4), 4)) == gaussian(2.0)
    poisson = sampling.poisson(0.1, 1.0, False)
    assert simplified(Repeated(poisson, 1)) == poisson
    assert simplified(Repeated(Repeated(poisson, 4), 5)) == Repeated(poisson, 20)
    assert simplified(WithProbability(WithProbability(poisson, 0.5), 0.25)) == WithProbability(poisson, 0.125)
    nested = Repeated(WithProbability(Repeated(gaussian(4.0), 4), 0.1), 3)
    assert simplified(nested) == Repeated(WithProbability(gaussian(2.0), 0.1), 3)
    assert simplified(Repeated(WithProbability(poisson, 0.5), 2)) == Repeated(WithProbability(poisson, 0.5), 2)
    assert release_count(nested) == 12


# The ends of double precision


def test_large_and_small_deltas():
    event, gauss = Repeated(sampling.poisson(0.2, 2.0, False), 100), Repeated(WithProbability(gaussian(2.0), 0.5), 64)
    count = np.arange(1, 65)
    for delta in (1e-15, 0.5, 0.7):
        truth = inverse(lambda e: float(binom.pmf(count, 64, 0.5) @ profile(e, 2 / np.sqrt(count))), delta)
        limits = epsilon_limits(gauss, delta)
        assert limits.low <= truth <= limits.high <= truth * 1.001
        assert limits.low > 0.97 * truth
    assert epsilon_limits(event, 0.999).high == 0
    assert 0 < epsilon_limits(event, 1e-15).low < epsilon_limits(event, 1e-100).low < math.inf


def test_many_rounds_with_much_noise():
    """10^5 rounds, on the grid; T and z^2 growing together do not change epsilon."""
    times, p = 100_000, 0.5
    event = Repeated(WithProbability(gaussian(math.sqrt(times * p)), p), times)
    high, fewer = epsilon_high(event, 1e-5), epsilon_high(Repeated(WithProbability(gaussian(10.0), p), 200), 1e-5)
    # The number of rounds is nearly pT: the limit is the Gaussian mechanism with noise multiplier 1.
    limit = inverse(lambda e: profile(e, 1.0), 1e-5)
    assert limit < high < limit * 1.001
    assert limit * 1.001 < fewer < limit * 1.1
