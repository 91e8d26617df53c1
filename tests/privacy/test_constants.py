"""The papers' constants: closed forms, equal mechanisms under other symbols, and growth beyond every constant."""

from __future__ import annotations

import math

import pytest

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import calibrate, get
from dpfl_theory.privacy.gaussian import gaussian_delta
from dpfl_theory.privacy.pld import epsilon_high
from dpfl_theory.statements import noise_constants
from dpfl_theory.statements.noise_constants import PRESCRIPTIONS, constant

DAS, ZHANG, HOU, SHULGIN = "das2022.theorem3", "zhang2021.theorem3.2", "hou2023.lemma1", "shulgin2025.noise"
POISSON = {"clients": 60, "cohort": 6, "sampling": "poisson", "noise": "average"}


def z1(epsilon, delta):
    """The noise multiplier of one Gaussian release that is just (epsilon, delta), in 50 digits."""
    low, high = 1e-4, 1e4
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_delta(epsilon, middle)[0] > delta else (low, middle)
    return high


def closed_form(epsilon, delta):
    """z1^2 epsilon^2 / log(1/delta): T releases need sqrt(T) times the noise of one."""
    return (z1(epsilon, delta) * epsilon) ** 2 / math.log(1 / delta)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (5.0, 1e-6), (60.0, 1e-3)])
@pytest.mark.parametrize(("clients", "rounds"), [(7, 1), (100, 500)])
def test_full_participation_has_closed_forms(epsilon, delta, clients, rounds):
    """They depend on neither the number of clients nor that of rounds; to replace a message takes twice the noise."""
    expected, common = closed_form(epsilon, delta), {"epsilon": epsilon, "delta": delta, "rounds": rounds}
    q = constant(DAS, clients=clients, **common)
    assert q.value == pytest.approx(expected, rel=3e-5)
    assert q.value >= expected * (1 - 1e-9)
    assert q.low == pytest.approx(expected, rel=3e-5)
    assert constant(DAS, clients=clients, relation="replace", **common).value == pytest.approx(4 * expected, rel=3e-5)
    assert constant(ZHANG, clients=clients, **common).value == pytest.approx(expected, rel=3e-5)
    assert constant(HOU, communication_probability=1.0, **common).value == pytest.approx(expected, rel=3e-5)
    assert constant(HOU, communication_probability=1.0, relation="replace", **common).value == pytest.approx(
        4 * expected, rel=3e-5
    )
    # shulgin2025 prescribes sigma, not sigma^2, for T = K + 1 rounds.
    assert constant(SHULGIN, **common).value == pytest.approx(math.sqrt(expected), rel=3e-5)
    replaced = constant(SHULGIN, relation="replace", **common).value
    assert replaced == pytest.approx(2 * math.sqrt(expected), rel=3e-5)


@pytest.mark.slow
def test_zhang_and_das_mean_the_same_noise():
    """das2022's sigma is that of the average, zhang2021's that of one message; their prescriptions differ by that."""
    for parameters in (POISSON, {"clients": 60, "cohort": 6, "sampling": "fixed"}):
        q, v = (constant(s, epsilon=1.0, delta=1e-5, rounds=50, **parameters) for s in (DAS, ZHANG))
        assert q.value == pytest.approx(v.value, rel=1e-12)
        assert q.low == pytest.approx(v.low, rel=1e-12)
        assert (q.symbol, v.symbol) == ("q", "v")


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("statement", "parameters"),
    [
        (DAS, {**POISSON, "rounds": 40}),
        (ZHANG, {**POISSON, "rounds": 40, "relation": "replace"}),
        (HOU, {"communication_probability": 0.2, "rounds": 100}),
        (SHULGIN, {"rounds": 30, "relation": "replace"}),
    ],
)
def test_the_prescribed_noise_is_certified_and_a_little_less_is_not(statement, parameters):
    """The printed formula, with the constant, gives the noise; its multiplier gives the budget."""
    epsilon, delta = 2.0, 1e-5
    found = constant(statement, epsilon=epsilon, delta=delta, **parameters)
    log, t = math.log(1 / delta), parameters["rounds"]
    n, r, p = parameters.get("clients"), parameters.get("cohort"), parameters.get("communication_probability")
    twice = 2 if parameters.get("relation") == "replace" else 1
    sigma, multiplier = {
        DAS: lambda c: (math.sqrt(c * t * log) / (n * epsilon), r / twice),
        ZHANG: lambda c: (math.sqrt(c * r * t * log) / (n * epsilon), math.sqrt(r) / twice),
        HOU: lambda c: (math.sqrt(c * p * t * log) / epsilon, 1 / twice),
        SHULGIN: lambda c: (c * math.sqrt(t * log) / epsilon, 1 / twice),
    }[statement](found.value)
    run = get(PRESCRIPTIONS[statement].algorithm)(**parameters)
    assert sigma * multiplier == pytest.approx(found.noise_multiplier, rel=1e-12)
    assert epsilon_high(run.with_(noise_multiplier=sigma * multiplier).event(), delta) <= epsilon * (1 + 1e-9)
    assert epsilon_high(run.with_(noise_multiplier=0.9998 * sigma * multiplier).event(), delta) > epsilon
    assert found.low <= found.value < 1.02 * found.low


