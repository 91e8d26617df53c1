"""The distance of a computed minimiser of the logistic loss from the true one: bounded, and not much too far."""

from __future__ import annotations

import numpy as np
import pytest

from dpfl_theory.problems import make
from dpfl_theory.problems.certificates import near_minimiser
from dpfl_theory.problems.risk import global_risk


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("apart", [1e-9, 1e-5, 1e-3, 0.02])
def test_the_minimiser_is_as_near_as_is_said(seed: int, apart: float) -> None:
    """Along the flattest direction the bound is three times the distance, where it is short; a third of it fails."""
    problem = make("logistic-synthetic", clients=4, dimension=3, records=30, seed=seed)
    risk, w_star = global_risk(problem.data), problem.constants.w_star
    curvature = risk.loss.curvature(risk.x @ w_star, risk.y, risk.threshold)
    flattest = np.linalg.eigh((risk.x * (risk.weight * curvature)[:, None]).T @ risk.x)[1][:, 0]
    w = w_star + apart * flattest
    found = near_minimiser(risk, w, float(np.linalg.norm(risk.gradient(w))))
    if found is None:
        assert apart == 0.02  # the gradient is too long for it there
        return
    assert apart <= found.error <= 3.5 * apart
    own = problem.constants.certificates["w_star"]
    assert own.kind == "self-concordance"
    assert own.error < 1e-10


def test_other_losses_and_flat_directions_have_no_such_bound() -> None:
    ridge = make("logistic-synthetic", clients=4, dimension=3, records=30, ridge=0.1)
    assert ridge.constants.certificates["w_star"].kind == "strong-convexity"
    assert near_minimiser(global_risk(ridge.data), ridge.constants.w_star, 0.0) is None
    flat = make("logistic-synthetic", clients=2, dimension=30, records=4)
    assert near_minimiser(global_risk(flat.data), np.zeros(flat.d), 1e-3) is None
