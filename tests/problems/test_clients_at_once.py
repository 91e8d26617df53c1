"""Quadratic clients of one rank: the gradients of all in one product are those of a loop over clients, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from dpfl_theory.kernels import select
from dpfl_theory.problems.quadratic import Quadratic, QuadraticKernels, appendix_f, from_matrices, random_quadratic

PROBLEMS = {
    "five dimensions": random_quadratic(clients=12, dimension=5, seed=3),
    "low rank": appendix_f(seed=1, clients=4, dimension=30, rank=3),
    "one dimension": from_matrices(np.array([[[1.0]], [[0.25]]]), np.array([[0.0], [2.0]])),
}


@pytest.mark.parametrize("replicates", [1, 2, 7, 40])
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_all_clients_at_once_and_one_by_one(name: str, replicates: int) -> None:
    problem: Quadratic = PROBLEMS[name]
    kernels = problem.kernels(select("cpu"))
    assert isinstance(kernels, QuadraticKernels)
    assert kernels._blocks is not None
    w = np.random.default_rng(replicates).standard_normal((problem.n, replicates, problem.d))
    together = kernels.client_gradients(w)
    kernels._blocks = None
    np.testing.assert_array_equal(together, kernels.client_gradients(w))
    for i in range(problem.n):
        np.testing.assert_allclose(together[i, 0], problem.client_gradient(i, w[i, 0]), rtol=1e-9, atol=1e-11)


def test_ranks_that_differ_have_no_common_block() -> None:
    base = PROBLEMS["five dimensions"]
    uneven = Quadratic("uneven", base.basis[1:], base.eigenvalues[1:], np.r_[0, base.offsets[1:] - 1], base.centres)
    kernels = uneven.kernels(select("cpu"))
    assert isinstance(kernels, QuadraticKernels)
    assert kernels._blocks is None
    w = np.random.default_rng(0).standard_normal((uneven.n, 3, uneven.d))
    expected = [[uneven.client_gradient(i, w[i, s]) for s in range(3)] for i in range(uneven.n)]
    np.testing.assert_allclose(kernels.client_gradients(w), expected, rtol=1e-9, atol=1e-11)
