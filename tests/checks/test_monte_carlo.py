"""The Monte-Carlo method: the decisions it takes on statements whose truth is known, and the faults it sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from short_forms import clip, fedavg

from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.confidence import least_lower_limit, lower_limit, upper_limit
from dpfl_theory.checks.decision import certain, decide, decide_least
from dpfl_theory.checks.linear_form import linearise
from dpfl_theory.checks.monte_carlo import Experiment
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Expected, Hypothesis, Sides, Source, Statement, Symbol
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.problems import make
from dpfl_theory.simulation import Cohort, Simulation, simulate
from dpfl_theory.simulation.observables import Reach
from dpfl_theory.statements import get
from dpfl_theory.statements.travel_bound import fedavg_reach

ALPHA = 1e-6


def _statement(factor: float = 1.0, **changes: Any) -> Statement:
    """E[f(w_k~) - f(w*)] <= factor B for a number B."""

    def sides(_: Any) -> Sides:
        s = symbols_of(statement)
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


def with_noise(algorithm: Any, sigma: float) -> Simulation:
    """The same simulation with another noise."""
    return replace(algorithm, run=algorithm.run.with_values(sigma=sigma))


def _experiment(bound: float, replicates: int = 2048, cohort: Cohort | None = None) -> Experiment:
    problem = make("huber", clients=4, dimension=3, records=5, seed=2)
    start = problem.constants.w_star + 1.0
    algorithm = fedavg(0.1, bound=clip(1.0), sigma=0.3, cohort=cohort or Cohort())
    return Experiment(
        problem, algorithm, 40, start, {"B": bound}, replicates, fedavg_reach(algorithm, problem, 40, start)
    )


def _truth() -> float:
    experiment = _experiment(1.0)
    run = simulate(experiment.algorithm, experiment.problem, 40, 20000, seed=77, start=experiment.start, device="cpu")
    return float(run["suboptimality"].mean.mean())


def _run(statement: Statement, experiment: Experiment, **settings: Any) -> Any:
    check = Check("monte-carlo", "test", lambda *_: experiment)
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
    evidence = _run(_statement(), _experiment(truth, replicates=512))
    assert evidence.verdict == "inconclusive"
    assert "do not separate" in evidence.reason


def test_a_spent_budget_is_inconclusive_not_a_verdict(truth: float) -> None:
    evidence = _run(_statement(), _experiment(truth, replicates=10**6), deadline=-math.inf)
    assert evidence.verdict == "inconclusive"
    assert "budget" in evidence.reason


def test_a_violated_hypothesis_is_named() -> None:
    failing = Hypothesis.custom("the moon is full", lambda problem, values: "it is new")
    evidence = _run(_statement(hypotheses=(failing,)), _experiment(1.0))
    assert evidence.verdict == "not-applicable"
    assert evidence.reason == "the hypothesis 'the moon is full' is not met: it is new"


def test_more_replicates_do_not_change_the_first_ones(truth: float) -> None:
    few = _run(_statement(), _experiment(truth, replicates=128))
    many = _run(_statement(), _experiment(truth, replicates=256))
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
    evidence = _run(_statement(), replace(_experiment(0.5 * truth, replicates=256), reach=None))
    assert evidence.verdict == "inconclusive"
    assert "finite sample size" in evidence.reason


def test_sides_that_are_not_linear_in_expectations_are_refused() -> None:
    def sides(_: Any) -> Sides:
        s = symbols_of(_statement())
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


PROVES_NOTHING = "without a value in 1, which proves nothing"
SUSPICIOUS = "infinite in 1, beyond the bound 1, which is suspicious but not a proof"


@pytest.mark.parametrize(("bad", "message"), [(np.nan, PROVES_NOTHING), (np.inf, SUSPICIOUS)], ids=["nan", "inf"])
def test_replicates_that_are_not_numbers_leave_a_check_undecided(bad: float, message: str) -> None:
    z = np.full(512, 0.1)
    z[7] = bad
    stayed = np.ones(512, dtype=bool)
    remedy = "take a smaller step, or a start nearer to the minimiser"
    for limits in (
        decide(z, 1.0, 0.0, 2.0, ALPHA),
        decide_least(np.stack([z, z], axis=1), 1.0, 0.0, 2.0, ALPHA),
        certain(z, 1.0),
        decide(z, 1.0, 0.0, 2.0, ALPHA, stayed & (np.arange(512) != 7)),
    ):
        assert not limits.decided
        sentence = f"the run diverged in 1 of 512 replicates: in floating point its left side is {message}; {remedy}"
        assert limits.verdict(0.0, cut=False) == limits.equality(0.0, 0.1, cut=False) == ("inconclusive", sentence)
    verdict, reason = decide(z, 1.0, 0.0, 2.0, ALPHA, stayed).verdict(0.0, cut=False)
    assert verdict == "inconclusive"
    assert "in 1 of 512 replicates the left side is infinite or undefined where the run stayed finite" in reason
    assert "diverged" not in reason
    z[8] = np.nan
    _, reason = decide(z, 1.0, 0.0, 2.0, ALPHA, np.arange(512) != 8).verdict(0.0, cut=False)
    assert reason.startswith(
        "the run diverged in 1 of 512 replicates: in floating point its left side is without a value"
    )
    assert "in 1 of 512 replicates the left side is infinite or undefined where the run stayed finite" in reason


@pytest.mark.parametrize("when", ["mean", "end", "least"])
@pytest.mark.parametrize("random", [True, False])
def test_a_run_that_diverges_says_so(when: str, random: bool) -> None:
    """Gradient descent with a hundred times the longest step multiplies the distance by 99 in every round."""
    problem = make("quadratic", clients=2, dimension=2, condition=1.0, heterogeneity=0.0, seed=1)
    algorithm = fedavg(100.0 / problem.constants.L_max, sigma=0.1 * random)
    start = np.ones(problem.d)
    run = Experiment(problem, algorithm, 400, start, {"B": 1.0}, 64, Reach.anywhere(problem), random=random)
    evidence = _run(_taken(when), run)
    assert evidence.verdict == "inconclusive"
    replicates = 64 if random else 2
    assert evidence.reason.startswith(f"the run diverged in {replicates} of {replicates} replicates: in floating point")
    assert evidence.reason.endswith("take a smaller step, or a start nearer to the minimiser")


def test_an_infinite_ratio_is_no_divergence() -> None:
    """Without noise the signal-to-noise ratio is infinite, where the run stays."""
    expected = Expected("E_gap", (("snr", 1),), (1, 0), "E", "ratio")
    silent = replace(_experiment(1.0, replicates=64), algorithm=fedavg(0.1, bound=clip(1.0)), reach=None)
    evidence = _run(_statement(expectations=(expected,)), silent)
    assert evidence.verdict == "inconclusive"
    assert (
        "in 64 of 64 replicates the left side is infinite or undefined where the run stayed finite" in evidence.reason
    )
    assert "diverged" not in evidence.reason


def test_a_replicate_of_minus_infinity_only_helps_the_bound() -> None:
    z = np.concatenate([np.random.default_rng(0).uniform(size=4000), [-np.inf]])
    limits = decide(z, 1.0, -np.inf, 2.0, ALPHA)
    assert limits.verdict(0.0, cut=False)[0] == "holds"


def test_equal_replicates_do_not_hide_a_rare_event() -> None:
    """A left side that is almost always 0: without a range nothing can be said, however many replicates agree."""
    limits = decide(np.zeros(1000), 1e-4, -np.inf, np.inf, ALPHA)
    verdict, reason = limits.verdict(0.5, cut=False)
    assert verdict == "inconclusive"
    assert reason == (
        "all 1000 replicates are equal, 0.5, which gives no asymptotic limit, and the bound is 0.5001; "
        "set random=False if the run draws nothing; "
        "if rare values are possible, a reach that bounds the left side, and more replicates, may decide"
    )
    verdict, reason = limits.equality(0.5, 0.1, cut=False)
    assert verdict == "inconclusive"
    assert reason.startswith(
        "all 1000 replicates are equal, 0.5, which gives no asymptotic limit, and the right side is"
    )
    least = decide_least(np.zeros((1000, 3)), 1e-4, -np.inf, np.inf, ALPHA).verdict(0.0, cut=False)
    assert least[0] == "inconclusive"
    assert least[1].startswith("all 1000 replicates are equal, 0,")
    one = decide(np.zeros(1), 1e-4, -np.inf, np.inf, ALPHA).verdict(0.0, cut=False)
    assert one[1].startswith("there is one replicate, 0, which gives no asymptotic limit")
    nearly = np.r_[np.zeros(999), 1e-3]
    assert "contain the bound" in decide(nearly, 1e-6, -np.inf, np.inf, ALPHA).verdict(0.0, cut=False)[1]


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


def _taken(when: str, factor: float = 1.0, side: str = "smaller") -> Statement:
    """As `_statement`, of the end of a run or the least round: ``factor E <= B``, or B <= E on the other side."""

    def sides(_: Any) -> Sides:
        s = symbols_of(statement)
        if side == "larger":
            return Sides(lhs={"B": s["B"]}, rhs={"gap": s["E_gap"]})
        return Sides(lhs={"gap": factor * s["E_gap"]}, rhs={"B": s["B"]})

    expected = Expected("E_gap", (("suboptimality", 1),), (1, 0), "E", "gap", when=when)
    statement = _statement(expectations=(expected,), sides=sides)
    return statement


def _series(e: Experiment) -> np.ndarray:
    """f(w_k) - f(w*) in rounds 0 to 40 of 20000 runs."""
    run = simulate(e.algorithm, e.problem, 40, 20000, seed=77, start=e.start, device="cpu", series=True)
    return run["suboptimality"].every_round


def _loud(bound: float, replicates: int = 2048) -> Experiment:
    """So much noise that a run's least value is far below the mean of any round."""
    e = _experiment(bound, replicates)
    algorithm = with_noise(e.algorithm, 3.0)
    return replace(e, algorithm=algorithm, reach=fedavg_reach(algorithm, e.problem, 40, e.start))


