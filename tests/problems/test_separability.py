"""Separability: complete, quasi-complete and overlapping records, by hand and against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.minimise import minimise
from dpfl_theory.problems.risk import global_risk
from dpfl_theory.problems.separability import margins, pairs, separates, vanishing_pairs


def logistic(x: list[list[float]], y: list[float]) -> LinearModel:
    return LinearModel(linear_data(x, y, [np.arange(len(y))], "logistic"))


def softmax(x: list[list[float]], y: list[float], classes: int) -> LinearModel:
    return LinearModel(linear_data(x, y, [np.arange(len(y))], "softmax", classes=classes))


def with_bias(values: list[float]) -> list[list[float]]:
    return [[v, 1.0] for v in values]


def test_complete_separation_has_infimum_zero_and_no_minimiser() -> None:
    c = logistic(with_bias([-2.0, -1.0, 1.0, 2.0]), [-1.0, -1.0, 1.0, 1.0]).constants
    assert c.w_star is None
    assert c.f_star == 0.0
    assert c.f_i_at_star is None
    assert c.w_i_star is None
    assert c.certificates["f_star"].kind == "not-attained"
    assert c.certificates["w_star"].kind == "not-attained"
    with pytest.raises(ValueError, match="not attained"):
        _ = c.delta_i_star


def test_quasi_complete_separation_keeps_the_touching_records() -> None:
    # At 0 both labels occur, so these two keep the loss log 2 each; the outer ones vanish.
    c = logistic(with_bias([-1.0, 0.0, 0.0, 2.0]), [-1.0, -1.0, 1.0, 1.0]).constants
    assert c.w_star is None
    assert c.f_star == pytest.approx(math.log(2.0) / 2.0, rel=1e-14)
    assert c.certificates["f_star"].kind == "linear-program"


def test_overlap_has_a_minimiser() -> None:
    c = logistic(with_bias([-1.0, 0.5, -0.5, 1.0]), [-1.0, -1.0, 1.0, 1.0]).constants
    assert c.w_star is not None
    assert c.unique
    assert c.certificates["f_star"].kind == "duality-gap"
    assert c.interpolates  # one client: its minimiser is the global one


def test_one_label_vanishes_with_a_bias_and_not_without_a_direction() -> None:
    assert logistic(with_bias([-1.0, 1.0, 3.0]), [1.0, 1.0, 1.0]).constants.f_star == 0.0
    both_signs = logistic([[-1.0], [1.0]], [1.0, 1.0]).constants
    assert both_signs.w_star is not None
    assert both_signs.f_star == pytest.approx(math.log(2.0), rel=1e-15)


def test_records_without_features_keep_their_loss() -> None:
    c = logistic([[0.0, 0.0], [0.0, 0.0]], [1.0, -1.0]).constants
    assert c.f_star == pytest.approx(math.log(2.0), rel=1e-15)
    assert c.L_f == 0.0


def test_a_missing_class_vanishes_and_the_others_overlap() -> None:
    # Class 2 never occurs, so its pairs vanish; 0 and 1 overlap. The infimum is that of two classes.
    values, labels = [-1.0, 0.5, -0.5, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0, 1.0]
    three = softmax(with_bias(values), labels, 3).constants
    two = logistic(with_bias(values), [2.0 * v - 1.0 for v in labels]).constants
    assert three.w_star is None
    assert three.certificates["f_star"].kind == "linear-program"
    assert three.f_star == pytest.approx(two.f_star, rel=1e-13)


def test_softmax_overlap_fixes_the_gauge() -> None:
    c = softmax(with_bias([-1.0, 0.5, 2.0, -0.5, 1.0, -2.0]), [0.0, 1.0, 2.0, 1.0, 0.0, 2.0], 3).constants
    assert c.w_star is not None
    assert not c.unique
    np.testing.assert_allclose(c.w_star.reshape(3, 2).sum(axis=0), 0.0, atol=1e-14)


def test_the_program_agrees_with_the_shortcut_over_the_null_space() -> None:
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(40):
        x = np.hstack([rng.integers(-2, 3, (9, 2)), np.ones((9, 1))]).astype(float)
        y = rng.integers(0, 3, 9).astype(float)
        gone = vanishing_pairs(x, y, 3)
        wanted = pairs(y, 3)
        kinds.add((bool(gone.any()), bool((gone == wanted).all())))
        np.testing.assert_array_equal(gone, vanishing_pairs(x, y, 3, wanted & ~gone))
        found = minimise(global_risk(linear_data(x, y, [np.arange(9)], "softmax", classes=3)))
        assert (found.w is None) == bool(gone.any())
        assert (found.value == 0.0) == bool((gone == wanted).all())
    assert len(kinds) == 3  # complete, quasi-complete and overlapping records all occurred


def test_a_direction_that_separates_is_checked_beyond_rounding() -> None:
    x, y = np.array([[1.0, 1e-16], [1.0, 0.0]]), np.array([1.0, -1.0])
    assert not separates(x, y, np.array([0.0, 1.0]), 1)
    assert not separates(x, y, np.zeros(2), 1)
    assert margins(x, y, np.array([2.0, 0.0]), 1).ravel().tolist() == [2.0, -2.0]


def test_client_infima_bound_what_gradient_descent_reaches() -> None:
    problem = make("softmax-synthetic", clients=8, dimension=2, records=9, seed=4)
    c = problem.constants
    missing = [i for i in range(8) if c.f_i_star[i] < 0.5]
    assert missing
    for i in missing[:3]:
        w = np.zeros(problem.d)
        for _ in range(3000):
            w -= problem.client_gradient(i, w) / c.L_i[i]
        assert c.f_i_star[i] <= problem.client_value(i, w) <= c.f_i_star[i] + 0.05
