"""das2022's weights C/||u_i||: where their expectation is infinite, and that such runs are outside the hypotheses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment
from dpfl_theory.kernels import select
from dpfl_theory.problems import make
from dpfl_theory.simulation import simulate
from dpfl_theory.statements import get
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _runs, _symbols, _weights

APART = instances.TABLE.outside((_weights.FINITE, _symbols.LIPSCHITZ))["two clients apart in one dimension"]


def run_of(**changes: Any) -> Experiment:
    return _runs.experiment(get("das2022.theorem4b.repaired"), {**APART, **changes}, "dp-normfedavg")


def unmet(**changes: Any) -> str | None:
    experiment = run_of(**changes)
    return _weights.FINITE.test(experiment.problem, experiment.values)


def test_the_assumption_names_the_client() -> None:
    found = unmet()
    assert found is not None
    assert found.startswith("client 0 has Delta_i* = 0.5 and gradients along one direction only")


@pytest.mark.parametrize(
    ("problem", "met"),
    [
        # No heterogeneity, however few the directions.
        (instances.POINT, True),
        (instances.UNEQUAL, True),
        # One record for each client in three dimensions, then two, then three.
        (instances.problem("huber", clients=6, dimension=3, records=1, seed=1), False),
        (instances.problem("huber", clients=6, dimension=3, records=2, seed=1), True),
        (instances.problem("huber", clients=6, dimension=3, records=3, seed=1), True),
        (instances.problem("huber", clients=3, dimension=1, records=3, seed=1), False),
        (instances.CANCER_SHARDS, True),
        (instances.DIGITS, True),
    ],
)
def test_directions_of_a_client_s_gradients(problem: Mapping[str, Any], met: bool) -> None:
    assert (unmet(problem=problem) is None) is met


@pytest.mark.parametrize(("rank", "one"), [(1, True), (2, False)])
def test_rank_of_a_quadratic(rank: int, one: bool) -> None:
    problem = make("quadratic", clients=4, dimension=5, rank=rank, condition=1000.0, seed=2)
    assert [_weights.one_direction(problem, i) for i in range(4)] == [one] * 4


def test_a_minimum_that_is_not_attained_gives_no_infinite_weight() -> None:
    """One record, logistic: the slope falls to zero at infinity only. A ridge brings a minimiser, and all directions;
    two opposite labels at one point bring a minimiser in one direction."""
    from dpfl_theory.problems.linear_model import LinearModel, linear_data

    rows, one = np.array([[1.0], [1.0], [2.0], [2.0]]), [np.array([0, 1]), np.array([2, 3])]
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    attained = LinearModel(linear_data(rows, labels, one, "logistic"), "opposite labels")
    assert _weights.one_direction(attained, 0)
    single = LinearModel(linear_data(rows, labels, [np.array([i]) for i in range(4)], "logistic"), "single records")
    assert not any(_weights.one_direction(single, i) for i in range(4))


def test_one_round_from_a_fixed_start_has_finite_weights() -> None:
    assert unmet(rounds=1) is None
    assert unmet(rounds=2) is not None


def test_the_mean_inverse_length_in_plain_numbers() -> None:
    """E[min(1/|x|, M)], x ~ N(0, I_m): each factor of ten adds 2 phi(0) log(10) in one dimension, nothing in two."""

    def mean(m: int, most: float) -> float:
        r = np.logspace(-12, 1.2, 400_001)
        shell = {1: 2.0 / math.sqrt(2.0 * math.pi), 2: r}[m] * np.exp(-(r**2) / 2.0)
        return float(np.trapezoid(np.minimum(1.0 / r, most) * shell, r))

    growth = [mean(1, 10.0 ** (k + 1)) - mean(1, 10.0**k) for k in (3, 4, 5)]
    assert growth == pytest.approx([2.0 / math.sqrt(2.0 * math.pi) * math.log(10.0)] * 3, rel=1e-3)
    assert mean(2, 1e4) == pytest.approx(math.sqrt(math.pi / 2.0), rel=1e-3)


def test_weights_of_a_run_have_the_tail_of_an_infinite_mean() -> None:
    """P(weight > t) falls like 1/t in one dimension and like 1/t^2 in two, whatever E: four times as far, a quarter and
    a sixteenth of the draws, within five standard deviations (a false alarm in 10^6)."""
    plane = instances.problem("quadratic", clients=2, dimension=2, condition=1.0, heterogeneity=1.0, seed=7)
    for problem, E, share in ((APART["problem"], 1, 0.25), (APART["problem"], 3, 0.25), (plane, 1, 0.0625)):
        found = make(problem["family"], **problem["parameters"])
        # One noisy round is enough: it spreads w_1 over a neighbourhood of a minimiser.
        centre = np.array([-1.0]) if found.d == 1 else found.constants.w_i_star[0]  # type: ignore[index]
        draws = np.random.default_rng(5).normal(size=(200_000, found.d)) + centre
        lengths = found.kernels(select("cpu")).local_phase(draws, np.full(len(draws), 0.1), E).lengths[:, 0] / E
        above = [int(np.sum(1.0 / lengths > t)) for t in (20.0, 80.0)]
        assert above[1] / above[0] == pytest.approx(share, abs=5.0 * math.sqrt(share / above[0]) + 0.01)


def test_a_single_replicate_dwarfs_the_others() -> None:
    """Theorem 4b's own run: its largest replicate is a larger multiple of a typical one than a finite mean would
    allow."""
    run = run_of()
    done = simulate(run.algorithm, run.problem, run.rounds, 4096, 0, ["weighted-heterogeneity"], start=run.start)
    replicates = done["weighted-heterogeneity"].mean
    assert replicates.max() > 30.0 * np.median(replicates)


@pytest.mark.parametrize("id_", ["das2022.theorem4b", "das2022.theorem4b.repaired", "das2022.eq5.repaired"])
def test_such_a_run_is_outside_the_hypotheses(id_: str) -> None:
    statement = get(id_)
    check = Check("monte-carlo", "test", lambda s, i: _runs.experiment(s, i, "dp-normfedavg"), APART)
    evidence = monte_carlo.run(statement, check, Settings(alpha=1e-8, device="cpu"))
    assert evidence.verdict == "not-applicable"
    assert "is infinite: the bound says nothing about this run" in evidence.reason
    lifted = replace(statement, hypotheses=tuple(a for a in statement.hypotheses if a is not _weights.FINITE))
    assert monte_carlo.run(lifted, check, Settings(alpha=1e-8, device="cpu")).verdict == "holds"