def test_the_end_of_a_run_is_not_its_mean() -> None:
    """A bound between the end and the mean holds for one and fails for the other. Standard errors are below 1%."""
    rounds = _series(_experiment(1.0))
    mean, end = float(rounds[:40].mean()), float(rounds[40].mean())
    assert end < 0.7 * mean
    between = math.sqrt(mean * end)
    assert _run(_taken("end"), _experiment(between)).verdict == "holds"
    assert _run(_taken("mean"), _experiment(between)).verdict == "violated"
    evidence = _run(_taken("end"), _experiment(0.85 * end))
    assert evidence.verdict == "violated"
    assert not evidence.asymptotic
    assert evidence.lhs.low < end < evidence.lhs.high or evidence.lhs.estimate == pytest.approx(end, rel=0.1)
    assert set(evidence.notes["means"]) == {"suboptimality (end)"}


def test_the_least_expectation_is_not_the_expectation_of_the_least() -> None:
    """A bound above E min_k and below min_k E is violated; who takes each replicate's minimum says that it holds."""
    rounds = _series(_loud(1.0))
    truth, smallest = float(rounds[:40].mean(axis=1).min()), float(rounds[:40].min(axis=0).mean())
    assert smallest < 0.6 * truth
    evidence = _run(_taken("least"), _loud(0.8 * truth))
    assert evidence.verdict == "violated"
    assert not evidence.asymptotic
    assert evidence.lhs.low <= truth
    evidence = _run(_taken("least", 2.0), _loud(2.8 * truth))
    assert evidence.verdict == "holds"
    assert evidence.lhs.low <= 2.0 * truth <= evidence.lhs.high
    assert _run(_taken("least"), _loud(truth, replicates=256)).verdict == "inconclusive"


