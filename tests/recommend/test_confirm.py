"""Whether a bound is least where runs are best: planted optima and agreement are reported, and chance is not taken for
either."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpfl_theory.errors import InputError
from dpfl_theory.problems import make
from dpfl_theory.recommend import confirm as confirmation
from dpfl_theory.recommend import neighbourhood, recommend
from dpfl_theory.recommend.confirm import confirm, of_comparison, stands_for
from dpfl_theory.recommend.constants_from_data import measures_of
from dpfl_theory.recommend.neighbourhood import ParameterScan
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.rule_runs import RULED, constants, ruled
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.simulation import simulate

LOGISTIC = make("logistic-synthetic", clients=20, dimension=3, records=40, seed=2)
RIDGE = make("logistic-synthetic", clients=20, dimension=3, records=40, seed=2, ridge=0.1)
REPLICATES = 16


def one(name: str, rounds: int = 24, epsilon: float = 4.0) -> Tuned:
    return tuned()[name](RIDGE if name == "dp-scaffnew" else LOGISTIC, Budget(epsilon, 1e-5, rounds=rounds))


def lines(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["hyperparameter"]: line for line in found["lines"]}


def planted(monkeypatch: pytest.MonkeyPatch, name: str, best: float) -> None:
    """A bound that is least at this value of the hyper-parameter, and vacuous nowhere."""
    honest = neighbourhood.statement_at

    def said(run: Tuned, chosen: Any, known: Any) -> Any:
        found = honest(run, chosen, known)
        return replace(found, bound=1.0 + abs(math.log(chosen[name] / best)), why=None, own=dict(chosen), trivial=9.0)

    for module in (neighbourhood, confirmation):
        monkeypatch.setattr(module, "statement_at", said)


def test_a_bound_that_is_least_elsewhere_is_told_and_one_that_is_least_there_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step of DP-NormEC that runs find best, and the bound's optimum planted there, 8 times lower and 8 times
    higher. False alarms: 1 in 100, of the agreement alone; the seed is fixed."""
    run = one("dp-norm-ec", rounds=64)
    _, chosen = ruled(run, "printed")
    first = lines(confirm(run, chosen, constants(run.name, LOGISTIC)))["gamma"]
    best = first["measured_least"]
    assert first["interval"][0] < first["values"][-1]
    around = {**chosen, "gamma": best}
    for factor, agrees, word in ((1.0, True, "agrees with"), (1 / 8, False, "too careful"), (8.0, False, "too bold")):
        with monkeypatch.context() as patch:
            planted(patch, "gamma", best * factor)
            found = confirm(run, around, constants(run.name, LOGISTIC))
        line = lines(found)["gamma"]
        assert line["bound_least"] == pytest.approx(best * factor)
        assert (line["agree"], line["vacuous"], line["bound_of"]) == (agrees, False, "neighbourhood")
        assert word in line["sentence"]
        low, high = line["ratio"]
        if agrees:
            assert low <= 1.0 <= high
        else:
            assert (low > 1.4) if factor < 1.0 else (high < 1 / 1.4)
            assert line["loss"] > 1.05


def test_the_bound_is_the_statements_and_the_runs_are_the_algorithms() -> None:
    """At every value of every line, for the algorithm whose statement leaves the most free."""
    run = one("dp-norm-ec")
    found, chosen = ruled(run, "printed")
    known = constants(run.name, LOGISTIC)
    reported = confirm(run, chosen, known, replicates=REPLICATES, seed=7)
    for name, line in lines(reported).items():
        for value, bound, mean in zip(line["values"], line["bound"], line["mean"], strict=True):
            values = run.placed({**chosen, name: value})
            hyper = run.certified(values)
            gaps = simulate(run.algorithm(hyper), LOGISTIC, run.iterations(values), REPLICATES, 7, device="cpu")
            assert mean == pytest.approx(float(gaps["suboptimality"].last.mean()), rel=1e-9)
            if bound is not None:
                K, n, d = hyper["rounds"], LOGISTIC.n, LOGISTIC.d
                expected = (
                    known["gap"] / (hyper["gamma"] * K)
                    + 2 * known["residual"]
                    + known["smoothness"] * hyper["gamma"] / 2
                    + 2 * hyper["beta"] * math.sqrt(d * K / n) * hyper["sigma"]
                )
                assert bound == pytest.approx(expected, rel=1e-3)  # the noise is calibrated again for each K
    at = [line["bound"][line["values"].index(line["recommended"])] for line in reported["lines"]]
    assert at == pytest.approx([found["bound"]] * len(at), rel=1e-3)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", sorted(RULED))
