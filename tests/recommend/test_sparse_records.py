"""Recommendations for sparse records: the table of dense ones, bounded memory, and unsupported options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles.sparse import faulty, pair

from dpfl_theory.kernels import select
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.recommend.compare import compare
from dpfl_theory.recommend.search import Plan, _together, usual
from dpfl_theory.recommend.tuned import Budget, tuned
from dpfl_theory.simulation.simulate import _blocks

SIZES = (10, 13, 17)
SMALL = Plan(points=8, replicates=2, generations=2, finalists=2, second=4, best=1, third=8, last=8)


def table(problem: LinearModel) -> list[tuple[Any, ...]]:
    """The comparison's rows."""
    found = compare(problem, Budget(8.0, 1e-5, rounds=8), plan=SMALL)
    return [
        (row["name"], row["suboptimality"]["mean"], row["accuracy"]["mean"], *row["hyperparameters"].values())
        for row in found["algorithms"]
    ]


@pytest.mark.slow
def test_the_table_is_that_of_dense_records_and_a_lost_bias_changes_it() -> None:
    dense, thin = pair("logistic", 0.1, 6, SIZES)
    expected, found, wrong = (table(p) for p in (dense, thin, faulty(thin, "the bias lost")))
    assert {row[0] for row in expected} == set(tuned())
    assert [row[0] for row in found] == [row[0] for row in expected]
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a[1:], b[1:], rtol=1e-7)
    assert any(not np.allclose(a[1:], b[1:], rtol=1e-3) for a, b in zip(sorted(wrong), sorted(expected)))


@pytest.mark.parametrize(("features", "replicates"), [(9, 1024), (10**6, 44)])
def test_wide_problems_run_fewer_replicates_at_once(features: int, replicates: int) -> None:
    """2^30 bytes over 8 n d, and never more than 1024."""
    problem = type("Wide", (), {"n": 3, "d": features, "sparse": True})()
    one = tuned()["dp-fedavg"](problem, Budget(1.0, 1e-5, rounds=4))
    one.__dict__["axes"] = ()
    groups = list(_together(one, [{"rounds": 4}] * 3000, 1))
    assert max(map(len, groups)) == replicates
    assert sum(map(len, groups)) == 3000


def test_blocks_of_wide_sparse_problems_are_small_and_others_stay_as_they_are() -> None:
    engine = select("cpu")
    for sparse in (False, True):
        wide = type("Wide", (), {"n": 20, "d": 10**5, "sparse": sparse})()
        widths = {b.stop - b.start for b in _blocks(wide, engine, 64)}
        assert widths == ({2} if sparse else {16})


def test_wide_sparse_problems_have_a_smaller_plan() -> None:
    dense, thin = pair("logistic", 0.1, 6, SIZES)
    assert usual(thin) == usual(dense) == Plan()
    wide = type("Wide", (), {"n": 20, "d": 10**5, "sparse": True})()
    assert usual(wide).runs < 0.1 * Plan().runs
    wide.sparse = False
    assert usual(wide) == Plan()
