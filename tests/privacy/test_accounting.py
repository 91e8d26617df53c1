"""Accounts against oracles: closed forms, numerical divergences, dp-accounting; laws; and refused inputs."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import account, calibrate, get, largest_rounds, sampling
from dpfl_theory.privacy.accounting import largest
from dpfl_theory.privacy.events import Release, Repeated, WithProbability, gaussian
from dpfl_theory.privacy.gaussian import gaussian_delta
from dpfl_theory.privacy.mechanisms import mechanisms
from dpfl_theory.privacy.pld import delta_limits, epsilon_high, epsilon_limits, epsilon_low
from dpfl_theory.privacy.tails import (
    FullParticipation,
    GaussianMixturePair,
    Replaced,
    SampledUnit,
    SampledUnitReversed,
    SubstitutedUnit,
    SubstitutedUnitReversed,
)
from dpfl_theory.statements.noise_constants import constant

PAIRS = {
    "plain": (lambda q, z: FullParticipation(z), lambda q: ([1.0], [1.0]), lambda q: ([1.0], [0.0])),
    "present": (SampledUnit, lambda q: ([1 - q, q], [0.0, 1.0]), lambda q: ([1.0], [0.0])),
    "absent": (SampledUnitReversed, lambda q: ([1.0], [0.0]), lambda q: ([1 - q, q], [0.0, 1.0])),
    "replaced": (Replaced, lambda q: ([1 - q, q], [0.0, 1.0]), lambda q: ([1 - q, q], [0.0, -1.0])),
    "swapped": (SubstitutedUnit, lambda q: ([1 - q, q], [0.0, 2.0]), lambda q: ([1 - q, q], [0.0, 1.0])),
    "swapped back": (SubstitutedUnitReversed, lambda q: ([1 - q, q], [0.0, 1.0]), lambda q: ([1 - q, q], [0.0, 2.0])),
}


def divergence(
    p: tuple[list[float], list[float]], q: tuple[list[float], list[float]], z: float, epsilon: float
) -> float:
    """The hockey-stick divergence of two Gaussian mixtures, by quadrature between the loss's crossings."""

    def density(mixture: tuple[list[float], list[float]], x: np.ndarray) -> np.ndarray:
        return sum(w * norm.pdf(x, m, z) for w, m in zip(*mixture, strict=True))

    def gain(x: float) -> float:
        return max(float(density(p, np.asarray(x)) - math.exp(epsilon) * density(q, np.asarray(x))), 0.0)

    grid = np.linspace(-4 - 12 * z, 4 + 12 * z, 40_001)
    difference = density(p, grid) - math.exp(epsilon) * density(q, grid)
    edges = grid[1:][np.diff(np.sign(difference)) != 0]
    points = [grid[0], *edges, grid[-1]]
    return sum(quad(gain, a, b, epsabs=1e-14, epsrel=1e-10, limit=200)[0] for a, b in itertools.pairwise(points))


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("q", "z"), [(0.01, 0.7), (0.2, 2.0), (0.9, 0.4), (0.5, 10.0)])
def test_tails_are_those_of_the_mixtures(name: str, q: float, z: float) -> None:
    kind, p, other = PAIRS[name]
    for epsilon in (0.0, 0.05, 0.5, 2.0):
        tail, mass = kind(q, z)(np.array([epsilon]))
        found = float(tail[0] - math.exp(epsilon) * mass[0])
        assert found == pytest.approx(divergence(p(q), other(q), z, epsilon), rel=1e-5, abs=1e-12)


def test_line_is_the_general_case_of_present() -> None:
    epsilons = np.array([0.0, 0.01, 0.3, 1.0, 4.0])
    line = GaussianMixturePair((0.7, 0.3), (0.0, 1.0), (0.0, 0.0), 1.3)
    for found, exact in zip(line(epsilons), SampledUnit(0.3, 1.3)(epsilons), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-14)


def test_far_tails_keep_their_relative_accuracy() -> None:
    """At delta near 1e-60, where differences of probabilities near 1 would have lost everything."""
    found = SampledUnit(0.01, 1.0)(np.array([12.0]))
    with mpmath.workdps(40):
        odds = mpmath.log((mpmath.expm1(12) + mpmath.mpf("0.01")) / mpmath.mpf("0.01"))
        exact = mpmath.ncdf(-(odds + mpmath.mpf("0.5")))
    assert float(found[1][0]) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", ["poisson", "fixed"])
