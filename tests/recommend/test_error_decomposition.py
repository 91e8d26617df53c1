"""Causes of a suboptimality: planted causes are the ones that are named."""

from __future__ import annotations

import math

import pytest

from dpfl_theory.problems import make
from dpfl_theory.recommend.error_decomposition import Cause, causes, describe_causes
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.tuned import Budget, tuned

PROBLEM = make("logistic-synthetic", clients=8, dimension=3, records=40, seed=2)
GOOD = {"local_steps": 1, "rounds": 64, "local_step": 1.0, "global_step": 4.0, "threshold": 3.0}


def found(changed: dict[str, float], epsilon: float = 500.0, cohort: float | None = None) -> list[Cause]:
    one = tuned()["dp-fedavg"](PROBLEM, Budget(epsilon, 1e-5, rounds=64, cohort=cohort))
    values = {**GOOD, **changed}
    return causes(one, values, measure(one, [values], 64, 0)[0].mean, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("planted", "changed", "epsilon", "cohort"),
    [
        ("the noise", {}, 0.2, None),
        ("clipping", {"threshold": 0.01}, 500.0, None),
        ("too few rounds", {"rounds": 1, "global_step": 0.5}, 500.0, None),
        pytest.param("cohorts", {"threshold": 1.0, "rounds": 16}, 500.0, 2.0, marks=pytest.mark.slow),
        ("the rest", {"local_steps": 16, "local_step": 2.0}, 500.0, None),
    ],
)
def test_a_planted_cause_is_named(
    planted: str, changed: dict[str, float], epsilon: float, cohort: float | None
) -> None:
    reported = found(changed, epsilon, cohort)
    assert max(reported, key=lambda cause: cause.share or 0.0).name == planted
    assert math.fsum(cause.share or 0.0 for cause in reported) == pytest.approx(1.0)


def test_what_helps_stays() -> None:
    """Without its threshold this step diverges."""
    quadratic = make("quadratic", clients=4, dimension=3, seed=1)
    one = tuned()["dp-clip21"](quadratic, Budget(10.0, 1e-5, rounds=64))
    values = {"rounds": 64, "step": 50.0, "threshold": 0.01}
    named = {cause.name: cause for cause in causes(one, values, measure(one, [values], 64, 0)[0].mean, 0)}
    assert named["clipping"].share is None
    assert named["clipping"].without > 1e3


def test_runs_that_diverge_have_no_causes() -> None:
    one = tuned()["dp-clip21"](PROBLEM, Budget(10.0, 1e-5, rounds=4))
    assert causes(one, one.values([0.5] * 3), math.inf, 0) == []
    assert describe_causes([], math.inf) == "Some runs diverge."
