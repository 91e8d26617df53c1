"""Groups of cohort sizes, and draws with replacement, against sums over all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpfl_theory.privacy import sampling
from dpfl_theory.privacy.tails import (
    GaussianMixturePair,
    Mixture,
    Replaced,
    SampledUnit,
    SampledUnitReversed,
    SubstitutedUnit,
    SubstitutedUnitReversed,
)


def delta(tails: object, epsilon: float) -> float:
    p, q = tails(np.array([epsilon]))  # type: ignore[operator]
    return float(p[0] - math.exp(epsilon) * q[0])


@pytest.mark.parametrize(("clients", "rate"), [(1, 0.3), (5, 0.4), (50, 0.02), (50, 0.98), (400, 0.5), (5000, 0.01)])
def test_groups_hold_each_size_once_with_its_probability(clients: int, rate: float) -> None:
    groups = sampling._groups(clients, rate)
    assert len(groups) <= sampling.GROUPS + 1
    sizes = [size for _, first, last in groups for size in range(first, last + 1)]
    assert sizes == sorted(set(sizes))
    assert min(sizes) == 1
    for weight, first, last in groups:
        exact = binom.pmf(np.arange(first, last + 1), clients, rate).sum()
        assert weight == pytest.approx(exact, rel=1e-6, abs=1e-15)
        assert weight > 0
    assert sum(w for w, _, _ in groups) == pytest.approx(1 - (1 - rate) ** clients, rel=1e-12)
    missing = set(range(1, clients + 1)) - set(sizes)
    assert binom.pmf(sorted(missing), clients, rate).sum() <= 1e-300
    if clients <= sampling.GROUPS - 2:
        assert all(
            first == last or binom.pmf(range(first, last + 1), clients, rate).sum() < 1e-8 for _, first, last in groups
        )


@pytest.mark.parametrize(("clients", "rate"), [(5000, 0.5), (2000, 0.1), (20000, 0.9)])
def test_sixty_four_groups_of_like_width_between_the_quantiles(clients: int, rate: float) -> None:
    """Sizes that have the probability 1e-9 together on either side are one group each."""
    groups = sampling._groups(clients, rate)
    assert len(groups) == 64
    sizes = np.arange(clients + 1)
    low = int(sizes[binom.cdf(sizes, clients, rate) >= 1e-9][0])
    high = int(sizes[binom.cdf(sizes, clients, rate) >= 1 - 1e-9][0])
    assert (groups[0][1], groups[0][2]) == (1, low - 1)
    assert (groups[-1][1], groups[-1][2]) == (high + 1, clients)
    widths = [last - first + 1 for _, first, last in groups[1:-1]]
    assert max(widths) - min(widths) <= 1


def test_groups_of_cohorts_that_are_hardly_ever_drawn() -> None:
    for rate, first in ((1e-11, 1), (1e-6, 1), (0.001, 1)):
        groups = sampling._groups(50, rate)
        assert (groups[0][1], groups[0][2]) == (1, first)
        assert groups[-1][2] == 50
    assert [group[1:] for group in sampling._groups(50, 1e-11)] == [(1, 1), (2, 50)]
    assert [group[1:] for group in sampling._groups(50, 1e-6)] == [(1, 1), (2, 2), (3, 50)]


def test_far_groups_keep_their_small_tails() -> None:
    """Above the mean the difference of two numbers near 1 would have lost them."""
    weight, first, last = sampling._groups(2000, 0.1)[-1]
    assert last == 2000
    exact = math.fsum(binom.pmf(np.arange(first, 2001), 2000, 0.1))
    assert weight == pytest.approx(exact, rel=1e-9)
    assert weight < 1e-8


@pytest.mark.parametrize("replace", [False, True])
def test_own_noise_is_enclosed_by_the_sum_over_sizes(replace: bool) -> None:
    """Given m clients the cohort is one of fixed size m with noise z sqrt(m/r). Few clients are not grouped."""
    n, r, z = 7, 2.8, 1.5
    release = sampling.poisson_own_noise(n, r, z, replace)
    weights = binom.pmf(np.arange(n + 1), n, r / n)
    for epsilon in (0.0, 0.2, 1.0):
        parts = [sampling.fixed_size(m / n, z * math.sqrt(m / r), replace) for m in range(1, n + 1)]
        for tails, kind in ((release.forward, "forward"), (release.backward, "backward")):
            exact = sum(w * delta(getattr(p, kind), epsilon) for w, p in zip(weights[1:], parts))
            assert delta(tails, epsilon) == pytest.approx(exact, rel=1e-9)
        pairs = [p.attacks[0] if p.attacks else (p.forward, p.backward) for p in parts]
        for order in (0, 1):
            exact = sum(w * delta(pair[order], epsilon) for w, pair in zip(weights[1:], pairs))
            assert delta(release.attacks[0][order], epsilon) == pytest.approx(exact, rel=1e-9)
    if not replace:
        assert len(release.attacks) == 2
        second = [
            (SampledUnitReversed(m / n, z * math.sqrt(m / r)), SampledUnit(m / n, z * math.sqrt(m / r)))
            for m in range(1, n)
        ]
        for order in (0, 1):
            exact = sum(w * delta(pair[order], 0.2) for w, pair in zip(weights[1:-1], second))
            assert delta(release.attacks[1][order], 0.2) >= exact


@pytest.mark.parametrize("replace", [False, True])
def test_groups_enclose_the_sum_over_sizes(replace: bool) -> None:
    """300 clients in 64 groups: above by the most revealing size of each, below by the least revealing one."""
    n, r, z = 300, 90.0, 3.0
    release = sampling.poisson_own_noise(n, r, z, replace)
    sizes = np.arange(1, n + 1)
    weights = binom.pmf(sizes, n, r / n)
    kept = [(w, int(m)) for w, m in zip(weights, sizes) if w > 1e-12]
    for epsilon in (0.0, 0.3):
        parts = [(w, sampling.fixed_size(m / n, z * math.sqrt(m / r), replace)) for w, m in kept]
        for kind, order in (("forward", 0), ("backward", 1)):
            above = sum(w * delta(getattr(p, kind), epsilon) for w, p in parts)
            below = sum(
                w * delta((p.attacks[0] if p.attacks else (p.forward, p.backward))[order], epsilon) for w, p in parts
            )
            assert above <= delta(getattr(release, kind), epsilon) <= 1.1 * above
            assert 0.9 * below <= delta(release.attacks[0][order], epsilon) <= below
            if not replace:
                second = [
                    (SampledUnitReversed(m / n, z * math.sqrt(m / r)), SampledUnit(m / n, z * math.sqrt(m / r)))
                    for _, m in kept
                ]
                below = sum(w * delta(pair[order], epsilon) for (w, _), pair in zip(kept, second))
                assert 0.8 * below <= delta(release.attacks[1][order], epsilon) <= below


def test_pairs_of_each_scheme() -> None:
    """Rate, noise and class, as the module's table has them."""
    replace = sampling.fixed_size(0.2, 3.0, True)
    assert (replace.forward, replace.backward) == (SampledUnit(0.2, 1.5), SampledUnit(0.2, 1.5))
    assert replace.attacks == ((SampledUnit(0.2, 1.5), SampledUnitReversed(0.2, 1.5)),)
    zero = sampling.fixed_size(0.2, 3.0, False)
    assert (zero.forward, zero.backward) == (SubstitutedUnit(0.2, 3.0), SampledUnit(0.2, 3.0))
    assert zero.attacks == (
        (SubstitutedUnit(0.2, 3.0), SubstitutedUnitReversed(0.2, 3.0)),
        (SampledUnitReversed(0.2, 3.0), SampledUnit(0.2, 3.0)),
    )
    poisson = sampling.poisson(0.2, 3.0, True)
    assert (poisson.forward, poisson.backward, poisson.attacks) == (Replaced(0.2, 3.0), Replaced(0.2, 3.0), ())
    for rate in (0.999, 1.0):
        for scheme in (sampling.poisson, sampling.fixed_size):
            assert (scheme(rate, 3.0, False) == sampling.full(3.0, False)) == (rate == 1.0)
    assert sampling.poisson_own_noise(9, 9, 3.0, True) == sampling.full(3.0, True)
    assert sampling.poisson_own_noise(9, 8.99, 3.0, True) != sampling.full(3.0, True)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("clients", "draws"),
    [(2, 3), (5, 4), (40, 1), (1000, 30), (10**12, 3), (10**23, 1), (1000, 200)],
)
def test_draws_with_replacement(clients: int, draws: int, replace: bool) -> None:
    """A client is drawn Binomial(draws, 1/clients) times; the chance that it is drawn at all is seen as the rate."""
    z = 2.0
    release = sampling.with_replacement(clients, draws, z, replace)
    chances = binom.pmf(np.arange(draws + 1), draws, 1 / clients)
    forward = release.forward
    assert isinstance(forward, Mixture)
    rate = -math.expm1(draws * math.log1p(-1 / clients))
    assert len(forward.weights) == np.count_nonzero(chances[1:])  # all numbers of draws whose probability is a double
    kept = [j for j in range(1, draws + 1) if j <= len(forward.weights)]
    np.testing.assert_allclose(forward.weights, chances[kept] / rate, rtol=1e-9)
    assert sum(forward.weights) == pytest.approx(1.0, rel=1e-12)
    assert not chances[len(kept) + 1 :].any()
    for mixture, kind in ((forward, "forward"), (release.backward, "backward")):
        assert isinstance(mixture, Mixture)
        for j, part in zip(kept, mixture.parts):
            one = getattr(sampling.fixed_size(rate, z / j, replace), kind)
            assert type(part) is type(one)
            assert part.q == pytest.approx(one.q, rel=1e-12)  # type: ignore[attr-defined]
            assert part.z == pytest.approx(one.z, rel=1e-12)  # type: ignore[attr-defined]
    ((up, down),) = release.attacks
    assert isinstance(up, GaussianMixturePair)
    assert isinstance(down, GaussianMixturePair)
    np.testing.assert_allclose(up.weights, chances[: len(kept) + 1], rtol=1e-6, atol=1e-20)
    assert up.weights == down.weights
    assert up.z == down.z == z
    times = tuple(map(float, range(len(kept) + 1)))
    fewer = tuple(-t for t in times)
    nothing = (0.0,) * len(times)
    assert (up.p_means, up.q_means) == (times, fewer if replace else nothing)
    assert (down.p_means, down.q_means) == ((times, fewer) if replace else (nothing, fewer))


def test_one_client_is_drawn_every_time() -> None:
    for replace in (False, True):
        assert sampling.with_replacement(1, 4, 8.0, replace) == sampling.full(2.0, replace)
        assert sampling.with_replacement(1, 1, 8.0, replace) == sampling.full(8.0, replace)


def test_a_client_that_is_certainly_drawn() -> None:
    """The chance (1/2)^1100 of no draw is not a double: it is ignored, and the rate is 1."""
    release = sampling.with_replacement(2, 1100, 50.0, False)
    ((up, down),) = release.attacks
    assert isinstance(up, GaussianMixturePair)
    assert 0.0 not in up.weights
    assert min(up.p_means) > 0
    assert sum(up.weights) == pytest.approx(1.0, rel=1e-9)
    assert delta(up, 1.0) <= delta(release.forward, 1.0) * (1 + 1e-9)
    assert delta(down, 1.0) <= delta(release.backward, 1.0) * (1 + 1e-9)
