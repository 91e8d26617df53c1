"""Each algorithm in the special cases where it is another one; see `reductions`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import simulation.reductions as module
from simulation.reductions import REDUCTIONS, zoo


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda r: r.__name__)
def test_reduction(reduction: Any) -> None:
    assert reduction(zoo()) == []


def test_every_reduction_is_in_the_list() -> None:
    found = {
        f for _, f in inspect.getmembers(module, inspect.isfunction) if list(inspect.signature(f).parameters) == ["a"]
    }
    assert found == set(REDUCTIONS)


def test_constant_gradients_are_constant() -> None:
    problem = module.constant_gradients()
    far = np.full(problem.d, 1e3)
    for i in range(problem.n):
        assert np.array_equal(problem.client_gradient(i, far), problem.client_gradient(i, far + 10.0))
        assert np.linalg.norm(problem.client_gradient(i, far)) > 0.005
