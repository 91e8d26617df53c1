"""Descriptions of mechanisms: the textbook event, the notes, the plain data, and the ranges of the parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dp_accounting as dp
import numpy as np
import pytest
from scipy.stats import binom, norm

from dpfl_theory.errors import InputError
from dpfl_theory.privacy.events import Event, Release, Repeated, WithProbability, gaussian
from dpfl_theory.privacy.mechanisms import Mechanism, get, mechanisms
from dpfl_theory.privacy.mechanisms.base import parameter

ONE, SPECIAL = dp.NeighboringRelation.REPLACE_ONE, dp.NeighboringRelation.REPLACE_SPECIAL


def fedavg(**changes: Any) -> Mechanism:
    given = {"clients": 40, "cohort": 8, "sampling": "fixed", "noise_multiplier": 5.0, "rounds": 12, **changes}
    return get("dp-fedavg")(**{k: v for k, v in given.items() if v is not None})


GAUSS = dp.GaussianDpEvent(5.0)
POISSON = dp.PoissonSampledDpEvent(0.2, GAUSS)
DRAWN = dp.SampledWithoutReplacementDpEvent(40, 8, GAUSS)
FULL = {"sampling": "full", "cohort": None}


@pytest.mark.parametrize(
    ("changes", "event", "relation"),
    [
        (FULL, GAUSS, SPECIAL),
        ({**FULL, "relation": "replace"}, GAUSS, ONE),
        ({**FULL, "noise": "average"}, GAUSS, SPECIAL),
        ({"cohort": 40}, GAUSS, SPECIAL),
        ({"cohort": 40, "relation": "replace"}, GAUSS, ONE),
        ({"cohort": 40, "sampling": "poisson"}, GAUSS, SPECIAL),
        ({"cohort": 40, "sampling": "with-replacement"}, None, None),  # some are drawn twice
        ({}, None, None),
        ({"relation": "replace"}, DRAWN, ONE),
        ({"relation": "replace", "noise": "average"}, DRAWN, ONE),
        ({"sampling": "poisson"}, None, None),
        ({"sampling": "poisson", "noise": "average"}, POISSON, SPECIAL),
        ({"sampling": "poisson", "noise": "average", "relation": "add-remove"}, POISSON, SPECIAL),
        ({"sampling": "poisson", "noise": "average", "relation": "replace"}, None, None),
        ({"sampling": "poisson", "relation": "replace"}, None, None),
        ({"noise": "average"}, None, None),
        ({"sampling": "with-replacement", "relation": "replace"}, None, None),
        ({**FULL, "view": "server"}, None, None),
        ({"relation": "replace", "view": "server"}, None, None),
    ],
)
def test_the_textbook_event_of_dp_fedavg(changes: dict[str, Any], event: Any, relation: Any) -> None:
    found = fedavg(**changes).textbook()
    assert found == (None if event is None else (dp.SelfComposedDpEvent(event, 12), relation))


def said(mechanism: Mechanism) -> str:
    return " ".join(note.split(":")[0].split(",")[0] for note in mechanism.notes())


OWN, PLACE, TIMES = (
    "The noise of the sum grows",
    "A client that is not drawn is replaced",
    "A client that is drawn j times",
)
SERVER = "The server knows who takes part"


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({}, PLACE),
        ({"noise": "average"}, PLACE),
        ({"relation": "replace"}, None),
        (FULL, None),
        ({"sampling": "poisson"}, OWN),
        ({"sampling": "poisson", "relation": "replace"}, OWN),
        ({"sampling": "poisson", "noise": "average"}, None),
        ({"sampling": "with-replacement"}, TIMES),
        ({"sampling": "with-replacement", "relation": "replace"}, TIMES),
        ({"view": "server"}, SERVER),
        ({"sampling": "poisson", "view": "server"}, SERVER),
    ],
)
def test_the_notes_of_dp_fedavg(changes: dict[str, Any], begins: str | None) -> None:
    notes = fedavg(**changes).notes()
    assert len(notes) == (begins is not None)
    assert all(note.startswith(begins or "") for note in notes)


def test_who_adds_the_noise() -> None:
    assert fedavg().describe()["noise_added_by"] == "client"
    assert fedavg(noise="average").describe()["noise_added_by"] == "server"
    described = fedavg().describe()
    assert (described["algorithm"], described["protects"], described["clients"]) == ("dp-fedavg", "client", 40)
    assert "communication_probability" not in described
    assert fedavg(rounds=None).describe().get("rounds") is None


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("dp-fedavg", {"clients": 0}, "`clients` is 0: give a whole number of at least 1"),
    ("dp-fedavg", {"clients": 5, "cohort": 0, "sampling": "fixed"}, "`cohort` is 0: give a positive number"),
    ("dp-fedavg", {"cohort": 0.5, "sampling": "fixed"}, "`cohort` is 0.5: give a whole number of at least 1"),
    ("dp-fedavg", {"cohort": math.inf, "sampling": "poisson"}, "`cohort` is inf: give a positive number"),
    ("dp-fedavg", {"clients": 5, "cohort": 5.5, "sampling": "poisson"}, "cannot exceed `clients=5`"),
    ("dp-fedavg", {"clients": 5, "cohort": 4}, "but `sampling` is full"),
    ("dp-fedavg", {"relation": "add-remove"}, "no accountant certifies"),
    ("dp-fedavg", {"relation": "add-remove", "noise": "average", "sampling": "fixed"}, "no accountant certifies"),
    ("dp-fedavg", {"relation": "add-remove", "noise": "average", "sampling": "with-replacement"}, "no accountant"),
    ("dp-fedavg", {"view": "server", "noise": "average"}, "nothing is private"),
    ("dp-norm-ec", {"clients": 0}, "`clients` is 0"),
    ("dp-norm-ec", {"relation": "add-remove"}, "choose one of zero-out, replace"),
    ("dp-norm-ec", {"view": "no-one"}, "`view` is 'no-one': choose one of third-party, server"),
    ("dp-norm-ec", {"noise_multiplier": 0.0}, "`noise_multiplier` is 0.0: give a positive number"),
    ("dp-norm-ec", {"noise_multiplier": math.nan}, "`noise_multiplier` is nan: give a positive number"),
    ("dp-norm-ec", {"noise_multiplier": math.inf}, "`noise_multiplier` is inf: give a positive number"),
    ("dp-norm-ec", {"noise_multiplier": float(np.nextafter(1e12, math.inf))}, "give a number between"),
    ("dp-norm-ec", {"noise_multiplier": float(np.nextafter(1e-100, 0.0))}, "give a number between"),
    ("dp-norm-ec", {"noise_multiplier": "2"}, "`noise_multiplier` is '2': give a positive number"),
    ("dp-norm-ec", {"noise_multiplier": True}, "`noise_multiplier` is True: give a positive number"),
    ("dp-norm-ec", {"rounds": 0}, "`rounds` is 0: give a whole number of at least 1"),
    ("dp-norm-ec", {"rounds": 1.5}, "`rounds` is 1.5: give a whole number"),
    ("dp-norm-ec", {"rounds": True}, "`rounds` is True: give a whole number"),
    ("dp-scaffnew", {"communication_probability": 0.0}, "`communication_probability` is 0.0: give a number in (0, 1]"),
    ("dp-scaffnew", {"communication_probability": 1.0001}, "give a number in (0, 1]"),
    ("dp-scaffnew", {"communication_probability": "a"}, "give a number in (0, 1]"),
    ("dp-fedavg-record", {"users": 0}, "`users` is 0"),
    ("dp-fedavg-record", {"records": 0}, "`records` is 0"),
    ("dp-fedavg-record", {"local_steps": 0}, "`local_steps` is 0"),
    ("dp-fedavg-record", {"record_rate": 1.5}, "`record_rate` is 1.5"),
    ("dp-fedavg-record", {"user_rate": 1.5}, "`user_rate` is 1.5"),
    ("dp-fedavg-record", {"users": 10, "user_rate": 0.099}, "is less than one user"),
    ("dp-fedavg-record", {"records": 10, "record_rate": 0.099}, "is less than one record"),
    ("dp-fedsgd", {"local_steps": 2}, "DP-FedSGD takes 1"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), REFUSED, ids=str)
def test_what_is_refused(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        get(name)(**parameters)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("dp-fedavg", {"clients": 1, "cohort": 1, "sampling": "fixed"}),
        ("dp-fedavg", {"clients": 5, "cohort": 0.5, "sampling": "poisson"}),
        ("dp-fedavg", {"clients": 5, "cohort": 5, "sampling": "poisson"}),
        ("dp-fedavg", {"clients": 5, "cohort": 5}),
        ("dp-fedavg", {"clients": 5, "cohort": 9, "sampling": "with-replacement"}),
        ("dp-fedavg", {"cohort": 9, "sampling": "fixed"}),
        ("dp-fedavg", {"clients": 9, "sampling": "fixed"}),
        ("dp-fedavg", {"relation": "add-remove", "noise": "average"}),
        ("dp-fedavg", {"relation": "add-remove", "noise": "average", "sampling": "poisson"}),
        ("dp-norm-ec", {"noise_multiplier": 1e12, "rounds": 1, "clients": 1}),
        ("dp-norm-ec", {"noise_multiplier": 1e-100}),
        ("dp-norm-ec", {"noise_multiplier": 1e-4}),
        ("dp-norm-ec", {"noise_multiplier": 3, "rounds": 2.0}),
        ("dp-scaffnew", {"communication_probability": 1}),
        ("dp-fedavg-record", {"users": 1, "records": 1, "local_steps": 1, "user_rate": 1.0, "record_rate": 1.0}),
        ("dp-fedavg-record", {"users": 10, "user_rate": 0.1, "records": 10, "record_rate": 0.1}),
        ("dp-fedavg-record", {"users": 10, "records": 10}),
        ("dp-fedavg-record", {"user_rate": 0.001, "record_rate": 0.001}),
    ],
    ids=str,
)
def test_the_ends_of_a_range_are_within_it(name: str, parameters: dict[str, Any]) -> None:
    made = get(name)(**parameters)
    assert all(getattr(made, k) == v for k, v in parameters.items())


def test_what_is_meant_where_nothing_is_said() -> None:
    """The relation is zero-out everywhere; the server sees messages where every client sends one in every round."""
    for name in ("dp-fedavg", "dp-normfedavg", "dp-scaffnew", "dp-norm-ec", "dp-clip21"):
        assert get(name)().relation == "zero-out"  # type: ignore[attr-defined]
    views = {"dp-fedavg": "third-party", "dp-norm-ec": "server", "dp-fedavg-record": "third-party"}
    assert {name: get(name)().view for name in views} == views  # type: ignore[attr-defined]
    fedavg_ = get("dp-fedavg")()
    assert (fedavg_.sampling, fedavg_.noise) == ("full", "per-client")  # type: ignore[attr-defined]
    sgd = get("dp-fedsgd")()
    assert (sgd.record_rate, sgd.local_steps) == (1.0, 1)  # type: ignore[attr-defined]


def test_a_value_that_must_be_given() -> None:
    run = get("dp-norm-ec")(rounds=3)
    assert (run.value("rounds"), run.count("rounds")) == (3.0, 3)
    with pytest.raises(InputError, match="dp-norm-ec needs `noise_multiplier`: give the standard deviation of the"):
        run.event()
    with pytest.raises(InputError, match="dp-fedavg needs `cohort`: give the clients in a round r"):
        fedavg(cohort=None).event()
    with pytest.raises(InputError, match="the description lacks the number of draws of a client in one round"):
        fedavg(sampling="with-replacement", view="server").event()


@dataclass(frozen=True, kw_only=True)
class Bare(Mechanism):
    """A mechanism that overrides nothing that it need not."""

    name = "bare"
    title = "Bare"
    source = "here"
    protects = "client"
    noise_added_by = "server"
    choice: str | None = parameter("one of two", choices=("a", "b"))
    free: str | None = parameter("any")

    def validate(self) -> None:
        return None

    def event(self) -> Event:
        return gaussian(self.value("noise_multiplier"))

    def notes(self) -> tuple[str, ...]:
        return ()

    def setting(self) -> dict[str, str]:
        return {"unit": "one client"}


def test_what_a_description_has_by_itself() -> None:
    bare = Bare(noise_multiplier=2.0)
    assert bare.attacks() == ((gaussian(2.0), 0.0),)
    assert bare.textbook() is None
    assert (bare.multiplier_of(), bare.factors(), list(bare.alternatives(()))) == ("message", {}, [])
    with pytest.raises(InputError, match="bare has no clipping threshold"):
        bare.sigma(1.0)
    assert bare.describe() == {
        **{"algorithm": "bare", "protects": "client", "noise_added_by": "server", "noise_multiplier": 2.0}
    }
    assert bare.with_(rounds=4).rounds == 4
    assert Bare(choice="a", free="anything").choice == "a"
    with pytest.raises(InputError, match="`choice` is 'c': choose one of a, b"):
        Bare(choice="c")


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
def test_sigma_and_multiplier_are_inverse(relation: str) -> None:
    """Sensitivity C for zero-out, 2C for replace; the sum of r messages, their average, or one message."""
    moved = 2.5 * (2 if relation == "replace" else 1)
    runs = [(fedavg(relation=relation), moved / 8), (fedavg(relation=relation, **FULL), moved / 40)]
    runs += [
        (get(name)(relation=relation), moved)
        for name in ("dp-scaffnew", "dp-norm-ec", "dp-clip21", "dp-distributed-gd")
    ]
    for run, unit in runs:
        assert run.multiplier(3.0, 2.5) == pytest.approx(3.0 / unit)
        assert next(iter(run.with_(noise_multiplier=7.0).sigma(2.5).values())) == pytest.approx(7.0 * unit)
    record = get("dp-fedavg-record")(records=50, record_rate=0.2)
    assert record.multiplier(3.0, 2.5) == pytest.approx(3.0 / (2 * 2.5 / 10))


def test_error_feedback_and_scaffnew() -> None:
    run = get("dp-norm-ec")(noise_multiplier=6.0, rounds=5, clients=9, view="third-party")
    assert run.event() == Repeated(gaussian(18.0), 5)
    assert run.with_(view="server").event() == Repeated(gaussian(6.0), 5)
    assert run.textbook() == (dp.SelfComposedDpEvent(dp.GaussianDpEvent(18.0), 5), SPECIAL)
    assert run.with_(view="server", relation="replace").textbook() == (
        dp.SelfComposedDpEvent(dp.GaussianDpEvent(6.0), 5),
        ONE,
    )
    assert len(run.notes()) == 1
    coin = get("dp-scaffnew")(communication_probability=0.25, noise_multiplier=2.0, rounds=7)
    assert coin.event() == Repeated(WithProbability(gaussian(2.0), 0.25), 7)
    assert coin.textbook() is None
    assert len(coin.notes()) == 2


# Record level


def record(**changes: Any) -> Any:
    given = {"users": 6, "records": 10, "user_rate": 0.5, "record_rate": 0.3, "local_steps": 1, "noise_multiplier": 2.0}
    name = changes.pop("name", "dp-fedavg-record")
    return get(name)(**{**given, "rounds": 9, **changes})


def test_cohorts_and_batches_are_rounded_down_but_for_rounding() -> None:
    """0.29 * 100 is 28.999999999999996 in floating point, and means 29."""
    assert record(users=100, user_rate=0.29).cohort == 29
    assert record(records=100, record_rate=0.29).batch == 29
    assert record(users=10, user_rate=0.39).cohort == 3
    assert record(records=10, record_rate=0.39).batch == 3
    assert record(users=100000, user_rate=0.1234567).cohort == 12345


@pytest.mark.parametrize(
    ("changes", "event", "times", "z"),
    [
        ({"user_rate": 1.0, "record_rate": 1.0}, "gauss", 9, 2.0 * math.sqrt(6)),
        ({"user_rate": 1.0}, "drawn", 9, 2.0 * math.sqrt(6)),
        ({"user_rate": 1.0, "local_steps": 4}, "drawn", 36, 2.0),
        ({"user_rate": 1.0, "view": "server"}, "drawn", 9, 2.0),
        ({"user_rate": 1.0, "record_rate": 1.0, "name": "dp-scaffold"}, "gauss", 9, 2.0),
        ({}, None, 0, 0.0),
    ],
)
def test_the_textbook_event_of_record_level_algorithms(
    changes: dict[str, Any], event: str | None, times: int, z: float
) -> None:
    found = record(**changes).textbook()
    if event is None:
        assert found is None
        return
    assert found is not None
    composed, relation = found
    assert relation == ONE
    assert composed.count == times
    one = composed.event
    if event == "drawn":
        assert (one.source_dataset_size, one.sample_size) == (10, 3)
        one = one.event
    assert one.noise_multiplier == pytest.approx(z)


def test_the_notes_of_record_level_algorithms() -> None:
    users, steps, repeat = "Users' other records", "With more than one local step", "Control variates repeat"

    def begins(**changes: Any) -> list[str]:
        return [n for note in record(**changes).notes() for n in (users, steps, repeat) if note.startswith(n)]

    assert begins() == [users]
    assert begins(user_rate=1.0) == []
    assert begins(local_steps=2) == [users, steps]
    assert begins(local_steps=2, view="server") == [users]
    assert begins(local_steps=2, user_rate=1.0) == [steps]
    assert begins(name="dp-scaffold", local_steps=2) == [users, repeat]
    assert begins(name="dp-scaffold", user_rate=1.0) == [repeat]
    assert get("dp-fedavg-record")().notes() == ()
    assert get("dp-fedavg-record")(users=5).notes() == ()
    assert get("dp-fedavg-record")(user_rate=0.5).notes() == ()
    assert len(get("dp-fedavg-record")(local_steps=3).notes()) == 1


def test_the_sum_of_an_attacked_round_counts_the_record() -> None:
    """In K steps a record is used Binomial(K, 3/10) times, and never where its user does not take part."""
    run = record(local_steps=3)
    chances = binom.pmf(np.arange(4), 3, 0.3)
    for rate in (1.0, 0.5, 0.25):
        release = run._uses(rate)
        weights = rate * chances + np.array([1 - rate, 0, 0, 0])
        line = release.forward
        np.testing.assert_allclose(line.weights, weights, rtol=1e-12)
        assert (line.p_means, line.q_means) == ((0.0, 1.0, 2.0, 3.0), (0.0,) * 4)
        assert (release.backward.p_means, release.backward.q_means) == ((0.0,) * 4, (-0.0, -1.0, -2.0, -3.0))
        assert release.backward.weights == line.weights
        # The sum's noise: 3 steps of 3 users, in units of one record's change.
        assert line.z == release.backward.z == pytest.approx(2.0 * math.sqrt(9))
    certain = record(local_steps=2, record_rate=1.0)._uses(1.0)
    assert certain.forward.p_means == (2.0,)  # every step uses every record


def test_how_often_a_round_looks_like_one_without_the_user() -> None:
    """The sums of K steps differ by K sR units and the record moves them by K, so that from half way a sum is at least
    K (sR/2 - 1) away; K steps of all users have noise of z sqrt(K cohort) units."""
    run = record(records=100, local_steps=4, noise_multiplier=8.0)
    assert run._unseen() == pytest.approx(norm.sf(4 * (15 - 1) / (8.0 * math.sqrt(4 * 3))), rel=1e-12)


def test_attacks_of_record_level_algorithms() -> None:
    """(events, failing) by view, local steps and participation."""
    run = record(records=100, local_steps=1)
    (seen, failing), (hidden, none) = run.attacks()
    assert seen == run.event()
    assert failing == 9 * run._unseen() > 0.0
    assert (hidden, none) == (Repeated(run._uses(0.5), 9), 0.0)
    several = run.with_(local_steps=2)
    (seen, failing), (hidden, none) = several.attacks()
    assert seen == Repeated(WithProbability(several._uses(1.0), 0.5), 9)
    assert failing == 9 * several._unseen()
    assert (hidden, none) == (Repeated(several._uses(0.5), 9), 0.0)
    everyone = several.with_(user_rate=1.0)
    assert everyone.attacks() == ((Repeated(WithProbability(everyone._uses(1.0), 1.0), 9), 0.0),)
    server = several.with_(view="server")
    assert server.attacks() == ((server.event(), 0.0),)
    scaffold = record(name="dp-scaffold", records=1000, local_steps=2)
    (seen, failing), (hidden, _) = scaffold.attacks()
    assert (seen.times, hidden.times) == (1, 1)
    assert failing == scaffold._unseen()
    sgd = record(name="dp-fedsgd", record_rate=1.0)
    assert sgd.attacks()[0][0] == sgd.event()


def test_one_of_all_records_in_a_cohort_of_one() -> None:
    """Nothing but the one record is sent, so that the rates multiply."""
    run = record(users=4, user_rate=0.25, record_rate=0.1)
    assert (run.cohort, run.batch) == (1, 1)
    release = run.event().event.event
    assert isinstance(release, Release)
    assert run.event().event.probability == 1.0
    assert release.forward.q == pytest.approx(0.1 / 4)
    assert release.forward.z == pytest.approx(2.0)
    for changes in ({"users": 8}, {"record_rate": 0.2}):
        other = run.with_(**changes)
        assert other.event().event.probability == pytest.approx(0.25)
        assert other.event().event.event.forward.q == pytest.approx(0.1 * changes.get("record_rate", 0.1) / 0.1)
    steps = run.with_(local_steps=2)
    assert steps.event().event.probability == 0.25
    assert steps.event().event.event.times == 2


def test_all_mechanisms_are_found_by_name() -> None:
    names = list(mechanisms())
    assert names == sorted(names)
    assert {"dp-fedavg", "dp-normfedavg", "dp-scaffnew", "dp-norm-ec", "dp-clip21", "dp-fedsgd"} <= set(names)
    assert all(mechanisms()[name].name == name for name in names)
    with pytest.raises(InputError, match="dp-fedavg"):
        get("dp-fedavgg")