def test_no_data_in_the_plane_exceed_the_line(scheme: str, replace: bool) -> None:
    """Messages anywhere in the unit disc: the divergence, integrated on a grid, stays below what is certified."""
    rng = np.random.default_rng(7)
    z, q = 0.8, 0.3
    release = (sampling.poisson if scheme == "poisson" else sampling.fixed_size)(q, z, replace)
    x = np.linspace(-6.5, 6.5, 501)
    area = (x[1] - x[0]) ** 2
    plane = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)

    def normal(mean: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((plane - mean) ** 2).sum(-1) / z**2) / (2 * math.pi * z**2)

    def message() -> np.ndarray:
        v = rng.standard_normal(2)
        return v / max(1.0, np.linalg.norm(v) * rng.choice([1.0, 1.0, 2.0]))

    tight = 0.0
    opposite = [np.array([1.0, 0.0]), np.array([-1.0, 0.0])]
    for trial in range(25):
        own, other = (opposite[0], opposite[1]) if trial == 0 else (message(), message())
        mine = (opposite[1] if trial == 0 else message()) if replace else np.zeros(2)
        common = normal(np.zeros(2) if scheme == "poisson" else other)
        p, r = (1 - q) * common + q * normal(own), (1 - q) * common + q * normal(mine)
        for epsilon in (0.0, 0.3, 1.0):
            for tails, one, two in ((release.forward, p, r), (release.backward, r, p)):
                bound = tails(np.array([epsilon]))
                certified = float(bound[0][0] - math.exp(epsilon) * bound[1][0])
                found = float(np.maximum(one - math.exp(epsilon) * two, 0).sum() * area)
                assert found <= certified * (1 + 2e-4) + 1e-7  # the plane is integrated on a grid
                tight = max(tight, found / certified) if certified > 0 else tight
    assert tight > 0.999


