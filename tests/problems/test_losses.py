"""What a loss says of all of its slopes, against slopes at logits of every size."""

from __future__ import annotations

import numpy as np
import pytest

from dpfl_theory.problems.losses import LOSS

BOUNDED = ("huber", "logistic", "softmax")


@pytest.mark.parametrize("name", BOUNDED)
def test_slopes_lie_in_their_ball_and_reach_their_bounds(name: str) -> None:
    """2000 logits for each of six records, small and far away, where slopes come to the corners of their set."""
    loss, rng, records = LOSS[name], np.random.default_rng(4), 6
    classes = 3 if loss.classwise else 1
    y = {"huber": rng.standard_normal(records), "logistic": np.array([1.0, -1.0] * 3)}.get(
        name, np.array([0.0, 1.0, 2.0] * 2)
    )
    threshold = rng.uniform(0.5, 2.0, records)
    x, v = rng.standard_normal((records, 4)), rng.standard_normal((classes, 4))
    centres, radii = loss.slope_ball(y, threshold, classes)
    square = np.sum(x**2, axis=1)
    sums, farthest = np.zeros(records), np.full(records, -np.inf)
    for scale in np.repeat([0.1, 1.0, 10.0, 1000.0], 500):
        z = scale * rng.standard_normal((records, classes))
        slope = loss.slope(z if loss.classwise else z[:, 0], y, threshold).reshape(records, classes)
        assert np.all(np.linalg.norm(slope - centres, axis=1) <= radii + 1e-12)
        assert np.all(np.linalg.norm(slope, axis=1) <= loss.slope_bound(threshold) + 1e-12)
        sums = np.maximum(sums, np.abs(slope).sum(axis=1))
        apart = np.sum((slope[:, :, None] * x[:, None, :] - v) ** 2, axis=(1, 2)) - np.sum(v**2)
        farthest = np.maximum(farthest, apart)
    assert sums == pytest.approx(loss.slope_sum(threshold), rel=1e-9)
    assert farthest == pytest.approx(loss.farthest(x @ v.T, square, y, threshold), rel=1e-6)


def test_slopes_of_the_squared_loss_have_no_bound() -> None:
    loss, ones = LOSS["squared"], np.ones(2)
    assert np.all(np.isinf(loss.slope_sum(ones)))
    assert np.all(np.isinf(loss.slope_ball(ones, ones, 1)[1]))
    assert np.all(np.isinf(loss.farthest(ones[:, None], ones, ones, ones)))
