"""Noise that is certified for the requested budget, next to the paper's own: by another accountant, and with faults."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.pld import PLDAccountant
from recommend.cases import INPUTS

from dpfl_theory.errors import InputError
from dpfl_theory.problems import make
from dpfl_theory.recommend import noise, recommend
from dpfl_theory.recommend.compare import compare
from dpfl_theory.recommend.papers.das2022 import Das2022
from dpfl_theory.recommend.search import Plan
from dpfl_theory.recommend.tuned import Budget, tuned

EPSILON, DELTA = 3.0, 1e-5
PROBLEM = make("logistic-synthetic", clients=8, dimension=3, records=40, seed=2)
TINY = Plan(points=16, replicates=2, generations=2, finalists=3, second=6, last=16)
CLOSE = 2e-3
"""dp-accounting rounds losses up to its grid: its answer is above the truth by less than this share."""


def told_by_another(z: float, rounds: int, rate: float = 1.0) -> float:
    """dp-accounting's epsilon of Gaussian noise of this standard deviation over the change of a sum."""
    event: Any = GaussianDpEvent(z)
    if rate < 1.0:
        event = PoissonSampledDpEvent(rate, event)
    accountant = PLDAccountant(NeighboringRelation.REPLACE_SPECIAL)
    accountant.compose(SelfComposedDpEvent(event, rounds))
    return float(accountant.get_epsilon(DELTA))


def from_sizes(told: dict[str, Any], relation: str, view: str, n: int, r: float) -> float:
    """Epsilon of das2022's algorithm, computed only from its noise and sizes. A message has length C at most.

    A third party sees sums of r messages, whose noise is r sigma; a server sees each, with noise sqrt(r) sigma, in the
    rounds that its client is in: for r < n at most as much as if it were in all of them.
    """
    change = told["C"] * (2.0 if relation == "replace" else 1.0)
    spread = r * told["sigma"] if view == "third-party" else math.sqrt(r) * told["sigma"]
    return told_by_another(spread / change, int(told["rounds"]), r / n if view == "third-party" else 1.0)


CASES = [
    ({}, 8.0),
    ({"relation": "replace"}, 8.0),
    ({"relation": "add-remove"}, 8.0),
    ({"view": "server"}, 8.0),
    ({"view": "server", "relation": "replace"}, 8.0),
    ({"cohort": 4.0, "sampling": "poisson"}, 4.0),
    ({"cohort": 4.0, "relation": "add-remove"}, 4.0),
]
"""The request, and the clients in a round."""


def a_run(asked: dict[str, Any]) -> dict[str, Any]:
    one = tuned()["dp-fedavg"](PROBLEM, Budget(EPSILON, DELTA, rounds=32, **asked))
    return one.certified(one.values([0.6] * len(one.axes)))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("asked", "size"), CASES)
def test_the_comparisons_noise_is_for_what_was_asked(asked: dict[str, Any], size: float) -> None:
    relation, view = asked.get("relation", "zero-out"), asked.get("view", "third-party")
    run = a_run(asked)
    assert from_sizes(run, relation, view, 8, size) == pytest.approx(EPSILON, rel=CLOSE)
    weak = {**run, "sigma": 0.9 * run["sigma"]}
    assert from_sizes(weak, relation, view, 8, size) > 1.05 * EPSILON


