"""Minimal values: duality gaps are sound at every point, certificates are tight at the minimum and honest elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfl_theory.kernels.linear import LOSSES, LinearData
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.minimise import _certified, _duality_gap, minimise, newton
from dpfl_theory.problems.risk import client_risk, global_risk
from dpfl_theory.problems.whitened import Whitened


def random_data(rng: np.random.Generator, loss: str, ridge: float = 0.0) -> LinearData:
    """Small records of many kinds: continuous, integer with ties, badly scaled, with a bias; wild thresholds."""
    m, features, style = int(rng.integers(1, 25)), int(rng.integers(1, 6)), int(rng.integers(4))
    classes = int(rng.integers(2, 5)) if loss == "softmax" else 1
    x = rng.standard_normal((m, features)) if style < 2 else rng.integers(-2, 3, (m, features)).astype(float)
    if style == 1:
        x = x * 10.0 ** rng.integers(-3, 4, features)
    if style == 3:
        x[:, -1] = 1.0
    y = rng.standard_normal(m) * 10.0 ** rng.integers(-3, 4)
    if loss == "logistic":
        y = rng.choice([-1.0, 1.0], m)
    elif loss == "softmax":
        y = rng.integers(0, classes, m).astype(float)
    threshold = 10.0 ** rng.uniform(-4, 2, m)
    return linear_data(x, y, [np.arange(m)], loss, threshold=threshold, ridge=ridge, classes=classes)


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("ridge", [0.0, 1e-4, 1.0])
def test_every_minimum_has_a_tight_certificate(loss: str, ridge: float) -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        risk = client_risk(random_data(rng, loss, ridge), 0)
        found = minimise(risk)
        assert found.kind != "gradient-norm"
        assert 0.0 <= found.error <= 1e-9 * max(found.value, 1e-6)
        if found.w is not None and found.value > 0.0:
            assert risk.value(found.w) == found.value
        for _ in range(5):
            w = rng.standard_normal(risk.x.shape[1] * risk.classes)
            assert risk.value(w) >= found.value - found.error


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_duality_gap_bounds_the_suboptimality_at_any_point(loss: str) -> None:
    rng = np.random.default_rng(12)
    seen = 0
    for _ in range(80):
        risk = client_risk(random_data(rng, loss), 0)
        infimum = minimise(risk)
        white = Whitened(risk)
        q = newton(white, iterations=int(rng.integers(0, 4)))
        gap = _duality_gap(white, q)
        if gap.feasible:
            seen += 1
            suboptimality = risk.value(white.parameters(q)) - infimum.value
            assert suboptimality <= gap.gap * (1 + 1e-9) + infimum.error + risk.rounding(white.parameters(q))
    assert seen >= 20


def test_without_a_feasible_dual_point_only_the_gradient_is_claimed() -> None:
    # Far away both records are in their linear parts, so no interior dual coordinate can repair the sum.
    risk = client_risk(linear_data([[1.0], [1.0]], [0.0, 1.0], [np.array([0, 1])], "huber", threshold=[1.0]), 0)
    white = Whitened(risk)
    far = np.array([100.0])
    found = _certified(risk, white.parameters(far), 0.0, False, lambda: _duality_gap(white, far))
    assert found.kind == "gradient-norm"
    assert math.isinf(found.error)
    assert "no dual-feasible point" in found.text


def test_the_gradient_norm_promise_is_kept() -> None:
    rng = np.random.default_rng(13)
    for loss in LOSSES:
        for _ in range(20):
            data = random_data(rng, loss)
            c = LinearModel(data).constants
            if c.w_star is not None:
                risk = global_risk(data)
                slopes = np.abs(risk.loss.slope(risk.logits(np.zeros(len(c.w_star))), risk.y, risk.threshold))
                scale = float(
                    risk.weight @ (np.linalg.norm(risk.x, axis=1) * slopes.reshape(len(slopes), -1).max(axis=1))
                )
                assert float(np.linalg.norm(risk.gradient(c.w_star))) <= 1e-10 * scale


def test_rank_deficient_records_have_a_minimiser_that_is_not_unique() -> None:
    rng = np.random.default_rng(14)
    x = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4))
    for loss, y in (("logistic", rng.choice([-1.0, 1.0], 40)), ("huber", rng.standard_normal(40))):
        c = LinearModel(linear_data(x, y, [np.arange(40)], loss, threshold=0.5)).constants
        assert c.w_star is not None
        assert not c.unique
        assert c.certificates["f_star"].error < 1e-11
        # The solver works in the span of the records, so this is the minimiser with the smallest norm.
        outside = c.w_star - np.linalg.pinv(x) @ (x @ c.w_star)
        np.testing.assert_allclose(outside, 0.0, atol=1e-12)
