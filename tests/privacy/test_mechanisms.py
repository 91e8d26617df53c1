"""Descriptions of algorithms: one round of each, rebuilt from the papers' symbols; laws; and refused inputs."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import re
import sys
import traceback
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import SelfComposedDpEvent
from dp_accounting.pld import privacy_loss_distribution as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom, norm
from test_sampling import hockey_stick, merged

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import calibrate
from dpfl_theory.privacy.accounting import account, lowest_delta, lowest_epsilon
from dpfl_theory.privacy.events import Repeated, WithProbability
from dpfl_theory.privacy.mechanisms import base, get, mechanisms
from dpfl_theory.privacy.pld import delta_limits, epsilon_high, epsilon_limits
from dpfl_theory.privacy.rdp import moments_bound
from dpfl_theory.privacy.sampling import fixed_size

CLIP = 2.5
"""Clipping threshold of every rebuilt round."""


def spent(name, **parameters):
    return epsilon_high(get(name)(**parameters).event(), 1e-5)


# One round, rebuilt from the symbols of the paper


def cohorts(scheme, n, r):
    """(probability, how often each client is drawn) of every cohort."""
    if scheme == "full":
        return [(1.0, (1,) * n)]
    if scheme == "fixed":
        return [
            (1 / math.comb(n, r), tuple(int(i in c) for i in range(n))) for c in itertools.combinations(range(n), r)
        ]
    if scheme == "with-replacement":
        draws = itertools.product(range(n), repeat=r)
        return [(n**-r, tuple(d.count(i) for i in range(n))) for d in draws]
    rate = r / n
    return [(math.prod(rate if i else 1 - rate for i in c), c) for c in itertools.product((0, 1), repeat=n)]


def averages(scheme, noise, messages, r, sigma):
    """The average that the server forms, for das2022's sigma: noise of that deviation on it, or r times that variance
    from each client that is drawn.
    """
    found = []
    for probability, counts in cohorts(scheme, len(messages), r):
        drawn = sum(counts)
        if noise == "per-client" and not drawn:
            continue  # nothing is seen, whatever the data
        mean = sum(c * m for c, m in zip(counts, messages, strict=True)) / r
        found.append((probability, np.array([mean]), sigma * (math.sqrt(drawn / r) if noise == "per-client" else 1.0)))
    return merged(found)


def worst_divergence(scheme, noise, r, sigma, relation, epsilon, n=4):
    """The largest over the other clients' messages (all C, 0 or -C), in both orders."""
    found = []
    for others in (CLIP, 0.0, -CLIP):
        with_, without = (
            averages(scheme, noise, [own, *[others] * (n - 1)], r, sigma)
            for own in (CLIP, -CLIP if relation == "replace" else 0.0)
        )
        found += [hockey_stick(with_, without, epsilon, 200), hockey_stick(without, with_, epsilon, 200)]
    return max(found)


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
@pytest.mark.parametrize(
    ("scheme", "noise"),
    [
        ("full", "per-client"),
        ("full", "average"),
        ("fixed", "per-client"),
        ("poisson", "average"),
        ("poisson", "per-client"),
        ("with-replacement", "average"),
    ],
)
def test_one_round_of_dp_fedavg_from_the_papers_sigma(scheme, noise, relation):
    r, sigma = (4 if scheme == "full" else 2), 1.7
    blank = get("dp-fedavg")(clients=4, cohort=r, sampling=scheme, noise=noise, relation=relation, rounds=1)
    run = blank.with_(noise_multiplier=blank.multiplier(sigma, CLIP))
    assert run.sigma(CLIP) == pytest.approx({"sigma": sigma, "sigma_of_one_message": sigma * math.sqrt(r)})
    expected = r * sigma / CLIP / (2 if relation == "replace" else 1)
    assert run.noise_multiplier == pytest.approx(expected)
    for epsilon in (0.0, 0.4, 1.5):
        limits = delta_limits(run.event(), epsilon)
        found = worst_divergence(scheme, noise, r, sigma, relation, epsilon)
        assert found <= limits.high * (1 + 1e-4) + 1e-9
        if (scheme, noise) != ("poisson", "per-client"):  # one coordinate does not show the size of the cohort
            assert found >= limits.low * (1 - 1e-4) - 1e-9
        if scheme in ("full", "fixed") or (scheme, noise) == ("poisson", "average"):
            assert found == pytest.approx(limits.high, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
@pytest.mark.parametrize("name", ["dp-scaffnew", "dp-norm-ec", "dp-clip21", "dp-distributed-gd"])
def test_one_message_from_the_papers_sigma(name, relation):
    """N(C, sigma^2) against noise only, or against N(-C, sigma^2), with the probability of the coin."""
    sigma, chance = 3.0, 0.3 if name == "dp-scaffnew" else 1.0
    blank = get(name)(relation=relation, rounds=1)
    if name == "dp-scaffnew":
        blank = blank.with_(communication_probability=chance)
    run = blank.with_(noise_multiplier=blank.multiplier(sigma, CLIP))
    assert run.sigma(CLIP)["sigma"] == pytest.approx(sigma)
    sent, instead = ([(1.0, np.array([m]), sigma)] for m in (CLIP, -CLIP if relation == "replace" else 0.0))
    for epsilon in (0.0, 0.5, 2.0):
        expected = chance * hockey_stick(sent, instead, epsilon, 400)
        assert delta_limits(run.event(), epsilon).high == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("view", ["third-party", "server"])
def test_one_round_of_record_level_algorithms_from_the_papers_sigma(view):
    """K = 1: users average the clipped gradients of floor(sR) records and add noise of deviation sigma_g 2C/(sR); the
    server averages floor(lM) messages. A third party who knows who takes part sees that average.
    """
    users, records, batch, cohort, sigma_g = 4, 5, 2, 2, 0.8
    run = get("dp-fedavg-record")(
        users=users,
        records=records,
        user_rate=0.5,
        record_rate=0.4,
        local_steps=1,
        noise_multiplier=sigma_g,
        rounds=1,
        view=view,
    )
    assert (run.cohort, run.batch) == (cohort, batch)
    one_step = run.sigma(CLIP)["sigma_of_one_step"]
    assert one_step == pytest.approx(sigma_g * 2 * CLIP / batch)
    averaged = cohort if view == "third-party" else 1
    for epsilon in (0.0, 0.4, 1.5):
        found = []
        for others in (CLIP, -CLIP):
            pair = []
            for own in (CLIP, -CLIP):
                gradients = [own, *[others] * (records - 1)]
                means = [sum(c) / batch for c in itertools.combinations(gradients, batch)]
                sd = one_step / math.sqrt(averaged)
                pair.append(merged([(1 / len(means), np.array([m / averaged]), sd) for m in means]))
            found += [hockey_stick(*pair, epsilon, 200), hockey_stick(*pair[::-1], epsilon, 200)]
        expected = cohort / users * max(found)
        assert delta_limits(run.event(), epsilon).high == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_records_drawn_afresh_in_each_local_step():
    """K steps of linear losses: the sum of a record's appearances is binomial, and the lower limit sees that sum."""
    run = get("dp-scaffold")(
        users=6, records=10, user_rate=0.5, record_rate=0.3, local_steps=4, noise_multiplier=2.0, rounds=9
    )
    ((seen, _), (hidden, failing)) = run.attacks()
    line = seen.event.event.forward
    np.testing.assert_allclose(line.weights, binom.pmf(np.arange(5), 4, hypergeom.pmf(1, 10, 1, 3)), rtol=1e-9)
    assert line.p_means == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert line.z == pytest.approx(2.0 * math.sqrt(4 * 3))
    assert seen.times == hidden.times == 1  # later on a returning user's control variate changes what the sums say
    assert run.event().times == 9
    assert {event.times for event, _ in get("dp-fedavg-record")(**_given(run)).attacks()} == {9}
    assert failing == 0.0  # a user that is not drawn looks like one that does not use the record
    assert hidden.event.forward.weights == pytest.approx(0.5 * np.array(line.weights) + [0.5, 0, 0, 0, 0])


def test_short_messages_hide_who_takes_part():
    """lM = sR = K = 1: a round shows one of all MR records, drawn uniformly, and the limits enclose exactly that. With
    participation counted as seen, as for long messages, the lower limit would lie above the truth."""
    users, records, z = 2, 8, 0.5
    known = {"users": users, "records": records, "user_rate": 0.5, "record_rate": 1 / records, "local_steps": 1}
    run = get("dp-fedavg-record")(**known, noise_multiplier=z, rounds=1)
    means = [np.array([0.0])] * (users * records - 1)
    with_record, without = (merged([(1 / 16, mean, z) for mean in [*means, np.array([x])]]) for x in (1.0, 0.0))
    if_seen = Repeated(WithProbability(fixed_size(1 / records, 2 * z, replace=True), 0.5), 1)
    for epsilon in (0.5, 1.5):
        truth = max(hockey_stick(with_record, without, epsilon, 200), hockey_stick(without, with_record, epsilon, 200))
        limits = account(run, epsilon=epsilon).delta
        assert limits.low <= truth * (1 + 1e-6)
        assert truth <= limits.high * (1 + 1e-6)
        assert limits.high <= limits.low * (1 + 1e-3)
        assert delta_limits(if_seen, epsilon).low > 1.2 * truth
    at = {"epsilon": 1.0, "delta": 1e-6}
    low, high = (calibrate(run.with_(rounds=16), **at, limit=limit) for limit in ("low", "high"))
    assert 0.97 * high < low <= high * (1 + 2e-5)


def test_what_an_attack_may_miss_is_given_away():
    """sR = 20 of 200 records: little noise shows who takes part, much noise does not; between them the chance of a
    mistake is taken from delta, and the lower limits stay below the upper ones and fall with the noise."""
    known = {"users": 10, "records": 200, "user_rate": 0.3, "record_rate": 0.1, "local_steps": 1, "rounds": 1}
    found = []
    for z in (0.4, 0.7, 0.76, 0.8, 3.0):
        run = get("dp-fedavg-record")(**known, noise_multiplier=z)
        ((seen, failing), (hidden, _)) = run.attacks()
        assert failing == pytest.approx(norm.sf(9 / (z * math.sqrt(3))), rel=1e-9)
        low, high = lowest_epsilon(run, 1e-5), epsilon_high(run.event(), 1e-5)
        assert epsilon_limits(hidden, 1e-5).low <= low <= epsilon_limits(seen, 1e-5).low <= high
        found.append((low / epsilon_limits(seen, 1e-5).low, low))
        if low > epsilon_limits(hidden, 1e-5).low:  # also where the chance is all but too large
            assert delta_limits(seen, low).low - (1 + math.exp(low)) * failing >= 1e-5 * (1 - 1e-9)
        left = max(delta_limits(seen, 0.5).low - (1 + math.exp(0.5)) * failing, delta_limits(hidden, 0.5).low)
        assert lowest_delta(run, 0.5) == pytest.approx(left, rel=1e-9)
    assert found[0][0] > 0.999
    assert found[-1][0] < 0.8
    assert [low for _, low in found] == sorted((low for _, low in found), reverse=True)


def _given(mechanism):
    return {f.name: getattr(mechanism, f.name) for f in fields(mechanism)}


# Laws

RUNS = {
    "dp-fedavg": {"clients": 40, "noise_multiplier": 20.0, "rounds": 12},
    "dp-fedavg, poisson": {"clients": 40, "cohort": 8, "sampling": "poisson", "noise": "average"},
    "dp-fedavg, poisson, add-remove": {
        "clients": 40,
        "cohort": 8,
        "sampling": "poisson",
        "noise": "average",
        "relation": "add-remove",
    },
    "dp-fedavg, poisson, own noise": {"clients": 40, "cohort": 8, "sampling": "poisson"},
    "dp-normfedavg, fixed": {"clients": 40, "cohort": 8, "sampling": "fixed"},
    "dp-fedavg, fixed, replace": {"clients": 40, "cohort": 8, "sampling": "fixed", "relation": "replace"},
    "dp-fedavg, with replacement": {"clients": 40, "cohort": 8, "sampling": "with-replacement"},
    "dp-fedavg, server": {"clients": 40, "cohort": 8, "sampling": "fixed", "view": "server", "noise_multiplier": 30.0},
    "dp-fedavg-mcmahan, poisson": {"clients": 40, "cohort": 8, "sampling": "poisson"},
    "dp-fedavg-adaptive, fixed": {"clients": 40, "cohort": 8, "sampling": "fixed", "count_noise": 30.0},
    "dp-fedavg-local": {"clients": 40, "cohort": 8, "sampling": "fixed", "noise_multiplier": 10.0},
    "dp-sgd": {"sampling_rate": 0.05, "noise_multiplier": 1.0},
    "dp-ftrl": {"noise_multiplier": 60.0},
    "dp-fedavg-two-sided, fixed": {"clients": 40, "cohort": 8, "sampling": "fixed"},
    "dp-scaffnew": {"communication_probability": 0.2, "noise_multiplier": 9.0, "rounds": 60},
    "dp-norm-ec": {"noise_multiplier": 20.0},
    "dp-clip21, sums": {"clients": 16, "view": "third-party", "relation": "replace"},
    "dp-distributed-gd": {"noise_multiplier": 20.0},
    "poisson-gaussian": {"sampling_rate": 0.05, "noise_multiplier": 1.0},
    "poisson-gaussian, replace": {"sampling_rate": 0.05, "noise_multiplier": 1.0, "relation": "replace"},
    "dp-fedavg-record": {"users": 20, "records": 60, "user_rate": 0.2, "record_rate": 0.2, "local_steps": 3},
    "dp-fedavg-record, one step": {"users": 20, "records": 60, "user_rate": 0.2, "record_rate": 0.2, "local_steps": 1},
    "dp-scaffold": {"users": 20, "records": 60, "user_rate": 0.2, "record_rate": 0.2, "local_steps": 3},
    "dp-fedsgd": {"users": 20, "records": 60, "user_rate": 0.2, "noise_multiplier": 3.0},
}
CHANGES = {"noise_multiplier": -1, "rounds": 1, "clients": -1, "cohort": 1, "communication_probability": 1}
CHANGES |= {"sampling_rate": 1, "users": 0, "user_rate": 1, "records": 0, "record_rate": 1, "local_steps": 1}
"""The sign of epsilon's change when the argument doubles."""
OTHERWISE = {
    ("dp-fedavg", "clients"): 0,  # all clients in every round, at a given multiplier of the sum
    ("dp-fedavg, server", "cohort"): None,  # a larger cohort is drawn more often, and its messages have less noise
    ("dp-fedavg-record, one step", "users"): -1,  # more users, more noise
    ("dp-fedavg-record, one step", "user_rate"): None,  # drawn more often, among more noise
    ("dp-fedsgd", "users"): -1,
    ("dp-fedsgd", "user_rate"): None,
    ("dp-fedsgd", "record_rate"): None,  # is 1
    ("dp-fedsgd", "local_steps"): None,  # is 1
    ("dp-fedavg-record, one step", "local_steps"): None,  # K > 1 is another analysis
}


def described(run, **changes):
    return get(run.split(",")[0])(**{"noise_multiplier": 5.0, "rounds": 12, **RUNS[run], **changes})


def test_every_mechanism_is_among_the_runs():
    assert {run.split(",")[0] for run in RUNS} == set(mechanisms())


@pytest.mark.exhaustive
@pytest.mark.parametrize("run", RUNS)
def test_epsilon_is_monotone_in_every_argument(run):
    mechanism = described(run)
    at = epsilon_high(mechanism.event(), 1e-5)
    assert 0.01 < at < 100
    for name, usual in CHANGES.items():
        value, sign = _given(mechanism).get(name), OTHERWISE.get((run, name), usual)
        if value is None or sign is None:
            continue
        change = epsilon_high(mechanism.with_(**{name: type(value)(2 * value)}).event(), 1e-5) / at - 1
        assert change * sign > 0.01 if sign else abs(change) < 1e-4, (name, change)
    assert epsilon_high(mechanism.event(), 1e-7) > 1.02 * at
    assert delta_limits(mechanism.event(), 1.3 * at).high < delta_limits(mechanism.event(), at).high


@pytest.mark.parametrize("sampling", ["full", "poisson", "fixed"])
def test_replacing_a_message_costs_less_at_the_same_multiplier_and_more_at_the_same_sigma(sampling):
    """The multiplier is counted in sensitivities, and that of replacing is twice as large. What hides a client that is
    not drawn is then twice as near, in units of the noise; without sampling there is nothing to hide.
    """
    cohort = 30 if sampling == "full" else 6
    run = get("dp-fedavg")(
        clients=30, cohort=cohort, sampling=sampling, noise="average", noise_multiplier=4.0, rounds=10
    )
    replaced = run.with_(relation="replace")
    zero_out, at_same_multiplier = (epsilon_limits(m.event(), 1e-5) for m in (run, replaced))
    sigma = run.sigma(CLIP)["sigma"]
    at_same_sigma = epsilon_limits(replaced.with_(noise_multiplier=replaced.multiplier(sigma, CLIP)).event(), 1e-5)
    assert at_same_sigma.low > 1.5 * zero_out.high
    if sampling == "full":
        assert at_same_multiplier == zero_out
    else:
        assert at_same_multiplier.high < zero_out.low


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
@pytest.mark.parametrize("sampling", ["poisson", "fixed"])
def test_the_server_sees_at_least_what_others_see(sampling, relation):
    """The average is computed from the messages, so it cannot tell more."""
    run = get("dp-fedavg")(clients=30, cohort=6, sampling=sampling, relation=relation, noise_multiplier=5.0, rounds=10)
    assert epsilon_high(run.event(), 1e-5) < epsilon_limits(run.with_(view="server").event(), 1e-5).low


def test_the_server_of_record_level_algorithms_sees_at_least_what_others_see():
    for run in ("dp-fedavg-record", "dp-fedavg-record, one step", "dp-scaffold", "dp-fedsgd"):
        third, server = described(run), described(run, view="server")
        seen, certified = lowest_epsilon(third, 1e-5), epsilon_high(third.event(), 1e-5)
        assert seen <= certified <= epsilon_high(server.event(), 1e-5) * (1 + 1e-9)
        assert (third.attacks()[0][0] == third.event()) == (third.local_steps == 1 and run != "dp-scaffold")
        assert server.attacks() == ((server.event(), 0.0),)


def test_different_words_for_the_same_run():
    full = described("dp-fedavg")
    for sampling in ("poisson", "fixed"):
        for noise in ("per-client", "average"):
            assert full.with_(sampling=sampling, cohort=40, noise=noise).event() == full.event()
    assert described("dp-fedavg", cohort=40).event() == full.event()
    assert get("dp-normfedavg")(**_given(full)).event() == full.event()
    poisson = described("dp-fedavg, poisson")
    assert poisson.with_(relation="add-remove").event() == poisson.event()
    # Sums of n clients' messages carry n times the variance of one.
    one, sums = (
        get("dp-norm-ec")(noise_multiplier=z, rounds=5, clients=9, view=v)
        for z, v in ((6.0, "server"), (2.0, "third-party"))
    )
    assert one.event() == sums.event()
    # All records, all users, one step: noise of all users hides the record from those who see the average.
    record = get("dp-fedsgd")(users=9, records=50, user_rate=1.0, noise_multiplier=2.0, rounds=5)
    assert epsilon_high(record.event(), 1e-5) == pytest.approx(epsilon_high(one.event(), 1e-5), rel=1e-9)
    # A coin that always falls on one side.
    certain = get("dp-scaffnew")(communication_probability=1.0, noise_multiplier=6.0, rounds=5)
    assert epsilon_high(certain.event(), 1e-5) == epsilon_high(one.event(), 1e-5)


# dp-accounting


@pytest.mark.exhaustive
@pytest.mark.parametrize("run", RUNS)
def test_dp_accounting_where_it_has_the_mechanism(run):
    """Its moments bound is above our lower limit; its distributions agree with our upper one."""
    mechanism, delta = described(run), 1e-5
    moments = moments_bound(mechanism, delta)
    assert (moments is None) == (mechanism.textbook() is None)
    if moments is None:
        return
    limits = epsilon_limits(mechanism.event(), delta)
    assert limits.low <= moments.epsilon
    event, relation = mechanism.textbook()
    assert isinstance(event, SelfComposedDpEvent)
    one = event.event
    if "SampledWithoutReplacement" in type(one).__name__:
        return
    rate = getattr(one, "sampling_probability", 1.0)
    gauss = getattr(one, "event", one)
    # Its distribution for REPLACE_ONE counts the sensitivity of adding; ours is that of replacing.
    distribution = reference.from_gaussian_mechanism(gauss.noise_multiplier, sampling_prob=rate)
    assert limits.high == pytest.approx(distribution.self_compose(event.count).get_epsilon_for_delta(delta), rel=5e-3)
    assert relation is not None


def test_what_dp_accounting_has_no_mechanism_for():
    for run in ("dp-fedavg, poisson, own noise", "dp-normfedavg, fixed", "dp-fedavg, with replacement"):
        assert described(run).textbook() is None
    assert described("dp-fedavg, server").textbook() is None
    assert described("dp-fedavg, poisson", relation="replace").textbook() is None
    assert described("dp-scaffold").textbook() is None
    assert described("dp-scaffnew").textbook() is None


# What is refused

AVERAGE = {"clients": 10, "cohort": 2, "sampling": "poisson", "noise": "average"}
REFUSED = [
    ("dp-fedavg-adaptive", {"count_noise": 0.4}, "0.4"),
    ("dp-fedavg", {"sampling": "sometimes"}, "'sometimes'"),
    ("dp-fedavg", {"noise_multiplier": -1.0}, "-1.0"),
    ("dp-fedavg", {"noise_multiplier": 1e-107}, "1e-107"),
    ("dp-fedavg", {"rounds": 0}, "0"),
    ("dp-fedavg", {"rounds": 2.5}, "2.5"),
    ("dp-fedavg", {"clients": True}, "True"),
    ("dp-fedavg", {"clients": 10, "cohort": 11, "sampling": "fixed"}, "11"),
    ("dp-fedavg", {"clients": 10, "cohort": 2}, "2"),
    ("dp-fedavg", {"clients": 10, "cohort": 2.5, "sampling": "fixed"}, "2.5"),
    ("dp-fedavg", {**AVERAGE, "view": "server"}, "server"),
    ("dp-fedavg", {"clients": 10, "relation": "add-remove"}, "add-remove"),
    ("dp-normfedavg", {**AVERAGE, "relation": "add-remove", "sampling": "fixed"}, "add-remove"),
    ("dp-fedavg", {"clients": 9, "cohort": 2, "sampling": "with-replacement", "view": "server"}, "with-replacement"),
    ("dp-scaffnew", {"communication_probability": 1.5}, "1.5"),
    ("dp-norm-ec", {"clients": 0}, "0"),
    ("dp-scaffold", {"users": 10, "user_rate": 0.05}, "0.05"),
    ("dp-scaffold", {"records": 10, "record_rate": 0.05}, "0.05"),
    ("dp-fedavg-record", {"user_rate": 0.0}, "0.0"),
    ("dp-fedsgd", {"local_steps": 2}, "2"),
]


def complaint(action):
    """The message of an InputError; None when the action succeeds."""
    try:
        action()
    except InputError as error:
        return str(error)
    return None


def refusal(name, parameters):
    """The error, and where it was raised: on construction, or when the event is asked for."""
    with pytest.raises(InputError) as caught:
        get(name)(**{"noise_multiplier": 1.0, "rounds": 3, **parameters}).event()
    place = traceback.extract_tb(caught.value.__traceback__)[-1]
    return str(caught.value), (place.filename, place.lineno)


@pytest.mark.parametrize(("name", "parameters", "value"), REFUSED)
def test_a_refusal_is_one_sentence_with_value_cause_and_remedy(name, parameters, value):
    said, _ = refusal(name, parameters)
    assert "\n" not in said
    assert value in said
    assert any(re.search(f"`{p}[`=]", said) for p in parameters)
    cause, _, remedy = said.partition(": ")
    assert len(cause) > 8
    assert len(remedy) > 12
    assert not said.endswith(".")


@pytest.mark.parametrize("run", RUNS)
def test_what_is_missing_is_named(run):
    """Each parameter that the event needs is requested by its option; the others have no effect."""
    mechanism = described(run)
    needed = [f.name for f in fields(mechanism) if f.default is None and getattr(mechanism, f.name) is not None]
    assert {"noise_multiplier", "rounds"} <= set(needed)
    for name in needed:
        said = complaint(mechanism.with_(**{name: None}).event)
        assert f"{mechanism.name} needs `{name}`: give the " in (said or "nothing"), name


def test_every_refusal_of_the_descriptions_has_a_test():
    """Lines that raise, in the source, against those that the cases above reach."""
    reached = {refusal(name, parameters)[1] for name, parameters, _ in REFUSED}
    for extra in ({"clients": 10, "noise_multiplier": None}, {"clients": None}):
        reached.add(refusal("dp-fedavg", extra)[1])
    modules = {inspect.getmodule(kind) for kind in mechanisms().values()} | {base}
    for module in modules:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Raise) and not re.search("has no clipping|has no attribute", ast.unparse(node)):
                assert any(
                    file == module.__file__ and node.lineno <= line <= node.end_lineno for file, line in reached
                ), f"{module.__name__}:{node.lineno}"


JUNK = [True, False, math.nan, math.inf, -math.inf, -1, 0, -0.0, 1e-320, 0.5, 1, 2, 2.5, 3, 7.0, 10, 1e300, "", "full"]
JUNK += ["poisson", "fixed", "with-replacement", "replace", "add-remove", "server", "average", "5", b"1", (), [], {}]
JUNK += [Fraction(1, 2), 1j, object(), np.float64(3.0), np.bool_(True), sys.maxsize]


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", sorted(mechanisms()))
def test_nothing_but_an_input_error_comes_of_junk(name):
    kind = get(name)
    optional = {f.name: st.sampled_from(JUNK) for f in fields(kind)}

    @settings(max_examples=150)
    @given(st.fixed_dictionaries({}, optional=optional))
    def construct(parameters):
        said = [complaint(lambda: kind(**parameters))]
        if said == [None]:
            mechanism = kind(**parameters)
            assert mechanism.notes() is not None
            assert mechanism.describe()["algorithm"] == name
            asked = (mechanism.event, mechanism.attacks, mechanism.textbook, lambda: mechanism.multiplier(1.0, CLIP))
            said = [complaint(action) for action in asked]
        assert all("\n" not in one for one in said if one)

    construct()
