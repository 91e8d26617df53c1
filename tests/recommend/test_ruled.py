"""What rules say, run with certified noise: the papers' noise is the certified one, and the run is the rule's."""

from __future__ import annotations

import numpy as np
import pytest

from dpfl_theory.algorithms import simulate
from dpfl_theory.privacy import account
from dpfl_theory.problems import make
from dpfl_theory.recommend.ruled import RULED, reached, ruled, starts
from dpfl_theory.recommend.rules import rules
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned

LOGISTIC = make("logistic-synthetic", clients=40, dimension=3, records=40, seed=2)
RIDGE = make("logistic-synthetic", clients=40, dimension=3, records=40, seed=2, ridge=0.1)


def one(name: str, epsilon: float = 4.0, rounds: int = 64, cohort: float | None = None) -> Tuned:
    problem = RIDGE if name == "dp-scaffnew" else LOGISTIC
    return tuned()[name](problem, Budget(epsilon, 1e-5, rounds=rounds, cohort=cohort))


pairs = pytest.mark.parametrize(("name", "rule"), [(name, rule) for name in RULED for rule in rules()])


@pairs
def test_the_run_is_the_rules_with_noise_that_is_certified(name: str, rule: str) -> None:
    run = one(name, rounds=600)
    found, chosen = ruled(run, rule)
    told = reached(run, rule, lanes=4, seed=3)
    assert told["why"] is None
    for key, value in chosen.items():
        assert told["hyperparameters"][key] == value
        if key in found:
            assert found[key] == value
    values = run.placed(chosen)
    multiplier = run.multiplier(values)
    assert account(run.mechanism(values).with_(noise_multiplier=multiplier), delta=1e-5).epsilon.high <= 4.0
    hyper = run.hyperparameters(values, multiplier)
    assert told["hyperparameters"][run.noise] == pytest.approx(hyper[run.noise])
    with np.errstate(all="ignore"):
        direct = simulate(
            run.algorithm(told["hyperparameters"]), run.problem, run.iterations(values), 4, 3, ("suboptimality",)
        )
    assert told["suboptimality"]["mean"] == pytest.approx(float(direct["suboptimality"].last.mean()), rel=1e-9)
    assert told["vectors"] <= 600


@pytest.mark.parametrize("cohort", [None, 10.0])
@pytest.mark.parametrize("name", ["dp-fedavg", "dp-normfedavg", "dp-scaffnew", "dp-norm-ec"])
def test_the_noise_that_the_bound_speaks_of_is_the_runs(name: str, cohort: float | None) -> None:
    """To the accuracy to which noise is calibrated; with cohorts it has to be found for the rounds that it asks for."""
    if cohort is not None and "fedavg" not in name:
        pytest.skip("all clients take part in a round")
    run = one(name, cohort=cohort)
    found, chosen = ruled(run, "printed", longer=True)
    assert found["noise"]["sigma"] == pytest.approx(run.certified(run.placed(chosen))["sigma"], rel=2e-3)


@pytest.mark.parametrize("name", RULED)
def test_the_least_bound_is_not_above_the_printed_one(name: str) -> None:
    printed, least = (ruled(one(name), rule, longer=True)[0]["bound"] for rule in ("printed", "bound-optimal"))
    if printed is not None:
        assert least <= printed * (1 + 1e-9)


def test_a_run_that_sends_more_than_the_budget_allows_is_not_made() -> None:
    run = one("dp-fedavg", epsilon=20.0, rounds=4)
    told = reached(run, "printed")
    assert told["suboptimality"] is None
    assert told["why"] == f"it wants {told['vectors']} vectors from a client"
    assert reached(run, "bound-optimal")["vectors"] <= 4


def test_a_bound_above_the_start_promises_nothing() -> None:
    run = one("dp-fedavg", epsilon=1.0)
    told = reached(run, "bound-optimal", lanes=2)
    assert told["bound"] >= run.problem.value(np.zeros(run.problem.d)) - run.problem.constants.f_star
    assert told["vacuous"]


def test_where_a_constant_is_lacking_there_is_no_answer() -> None:
    run = tuned()["dp-scaffnew"](LOGISTIC, Budget(4.0, 1e-5))
    told = reached(run, "printed")
    assert told["suboptimality"] is None
    assert "without ridge is not strongly convex" in told["why"]
    assert starts(run, [told]) == []
