"""Runs of rules with certified noise: the papers' noise is the certified one, and the run is the rule's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from short_forms import scaffold, two_sided

from dpfl_theory.core.inverse import prescribed
from dpfl_theory.privacy import account, calibrate
from dpfl_theory.privacy import get as mechanism
from dpfl_theory.problems import make
from dpfl_theory.recommend import rule_runs as module
from dpfl_theory.recommend.rule_answers import rules
from dpfl_theory.recommend.rule_runs import RULED, asks, reached, ruled, starts
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.simulation import Cohort, RecordGradient, simulate
from dpfl_theory.simulation.base import Algorithm
from dpfl_theory.statements import get

LOGISTIC = make("logistic-synthetic", clients=40, dimension=3, records=40, seed=2)
RIDGE = make("logistic-synthetic", clients=40, dimension=3, records=40, seed=2, ridge=0.1)


def one(name: str, epsilon: float = 4.0, rounds: int = 64, cohort: float | None = None) -> Tuned:
    problem = RIDGE if name == "dp-scaffnew" else LOGISTIC
    return tuned()[name](problem, Budget(epsilon, 1e-5, rounds=rounds, cohort=cohort))


pairs = pytest.mark.parametrize(("name", "rule"), [(name, rule) for name in RULED for rule in rules()])


@pytest.mark.exhaustive
@pairs
def test_the_run_is_the_rules_with_noise_that_is_certified(name: str, rule: str) -> None:
    run = one(name, rounds=600)
    found, chosen = ruled(run, rule)
    reported = reached(run, rule, replicates=4, seed=3)
    assert reported["why"] is None
    for key, value in chosen.items():
        assert reported["hyperparameters"][key] == value
        if key in found:
            assert found[key] == value
    values = run.placed(chosen)
    multiplier = run.multiplier(values)
    assert account(run.mechanism(values).with_(noise_multiplier=multiplier), delta=1e-5).epsilon.high <= 4.0
    hyper = run.hyperparameters(values, multiplier)
    assert reported["hyperparameters"][run.noise] == pytest.approx(hyper[run.noise])
    with np.errstate(all="ignore"):
        direct = simulate(
            run.algorithm(reported["hyperparameters"]), run.problem, run.iterations(values), 4, 3, ("suboptimality",)
        )
    assert reported["suboptimality"]["mean"] == pytest.approx(float(direct["suboptimality"].last.mean()), rel=1e-9)
    assert reported["vectors"] <= 600


@pytest.mark.parametrize("cohort", [None, 10.0])
@pytest.mark.parametrize("name", ["dp-fedavg", "dp-normfedavg"])
def test_the_noise_of_das2022_is_the_certified_one(name: str, cohort: float | None) -> None:
    """C rho sqrt(K/d), to the accuracy to which noise is calibrated; with cohorts rho has to be found for the K that it
    asks for."""
    run = one(name, cohort=cohort)
    found, chosen = ruled(run, "printed", longer=True)
    certified = run.certified(run.placed(chosen))["sigma"]
    assert found["noise"]["sigma"] == pytest.approx(certified, rel=0.02)
    assert found["noise"]["sigma"] == pytest.approx(
        found["C"] * found["rho"] * math.sqrt(found["rounds"] / run.problem.d)
    )


def written_out(run: Tuned, rule: str) -> tuple[float, dict[str, float]]:
    """The run of a record-level or two-sided rule, built only from the recommendation, its noise calibrated
    from the mechanism's own parameters; and the hyper-parameters that `reached` must report."""
    found, _ = ruled(run, rule)
    inputs, n, size = found["inputs"], run.problem.n, run.budget.cohort
    T, steps = found["rounds"], found["local_steps"]
    cohort = Cohort() if size is None else Cohort("fixed", int(size))
    algorithm: Algorithm
    if run.name in ("dp-scaffold", "dp-fedavg-record"):
        kind: Any = mechanism(run.name)
        like = kind(users=n, records=40, user_rate=(size or n) / n, record_rate=1.0, local_steps=steps, rounds=T)
        sigma = calibrate(like, epsilon=4.0, delta=1e-5)
        gradient = RecordGradient(1.0, inputs["clip"], sigma)
        if run.name == "dp-scaffold":
            algorithm = scaffold(found["eta_l"], found["eta_g"], steps, cohort, gradient, warm_start=int(size is None))
        else:
            algorithm = two_sided(found["eta_l"], found["eta_g"], steps, cohort=cohort, gradient=gradient)
        described = {"K": steps, "s": 1.0, "C": inputs["clip"], "rounds": T, "sigma_g": sigma}
    else:
        kind = mechanism("dp-fedavg")
        like = kind(clients=n, cohort=size, sampling=cohort.scheme, noise="per-client", rounds=T)
        sigma = calibrate(like, epsilon=4.0, delta=1e-5) * found["c"] / math.sqrt(size or n)
        algorithm = two_sided(found["eta_l"], found["eta_g"], steps, found["c"], sigma, cohort)
        described = {"Q": steps, "c": found["c"], "rounds": T, "sigma": sigma}
    gaps = simulate(algorithm, run.problem, T, 4, 3, ("suboptimality",))["suboptimality"].last
    return float(gaps.mean()), {**described, "eta_l": found["eta_l"], "eta_g": found["eta_g"]}