def test_the_least_round_is_not_the_last() -> None:
    """Started at the minimiser, noise drives the server away: the least expectation is that of round 0."""
    experiment = _experiment(1e-3)
    at_star = replace(experiment, start=experiment.problem.constants.w_star)
    assert _run(_taken("end"), at_star).verdict == "violated"
    assert _run(_taken("least"), at_star).verdict != "violated"
    assert _run(_taken("least"), replace(at_star, values={"B": -1e-3})).verdict == "violated"


def test_least_expectations_stand_alone_and_on_the_smaller_side() -> None:
    linearise(_taken("least"), {"B": 1.0})
    for statement in (_taken("least", factor=-1.0), _taken("least", side="larger")):
        with pytest.raises(ValueError, match="larger side, or negative"):
            linearise(statement, {"B": 1.0})
    two = (*_taken("least").expectations, Expected("E_end", (("suboptimality", 1),), (1, 0), "E", "gap", when="end"))
    with pytest.raises(ValueError, match="next to another"):
        linearise(replace(_taken("least"), expectations=two), {"B": 1.0})
    with pytest.raises(ValueError, match="choose one of"):
        Expected("E", (), (1, 0), "E", "gap", when="never")


def test_one_observable_at_two_times() -> None:
    """A bound on the difference of the mean and the end needs both columns."""

    def sides(_: Any) -> Sides:
        s = symbols_of(statement)
        return Sides(lhs={"fall": s["E_gap"] - s["E_end"]}, rhs={"B": s["B"]})

    both = (*_statement().expectations, Expected("E_end", (("suboptimality", 1),), (1, 0), "E", "gap", when="end"))
    statement = _statement(expectations=both, sides=sides)
    evidence = _run(statement, _experiment(100.0))
    means = evidence.notes["means"]
    assert set(means) == {"suboptimality", "suboptimality (end)"}
    assert evidence.lhs.estimate == pytest.approx(means["suboptimality"] - means["suboptimality (end)"])
    assert evidence.notes["trivial"] == 0.0