@pytest.mark.slow
def test_another_relation_or_view_is_noticed() -> None:
    """A planted fault: noise for one thing where another was asked for."""
    zero_out, seen = a_run({}), a_run({"view": "third-party"})
    assert from_sizes(zero_out, "replace", "third-party", 8, 8) > 1.5 * EPSILON
    assert from_sizes(seen, "zero-out", "server", 8, 8) > 1.5 * EPSILON


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("sampling", ["poisson", "fixed", "with-replacement"])
@pytest.mark.parametrize("name", ["dp-fedavg", "dp-fedavg-two-sided"])
def test_what_runs_is_what_was_accounted_for(name: str, sampling: str) -> None:
    one: Any = tuned()[name](PROBLEM, Budget(EPSILON, DELTA, rounds=8, cohort=4.0, sampling=sampling))
    values = one.values([0.6] * len(one.axes))
    replicates = {k: np.full(2, v) if k in ("sigma", "C", "c") else v for k, v in one.certified(values).items()}
    run, accounted = one.algorithm(replicates), one.mechanism(values).describe()
    assert (run.cohort.scheme, run.cohort.size) == (accounted["sampling"], accounted["cohort"]) == (sampling, 4.0)
    assert accounted["noise"] == ("average" if "noise" in run.describe().get("replaced", ()) else "per-client")


REFUSED = [
    (
        {"relation": "add-remove"},
        "dp-clip21",
        "dp-clip21 for that, it has zero-out and replace",
    ),
    ({"relation": "zero-out"}, "dp-scaffold", "no accountant certifies dp-scaffold for that, it has replace"),
    ({"relation": "add-remove", "view": "server"}, "dp-fedavg", "dp-fedavg is not certified: `relation=add-remove`"),
    ({"cohort": 4.0, "sampling": "poisson"}, "dp-norm-ec", "dp-norm-ec for that, all clients take part in a round"),
    (
        {"cohort": 4.0, "sampling": "poisson"},
        "dp-scaffold",
        "dp-scaffold for that, it has fixed",
    ),
    ({"cohort": 4.0, "sampling": "with-replacement", "view": "server"}, "dp-fedavg", "dp-fedavg is not certified"),
    ({"sampling": "fixed"}, "dp-fedavg", "also give a `cohort` below 8"),
]