def test_what_a_statement_ties_moves_along(name: str) -> None:
    """A rule's hyper-parameters are its statement's, and so are they with another first step, or more of them."""
    run = one(name, rounds=2000, epsilon=1.0)
    known = constants(name, run.problem)
    _, chosen = ruled(run, "printed")
    said = neighbourhood.statement_at(run, chosen, known)
    assert said.own == pytest.approx(chosen, rel=1e-6)
    known_beforehand = name != "dp-normfedavg"  # its bound holds an expectation where clients differ
    assert (said.bound is not None) == known_beforehand
    step = {"dp-fedavg-two-sided": "eta_l", "dp-fedavg-record": "rounds"}.get(name, next(iter(chosen)))
    moved = [(value, there) for value, _, there in neighbourhood._neighbours(run, chosen, step, said, known)]
    bounded = sum(there.bound is not None for _, there in moved)
    assert (bounded >= 5) == known_beforehand, [there.why for _, there in moved]
    for value, there in moved:
        assert there.own[step] == pytest.approx(value)
    tied = {"dp-fedavg": "beta", "dp-normfedavg": "beta", "dp-fedavg-two-sided": "c"}.get(name)
    if tied:
        for value, there in moved:
            assert there.own[tied] / chosen[tied] == pytest.approx(value / chosen[step], rel=1e-6)


def test_a_recommendation_without_the_ties_has_no_bound_and_the_bounds_own_optimum_stands_in() -> None:
    run = one("dp-fedavg")
    values = run.values([0.5] * len(run.axes))
    chosen = run.certified({**values, "rounds": 8})
    known = constants(run.name, LOGISTIC)
    line = lines(confirm(run, chosen, known, replicates=4))["eta"]
    assert line["bound_least"] is None
    assert "das2022.theorem4a has " in line["why"]
    assert line["sentence"].startswith("The bound says nothing about eta: ")
    _, least = ruled(run, "bound-optimal")
    line = lines(confirm(run, chosen, known, least, replicates=4))["eta"]
    assert (line["bound_least"], line["bound_of"]) == (least["eta"], "bound-optimal")
    assert line["agree"] == (line["interval"][0] <= least["eta"] <= line["interval"][1])


def test_the_bound_of_scaffold_is_for_runs_with_its_warm_round_alone() -> None:
    run = one("dp-scaffold")
    _, chosen = ruled(run, "printed")
    known = constants(run.name, LOGISTIC)
    cold = {name: value for name, value in chosen.items() if name != "warm_start"}
    assert neighbourhood.statement_at(run, chosen, known).bound is not None
    said = neighbourhood.statement_at(run, cold, known)
    assert said.bound is None
    assert "first round of all users" in str(said.why)


def test_a_constant_that_is_lacking_is_named_in_every_line() -> None:
    run = one("dp-norm-ec")
    _, chosen = ruled(run, "printed")
    found = confirm(run, chosen, "it has no smoothness", replicates=4)
    assert found["statement"] is None
    assert all("it has no smoothness" in line["sentence"] for line in found["lines"])
    assert found["cost"]["ratio"] > 0.0


def line_of(gaps: Any) -> ParameterScan:
    count = len(gaps)
    return ParameterScan("eta", 1.0, 2.0 ** np.arange(count), np.ones(count), np.asarray(gaps), math.inf, None)


def test_the_false_alarm_rate_is_what_is_stated() -> None:
    """Thirteen values whose means are equal, so that to exclude the first is a false alarm. The stated rate is 20%, and
    of 2000 lines fewer are excluded: the differences go together, which makes it 13% or so, nine standard errors less.
    """
    from scipy.stats import t

    rng, rate, m = np.random.default_rng(0), 0.2, 13
    z = float(t.isf(rate / (m - 1), REPLICATES - 1))
    excluded = sum(not line_of(rng.standard_normal((m, REPLICATES))).indistinct(z)[0] for _ in range(2000))
    assert 0.02 * 2000 < excluded < rate * 2000


def test_a_difference_is_seen_in_pairs_that_unpaired_runs_hide() -> None:
    """Replicates differ by 1, values by 0.1: unpaired, 0.1 is a quarter of a standard error of 64 replicates' mean
    difference."""
    rng = np.random.default_rng(1)
    replicate, own = rng.standard_normal(64), 0.02 * rng.standard_normal((3, 64))
    gaps = 5.0 + replicate + own + np.array([[0.0], [0.1], [0.2]])
    assert line_of(gaps).indistinct(3.7).tolist() == [True, False, False]
    gaps[0, 5] = math.inf
    assert line_of(gaps).indistinct(3.7).tolist() == [False, True, False]


