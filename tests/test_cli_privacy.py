"""`dpfl-theory privacy`: the output of its commands, whose numbers are the package's, and their refusals."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import comes

from dpfl_theory import privacy
from dpfl_theory.cli import _output, main
from dpfl_theory.cli._parameters import build, parameters, takes
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import noble2022
from dpfl_theory.privacy.mechanisms import mechanisms
from dpfl_theory.runtime import console
from dpfl_theory.runtime.console import option
from dpfl_theory.statements.noise_constants import PRESCRIPTIONS, constant

Output = pytest.CaptureFixture[str]

FULL = {"clients": 100, "noise_multiplier": 10.0, "rounds": 100}
TABLE_1 = {"users": 100, "records": 4000, "user_rate": 0.05, "record_rate": 0.2, "local_steps": 10}
SMALL = {"users": 10, "records": 50, "user_rate": 0.5, "record_rate": 0.2, "local_steps": 2}
NEEDED: dict[str, dict[str, Any]] = {
    "dp-fedavg": {"clients": 100},
    "dp-fedavg-two-sided": {"clients": 100},
    "dp-normfedavg": {"clients": 100},
    **{f"dp-fedavg-{name}": {"clients": 100} for name in ("mcmahan", "adaptive", "local")},
    "dp-sgd": {"sampling_rate": 0.1},
    "dp-ftrl": {},
    "dp-fedavg-record": SMALL,
    "dp-fedsgd": {"users": 10, "records": 50, "user_rate": 0.5},
    "dp-scaffold": SMALL,
    "dp-scaffnew": {"communication_probability": 1.0},
    "dp-norm-ec": {},
    "dp-clip21": {},
    "dp-distributed-gd": {},
    "poisson-gaussian": {"sampling_rate": 0.1},
}


def arguments(values: dict[str, Any]) -> list[str]:
    return [text for name, value in values.items() for text in (option(name), str(value))]


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


PROGRESS = re.compile(r"(\w+: +\d+% after \d+ s .*\n)*")


def answered(capsys: Output, *command: str) -> Any:
    """The JSON document that a command writes to stdout; stderr has at most progress, on a slow machine."""
    assert main(["privacy", *command, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert PROGRESS.fullmatch(err)
    return json.loads(out, parse_constant=refuse)


def told(capsys: Output, *command: str) -> str:
    """The text that a command writes to stdout."""
    assert main(["privacy", *command]) == 0
    out, err = capsys.readouterr()
    assert PROGRESS.fullmatch(err)
    assert max(len(line) for line in out.splitlines()) <= 110
    return out


def refused(capsys: Output, *command: str) -> str:
    """Run a command that must fail with one sentence on stderr and nothing on stdout; return the sentence."""
    assert main(["privacy", *command]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dpfl-theory: ")
    assert err.count("\n") == 1, err
    assert err.endswith("\n")
    return err


def made(algorithm: str, **values: Any) -> privacy.Mechanism:
    kind: Any = privacy.get(algorithm)
    mechanism: privacy.Mechanism = kind(**values)
    return mechanism


# account


def test_account_is_the_documents_of_the_package(capsys: Output) -> None:
    document = answered(capsys, "account", "--algorithm", "dp-fedavg", *arguments(FULL), "--delta", "1e-5")
    expected = privacy.account(made("dp-fedavg", **FULL), delta=1e-5).document()
    assert {k: document[k] for k in expected} == json.loads(json.dumps(expected))
    assert set(document) - set(expected) == {"accountant", "schema", "given", "assumed", "otherwise"}
    assert document["accountant"] == "tight"
    assert document["given"] == "delta"
    assert document["schema"] == "dpfl-theory/privacy/1"
    limits = document["epsilon"]
    assert set(limits) == {"low", "estimate", "high"}
    assert limits["low"] <= limits["estimate"] <= limits["high"]
    assert limits["high"] == pytest.approx(4.377174, rel=1e-5), "as one Gaussian release with noise multiplier 1"
    assert document["mechanism"]["algorithm"] == "dp-fedavg"
    assert document["mechanism"]["rounds"] == 100


def test_account_of_delta_at_an_epsilon(capsys: Output) -> None:
    document = answered(capsys, "account", "--algorithm", "dp-fedavg", *arguments(FULL), "--epsilon", "1")
    expected = privacy.account(made("dp-fedavg", **FULL), epsilon=1.0).document()
    assert document["delta"] == expected["delta"]
    assert document["delta"]["high"] == pytest.approx(0.126936737, rel=1e-6), "of the Gaussian mechanism"
    assert document["epsilon"] == {"low": 1, "estimate": 1, "high": 1}


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("algorithm", sorted(NEEDED))
def test_every_algorithm_can_be_accounted_for(capsys: Output, algorithm: str) -> None:
    values = {**NEEDED[algorithm], "noise_multiplier": 20.0, "rounds": 3}
    document = answered(capsys, "account", "--algorithm", algorithm, *arguments(values), "--delta", "1e-4")
    expected = privacy.account(made(algorithm, **values), delta=1e-4)
    assert document["epsilon"] == dataclasses.asdict(expected.epsilon)
    assert document["notes"] == list(expected.mechanism.notes())


def test_every_algorithm_is_tried() -> None:
    assert sorted(NEEDED) == sorted(mechanisms())


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"sampling": "fixed", "cohort": 100}, ("sampling fixed", "cohort 100")),
        ({"relation": "replace"}, ("relation replace",)),
        ({"view": "server", "rounds": 4}, ("view server", "rounds 4", "note")),
    ],
)
def test_account_as_text(capsys: Output, options: dict[str, Any], parts: tuple[str, ...]) -> None:
    values = {**FULL, **options}
    text = told(capsys, "account", "--algorithm", "dp-fedavg", *arguments(values), "--delta", "1e-5")
    for part in (*parts, "certified limits", "accountant", "tight", "dp-fedavg, protecting one client", "1e-05"):
        assert part in " ".join(text.split())
    low, high = map(float, re.findall(r"^epsilon +(\S+) to (\S+) \(certified limits\)$", text, re.M)[0])
    exact = privacy.account(made("dp-fedavg", **values), delta=1e-5).epsilon
    assert low <= exact.low <= exact.high <= high, "limits are rounded outwards"
    assert high - low < 1e-3


def test_the_papers_sigma_in_place_of_the_noise_multiplier(capsys: Output) -> None:
    run = made("dp-fedavg", **FULL)
    values = {"clients": 100, "rounds": 100, "sigma": run.sigma(2.5)["sigma"], "clip": 2.5}
    document = answered(capsys, "account", "--algorithm", "dp-fedavg", *arguments(values), "--delta", "1e-5")
    assert document["mechanism"]["noise_multiplier"] == pytest.approx(10.0, rel=1e-12)
    assert document["sigma"]["sigma"] == pytest.approx(values["sigma"])
    assert document["clip"] == 2.5
    assert document["epsilon"]["high"] == pytest.approx(4.377174, rel=1e-5)


def test_iterations_are_the_rounds_of_dp_scaffnew(capsys: Output) -> None:
    common = ("account", "--algorithm", "dp-scaffnew", "--communication-probability", "1", "--noise-multiplier", "9")
    documents = [answered(capsys, *common, name, "30", "--delta", "1e-5") for name in ("--iterations", "--rounds")]
    assert documents[0] == documents[1]
    sentence = refused(capsys, *common, "--iterations", "30", "--rounds", "30", "--delta", "1e-5")
    assert "give one of them" in sentence


def test_what_is_not_finite_is_null_with_a_warning(capsys: Output) -> None:
    limits = {"low": 621.0, "estimate": 621.0, "high": float("inf")}
    document = {
        "epsilon": limits,
        "delta": {"low": 0.1, "estimate": 0.1, "high": 0.1},
        "given": "delta",
        "warnings": [],
    }
    document["mechanism"] = {"algorithm": "a", "protects": "client", "rounds": 1}
    _output.Output("json", None).write(document)
    out = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert out["epsilon"]["high"] is None
    assert out["warnings"] == ["Not finite, and therefore null: epsilon.high."]
    _output.Output("text", None).write(document)
    text = capsys.readouterr().out
    assert text.startswith("epsilon    at least 621, and no upper limit is certified\n")
    assert "\nwarning " in text


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("noise", ["1e-3", "1e-5", "1e-30", "1e-100"])
def test_little_noise_has_a_large_epsilon_that_protects_nothing(capsys: Output, noise: str) -> None:
    values = {**FULL, "noise_multiplier": noise}
    document = answered(capsys, "account", "--algorithm", "dp-fedavg", *arguments(values), "--delta", "1e-5")
    one = float(noise) / 10  # 100 rounds are one release
    assert document["epsilon"]["low"] == pytest.approx(0.5 / one**2 + 4.27 / one, rel=1e-3)
    assert document["epsilon"]["high"] == pytest.approx(document["epsilon"]["low"], rel=1e-12)
    text = told(capsys, "account", "--algorithm", "dp-fedavg", *arguments(values), "--delta", "1e-5")
    assert re.search(r"^warning +An epsilon above 50 protects nothing in practice", text, re.M)
    few = {"clients": 100, "cohort": 10, "sampling": "poisson", "noise": "average", "rounds": 100}
    sampled = answered(
        capsys, "account", "--algorithm", "dp-fedavg", *arguments({**few, "noise_multiplier": noise}), "--delta", "1e-5"
    )
    assert 0.8 * sampled["epsilon"]["high"] < sampled["epsilon"]["low"] < document["epsilon"]["low"]


# the setting of a result

SETTING = {"unit", "neighbours", "multiplier", "sampling", "observer", "noise"}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("algorithm", sorted(NEEDED))
@pytest.mark.parametrize("command", ["account", "calibrate", "rounds"])
def test_every_answer_says_what_it_is_about(capsys: Output, command: str, algorithm: str) -> None:
    values: dict[str, Any] = {**NEEDED[algorithm], "noise_multiplier": 20.0, "rounds": 3, "epsilon": 2.0, "delta": 1e-4}
    values.pop({"account": "epsilon", "calibrate": "noise_multiplier", "rounds": "rounds"}[command])
    document = answered(capsys, command, "--algorithm", algorithm, *arguments(values))
    assert set(document["setting"]) == SETTING
    assert all(document["setting"].values())
    text = told(capsys, command, "--algorithm", algorithm, *arguments(values))
    for name in SETTING:
        assert re.search(rf"^{name} ", text, re.M), name
    chosen = {n for n, p in parameters([privacy.get(algorithm)]).items() if p.choices}
    others = made(algorithm, **{n: v for n, v in values.items() if n not in {"epsilon", "delta"}}).factors()
    expected = chosen | ({"multiplier_of"} if others and command != "calibrate" else set())
    assert set(document["assumed"]) == expected, "nothing of it was given"


def test_what_the_multiplier_multiplies() -> None:
    zero_out = made("dp-fedavg", **FULL)
    assert zero_out.setting()["multiplier"].startswith(
        "of C: the noise of the sum over a cohort has standard deviation"
    )
    replaced = made("dp-fedavg", **FULL, relation="replace")
    assert "of 2C" in replaced.setting()["multiplier"]
    assert "PLDAccountant counts in C: there it is 2z, here 20" in replaced.setting()["multiplier"]
    for mechanism in (zero_out, replaced):
        assert mechanism.sigma(3.0)["sigma_of_one_message"] * 10 == pytest.approx(
            10.0 * 3.0 * (2 if mechanism is replaced else 1)
        )


def test_the_observer_decides_whose_noise_counts(capsys: Output) -> None:
    """With the same multiplier of the sum, a message that the server sees has 1/sqrt(r) of it."""
    common = ("account", "--algorithm", "dp-fedavg", *arguments(FULL), "--delta", "1e-5", "--view")
    third, server = (answered(capsys, *common, view) for view in ("third-party", "server"))
    assert "no single message" in third["setting"]["observer"]
    assert "only that client's noise" in server["setting"]["observer"]
    one = privacy.account(made("dp-norm-ec", noise_multiplier=1.0, rounds=100), delta=1e-5).epsilon
    assert server["epsilon"]["high"] == pytest.approx(one.high, rel=1e-12)
    assert third["epsilon"]["high"] < 5 < 50 < server["epsilon"]["low"]
    assert "the multiplier of one message is 1" in server["setting"]["noise"]


@pytest.mark.slow
def test_what_was_not_given_is_assumed_and_told_otherwise(capsys: Output) -> None:
    values = {"clients": 100, "cohort": 10, "sampling": "poisson", "noise_multiplier": 3.0, "rounds": 20}
    common = ("account", "--algorithm", "dp-fedavg", "--delta", "1e-5")
    document = answered(capsys, *common, *arguments(values))
    assert document["assumed"] == {
        "noise": "per-client",
        "relation": "zero-out",
        "view": "third-party",
        "multiplier_of": "sum",
    }
    found = {next(iter(other["options"].items())): other["epsilon"] for other in document["otherwise"]}
    assert set(found) == {("multiplier_of", "message"), ("multiplier_of", "average"), ("noise", "average")}
    for (name, value), limits in found.items():
        said = answered(capsys, *common, *arguments({**values, name: value}))
        assert said["epsilon"] == pytest.approx(limits, rel=1e-9), "the option gives what was said"
        assert name not in said["assumed"]
    message = answered(capsys, *common, *arguments({**values, "noise_multiplier": 3.0 * 10**0.5}))
    assert message["epsilon"]["high"] == pytest.approx(found["multiplier_of", "message"]["high"], rel=1e-9)
    text = told(capsys, *common, *arguments(values))
    assert re.search(r"^assumed +--noise per-client, .*--multiplier-of sum \(not given\)$", text, re.M)
    assert len(re.findall(r"^otherwise +epsilon ", text, re.M)) == 3
    given = {**values, "noise": "average", "relation": "zero-out", "view": "third-party", "multiplier_of": "sum"}
    complete = answered(capsys, *common, *arguments(given))
    assert complete["assumed"] == {}
    assert complete["otherwise"] == []
    assert not re.search(r"^(assumed|otherwise)", told(capsys, *common, *arguments(given)), re.M)
    other = answered(capsys, "account", "--algorithm", "dp-fedavg", "--epsilon", "1", *arguments(values))["otherwise"]
    assert {set(entry) - {"clause", "options"} == {"delta"} for entry in other} == {True}


def test_noise_at_every_step_or_once_a_round(capsys: Output) -> None:
    values = {**SMALL, "noise_multiplier": 4.0, "rounds": 10}
    document = answered(capsys, "account", "--algorithm", "dp-fedavg-record", "--delta", "1e-5", *arguments(values))
    assert document["setting"]["noise"].startswith("at every local step")
    (once,) = document["otherwise"]
    assert once["clause"] == "if each user adds such noise once a round, to its clipped update"
    assert once["epsilon"]["low"] is None, "an upper bound"
    # Half of the users take part; one release a round has the noise of all five.
    full = {"clients": 10, "cohort": 5, "sampling": "fixed", "rounds": 10, "view": "server", "relation": "replace"}
    same = privacy.account(made("dp-fedavg", **full, noise_multiplier=4.0 * 5), delta=1e-5).epsilon
    assert once["epsilon"]["high"] == pytest.approx(same.high, rel=1e-9)
    text = told(capsys, "account", "--algorithm", "dp-fedavg-record", "--delta", "1e-5", *arguments(values))
    assert re.search(r"^otherwise +epsilon at most ", text, re.M)


def test_calibrated_noise_as_another_multiplier(capsys: Output) -> None:
    values = {"clients": 100, "cohort": 25, "sampling": "fixed", "rounds": 10, "epsilon": 2.0, "delta": 1e-5}
    document = answered(capsys, "calibrate", "--algorithm", "dp-fedavg", *arguments(values))
    z = document["noise_multiplier"]
    found = [other["noise_multiplier"] for other in document["otherwise"] if "noise_multiplier" in other]
    assert found == pytest.approx([z / 5, z / 25])
    text = told(capsys, "calibrate", "--algorithm", "dp-fedavg", *arguments(values))
    assert re.search(r"^otherwise +this noise is the multiplier \S+ of the noise of each client's message$", text, re.M)


# other names


def test_dp_sgd_is_that_of_the_libraries(capsys: Output) -> None:
    """Under its own name and under that of its mechanism."""
    options = ("--sampling-rate", "256/60000", "--noise-multiplier", "1.3", "--steps", "3516", "--delta", "1e-5")
    one, other = (answered(capsys, "account", "--algorithm", name, *options) for name in ("dp-sgd", "poisson-gaussian"))
    assert one["epsilon"] == other["epsilon"]
    assert one["epsilon"]["low"] == pytest.approx(0.864, abs=5e-3)
    assert "`sampling_rate`" in refused(capsys, "account", "--algorithm", "dp-sgd", *options[2:]).replace(
        "--sampling-rate", "`sampling_rate`"
    )


def test_the_record_level_name_of_other_commands_is_explained(capsys: Output) -> None:
    sentence = refused(capsys, "account", "--algorithm", "dp-sgd-record", "--delta", "1e-5")
    assert "it is dp-fedavg-record with --user-rate 1 and --local-steps 1" in sentence


def test_a_sampling_rate_may_be_a_fraction(capsys: Output) -> None:
    common = (
        "account",
        "--algorithm",
        "poisson-gaussian",
        "--noise-multiplier",
        "1",
        "--steps",
        "1",
        "--delta",
        "1e-5",
    )
    fraction, decimal = (answered(capsys, *common, "--sampling-rate", text) for text in ("1/8", "0.125"))
    assert fraction == decimal
    assert "--sampling-rate is '1/0': give a number" in refused(capsys, *common, "--sampling-rate", "1/0")
    assert "--steps is another name for --rounds" in refused(capsys, *common, "--sampling-rate", "1/8", "--rounds", "9")


# calibrate


def test_calibrate_is_the_packages(capsys: Output) -> None:
    common = {"clients": 100, "rounds": 100, "epsilon": 1.0, "delta": 1e-5}
    document = answered(capsys, "calibrate", "--algorithm", "dp-fedavg", *arguments(common), "--clip", "4")
    z = privacy.calibrate(made("dp-fedavg", clients=100, rounds=100), epsilon=1.0, delta=1e-5)
    assert document["noise_multiplier"] == z
    assert document["mechanism"]["noise_multiplier"] == z
    assert document["sigma"] == made("dp-fedavg", **{**FULL, "noise_multiplier": z}).sigma(4.0)
    assert 0.9999 <= document["epsilon"]["low"] <= document["epsilon"]["high"] <= 1.0
    assert "sigma" not in answered(capsys, "calibrate", "--algorithm", "dp-fedavg", *arguments(common))
    text = told(capsys, "calibrate", "--algorithm", "dp-fedavg", *arguments(common), "--clip", "4")
    shown = float(re.findall(r"^noise multiplier +(\S+)$", text, re.M)[0])
    assert z <= shown < z * 1.0001, "the noise is rounded up"
    assert "sigma of one message" in text


# rounds


def test_rounds_by_the_papers_recipe(capsys: Output) -> None:
    """A cell of Table 1: 451."""
    values = {**TABLE_1, "noise_multiplier": 20, "epsilon": 3, "delta": 2.5e-6}
    common = ("rounds", "--algorithm", "dp-scaffold", *arguments(values), "--accountant")
    document = answered(capsys, *common, "noble2022")
    assert document["rounds"] == 451
    assert document["accountant"] == "noble2022"
    bound = noble2022.epsilon_recipe(**TABLE_1, noise_multiplier=20, rounds=451, delta=2.5e-6)
    assert document["epsilon"] == {"low": None, "estimate": bound.epsilon, "high": None}
    assert "A printed formula, not a certified limit." in document["notes"]
    assert document["warnings"] == []
    theorem = answered(capsys, *common, "noble2022-theorem")
    assert theorem["rounds"] == noble2022.rounds_theorem(**TABLE_1, noise_multiplier=20, epsilon=3, delta=2.5e-6)
    text = told(capsys, *common, "noble2022")
    assert re.search(r"^rounds +451$", text, re.M)
    assert "printed formula" in text
    assert "certified limits" not in text


def test_rounds_by_tight_accounting(capsys: Output) -> None:
    values = {"noise_multiplier": 40.0, "epsilon": 1.0, "delta": 1e-5}
    document = answered(capsys, "rounds", "--algorithm", "dp-norm-ec", *arguments(values))
    most = privacy.largest_rounds(made("dp-norm-ec", noise_multiplier=40.0), epsilon=1.0, delta=1e-5)
    assert document["rounds"] == most == document["mechanism"]["rounds"]
    assert document["accountant"] == "tight"
    assert document["epsilon"]["high"] <= 1.0
    more = privacy.account(made("dp-norm-ec", noise_multiplier=40.0, rounds=most + 1), delta=1e-5)
    assert more.epsilon.low > 1.0


@pytest.mark.parametrize(
    ("name", "algorithm", "own"),
    [("tight", "dp-norm-ec", {}), ("noble2022", "dp-scaffold", SMALL), ("noble2022-theorem", "dp-scaffold", SMALL)],
)
def test_no_round_may_be_affordable(capsys: Output, name: str, algorithm: str, own: dict[str, Any]) -> None:
    values = {**own, "noise_multiplier": 0.5, "epsilon": 0.1, "delta": 1e-6}
    document = answered(capsys, "rounds", "--algorithm", algorithm, *arguments(values), "--accountant", name)
    assert document["rounds"] == 0
    assert document["epsilon"]["estimate"] == 0.0
    assert any("One round is too many" in warning for warning in document["warnings"])
    assert "rounds" not in document["mechanism"]
    assert document.get("moments") is None


# the accountants of noble2022


@pytest.mark.parametrize("view", ["third-party", "server"])
def test_account_by_the_printed_theorem(capsys: Output, view: Any) -> None:
    values = {**TABLE_1, "noise_multiplier": 20, "rounds": 451, "delta": 2.5e-6, "view": view}
    common = ("account", "--algorithm", "dp-fedavg-record", *arguments(values), "--accountant")
    document = answered(capsys, *common, "noble2022-theorem")
    bound = noble2022.epsilon_theorem(**TABLE_1, noise_multiplier=20, rounds=451, delta=2.5e-6, view=view)
    assert document["epsilon"] == {"low": None, "estimate": bound.epsilon, "high": None}
    assert document["order"] == bound.order
    assert "hides nothing" not in document["setting"]["sampling"], "the formula counts on it"
    assert ("both" in document["setting"]["sampling"]) == (view == "third-party")
    assert ("whole cohort" in document["setting"]["observer"]) == (view == "third-party")
    assert document["otherwise"] == []
    if view == "server":
        assert "noble2022-theorem" in refused(capsys, *common, "noble2022")


def test_calibrate_by_the_printed_recipe(capsys: Output) -> None:
    values = {**TABLE_1, "rounds": 451, "epsilon": 3.0, "delta": 2.5e-6}
    command = ("calibrate", "--algorithm", "dp-scaffold", *arguments(values), "--accountant", "noble2022")
    document = answered(capsys, *command)
    z = document["noise_multiplier"]
    attained = noble2022.epsilon_recipe(**TABLE_1, noise_multiplier=z, rounds=451, delta=2.5e-6).epsilon
    assert document["epsilon"]["estimate"] == attained <= 3.0
    less = noble2022.epsilon_recipe(**TABLE_1, noise_multiplier=z * (1 - 1e-5), rounds=451, delta=2.5e-6)
    assert less.epsilon > 3.0
    assert 19 < z < 20, "20 is enough for 451 rounds"


def test_warnings_of_a_formula_are_told(capsys: Output) -> None:
    values = {**TABLE_1, "users": 105, "noise_multiplier": 20, "rounds": 10, "delta": 2.5e-6}
    command = ("account", "--algorithm", "dp-scaffold", *arguments(values), "--accountant", "noble2022")
    assert "not a whole number" in answered(capsys, *command)["warnings"][0]
    assert re.search(r"^warning +lM = 5.25 is not a whole number", told(capsys, *command), re.M)


def test_formulas_know_record_level_algorithms_only(capsys: Output) -> None:
    common = ("account", "--algorithm", "dp-fedavg", *arguments(FULL), "--delta", "1e-5", "--accountant")
    assert "does not cover dp-fedavg" in refused(capsys, *common, "noble2022")
    assert "did you mean 'noble2022'" in refused(capsys, *common, "noble202")
    values = {**TABLE_1, "noise_multiplier": 20, "rounds": 451, "epsilon": 3}
    command = ("account", "--algorithm", "dp-scaffold", *arguments(values), "--accountant", "noble2022")
    assert "give --delta" in refused(capsys, *command)


# constant

CONSTANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "das2022.theorem3": ("q", {"clients": 100, "cohort": 100, "rounds": 500, "sampling": "full"}),
    "zhang2021.theorem3.2": ("v", {"clients": 40, "rounds": 50}),
    "hou2023.lemma1": ("v", {"rounds": 20, "communication_probability": 1.0}),
    "shulgin2025.noise": ("c", {"rounds": 300}),
}


@pytest.mark.parametrize("statement", CONSTANTS)
def test_constants_are_the_packages(capsys: Output, statement: str) -> None:
    symbol, values = CONSTANTS[statement]
    budget = ("--epsilon", "5", "--delta", "1e-6")
    document = answered(capsys, "constant", statement, *arguments(values), *budget)
    found = constant(statement, epsilon=5, delta=1e-6, **values)
    assert document[symbol] == document["high"] == found.value
    assert document["low"] == found.low
    assert document["low"] <= document["high"]
    assert document["statement"] == statement
    text = told(capsys, "constant", statement, *arguments(values), *budget)
    shown, below = re.findall(rf"^{symbol} +(\S+) \(certified; nothing below (\S+) suffices\)$", text, re.M)[0]
    assert float(below) <= found.low <= found.value <= float(shown)
    assert "\\" not in text
    assert re.search(r"^prescription +sigma(\^2)? [>=]", text, re.M)


def test_every_prescription_is_tried() -> None:
    assert set(CONSTANTS) == set(PRESCRIPTIONS)


def test_the_q_of_appendix_f(capsys: Output) -> None:
    """1.738 for zero-out by hand (statement das2022.theorem3 records it), and four times that for replace."""
    common = ("--clients", "100", "--rounds", "500", "--epsilon", "5", "--delta", "1e-6", "--relation")
    q = {r: answered(capsys, "constant", "das2022.theorem3", *common, r)["q"] for r in ("zero-out", "replace")}
    assert q["zero-out"] == pytest.approx(1.738, abs=5e-4)
    assert q["replace"] == pytest.approx(4 * q["zero-out"], rel=1e-6)


def test_the_schemes_of_the_contract(capsys: Output) -> None:
    values = {"clients": 50, "cohort": 10, "rounds": 20, "epsilon": 5, "delta": 1e-4}
    found = {}
    for sampling in ("poisson", "fixed"):
        more = {"sampling": sampling, "noise": "average", "relation": "zero-out"}
        found[sampling] = answered(capsys, "constant", "das2022.theorem3", *arguments({**values, **more}))
    assert 0 < found["poisson"]["q"] < found["fixed"]["low"], "Poisson sampling hides more"


def test_iterations_of_the_lemma(capsys: Output) -> None:
    common = ("constant", "hou2023.lemma1", "--communication-probability", "1", "--epsilon", "1", "--delta", "1e-5")
    assert answered(capsys, *common, "--iterations", "7") == answered(capsys, *common, "--rounds", "7")


# list and help


def test_list_tells_every_algorithm(capsys: Output) -> None:
    assert main(["privacy", "list", "--format", "json"]) == 0
    listed = {entry["algorithm"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(mechanisms())
    wanted = {"title", "protects", "noise_added_by", "noise", "relations", "sampling", "views", "parameters", "source"}
    wanted |= {"multiplier"}
    for name, entry in listed.items():
        assert set(entry) == {"algorithm", *wanted}
        assert all(entry[field] for field in wanted), name
    assert listed["dp-scaffold"]["protects"] == "record"
    assert listed["dp-fedavg"]["relations"] == ["zero-out", "replace", "add-remove"]
    assert listed["poisson-gaussian"]["sampling"] == ["poisson"]
    assert listed["poisson-gaussian"]["noise"] == ["sum"]
    assert listed["poisson-gaussian"]["views"] == ["third-party"]
    assert main(["privacy", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["algorithm", "protects", "noise", "relation", "sampling", "view", "source"]
    assert [line.split()[0] for line in lines[1:]] == list(listed)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("command", ["account", "calibrate", "rounds", "constant"])
def test_help_has_an_example_that_runs(capsys: Output, command: str) -> None:
    assert main(["privacy", command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "\b" not in text
    assert "\\b" not in text
    example = re.search(r"\n    dpfl-theory (privacy .*?)\n\n", text, re.DOTALL)
    assert example is not None
    assert main(example[1].replace("\\\n", " ").split()) == 0
    assert re.search(r"^epsilon ", capsys.readouterr().out, re.M)


def test_every_parameter_has_an_option(capsys: Output) -> None:
    assert main(["privacy", "account", "--help"]) == 0
    text = capsys.readouterr().out
    for kind in mechanisms().values():
        for field in dataclasses.fields(kind):
            assert re.search(rf"^  {option(field.name)} ", text, re.M), field.name
    assert re.search(r"^  --sampling full\|poisson\|fixed\|with-replacement", text, re.M)
    assert main(["privacy", "calibrate", "--help"]) == 0
    assert "--noise-multiplier" not in capsys.readouterr().out


def test_no_command_shows_what_there_is(capsys: Output) -> None:
    assert main(["privacy"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for command in ("account", "calibrate", "rounds", "constant", "list"):
        assert command in err


def test_the_options_are_made_on_demand() -> None:
    code = (
        "import sys; from dpfl_theory.cli import main; main(['--help']);"
        "print([m for m in ('numpy', 'scipy', 'dp_accounting') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"
    assert "privacy" in done.stdout


# refusals

RUN = ("account", "--algorithm", "dp-fedavg", *arguments(FULL))
BUDGET = ("--epsilon", "1", "--delta", "1e-5")
RECORDS = ("account", "--algorithm", "dp-scaffold", "--noise-multiplier", "1", "--rounds", "3", "--delta", "1e-5")


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ((*RUN, "--delta", "x"), "--delta is 'x': give a number"),
        ((*RUN, "--delta", "nan"), "--delta is 'nan': give a number"),
        ((*RUN, "--epsilon", "inf"), "--epsilon is 'inf': give a number"),
        ((*RUN, "--delta", "0"), "it must lie in (0, 1)"),
        ((*RUN, "--delta", "1"), "it must lie in (0, 1)"),
        ((*RUN, "--epsilon", "-1"), "--epsilon is -1"),
        (RUN, "either --delta or --epsilon"),
        ((*RUN, *BUDGET), "either --delta or --epsilon"),
        ((*RUN, "--delta", "1e-5", "--users", "3"), "dp-fedavg takes no --users: it takes --clients, --cohort"),
        ((*RUN, "--delta", "1e-5", "--iterations", "3"), "dp-fedavg takes no --iterations"),
        ((*RUN, "--delta", "1e-5", "--cohort", "200", "--sampling", "fixed"), "cannot exceed --clients 100"),
        ((*RUN, "--delta", "1e-5", "--cohort", "20"), "--sampling is full"),
        ((*RUN, "--delta", "1e-5", "--view", "server", "--noise", "average"), "nothing is private"),
        ((*RUN, "--delta", "1e-5", "--view", "nobody"), "choose one of third-party, server"),
        ((*RUN, "--delta", "1e-5", "--relation", "add-remove"), "use --relation zero-out"),
        ((*RUN, "--delta", "1e-5", "--sigma", "1", "--clip", "1"), "in place of --noise-multiplier"),
        ((*RUN, "--delta", "1e-5", "--multiplier-of", "step"), "choose one of sum, message, average"),
        ((*RUN, "--delta", "1e-5", "--multiplier-of", "client"), "unknown multiplier 'client'"),
        ((*RUN, "--delta", "1e-5", "--clip", "-1"), "--clip is -1: give a positive number"),
        ((*RUN, "--delta", "1e-5", "--format", "yaml"), "unknown format 'yaml'"),
        ((*RUN, "--delta", "1e-5", "--output", "/dev/null/file.json"), "'/dev/null' is a file, not a folder"),
        ((*RUN, "--delta", "1e-5", "--no-such-option"), "--no-such-option"),
        (
            ("account", "--algorithm", "dp-fedav", "--delta", "1e-5"),
            "did you mean 'dp-fedavg'?",
        ),
        (("account", *arguments(FULL), "--delta", "1e-5"), "--algorithm"),
        (("account", "--algorithm", "dp-norm-ec", "--rounds", "9", "--delta", "1e-5"), "needs --noise-multiplier"),
        (("account", "--algorithm", "dp-norm-ec", "--noise-multiplier", "9", "--delta", "1e-5"), "needs --rounds"),
        ((*RECORDS, "--users", "10", "--records", "9", "--user-rate", "0.5"), "--record-rate"),
        ((*RECORDS, *arguments({**SMALL, "user_rate": 0.05})), "less than one user"),
        ((*RECORDS, *arguments({**SMALL, "record_rate": 0.001})), "less than one record"),
        ((*RECORDS, *arguments({**SMALL, "local_steps": 1.5})), "--local-steps is 1.5: give a whole number"),
        ((*RECORDS, *arguments({**SMALL, "users": "9" * 400})), "give a number"),
        (("calibrate", "--algorithm", "dp-fedavg", "--clients", "9", *BUDGET), "needs --rounds"),
        (("calibrate", "--algorithm", "dp-fedavg", *arguments(FULL), *BUDGET), "--noise-multiplier"),
        (("calibrate", "--algorithm", "dp-norm-ec", "--rounds", "9", "--epsilon", "1"), "--delta"),
        (("calibrate", "--algorithm", "dp-norm-ec", "--rounds", "9", "--epsilon", "0", "--delta", "1e-5"), "--epsilon"),
        (("rounds", "--algorithm", "dp-norm-ec", "--noise-multiplier", "9", "--rounds", "9", *BUDGET), "--rounds"),
        (("rounds", "--algorithm", "dp-norm-ec", *BUDGET), "needs --noise-multiplier"),
        (("constant", "das2022.theorm3", *BUDGET), "did you mean 'das2022.theorem3'?"),
        (("constant", "das2022.theorem3", "--rounds", "9", *BUDGET), "needs --clients"),
        (("constant", "shulgin2025.noise", "--cohort", "3", "--rounds", "9", *BUDGET), "takes no --cohort"),
        (("constant", *BUDGET), "ID"),
        (("list", "--format", "xml"), "unknown format 'xml'"),
        (("acount",), "did you mean 'account'?"),
    ],
)
def test_bad_input_gets_one_sentence(capsys: Output, command: tuple[str, ...], part: str) -> None:
    assert part in refused(capsys, *command)


@pytest.mark.parametrize("algorithm", sorted(NEEDED))
def test_no_algorithm_takes_an_option_of_another(algorithm: str) -> None:
    kind = privacy.get(algorithm)
    foreign = [name for name in parameters(mechanisms().values()) if name not in takes(kind)]
    assert foreign
    for name in foreign:
        with pytest.raises(InputError, match=f"{algorithm} takes no {option(name)}: it takes .*--rounds"):
            build(kind, {name: "1"})


# files, progress, digits


def test_the_file_holds_what_stdout_would(capsys: Output, tmp_path: Path) -> None:
    target = tmp_path / "account.json"
    command = [*RUN, "--delta", "1e-5", "--format", "json"]
    assert main(["privacy", *command]) == 0
    out = capsys.readouterr().out
    assert main(["privacy", *command, "--output", str(target)]) == 0
    assert target.read_text() == out
    after = capsys.readouterr()
    assert after.out == ""
    assert after.err == f"epsilon 4.3771 to 4.3772 (certified limits): {target}\n"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("more", [("--delta", "0"), ("--delta", "1e-5", "--users", "3")])
def test_a_failure_overwrites_nothing(capsys: Output, tmp_path: Path, more: tuple[str, ...]) -> None:
    target = tmp_path / "old.json"
    target.write_text("old")
    refused(capsys, *RUN, *more, "--output", str(target))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_unusable_file_is_told_before_the_work(
    capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be computed")

    monkeypatch.setattr(privacy, "account", unwanted)
    assert "is a folder" in refused(capsys, *RUN, "--delta", "1e-5", "--output", str(tmp_path))


def test_a_long_computation_says_that_it_goes_on(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_output, "QUIET_SECONDS", 0.01)
    monkeypatch.setattr(console, "QUIET_SECONDS", 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with _output.busy("account"):
        assert comes(stream.getvalue)
    assert re.fullmatch(r"account: +0% after \d+ s  composing privacy losses\n", stream.getvalue())
    with pytest.raises(ZeroDivisionError), _output.busy("account"):
        raise ZeroDivisionError


@given(st.floats(1e-300, 1e300))
def test_limits_are_rounded_outwards(value: float) -> None:
    low, near, high = (float(_output.rounded(value, way)) for way in ("down", "nearest", "up"))
    assert low <= value <= high
    assert low <= near <= high
    assert high - low <= 1.001e-4 * value


def test_options_are_keyword_only_and_complete() -> None:
    from dpfl_theory.cli import _privacy

    callbacks: dict[str, Callable[..., Any]] = {n: c.callback for n, c in _privacy.commands().items()}
    for name in ("account", "calibrate", "rounds", "constant"):
        kinds = {p.kind for p in inspect.signature(callbacks[name]).parameters.values()}
        assert kinds == {inspect.Parameter.KEYWORD_ONLY}