@pytest.mark.parametrize(("asked", "name", "why"), REFUSED)
def test_what_nothing_certifies_is_refused(asked: dict[str, Any], name: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        compare(PROBLEM, Budget(EPSILON, DELTA, **asked), algorithms=(name,))
    assert why in str(caught.value)


def test_a_comparison_leaves_out_what_cannot_be_certified() -> None:
    found = compare(PROBLEM, Budget(EPSILON, DELTA, rounds=8, relation="add-remove"), plan=TINY)
    run = {"dp-fedavg", "dp-normfedavg", "dp-fedavg-mcmahan", "dp-fedavg-adaptive", "dp-sgd"}
    assert {row["name"] for row in found["algorithms"]} == run
    assert {row["relation"] for row in found["algorithms"]} == {"add-remove"}
    assert {left["name"] for left in found["left_out"]} == set(tuned()) - run
    assert all(left["name"] in left["why"] for left in found["left_out"])


# --- the papers' rules

FULL: dict[str, dict[str, Any]] = {
    "dp-scaffnew": INPUTS["dp-scaffnew"],
    "dp-fedavg": {**INPUTS["dp-fedavg"], "cohort": 1000.0, "dim": 5, "distance": 3.0, "alpha": 1.0, "constant": 4.0},
    "dp-norm-ec": INPUTS["dp-norm-ec"],
    "dp-fedavg-record": {**INPUTS["dp-fedavg-record"], "user_rate": 1.0, "record_rate": 1.0, "local_steps": 1},
    "dp-scaffold": {**INPUTS["dp-scaffold"], "user_rate": 1.0, "record_rate": 1.0, "local_steps": 2, "rounds": 400},
}


def multiplier(algorithm: str, found: dict[str, Any], inputs: dict[str, Any], sigma: dict[str, float]) -> Any:
    """Noise over change, and the number of releases, only from the hyper-parameters."""
    if algorithm == "dp-fedavg":
        return sigma["sigma"] * inputs["clients"] / found["C"], found["rounds"]
    if algorithm == "dp-norm-ec":
        return sigma["sigma"], found["rounds"]
    if algorithm == "dp-fedavg-record":  # one local step is hidden by the noise of all users
        return sigma["sigma_g"] * math.sqrt(inputs["users"]), found["rounds"]
    return sigma["sigma_g"], found["rounds"] * found["local_steps"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("calibration", ["accountant", "paper"])
@pytest.mark.parametrize("algorithm", sorted(set(FULL) - {"dp-scaffnew"}))
def test_another_accountant_finds_both_noises_epsilons(algorithm: str, calibration: str) -> None:
    inputs = {**FULL[algorithm], "delta": DELTA, "calibration": calibration}
    found = recommend(algorithm, "printed", **inputs)
    said = found["noise"]
    assert said["accountant"]["epsilon"]["high"] <= inputs["epsilon"]
    for sigma, limits in ((said["accountant"], said["accountant"]["epsilon"]), (said["paper"], said["accounted"])):
        z, releases = multiplier(algorithm, found, inputs, sigma)
        other = told_by_another(z, releases)
        assert limits["low"] * (1 - CLOSE) <= other <= limits["high"] * (1 + CLOSE)
        assert told_by_another(0.9 * z, releases) > limits["high"] * (1 + 5 * CLOSE)
    z, releases = multiplier(algorithm, found, inputs, said["accountant"])
    assert told_by_another(z, releases) == pytest.approx(inputs["epsilon"], rel=CLOSE)
    recommended = said["accountant"] if calibration == "accountant" else said["paper"]
    assert {k: v for k, v in said.items() if k.startswith("sigma")} == {
        k: v for k, v in recommended.items() if k.startswith("sigma")
    }


def test_hou2023s_messages_are_counted() -> None:
    """Binomial(T, p) messages: delta is the mean over their number of a Gaussian's, in closed form."""
    from scipy.stats import binom, norm

    inputs = {**FULL["dp-scaffnew"], "calibration": "accountant"}
    found = recommend("dp-scaffnew", "printed", **inputs)
    T, p, z = found["iterations"], found["p"], found["noise"]["sigma"] / inputs["clip"]

    def delta(z: float) -> float:
        m = np.arange(1, T + 1)
        mu = np.sqrt(m) / z
        each = norm.cdf(mu / 2 - 8.0 / mu) - math.exp(8.0) * norm.cdf(-mu / 2 - 8.0 / mu)
        return float(binom.pmf(m, T, p) @ each)

    assert 0.97 * inputs["delta"] <= delta(z) <= inputs["delta"]
    assert delta(0.9 * z) > 2 * inputs["delta"]
    assert found["noise"]["constant"] == pytest.approx(
        z**2 * inputs["epsilon"] ** 2 / (p * T * math.log(1e5)), rel=1e-9
    )


@pytest.mark.parametrize("algorithm", sorted(FULL))
def test_the_bound_is_that_of_the_noise_that_is_recommended(algorithm: str) -> None:
    """The paper's calibration with the accountant's constant is the accountant's recommendation."""
    inputs = {**FULL[algorithm], "calibration": "accountant"}
    inputs.pop("constant", None)
    found = recommend(algorithm, "printed", **inputs)
    again = recommend(
        algorithm, "printed", **{**inputs, "calibration": "paper", "constant": found["noise"]["constant"]}
    )
    assert again["bound"] == found["bound"]
    assert again["noise"]["sigma" if "sigma" in again["noise"] else "sigma_g"] == pytest.approx(
        found["noise"]["sigma" if "sigma" in found["noise"] else "sigma_g"], rel=1e-12
    )
    assert found["noise"]["bound"]
    assert again["noise"]["accounted"]["high"] <= inputs["epsilon"]


def test_a_paper_constant_is_only_needed_for_the_papers_noise() -> None:
    for algorithm in ("dp-scaffnew", "dp-fedavg"):
        inputs = {k: v for k, v in FULL[algorithm].items() if k not in ("constant", "calibration")}
        found = recommend(algorithm, "printed", **inputs)
        assert found["noise"]["calibration"] == "accountant"
        assert found["noise"]["paper"] is found["noise"]["accounted"] is None
        with pytest.raises(InputError, match="`constant`"):
            recommend(algorithm, "printed", **inputs, calibration="paper")


def test_too_little_noise_is_warned_of_first() -> None:
    weak = recommend("dp-scaffnew", "printed", **{**FULL["dp-scaffnew"], "constant": 1.0})
    assert weak["warnings"][0] == weak["noise"]["warning"]
    assert "does not give epsilon = 8 (certainly more than that)" in weak["warnings"][0]
    enough = recommend("dp-scaffnew", "printed", **FULL["dp-scaffnew"])
    assert enough["noise"]["warning"] is None
    assert enough["noise"]["accounted"]["high"] == pytest.approx(5.897, abs=1e-3)


def test_the_relation_and_the_view_change_the_noise() -> None:
    inputs = {**FULL["dp-fedavg"], "calibration": "accountant"}
    plain = recommend("dp-fedavg", "printed", **inputs)
    for changes, factor in (({"relation": "replace"}, 2.0), ({"view": "server"}, math.sqrt(1000))):
        other = recommend("dp-fedavg", "printed", **inputs, **changes)
        assert other["rho"] / plain["rho"] == pytest.approx(factor, rel=1e-3)
        assert other["noise"]["mechanism"].items() >= changes.items()
    setting = recommend("dp-fedavg", "printed", **inputs, relation="replace")["noise"]["setting"]
    assert "of 2C" in setting["multiplier"]
    assert setting["neighbours"].startswith("replace")
    assert plain["noise"]["setting"]["multiplier"].startswith("of C")


def test_zhang2021s_bound_is_for_its_own_noise_alone() -> None:
    inputs = {**INPUTS["dp-fedavg-two-sided"], "rounds": 2000, "cohort": 1000.0}
    found = recommend("dp-fedavg-two-sided", "printed", **inputs)
    assert found["noise"]["accounted"]["high"] < inputs["epsilon"]
    assert found["noise"]["accountant"]["sigma"] < found["noise"]["paper"]["sigma"] == found["noise"]["sigma"]
    assert "only that of this noise" in found["noise"]["bound"]
    with pytest.raises(
        InputError,
        match=r"computes the bound from the paper's own noise formula; use `calibration=paper`",
    ):
        recommend("dp-fedavg-two-sided", "printed", **inputs, calibration="accountant")


FAULTS = {
    "a tenth too little": lambda real: lambda *a: real(*a) * 0.9,
    "for half of the rounds": lambda real: lambda run, e, d: real(run.with_(rounds=run.rounds // 2), e, d),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_calibration_shows_in_the_certificate(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {**FULL["dp-fedavg"], "relation": "replace"}
    right = recommend("dp-fedavg", "printed", **inputs)["noise"]["accountant"]["epsilon"]["high"]
    assert right <= inputs["epsilon"]
    monkeypatch.setattr(noise, "_least", FAULTS[fault](noise._least))
    wrong = recommend("dp-fedavg", "printed", **inputs)["noise"]["accountant"]["epsilon"]["high"]
    assert wrong > 1.05 * inputs["epsilon"]


def test_a_swapped_relation_is_noticed_from_the_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {**FULL["dp-fedavg"], "delta": DELTA, "relation": "replace", "calibration": "accountant"}

    def epsilon() -> float:
        found = recommend("dp-fedavg", "printed", **inputs)
        return told_by_another(found["noise"]["sigma"] * 1000 / (2 * found["C"]), found["rounds"])

    assert epsilon() == pytest.approx(inputs["epsilon"], rel=CLOSE)
    real = Das2022.released
    monkeypatch.setattr(Das2022, "released", lambda s, f, printed=False: real(_zero_out(s), f, printed))
    assert epsilon() > 1.5 * inputs["epsilon"]


def _zero_out(setting: Any) -> Any:
    from dataclasses import replace

    return replace(setting, relation="zero-out")