def test_all_values_share_the_replicates_noise() -> None:
    """Neighbours' suboptimalities go together replicate by replicate; runs with other replicates do not."""
    run = one("dp-fedavg")
    known = constants(run.name, LOGISTIC)
    _, chosen = ruled(run, "bound-optimal")
    said = neighbourhood.statement_at(run, chosen, known)
    (line,) = (line for line, _ in neighbourhood.scanned(run, chosen, said, known, 32) if line.name == "eta")
    assert np.corrcoef(line.gaps[5], line.gaps[6])[0, 1] > 0.9
    assert abs(np.corrcoef(line.gaps[5], np.roll(line.gaps[6], 1))[0, 1]) < 0.7


def test_where_every_run_diverges_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    quadratic = make("quadratic", clients=4, dimension=3, seed=1)
    run = tuned()["dp-clip21"](quadratic, Budget(4.0, 1e-5, rounds=64))
    monkeypatch.setattr(confirmation, "RULED", {**RULED, "dp-clip21": RULED["dp-norm-ec"]})
    found = confirm(run, {"gamma": 1e150, "tau": 1e150, "rounds": 8}, "it is planted", replicates=4)
    assert lines(found)["gamma"]["sentence"] == "Some runs diverge at every gamma."
    assert found["cost"]["ratio"] is None


STANDS: dict[str, dict[str, Any]] = {
    "dp-fedavg": {"clients": 10, "dim": 4, "smoothness": 1.0, "lipschitz": 2.0, "distance": 3.0, "heterogeneity": 0.1},
    "dp-scaffnew": {
        "clients": 10,
        "dim": 4,
        "smoothness": 1.0,
        "strong_convexity": 0.1,
        "distance": 30.0,
        "gradient_norm_at_optimum": 2.0,
    },
    "dp-norm-ec": {"clients": 10, "dim": 4, "smoothness": 1.0, "smoothness_max": 1.0, "gap": 3.0, "residual": 3.0},
}


@pytest.mark.parametrize("name", STANDS)
def test_the_problem_that_stands_for_constants_has_them(name: str) -> None:
    problem = stands_for(name, STANDS[name])
    for field, found in measures_of(get(name), problem)[0].items():
        if field == "residual":
            assert found.value <= STANDS[name][field]
        else:
            assert found.value == pytest.approx(STANDS[name][field], rel=1e-6), field


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("dp-norm-ec", {"residual": 0.1}, "`residual` is 0.1: .* has 2.1"),
        ("dp-fedavg-two-sided", {"dissimilarity": 1.0}, "give `data`"),
        ("dp-scaffold", {"records": 10}, "give `data`"),
    ],
)
def test_constants_that_no_problem_at_hand_has_are_refused(name: str, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        stands_for(name, {**STANDS.get(name, STANDS["dp-norm-ec"]), **changed})


def test_a_rule_with_rho_alone_has_no_noise_to_certify() -> None:
    known = {**STANDS["dp-fedavg"], "cohort": 10.0, "local_steps": 1, "alpha": 1.0, "rho": 0.1}
    with pytest.raises(InputError, match="give `epsilon`, `delta` and `constant`, not `rho`"):
        recommend("dp-fedavg", "printed", **known, confirm=True)
    with pytest.raises(InputError, match=r"it needs .* vectors from a client"):
        recommend("dp-fedavg", "printed", **{**known, "rho": None, "constant": 4.0, "epsilon": 900.0, "delta": 1e-5},
                  confirm=True)  # fmt: skip


def test_a_comparison_without_any_bound_has_nothing_to_confirm() -> None:
    with pytest.raises(InputError, match="there is no bound of dp-clip21 to confirm"):
        of_comparison([{"name": "dp-clip21"}], LOGISTIC, Budget(4.0, 1e-5))
    with pytest.raises(InputError, match="there is no bound of dp-clip21 to confirm"):
        confirm(one("dp-clip21"), {}, {})
    with pytest.raises(InputError, match="there is no bound of dp-clip21 to confirm"):
        recommend("dp-clip21", data="breast-cancer", clients=8, epsilon=1.0, delta=1e-5, confirm=True)
