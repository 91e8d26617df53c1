"""Answers about a mechanism: unit, neighbours, the multiplied quantity, sampling, observer, noise; and
what other readings of the multiplier would give."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpfl_theory.privacy.mechanisms import Mechanism, get


def fedavg(**changes: Any) -> Mechanism:
    given = {"clients": 40, "cohort": 8, "sampling": "poisson", "noise_multiplier": 5.0, "rounds": 3, **changes}
    return get("dp-fedavg")(**{k: v for k, v in given.items() if v is not None})


FULL = {"sampling": "full", "cohort": None}


@pytest.mark.parametrize(
    ("changes", "key", "inside", "absent"),
    [
        ({}, "unit", "one client", "record"),
        ({}, "neighbours", "zero-out:", "replace:"),
        ({"relation": "replace"}, "neighbours", "replace:", "zero-out:"),
        ({"relation": "add-remove", "noise": "average"}, "neighbours", "add-remove:", "zero-out:"),
        ({}, "multiplier", "C", "2C"),
        ({"relation": "replace"}, "multiplier", "2C", "is C "),
        ({}, "sampling", "r/n = 8/40", "fixed"),
        ({"sampling": "fixed"}, "sampling", "without replacement", "independently"),
        ({"sampling": "with-replacement"}, "sampling", "with replacement", "without"),
        (FULL, "sampling", "every client takes part", "r/n"),
        ({}, "observer", "third party:", "server:"),
        ({**FULL, "view": "server"}, "observer", "server:", "third party:"),
        ({"noise": "average"}, "noise", "by a trusted server", "each client"),
        ({}, "noise", f"{5 / math.sqrt(8):.6g}", "by a trusted server"),
        (FULL, "noise", f"{5 / math.sqrt(40):.6g}", "by a trusted server"),
    ],
)
def test_an_answer_says_what_it_is_about(changes: dict[str, Any], key: str, inside: str, absent: str) -> None:
    said = fedavg(**changes).setting()[key]
    assert inside in said
    assert absent not in said


def test_multipliers_of_sum_message_and_average() -> None:
    """A multiplier z of one message is z C of noise on each of r messages, so sqrt(r) z C on the sum; a multiplier of
    the average is z C of noise there, so r z C on the sum."""
    assert fedavg().factors() == {"sum": 1.0, "message": math.sqrt(8), "average": 8.0}
    assert fedavg(noise="average").factors() == {"sum": 1.0, "average": 8.0}
    assert fedavg(**FULL).factors() == {"sum": 1.0, "message": math.sqrt(40), "average": 40.0}


def test_other_readings_are_those_of_the_multiplier_and_of_who_adds_the_noise() -> None:
    mechanism = fedavg()
    found = {next(iter(a.options.items())): a.event for a in mechanism.alternatives(())}
    assert set(found) == {("multiplier_of", "message"), ("multiplier_of", "average"), ("noise", "average")}
    assert found["multiplier_of", "message"] == fedavg(noise_multiplier=5 * math.sqrt(8)).event()
    assert found["multiplier_of", "average"] == fedavg(noise_multiplier=40.0).event()
    assert found["noise", "average"] == fedavg(noise="average").event()
    assert not any(a.bound for a in mechanism.alternatives(()))  # each is what is released, so it has a lower limit too


def test_what_was_given_has_no_other_reading() -> None:
    assert not list(fedavg().alternatives(("multiplier_of", "noise")))
    assert [a.options for a in fedavg().alternatives(("multiplier_of",))] == [{"noise": "average"}]
    assert "noise" not in {name for a in fedavg().alternatives(("noise",)) for name in a.options}
    server = fedavg(**FULL, view="server").alternatives(())
    assert "noise" not in {name for a in server for name in a.options}


def record(**changes: Any) -> Mechanism:
    given = {"users": 10, "user_rate": 0.5, "records": 100, "record_rate": 0.2, "local_steps": 1, "rounds": 3}
    return get("dp-fedavg-record")(**{**given, "noise_multiplier": 4.0, **changes})


@pytest.mark.parametrize(
    ("changes", "key", "inside", "absent"),
    [
        ({}, "unit", "one record", "client"),
        ({}, "neighbours", "replace:", "zero-out"),
        ({}, "multiplier", "of 2C/20,", "C/(sR)"),
        ({}, "multiplier", "it is 2z, here 8", "here 4"),
        ({"records": None, "record_rate": 0.2}, "multiplier", "of 2C/(sR),", "C/20"),
        ({"records": 100, "record_rate": None}, "multiplier", "of 2C/(sR),", "C/20"),
        ({}, "sampling", "5 of 10 users", "every user"),
        ({}, "sampling", "20 of its 100 records", "all of its"),
        ({"user_rate": 1.0}, "sampling", "every user", "of 10 users"),
        ({"record_rate": 1.0}, "sampling", "all of its records", "of its 100"),
        ({"users": None, "user_rate": 0.5}, "sampling", "floor(lM) of M", "every user"),
        ({"users": 10, "user_rate": None}, "sampling", "floor(lM) of M", "every user"),
        ({"records": None, "record_rate": 0.2}, "sampling", "floor(sR)", "all of its"),
        ({"records": 100, "record_rate": None}, "sampling", "floor(sR)", "all of its"),
        ({}, "observer", "the noise of the whole cohort hides", "own noise"),
        ({"local_steps": 2}, "observer", "with its own noise only", "whole cohort"),
        ({"view": "server"}, "observer", "server:", "third party"),
        ({}, "noise", "every local step", "once a round"),
    ],
)
def test_an_answer_on_records_says_what_it_is_about(
    changes: dict[str, Any], key: str, inside: str, absent: str
) -> None:
    said = record(**changes).setting()[key]
    assert inside in said
    assert absent not in said


def test_a_control_variate_repeats_a_users_noise() -> None:
    given = {"users": 10, "user_rate": 0.5, "records": 100, "record_rate": 0.2, "local_steps": 1, "rounds": 3}
    said = get("dp-scaffold")(**given, noise_multiplier=4.0).setting()
    assert "the other users' noise is not counted" in said["observer"]


@pytest.mark.parametrize(
    ("local_steps", "view", "hidden_by"), [(1, "third-party", 5), (2, "third-party", 5), (1, "server", 1)]
)
def test_noise_once_a_round_is_another_reading(local_steps: int, view: str, hidden_by: int) -> None:
    """The sum of the messages of five users has the noise of all of them; the server sees each by itself."""
    (other,) = record(local_steps=local_steps, view=view).alternatives(())
    assert other.bound
    (again,) = record(local_steps=local_steps, view=view, noise_multiplier=4.0 * math.sqrt(hidden_by)).alternatives(())
    if hidden_by > 1:
        (alone,) = record(view="server", noise_multiplier=4.0 * math.sqrt(hidden_by)).alternatives(())
        assert other.event == alone.event
        assert other.event != again.event
    else:
        assert other.event == again.event


@pytest.mark.parametrize(
    ("name", "bound", "twice"),
    [("dp-norm-ec", "1", "2"), ("dp-clip21", "tau", "2tau"), ("dp-distributed-gd", "1", "2")],
)
def test_an_answer_on_error_feedback_says_what_it_is_about(name: str, bound: str, twice: str) -> None:
    one = get(name)(noise_multiplier=3.0, rounds=2, clients=16, view="third-party")
    other = get(name)(noise_multiplier=3.0, rounds=2, clients=16, relation="replace", view="server")
    if name != "dp-distributed-gd":
        assert f"of {bound}:" in one.setting()["multiplier"]
        assert f"of {twice}," in other.setting()["multiplier"]
    assert "here 6" in other.setting()["multiplier"]
    assert one.setting()["neighbours"].startswith("zero-out: one client's message is zero instead")
    assert other.setting()["neighbours"].startswith("replace: one client's message is another one")
    assert one.setting()["observer"].startswith("third party:")
    assert other.setting()["observer"].startswith("server:")
    assert one.factors() == {"message": 1.0, "sum": 1 / 4, "average": 4.0}
    assert get(name)(noise_multiplier=3.0, rounds=2).factors() == {}


def test_an_answer_on_scaffnew_says_what_it_is_about() -> None:
    given = {"noise_multiplier": 3.0, "rounds": 20, "communication_probability": 0.25}
    one, other = get("dp-scaffnew")(**given), get("dp-scaffnew")(**given, relation="replace")
    assert "probability p = 0.25" in one.setting()["sampling"]
    assert "zero instead" in one.setting()["neighbours"]
    assert "another one of norm at most C" in other.setting()["neighbours"]
    assert one.setting()["multiplier"].startswith("of C:")
    assert other.setting()["multiplier"].startswith("of 2C,")


def test_what_is_not_known_is_not_said() -> None:
    for changes in ({"clients": None}, {"cohort": None}, {"clients": None, "cohort": None}):
        assert "=" not in fedavg(**changes).setting()["sampling"]
    assert "multiplier of one message" not in fedavg(noise_multiplier=None).setting()["noise"]
    assert "multiplier of one message" not in fedavg(cohort=None).setting()["noise"]


def test_units_of_a_multiplier() -> None:
    norm, clip = (get(name)(noise_multiplier=3.0, rounds=2, clients=16) for name in ("dp-norm-ec", "dp-clip21"))
    assert "standard deviation z, as" in norm.setting()["multiplier"]
    assert "standard deviation z tau, as" in clip.setting()["multiplier"]


def test_the_old_name_of_distributed_descent_is_for_one_release() -> None:
    from dpfl_theory.privacy.mechanisms import error_feedback

    with pytest.warns(FutureWarning, match="DPDistributedGD") as reported:
        assert error_feedback.DPSGD is error_feedback.DPDistributedGD
    assert reported[0].filename == __file__
    with pytest.raises(AttributeError):
        _ = error_feedback.DPNothing