@pytest.mark.slow
def test_limits_of_the_least_cover_it_and_need_their_share() -> None:
    """3000 rounds with the same mean, 60 replicates, at alpha = 10%: the limits err in at most 10% of 40 trials (P(more
    than 12 of 40 at 10%) < 1e-3). Without the rounds' shares of alpha the upper limit is wrong in most."""
    rng, wrong, naive = np.random.default_rng(5), 0, 0
    for _ in range(40):
        z = (rng.uniform(size=(60, 3000)) < 0.5).astype(float)
        limits = decide_least(z, 1.0, 0.0, 1.0, 0.1)
        wrong += not limits.low <= 0.5 <= limits.high
        naive += upper_limit(z[:, z.mean(axis=0).argmin()], 0.05, 1.0) < 0.5
    assert wrong <= 12
    assert naive >= 20


@pytest.mark.parametrize("least", [0.0, -2.0])
def test_skipped_columns_do_not_change_the_least_limit(least: float) -> None:
    rng = np.random.default_rng(6)
    x = least + rng.exponential(size=(300, 40)) ** rng.uniform(0.5, 3.0, 40) * rng.uniform(0.5, 2.0, 40)
    x[:, 7] = np.where(rng.uniform(size=300) < 0.02, 60.0, least)  # a large mean, but a limit that is small
    assert least_lower_limit(x, 1e-6, least) == min(lower_limit(x[:, k], 1e-6, least) for k in range(40))


def test_a_left_side_that_is_known_tells_another_run(truth: float) -> None:
    """Far below the bound, where the verdict alone would see nothing. The first batch's limits are 15% wide."""
    for factor, verdict in ((1.0, "holds"), (1.6, "inconclusive"), (0.6, "inconclusive")):
        known = {"suboptimality": factor * truth}
        evidence = _run(_statement(), replace(_experiment(20.0 * truth), known=known))
        assert evidence.verdict == verdict, evidence.reason
        assert evidence.asymptotic is False
        if verdict == "holds":
            assert evidence.reason.endswith(f"; the left side is known to be {truth:.6g}")
        else:
            assert evidence.reason.startswith(f"the left side is known to be {factor * truth:.6g}, which the limits")
            assert evidence.reason.endswith("exclude: this run is not the intended one")
    false = replace(_experiment(0.5 * truth), known={"suboptimality": 9.0 * truth})
    assert _run(_statement(), false).verdict == "violated"


def test_equal_replicates_are_not_what_is_known() -> None:
    """As when all replicates share their noise: no limit of a random mean, but no reason to take it for the known
    one."""
    experiment = _experiment(1.0, replicates=128)
    silent = with_noise(experiment.algorithm, 0.0)
    run = simulate(silent, experiment.problem, 40, 1, start=experiment.start, device="cpu")
    value = float(run["suboptimality"].mean[0])
    bound = replace(experiment, algorithm=silent, values={"B": 1e3 * value})
    for factor, verdict in ((1.0, "holds"), (1.001, "inconclusive")):
        evidence = _run(_statement(), replace(bound, known={"suboptimality": factor * value}))
        assert evidence.verdict == verdict, evidence.reason