def test_what_the_hypothesis_compares_epsilon_with():
    common = {"epsilon": 2.0, "delta": 1e-5, "rounds": 40}
    assert constant(DAS, **POISSON, **common).range_ratio == pytest.approx(2.0 / (0.01 * 40))
    assert constant(ZHANG, **POISSON, **common).range_ratio == pytest.approx(2.0 / (0.01 * 40))
    assert constant(HOU, communication_probability=0.2, **common).range_ratio == pytest.approx(2.0 / 8)
    assert constant(SHULGIN, **common).range_ratio == pytest.approx(2.0 / 40)


def test_no_constant_serves_for_all():
    """With epsilon = u T and all clients, the constant approaches epsilon/(2 log(1/delta)), and so grows with T."""
    delta, ratios = 1e-2, []
    for rounds in (10, 50, 200, 500):
        found = constant(DAS, clients=5, rounds=rounds, epsilon=float(rounds), delta=delta)
        assert found.range_ratio == pytest.approx(1.0)
        ratios.append(found.value / (found.mechanism.rounds / (2 * math.log(1 / delta))))
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < 1.25
    assert ratios[0] > 1.8


def test_no_constant_serves_for_small_cohorts_either():
    """With epsilon = u q^2 T the noise needed settles where log(1 + 2u) = 1/z^2, so that the constant, u z^2
    epsilon/log(1/delta), grows like epsilon.
    """
    delta, u, q = 1e-2, 1.0, 0.5
    limit = u / math.log1p(2 * u) / math.log(1 / delta)
    common = {"clients": 20, "cohort": 10, "sampling": "poisson", "noise": "average", "delta": delta}
    found = [constant(DAS, epsilon=u * q * q * t, rounds=t, **common).value / (u * q * q * t) for t in (20, 200, 1500)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(limit, rel=0.5)
    assert found[-1] < 0.6 * found[0]


@pytest.mark.slow
def test_constants_are_monotone_in_delta_relation_and_sampling():
    common = {"epsilon": 1.0, "rounds": 30, "clients": 20}
    full = constant(DAS, delta=1e-5, **common).value
    assert constant(DAS, delta=1e-5, relation="replace", **common).value > 3.9 * full
    cohort = {"cohort": 10, "delta": 1e-5}
    poisson, own, fixed = (
        constant(DAS, sampling=s, noise=n, **cohort, **common).value
        for s, n in (("poisson", "average"), ("poisson", "per-client"), ("fixed", "per-client"))
    )
    assert poisson < fixed < own


def test_a_constant_as_a_document():
    found = constant(HOU, epsilon=1.0, delta=1e-5, rounds=10, communication_probability=0.5)
    document = found.document()
    assert document["v"] == document["high"] == found.value
    assert document["low"] == found.low
    assert document["mechanism"]["algorithm"] == "dp-scaffnew"
    assert document["formula"] == PRESCRIPTIONS[HOU].formula
    mechanism = get("dp-scaffnew")(rounds=10, communication_probability=0.5)
    assert found.noise_multiplier == calibrate(mechanism, epsilon=1.0, delta=1e-5)


def test_what_has_no_constant_is_refused():
    with pytest.raises(
        InputError, match=r"unknown prescription 'das2022\.theorem' ?: did you mean 'das2022\.theorem3'"
    ):
        constant("das2022.theorem", epsilon=1.0, delta=1e-5, clients=3, rounds=2)
    with pytest.raises(InputError, match="dp-fedavg needs `rounds`"):
        constant(DAS, epsilon=1.0, delta=1e-5, clients=3)
    with pytest.raises(InputError, match="dp-scaffnew needs `communication_probability`"):
        constant(HOU, epsilon=1.0, delta=1e-5, rounds=3)
    with pytest.raises(InputError, match="`epsilon` is 0"):
        constant(DAS, epsilon=0, delta=1e-5, clients=3, rounds=3)
    with pytest.raises(InputError, match="`delta` is 1"):
        constant(DAS, epsilon=1.0, delta=1, clients=3, rounds=3)


@pytest.mark.parametrize(("lower", "kept"), [(3.0, 3.0), (5.0, 4.0)])
def test_the_lower_limit_of_a_constant_is_at_most_the_constant(monkeypatch, lower, kept):
    """Two calibrations are searches of their own, whose results may cross by their errors."""
    asked = []

    def calibrated(mechanism, *, epsilon, delta, limit="high", start=1.0):
        asked.append((limit, start))
        return 4.0 if limit == "high" else lower

    monkeypatch.setattr(noise_constants, "calibrate", calibrated)
    found = constant(DAS, epsilon=2.0, delta=1e-5, rounds=40, clients=6)
    assert asked == [("high", 1.0), ("low", 4.0)]
    assert found.low / found.value == pytest.approx((kept / 4.0) ** 2)


@pytest.mark.slow
def test_the_lower_limit_of_a_constant_is_another_calibration():
    """For a cohort of fixed size the bound is not one pair's, so that what is known from below is less by per cents."""
    found = constant(DAS, epsilon=2.0, delta=1e-5, rounds=40, clients=60, cohort=6, sampling="fixed")
    low = calibrate(found.mechanism, epsilon=2.0, delta=1e-5, limit="low")
    prescribed = 40 * math.log(1e5) / (60 * 2.0) ** 2
    assert found.low == pytest.approx((low / 6) ** 2 / prescribed, rel=1e-4)
    assert found.low < 0.999 * found.value
