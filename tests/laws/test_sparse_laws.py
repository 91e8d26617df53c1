"""A law of every algorithm: records as CSR and as an array give the same run, up to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from laws.test_algorithm_laws import EXAMPLES, SIGMA, STEP, THRESHOLD
from oracles.compare import ENGINES, differs, play, starting_points
from oracles.sparse import FAULTS, faulty, pair
from short_forms import fedavg

from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.simulation import simulate

ROUNDS, REPLICATES = 6, 3
SIZES = (4, 2, 7, 3, 5)
CASES = [(cls, name) for cls, examples in EXAMPLES.items() for name in examples]


def run(cls: type, name: str, problem: LinearModel) -> np.ndarray:
    """The server's vectors, with the hyper-parameters of the laws and a step at which no record diverges."""
    algorithm = EXAMPLES[cls][name].build(cls, 0.3 * STEP, THRESHOLD, SIGMA)
    return play(algorithm, problem, ROUNDS, starting_points(problem, REPLICATES), 12, engine=ENGINES["cpu"]).servers


def differing(cls: type, name: str, dense: LinearModel, thin: LinearModel) -> list[str]:
    expected = run(cls, name, dense)
    return differs("the run", run(cls, name, thin), expected, float(np.max(np.abs(expected - expected[0]))))


@pytest.mark.exhaustive(keep=16)
@pytest.mark.parametrize(("cls", "name"), CASES, ids=[f"{cls.__name__}-{name}" for cls, name in CASES])
def test_sparse_records_run_as_dense_ones(cls: type, name: str) -> None:
    for loss in ("logistic", "softmax"):
        dense, thin = pair(loss, 0.1, sizes=SIZES)
        assert differing(cls, name, dense, thin) == []


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("cls", "name"), CASES, ids=[f"{cls.__name__}-{name}" for cls, name in CASES])
def test_planted_faults_change_the_run_of_every_algorithm(cls: type, name: str, fault: str) -> None:
    dense, thin = pair("logistic", 0.1, sizes=SIZES)
    assert differing(cls, name, dense, faulty(thin, fault))


def test_a_long_run_of_a_small_problem_is_that_of_dense_records_on_a_tape() -> None:
    dense, thin = pair("logistic", 0.1, sizes=SIZES)
    algorithm = fedavg(0.1, 3, sigma=0.2)
    a, b = (simulate(algorithm, problem, 300, 4, seed=3, device="auto") for problem in (dense, thin))
    np.testing.assert_allclose(b["suboptimality"].mean, a["suboptimality"].mean, rtol=1e-10)
    np.testing.assert_allclose(b.final, a.final, rtol=1e-9)