def mixture_delta(epsilon: float, rounds: int, p: float, z: float) -> float:
    with mpmath.workdps(30):
        return float(
            sum(
                mpmath.binomial(rounds, j)
                * mpmath.mpf(p) ** j
                * (1 - mpmath.mpf(p)) ** (rounds - j)
                * gaussian_delta(epsilon, mpmath.mpf(z) / mpmath.sqrt(j))[1]
                for j in range(1, rounds + 1)
            )
        )


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize(("rounds", "p", "z"), [(50, 0.2, 3.0), (100, 0.05, 0.5), (10, 0.1, 300.0), (60, 0.9, 1.0)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_a_random_number_of_rounds_lies_within_the_limits(rounds: int, p: float, z: float, delta: float) -> None:
    """epsilon from 1e-4 to 80, delta to 1e-12: low <= truth <= high, and close."""
    limits = epsilon_limits(Repeated(WithProbability(gaussian(z), p), rounds), delta)
    assert mixture_delta(limits.high, rounds, p, z) <= delta <= mixture_delta(limits.low, rounds, p, z)
    assert limits.width < 0.005 or limits.high < 1e-3


@pytest.mark.parametrize(("z", "rounds", "delta"), [(0.3, 20, 1e-5), (2000.0, 300, 1e-12), (20.0, 1000, 1e-8)])
def test_gaussian_compositions_on_the_grid(z: float, rounds: int, delta: float) -> None:
    """A coin that always falls on one side hides the closed form from the accountant."""
    almost = 1 - 1e-15
    limits = epsilon_limits(Repeated(WithProbability(gaussian(z), almost), rounds), delta)
    exact = epsilon_limits(Repeated(gaussian(z), rounds), delta)
    assert exact.width == 0
    assert limits.low <= exact.low <= limits.high * (1 + 1e-9)
    assert limits.high == pytest.approx(exact.high, rel=2e-3)


def test_poisson_agrees_with_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution

    for q, z, rounds, delta in [(0.01, 1.0, 1000, 1e-5), (0.2, 5.0, 200, 1e-5), (0.5, 30.0, 100, 1e-10)]:
        limits = epsilon_limits(Repeated(Release(SampledUnit(q, z), SampledUnitReversed(q, z)), rounds), delta)
        other = privacy_loss_distribution.from_gaussian_mechanism(
            z, sampling_prob=q, value_discretization_interval=1e-4
        )
        epsilon = other.self_compose(rounds).get_epsilon_for_delta(delta)
        assert limits.low <= epsilon
        assert limits.high == pytest.approx(epsilon, rel=2e-4)


def test_two_releases_by_double_integration() -> None:
    """delta(epsilon) = E delta_1(epsilon - loss), over the first release's loss."""
    q, z, epsilon = 0.3, 1.5, 0.8
    pair = Release(SampledUnit(q, z), SampledUnitReversed(q, z))

    def second(remaining: float) -> float:
        if remaining >= 0:
            p, r = pair.forward(np.array([remaining]))
            return float(p[0] - math.exp(remaining) * r[0])
        r, p = pair.backward(np.array([-remaining]))  # D_a(P||Q) = 1 - a + a D_1/a(Q||P)
        return 1 - math.exp(remaining) + math.exp(remaining) * float(r[0] - math.exp(-remaining) * p[0])

    def integrand(x: float) -> float:
        density = (1 - q) * norm.pdf(x, 0, z) + q * norm.pdf(x, 1, z)
        return density * second(epsilon - math.log(1 - q + q * math.exp((x - 0.5) / z**2)))

    exact = quad(integrand, -14, 15, epsabs=1e-13, limit=400)[0]
    back = Release(pair.backward, pair.forward)
    limits = delta_limits(Repeated(pair, 2), epsilon)
    assert limits.low <= max(exact, 0) * (1 + 1e-9)
    assert exact <= limits.high <= 1.001 * max(exact, delta_limits(Repeated(back, 2), epsilon).high)


def test_composition_laws() -> None:
    event = Release(SampledUnit(0.1, 1.0), SampledUnitReversed(0.1, 1.0))
    one, two = epsilon_high(Repeated(event, 10), 1e-6), epsilon_high(Repeated(event, 20), 1e-6)
    assert epsilon_high(Repeated(event, 30), 2e-6) <= one + two
    nested = Repeated(Repeated(event, 5), 4)
    assert epsilon_high(nested, 1e-6) == pytest.approx(two, rel=1e-9)
    assert epsilon_high(WithProbability(Repeated(event, 20), 1.0), 1e-6) == pytest.approx(two, rel=1e-9)
    assert epsilon_high(Repeated(WithProbability(event, 0.5), 20), 1e-6) < two
    assert epsilon_high(Repeated(WithProbability(event, 1e-9), 20), 1e-6) == 0.0
    for e in (Repeated(event, 10), WithProbability(event, 0.3)):
        limits = epsilon_limits(e, 1e-6)
        assert epsilon_high(e, 1e-6) == pytest.approx(limits.high)
        assert epsilon_low(e, 1e-6) == pytest.approx(limits.low)


SETTINGS = {
    "dp-fedavg": {"clients": 40, "cohort": 8, "sampling": "poisson", "noise_multiplier": 2.0, "rounds": 20},
    "dp-fedavg fixed": {"clients": 40, "cohort": 8, "sampling": "fixed", "noise_multiplier": 2.0, "rounds": 20},
    "dp-fedavg server": {
        "clients": 40,
        "cohort": 8,
        "sampling": "fixed",
        "noise_multiplier": 9.0,
        "rounds": 20,
        "view": "server",
    },
    "dp-scaffnew": {"communication_probability": 0.2, "noise_multiplier": 5.0, "rounds": 60},
    "dp-norm-ec": {"noise_multiplier": 20.0, "rounds": 60},
    "dp-scaffold": {
        "users": 20,
        "records": 100,
        "user_rate": 0.25,
        "record_rate": 0.2,
        "local_steps": 3,
        "noise_multiplier": 3.0,
        "rounds": 10,
    },
    "dp-fedavg-record": {
        "users": 20,
        "records": 100,
        "user_rate": 0.25,
        "record_rate": 0.2,
        "local_steps": 1,
        "noise_multiplier": 1.0,
        "rounds": 10,
    },
}
GROWS = {
    "noise_multiplier": (1.3, -1),
    "rounds": (2, 1),
    "cohort": (2, 1),
    "communication_probability": (2, 1),
    "user_rate": (2, 1),
    "record_rate": (2, 1),
    "local_steps": (2, 1),
}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", SETTINGS)
def test_epsilon_is_monotone_in_every_argument(name: str) -> None:
    mechanism = get(name.split()[0])(**SETTINGS[name])
    base = epsilon_high(mechanism.event(), 1e-5)
    assert 0.05 < base < 50
    assert epsilon_high(mechanism.event(), 1e-6) > base
    for field, (factor, sign) in GROWS.items():
        value = SETTINGS[name].get(field)
        if value is None or (name == "dp-fedavg-record" and field in ("local_steps", "user_rate")):
            continue  # K = 1 is another analysis, and more users bring more noise
        if name == "dp-fedavg server" and field == "cohort":
            continue  # the noise of one message falls as the cohort grows at a fixed multiplier of the sum
        changed = epsilon_high(mechanism.with_(**{field: type(value)(value * factor)}).event(), 1e-5)
        assert sign * (changed - base) > 1e-3 * base, field


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SETTINGS)
def test_limits_enclose_and_the_moments_bound_lies_above(name: str) -> None:
    found = account(get(name.split()[0])(**SETTINGS[name]), delta=1e-5)
    assert found.epsilon.low <= found.epsilon.estimate <= found.epsilon.high
    assert found.moments is None or found.epsilon.low <= found.moments.epsilon
    back = account(found.mechanism, epsilon=found.epsilon.high).delta
    assert back.low <= 1e-5
    assert back.high == pytest.approx(1e-5, rel=0.02)


def test_every_mechanism_says_what_it_is() -> None:
    for name, kind in mechanisms().items():
        assert kind.name == name
        assert kind.protects in ("client", "record")
        assert kind.noise_added_by in ("client", "server")
        assert kind.title
        assert kind.source


def test_calibrate_and_rounds_are_certified_and_not_wasteful() -> None:
    mechanism = get("dp-fedavg")(clients=100, cohort=10, sampling="poisson", noise="average", rounds=100)
    z = calibrate(mechanism, epsilon=2.0, delta=1e-5)
    assert epsilon_high(mechanism.with_(noise_multiplier=z).event(), 1e-5) <= 2.0
    assert epsilon_high(mechanism.with_(noise_multiplier=0.9999 * z).event(), 1e-5) > 2.0
    low = calibrate(mechanism, epsilon=2.0, delta=1e-5, limit="low", start=z)
    assert 0.99 * z < low <= z
    rounds = largest_rounds(mechanism.with_(noise_multiplier=z), epsilon=2.0, delta=1e-5)
    assert rounds == 100


@pytest.mark.parametrize("steps", [1, 2, 3, 17, 1000, 123_457])
def test_largest_finds_the_last_that_fits(steps: int) -> None:
    assert largest(lambda n: float(n), steps + 0.5) == steps
    assert largest(lambda n: math.inf if n > steps else 0.0, 1.0) == steps
    assert largest(lambda n: math.sqrt(n), math.sqrt(steps)) == steps
    assert largest(lambda n: 5.0, 1.0) == 0


@pytest.mark.slow
def test_constants_have_their_closed_forms() -> None:

    epsilon, delta = 1.0, 1e-5
    z = calibrate(get("dp-norm-ec")(rounds=1), epsilon=epsilon, delta=delta)
    assert float(gaussian_delta(epsilon, z)[1]) <= delta <= float(gaussian_delta(epsilon, 0.9999 * z)[0])
    one = z**2 * epsilon**2 / math.log(1 / delta)
    common = {"epsilon": epsilon, "delta": delta}
    q = constant("das2022.theorem3", clients=30, rounds=70, **common)
    assert q.value == pytest.approx(one, rel=1e-4)
    assert constant("das2022.theorem3", clients=30, rounds=70, relation="replace", **common).value == pytest.approx(
        4 * one, rel=1e-4
    )
    v = constant("zhang2021.theorem3.2", clients=30, cohort=6, sampling="poisson", noise="average", rounds=70, **common)
    same = constant("das2022.theorem3", clients=30, cohort=6, sampling="poisson", noise="average", rounds=70, **common)
    assert v.value == pytest.approx(same.value, rel=1e-9)
    assert constant("hou2023.lemma1", communication_probability=1.0, rounds=70, **common).value == pytest.approx(
        one, rel=1e-4
    )
    assert constant("shulgin2025.noise", rounds=70, **common).value == pytest.approx(math.sqrt(one), rel=1e-4)
    big = constant("das2022.theorem3", clients=30, rounds=10**6, epsilon=400.0, delta=delta)
    assert big.value == pytest.approx(400 / (2 * math.log(1 / delta)), rel=0.35)


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("dp-fedavg", {"clients": 10, "cohort": 20, "sampling": "poisson"}, "cannot exceed `clients=10`"),
        ("dp-fedavg", {"clients": 10, "cohort": 5}, "`sampling` is full"),
        ("dp-fedavg", {"clients": 10, "view": "server", "noise": "average"}, "before any noise"),
        ("dp-fedavg", {"clients": 10, "relation": "add-remove"}, "use `relation=zero-out`"),
        ("dp-fedavg", {"clients": 2.5}, "whole number of at least 1"),
        ("dp-fedavg", {"clients": True}, "whole number"),
        ("dp-fedavg", {"clients": 10, "noise_multiplier": math.nan}, "positive number"),
        ("dp-fedavg", {"clients": 10, "sampling": "sometimes"}, "choose one of full, poisson"),
        ("dp-scaffnew", {"communication_probability": 0.0}, r"number in \(0, 1\]"),
        ("dp-scaffold", {"users": 3, "user_rate": 0.1}, "less than one user"),
        ("dp-fedsgd", {"local_steps": 4}, "DP-FedSGD takes 1"),
    ],
)
def test_what_cannot_be_accounted_for_is_refused_in_a_sentence(name: str, parameters: dict, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        get(name)(**parameters)
    assert "\n" not in str(caught.value)


def test_missing_and_contradictory_requests() -> None:
    run = get("dp-fedavg")(clients=10, noise_multiplier=1.0)
    with pytest.raises(InputError, match="dp-fedavg needs `rounds`: give the number"):
        account(run, delta=1e-5)
    run = run.with_(rounds=1)
    with pytest.raises(InputError, match="either `delta` or `epsilon`"):
        account(run)
    with pytest.raises(InputError, match="`delta` is 0"):
        account(run, delta=0.0)
    with pytest.raises(InputError, match="did you mean 'dp-scaffold'"):
        get("dp-scafold")
    with pytest.raises(InputError, match=r"did you mean 'das2022\.theorem3'"):
        constant("das2022.theorem4", epsilon=1.0, delta=1e-5, clients=2, rounds=1)


@pytest.mark.slow
def test_too_little_noise_has_a_large_epsilon_with_two_limits() -> None:
    found = account(get("dp-fedavg")(clients=10, noise_multiplier=0.01, rounds=5), delta=1e-5)
    assert (
        25_000 < found.epsilon.low <= found.epsilon.high < 26_000
    )  # as one release with 0.01/sqrt(5): 1/(2 z^2) + ...
    assert found.epsilon.width < 1e-12
    sampled = get("dp-fedavg")(
        clients=100, cohort=10, sampling="fixed", noise_multiplier=0.01, rounds=100, relation="replace"
    )
    found = account(sampled, delta=1e-5)
    # 23 or 24 of 100 rounds with the chance 1/10 each: each counts 1/(2 z^2) = 5000, and a little more
    assert 100_000 < found.epsilon.low <= found.epsilon.high < 130_000
    assert "protects nothing in practice" in found.warnings[0]
    for smaller in (1e-6, 1e-30, 1e-100):
        for run in (sampled, get("dp-fedavg")(clients=10, rounds=5)):
            spent = account(run.with_(noise_multiplier=smaller), delta=1e-5).epsilon
            assert 0.8 * spent.high < spent.low <= spent.high < math.inf
    with pytest.raises(InputError, match=r"between 1e-100 and 1e\+12, beyond which double precision"):
        get("dp-fedavg")(clients=10, noise_multiplier=1e200)


def test_what_hardly_ever_happens_costs_nothing() -> None:
    run = get("dp-scaffnew")(communication_probability=1e-12, noise_multiplier=1.0, rounds=100)
    assert account(run, delta=1e-5).epsilon.high == 0
    assert epsilon_limits(WithProbability(gaussian(1.0), 1e-12), 1e-5).high == 0


@pytest.mark.slow
def test_very_many_rounds() -> None:
    """10^5 rounds: the limits stay close to those of 10^3 with the noise scaled."""
    many, few = (
        account(
            get("dp-fedavg")(
                clients=100, cohort=10, sampling="poisson", noise="average", noise_multiplier=z, rounds=rounds
            ),
            delta=1e-5,
        ).epsilon
        for z, rounds in ((300.0, 10**5), (30.0, 10**3))
    )
    assert many.low <= many.high
    assert many.high == pytest.approx(few.high, rel=2e-2)
