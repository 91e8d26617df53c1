"""The Monte-Carlo method: the decisions it takes on statements whose truth is known, and the faults it sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpfl_theory.algorithms import Cohort, FedAvg
from dpfl_theory.algorithms.reach import fedavg_reach
from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.decision import decide
from dpfl_theory.checks.monte_carlo import Experiment, linearise
from dpfl_theory.checks.settings import Settings
from dpfl_theory.problems import make
from dpfl_theory.statements import get
from dpfl_theory.statements.model import Assumption, Check, Expected, Sides, Source, Statement, Symbol, sympy_symbols

ALPHA = 1e-6


def _statement(factor: float = 1.0, **changes: Any) -> Statement:
    """E[f(w_k~) - f(w*)] <= factor B for a number B."""

    def sides() -> Sides:
        s = sympy_symbols(statement)
        return Sides(lhs={"gap": s["E_gap"]}, rhs={"B": factor * s["B"]})

    statement = Statement(
        id="test.gap",
        kind="lemma",
        title="a bound",
        source=Source("test", "nowhere"),
        text="a bound",
        symbols=(Symbol("B", "bound", (1, 0)),),
        expectations=(Expected("E_gap", (("suboptimality", 1),), (1, 0), "E", "gap"),),
        sides=sides,
    )
    return replace(statement, **changes) if changes else statement


def _experiment(bound: float, lanes: int = 2048, cohort: Cohort | None = None) -> Experiment:
    problem = make("huber", clients=4, dimension=3, records=5, seed=2)
    start = problem.constants.w_star + 1.0
    algorithm = FedAvg(0.1, bounding="clip", threshold=1.0, sigma=0.3, cohort=cohort or Cohort())
    return Experiment(problem, algorithm, 40, start, {"B": bound}, lanes, fedavg_reach(algorithm, problem, 40, start))


def _truth() -> float:
    experiment = _experiment(1.0)
    from dpfl_theory.algorithms import simulate

    run = simulate(experiment.algorithm, experiment.problem, 40, 20000, seed=77, start=experiment.start, device="cpu")
    return float(run["suboptimality"].mean.mean())


def _run(statement: Statement, experiment: Experiment, **settings: Any) -> Any:
    check = Check("monte-carlo", "test", lambda _: experiment)
    return monte_carlo.run(statement, check, Settings(alpha=ALPHA, device="cpu", **settings))


@pytest.fixture(scope="module")
def truth() -> float:
    return _truth()


def test_a_true_bound_holds_at_finite_sample_size(truth: float) -> None:
    evidence = _run(_statement(), _experiment(4.0 * truth))
    assert evidence.verdict == "holds"
    assert not evidence.asymptotic
    assert evidence.lhs.low < truth < evidence.lhs.high <= evidence.rhs
    assert evidence.ratio == pytest.approx(0.25, rel=0.1)
    assert evidence.detectable is not None
    assert evidence.detectable > 1.0


@pytest.mark.parametrize("factor", [0.85, 0.5, 0.01])
def test_a_false_bound_is_violated_at_finite_sample_size(truth: float, factor: float) -> None:
    evidence = _run(_statement(), _experiment(factor * truth))
    assert evidence.verdict == "violated"
    assert evidence.lhs.low > evidence.rhs
    assert not evidence.asymptotic


def test_a_bound_at_the_truth_is_left_undecided(truth: float) -> None:
    evidence = _run(_statement(), _experiment(truth, lanes=512))
    assert evidence.verdict == "inconclusive"
    assert "do not separate" in evidence.reason


def test_a_spent_budget_is_inconclusive_not_a_verdict(truth: float) -> None:
    evidence = _run(_statement(), _experiment(truth, lanes=10**6), deadline=-math.inf)
    assert evidence.verdict == "inconclusive"
    assert "budget" in evidence.reason


def test_a_violated_hypothesis_is_named() -> None:
    failing = Assumption("the moon is full", lambda problem, values: "it is new")
    evidence = _run(_statement(assumptions=(failing,)), _experiment(1.0))
    assert evidence.verdict == "not-applicable"
    assert evidence.reason == "the hypothesis 'the moon is full' is not met: it is new"


def test_more_lanes_do_not_change_the_first_ones(truth: float) -> None:
    few = _run(_statement(), _experiment(truth, lanes=128))
    many = _run(_statement(), _experiment(truth, lanes=256))
    assert few.replicates == 128
    assert many.replicates == 256
    assert few.lhs.estimate != many.lhs.estimate


def test_vacuous_bounds_are_marked(truth: float) -> None:
    start = _experiment(1.0)
    at_start = start.problem.value(np.asarray(start.start)) - start.problem.constants.f_star
    assert _run(_statement(), _experiment(1.5 * at_start)).vacuous is True
    assert _run(_statement(), _experiment(0.9 * at_start)).vacuous is False


def test_without_a_reach_a_holding_verdict_is_marked_asymptotic(truth: float) -> None:
    evidence = _run(_statement(), replace(_experiment(4.0 * truth), reach=None))
    assert evidence.verdict == "holds"
    assert evidence.asymptotic


def test_without_a_reach_nothing_is_called_violated(truth: float) -> None:
    evidence = _run(_statement(), replace(_experiment(0.5 * truth, lanes=256), reach=None))
    assert evidence.verdict == "inconclusive"
    assert "finite sample size" in evidence.reason


def test_sides_that_are_not_linear_in_expectations_are_refused() -> None:
    def sides() -> Sides:
        s = sympy_symbols(_statement())
        return Sides(lhs={"square": s["E_gap"] ** 2 / s["B"]}, rhs={"B": s["B"]})

    with pytest.raises(ValueError, match="not linear"):
        linearise(_statement(sides=sides), {"B": 1.0})


def test_expectations_on_the_bounds_side_move_to_the_other() -> None:
    lhs, rhs = linearise(get("das2022.theorem4b"), _values())
    constant, right = rhs.total()
    assert set(right) == {"weighted-heterogeneity"}
    assert lhs.total()[1] == {
        "weighted-excess": pytest.approx(2 - 0.04),
        "weighted-heterogeneity": pytest.approx(-1.96),
    }
    # A + B2's first part at rho = 0.1, E = 2, alpha = 1, gamma = D = L = G = 1.
    assert constant == pytest.approx(0.2 + 0.1)
    assert right["weighted-heterogeneity"] == pytest.approx(0.04)


def _values() -> Mapping[str, float]:
    return {
        "rho": 0.1,
        "E": 2.0,
        "alpha": 1.0,
        "gamma": 1.0,
        "L": 1.0,
        "G": 1.0,
        "D": 1.0,
        "K": 1.0,
        "C": 2.0,
        "eta": 0.05,
        "Delta": 0.0,
    }


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_replicates_that_are_not_numbers_leave_a_check_undecided(bad: float) -> None:
    z = np.full(512, 0.1)
    z[7] = bad
    limits = decide(z, 1.0, 0.0, 2.0, ALPHA)
    assert not limits.decided
    assert limits.verdict(0.0, cut=False) == (
        "inconclusive",
        "in 1 of 512 lanes the left side is infinite or not a number",
    )


def test_a_replicate_of_minus_infinity_only_helps_the_bound() -> None:
    z = np.concatenate([np.random.default_rng(0).uniform(size=4000), [-np.inf]])
    limits = decide(z, 1.0, -np.inf, 2.0, ALPHA)
    assert limits.verdict(0.0, cut=False)[0] == "holds"


def test_equal_replicates_do_not_hide_a_rare_event() -> None:
    """A left side that is almost always 0: without a range nothing can be said, however many lanes agree."""
    limits = decide(np.zeros(1000), 1e-4, -np.inf, np.inf, ALPHA)
    assert limits.verdict(0.0, cut=False)[0] == "inconclusive"


def test_heavy_tails_on_the_side_that_does_not_matter_are_truncated() -> None:
    z = np.random.default_rng(1).normal(0.2, 0.1, size=2000)
    z[::100] = -1e6
    assert decide(z, 1.0, -np.inf, np.inf, ALPHA).verdict(0.0, cut=False)[0] == "holds"
    assert decide(-z, -1.0, -np.inf, np.inf, ALPHA).asymptotic_low > -1.0


def test_what_could_be_seen_is_in_proportion_to_the_left_side() -> None:
    """A left side far below the bound with limits 28% wide would not show a violation of 1%."""
    z = np.random.default_rng(2).exponential(1e-3, size=1000)
    limits = decide(z, 1.0, 0.0, np.inf, ALPHA)
    assert limits.detectable(0.0) == pytest.approx(limits.mean / limits.low)
    assert limits.detectable(0.0) > 1.1


def test_replicates_that_all_lie_beyond_the_truncation_still_decide() -> None:
    z = np.random.default_rng(3).normal(-500.0, 30.0, size=64)
    limits = decide(z, 1.0, -np.inf, np.inf, ALPHA)
    assert limits.verdict(0.0, cut=False)[0] == "holds"
    assert np.isfinite(limits.asymptotic_low)