def agree(run: Tuned, rule: str) -> bool:
    mean, hyper = written_out(run, rule)
    reported = reached(run, rule, replicates=4, seed=3)
    assert reported["why"] is None
    alike = all(reported["hyperparameters"][name] == pytest.approx(value, rel=1e-6) for name, value in hyper.items())
    return alike and reported["suboptimality"]["mean"] == pytest.approx(mean, rel=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", rules())
@pytest.mark.parametrize("cohort", [None, 10.0])
@pytest.mark.parametrize("name", ["dp-scaffold", "dp-fedavg-record", "dp-fedavg-two-sided"])
def test_the_run_is_the_recommendations_word_for_word(name: str, cohort: float | None, rule: str) -> None:
    problem = RIDGE if name == "dp-scaffold" else LOGISTIC  # with the ridge bound-optimal takes several local steps
    run = tuned()[name](problem, Budget(4.0, 1e-5, rounds=200, cohort=cohort))
    assert agree(run, rule)
    departs = reached(run, rule, replicates=1)["departs"]
    assert ("first round of all users" in departs) == (name == "dp-scaffold" and cohort is not None)


FAULTS: dict[str, Callable[[dict[str, float]], dict[str, float]]] = {
    "K": lambda rule: {**rule, "K": rule["K"] + 1},
    "a step": lambda rule: {**rule, "eta_g": 1.0},
    "rounds": lambda rule: {**rule, "rounds": rule["rounds"] // 2},
    "no warm round": lambda rule: {name: value for name, value in rule.items() if name != "warm_start"},
    "half of the records": lambda rule: {**rule, "s": 0.5},
}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_rule_put_over_wrongly_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tuned()["dp-scaffold"](RIDGE, Budget(4.0, 1e-5, rounds=64))
    assert agree(run, "printed")
    right = module.hyperparameters_of
    mean, _ = written_out(run, "printed")
    monkeypatch.setattr(module, "hyperparameters_of", lambda *a: FAULTS[fault](right(*a)))
    reported = reached(run, "printed", replicates=4, seed=3)
    assert reported["suboptimality"]["mean"] != pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("name", ["dp-scaffold", "dp-fedavg-record", "dp-fedavg-two-sided"])
def test_noise_that_is_not_certified_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tuned()[name](LOGISTIC, Budget(4.0, 1e-5, rounds=64))
    assert agree(run, "printed")
    honest = type(run).multiplier
    monkeypatch.setattr(type(run), "multiplier", lambda self, values: 0.9 * honest(self, values))
    assert not agree(run, "printed")


def test_the_noise_in_the_bound_of_shulgin2025_is_the_certified_one_for_who_sees_averages() -> None:
    run = one("dp-norm-ec")
    found, chosen = ruled(run, "printed")
    assert found["noise"]["sigma"] == pytest.approx(run.certified(run.placed(chosen))["sigma"], rel=1e-3)
    server = tuned()["dp-norm-ec"](LOGISTIC, replace(run.budget, view="server"))
    assert ruled(server, "printed")[0]["bound"] > 1.05 * found["bound"]


@pytest.mark.parametrize("cohort", [None, 10.0])
def test_the_noise_in_the_bound_of_noble2022_is_the_certified_one(cohort: float | None) -> None:
    run = one("dp-scaffold", cohort=cohort)
    found, chosen = ruled(run, "printed")
    assert found["noise"]["sigma_g"] == pytest.approx(run.certified(run.placed(chosen))["sigma_g"])


def test_the_noise_in_the_bound_of_zhang2021_is_the_certified_one_or_more() -> None:
    for epsilon, exact in ((1.0, True), (5.5, False)):
        run = one("dp-fedavg-two-sided", epsilon, rounds=2000)
        found, chosen = ruled(run, "printed")
        ratio = found["noise"]["sigma"] / run.certified(run.placed(chosen))["sigma"]
        assert found["bound"] is not None
        assert ratio == pytest.approx(1.0) if exact else ratio > 1.05


def test_the_noise_of_hou2023_is_the_certified_one_at_its_own_p_and_t() -> None:
    run = one("dp-scaffnew")
    _, chosen = ruled(run, "printed")
    values = run.placed(chosen)
    asked = asks(run, chosen)
    symbols = {"v": asked["constant"], "p": chosen["p"], "T": chosen["iterations"], "C": chosen["C"], "N": 40}
    variance = prescribed(get("hou2023.lemma1"), {**symbols, "epsilon": 4.0, "delta": 1e-5})["noise_variance"]
    assert math.sqrt(variance) == pytest.approx(run.certified(values)["sigma"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RULED)
def test_the_least_bound_is_not_above_the_printed_one(name: str) -> None:
    printed, least = (ruled(one(name), rule, longer=True)[0]["bound"] for rule in ("printed", "bound-optimal"))
    if printed is not None:
        assert least <= printed * (1 + 1e-9)


def test_a_run_that_sends_more_than_the_budget_allows_is_not_made() -> None:
    run = one("dp-fedavg", epsilon=20.0, rounds=4)
    reported = reached(run, "printed")
    assert reported["suboptimality"] is None
    assert reported["why"] == f"it needs {reported['vectors']} vectors from a client"
    assert reached(run, "bound-optimal")["vectors"] <= 4


def test_a_bound_above_the_start_promises_nothing() -> None:
    run = one("dp-fedavg", epsilon=1.0)
    reported = reached(run, "bound-optimal", replicates=2)
    assert reported["bound"] >= run.problem.value(np.zeros(run.problem.d)) - run.problem.constants.f_star
    assert reported["vacuous"]


def test_where_a_constant_is_lacking_there_is_no_answer() -> None:
    run = tuned()["dp-scaffnew"](LOGISTIC, Budget(4.0, 1e-5))
    reported = reached(run, "printed")
    assert reported["suboptimality"] is None
    assert "without ridge is not strongly convex" in reported["why"]
    assert starts(run, [reported]) == []