def test_what_is_known_may_stand_on_both_sides(truth: float) -> None:
    """B + E_end <= E_gap + 2B: E_end - E_gap is known."""

    def sides(_: Any) -> Sides:
        s = symbols_of(statement)
        return Sides(lhs={"B": s["B"], "end": s["E_end"]}, rhs={"gap": s["E_gap"], "bound": 2 * s["B"]})

    both = (*_statement().expectations, Expected("E_end", (("suboptimality", 1),), (1, 0), "E", "gap", when="end"))
    statement = _statement(expectations=both, sides=sides)
    end = float(_series(_experiment(1.0))[40].mean())
    known = {"suboptimality": truth, "suboptimality (end)": end}
    evidence = _run(statement, replace(_experiment(truth), known=known))
    assert evidence.verdict == "holds"
    message = f"; the left side less the right one's expectations is known to be {end - truth:.6g}"
    assert evidence.reason.endswith(message)
    wrong = {**known, "suboptimality (end)": end + 2.0 * truth}
    assert _run(statement, replace(_experiment(truth), known=wrong)).verdict == "inconclusive"


def test_a_run_that_draws_nothing_is_its_expectation() -> None:
    e = _experiment(1.0)
    quiet = replace(e, algorithm=fedavg(0.1, bound=clip(1.0)), random=False, reach=None)
    run = simulate(quiet.algorithm, quiet.problem, 40, start=quiet.start, device="cpu", series=True)
    value = float(run["suboptimality"].every_round[:40].min())
    for when, expected in (("least", value), ("end", float(run["suboptimality"].last[0]))):
        for factor, verdict in ((1 - 1e-6, "violated"), (1.0, "inconclusive"), (1 + 1e-6, "holds")):
            evidence = _run(_taken(when), replace(quiet, values={"B": factor * expected}))
            assert evidence.verdict == verdict, evidence.reason
            assert evidence.replicates == 2
            assert evidence.asymptotic == (verdict == "inconclusive")
    with pytest.raises(ValueError, match="declared as drawing nothing"):
        _run(_taken("least"), replace(e, random=False))
    assert certain(np.array([np.nan, 1.0]), 1.0).verdict(0.0, cut=False)[0] == "inconclusive"


def _equality(factor: float, truth: float, **changes: Any) -> Any:
    """E[f(w_k~) - f(w*)] = factor times its value."""
    statement = _statement(relation="==")
    return _run(statement, replace(_experiment(factor * truth, **changes), width=0.1))


def test_an_equality_holds_only_where_the_limits_are_close(truth: float) -> None:
    near = _equality(1.0, truth, replicates=8192)
    assert near.verdict == "holds"
    assert near.asymptotic
    assert near.lhs.low <= near.rhs <= near.lhs.high
    few = _equality(1.0, truth, replicates=16)
    assert few.verdict == "inconclusive"
    assert "are wider than 0.1 of it" in few.reason


@pytest.mark.parametrize(("factor", "word"), [(0.8, "exceeds"), (1.25, "is below")])
def test_an_equality_is_violated_on_either_side(truth: float, factor: float, word: str) -> None:
    found = _equality(factor, truth, replicates=8192)
    assert found.verdict == "violated"
    assert word in found.reason
    assert not found.asymptotic


def test_an_equality_of_a_run_without_randomness_is_exact() -> None:
    silent = replace(_experiment(1.0), random=False)
    silent = replace(silent, algorithm=with_noise(silent.algorithm, 0.0))
    run = simulate(silent.algorithm, silent.problem, 40, 1, 0, start=silent.start, device="cpu")
    value = float(run["suboptimality"].mean[0])
    statement = _statement(relation="==")
    assert _run(statement, replace(silent, values={"B": value})).verdict == "holds"
    for other in (value * (1 + 1e-6), value * (1 - 1e-6)):
        assert _run(statement, replace(silent, values={"B": other})).verdict == "violated"


def test_rounding_of_cancelled_sides_is_no_difference() -> None:
    """Where both sides are random terms, what is left is their rounding: its own size is no measure of it."""
    rest = np.array([0.1 + 0.2 - 0.3] * 2)
    assert certain(rest, 0.0, scale=0.3).equality(0.3, 0.05, False)[0] == "holds"
    assert certain(rest, 0.0, scale=0.3).verdict(0.3, False)[0] == "inconclusive"
    assert certain(np.array([1e-6] * 2), 0.0, scale=0.3).equality(0.3, 0.05, False)[0] == "violated"
