"""Measured heterogeneity: hand-computed cases, certified ends against random search, attained ends, units."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory import problems
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.heterogeneity import Interval, _largest_quadratic, sigma_global, sigma_local
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.problems.scalar import equation_8

SAMPLES: dict[str, dict[str, Any]] = {
    "quadratic": {"kind": "quadratic", "clients": 4, "dimension": 3, "seed": 3},
    "low-rank": {"kind": "appendix-f", "clients": 5, "dimension": 6, "rank": 2},
    "least-squares": {"kind": "least-squares", "clients": 3, "dimension": 3, "records": 8},
    "huber": {"kind": "huber", "clients": 3, "dimension": 3, "records": 10},
    "huber-scalar": {"kind": "huber-scalar", "minimisers": [0.0, 1.0, 5.0], "thresholds": [1.0, 0.5, 2.0]},
    "logistic": {"kind": "logistic-synthetic", "clients": 3, "dimension": 2, "records": 25, "label_noise": 0.3},
    "logistic-ridge": {"kind": "logistic-synthetic", "clients": 3, "dimension": 4, "records": 12, "ridge": 0.05},
    "softmax-ridge": {"kind": "softmax-noble2022", "clients": 3, "records": 30, "features": 3, "classes": 3},
    "softmax": {"kind": "softmax-synthetic", "clients": 3, "dimension": 3, "records": 30, "label_noise": 0.4},
}
every_sample = pytest.mark.parametrize("sample", SAMPLES)


@functools.cache
def problem_of(sample: str) -> Problem:
    return problems.make(**SAMPLES[sample])


def client_gradients(problem: Problem, w: np.ndarray) -> np.ndarray:
    return np.stack([problem.client_gradient(i, w) for i in range(problem.n)])


def record_gradients(problem: Problem, i: int, w: np.ndarray) -> np.ndarray:
    """Every record's gradient, each as the only record of a client: shares no code with the measurement."""
    if not isinstance(problem, LinearModel):
        return problem.client_gradient(i, w)[None]
    d = problem.data
    rows = range(int(d.offsets[i]), int(d.offsets[i + 1]))
    alone = [
        LinearData(d.x[j : j + 1], d.y[j : j + 1], np.array([0, 1]), d.loss, d.threshold[j : j + 1], d.ridge, d.classes)
        for j in rows
    ]
    return np.stack([LinearModel(one).client_gradient(0, w) for one in alone])


def global_deviation(problem: Problem, w: np.ndarray) -> float:
    g = client_gradients(problem, w)
    return float(np.max(np.linalg.norm(g - g.mean(axis=0), axis=1)))


def local_deviation(problem: Problem, w: np.ndarray) -> float:
    worst = 0.0
    for i in range(problem.n):
        g = record_gradients(problem, i, w)
        worst = max(worst, float(np.mean(np.sum((g - g.mean(axis=0)) ** 2, axis=1))))
    return math.sqrt(worst)


def random_points(problem: Problem, count: int, seed: int) -> list[np.ndarray]:
    """Points at many distances from w* (or 0)."""
    rng = np.random.default_rng(seed)
    w_star = problem.constants.w_star
    centre = np.zeros(problem.d) if w_star is None else w_star
    found = []
    for _ in range(count):
        v = rng.standard_normal(problem.d)
        v /= np.linalg.norm(v)
        found.append(centre + 10.0 ** rng.uniform(-2, 4) * v)
    return found


Measure = Callable[..., Interval]
MEASURES: dict[str, tuple[Measure, Callable[[Problem, np.ndarray], float]]] = {
    "sigma_global": (sigma_global, global_deviation),
    "sigma_local": (sigma_local, local_deviation),
}


@pytest.mark.exhaustive(keep=3)
@every_sample
@pytest.mark.parametrize("measure", MEASURES)
def test_high_is_never_exceeded_and_low_is_attained(sample: str, measure: str) -> None:
    problem = problem_of(sample)
    function, value = MEASURES[measure]
    found = function(problem)
    assert 0.0 <= found.low <= found.high * (1.0 + 1e-12)
    largest = max(value(problem, w) for w in random_points(problem, 60, 1))
    assert largest <= found.high * (1.0 + 1e-10) + 1e-12
    if math.isfinite(found.low):
        assert largest <= found.low * 1.05 + 1e-12, "a random point beats the search by a twentieth"
        assert found.maximizer is not None
        assert value(problem, found.maximizer) == pytest.approx(found.low, rel=1e-9, abs=1e-12)


# --- hand-computed ---------------------------------------------------------------------------------------------------


def test_equal_matrices_give_a_constant_deviation() -> None:
    q = np.array([[2.0, 1.0], [1.0, 3.0]])
    problem = from_matrices(np.stack([q, q]), np.array([[1.0, 0.0], [-1.0, 0.0]]))
    expected = float(np.linalg.norm(q @ [1.0, 0.0]))
    found = sigma_global(problem)
    assert found.low == pytest.approx(expected, rel=1e-12)
    assert found.high == pytest.approx(expected, rel=1e-12)
    assert math.isinf(sigma_global(equation_8().problem()).high)  # slopes x - 4, 4x - 2, 36x + 6


def test_two_opposite_logistic_records() -> None:
    """Two clients with one record x = 1 and labels 1, -1: slopes -expit(-w) and expit(w), 1/2 from their mean."""
    data = linear_data([[1.0], [1.0]], [1.0, -1.0], [np.array([0]), np.array([1])], "logistic")
    found = sigma_global(LinearModel(data))
    assert found.low == pytest.approx(0.5, rel=1e-9)
    assert 0.5 <= found.high <= 1.0 + 1e-9
    together = LinearModel(linear_data([[1.0], [1.0]], [1.0, -1.0], [np.array([0, 1])], "logistic"))
    assert sigma_local(together).low == pytest.approx(0.5, rel=1e-9)
    assert sigma_local(together).high <= 1.0 + 1e-9
    assert sigma_global(together).high == 0.0  # a single client


def test_bounds_that_are_tight() -> None:
    """One client with the record x = y = 1 and nine with x = 0: its deviation is 9/10 of its slope -expit(-w), and
    over all w the bound is attained in the limit."""
    zeros = [[1.0], *([[0.0]] * 9)]
    model = LinearModel(linear_data(zeros, [1.0] * 10, [np.array([i]) for i in range(10)], "logistic"))
    assert sigma_global(model).low == pytest.approx(0.9, rel=1e-4)
    assert sigma_global(model).high == pytest.approx(0.9, rel=1e-9)


def test_centred_bounds_on_records_are_used() -> None:
    """Two equal records: the deviation is 0, and the bound around the slopes' centre half of that around 0."""
    for sign in (1.0, -1.0):
        data = linear_data([[1.0], [1.0]], [sign, sign], [np.array([0, 1])], "logistic")
        assert sigma_local(LinearModel(data)).high == pytest.approx(0.5, rel=1e-9)


def test_least_squares_records_by_hand() -> None:
    """Records x = 1 with y = 0 and x = 2 with y = 0: gradients w and 4w, deviation 3|w|/2."""
    model = LinearModel(linear_data([[1.0], [2.0]], [0.0, 0.0], [np.array([0, 1])], "squared"))
    assert math.isinf(sigma_local(model).low)
    same = LinearModel(linear_data([[1.0], [-1.0]], [0.0, 4.0], [np.array([0, 1])], "squared"))  # w and w + 4
    assert sigma_local(same).high == pytest.approx(2.0, rel=1e-9)


def test_quadratics_with_a_maximum_and_without() -> None:
    flat = np.diag([-1.0, 0.0])
    assert math.isinf(_largest_quadratic(flat, np.array([0.0, 1.0]), 0.0, 0.0, 0.0)[1])
    assert math.isinf(_largest_quadratic(-flat, np.array([0.0, 0.0]), 0.0, 0.0, 0.0)[1])
    assert _largest_quadratic(flat, np.array([1.0, 0.0]), 0.0, 0.0, 0.0)[1] == pytest.approx(1.0)


def test_a_ridge_changes_no_deviation() -> None:
    plain = problem_of("logistic")
    assert isinstance(plain, LinearModel)
    ridged = LinearModel(dataclasses.replace(plain.data, ridge=0.3))
    for measure in (sigma_global, sigma_local):
        assert measure(plain).high == pytest.approx(measure(ridged).high, rel=1e-12)


# --- units and refusals ----------------------------------------------------------------------------------------------


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("sample", ["quadratic", "least-squares", "huber", "logistic", "softmax"])
def test_units_of_the_parameter(sample: str) -> None:
    """w -> w/a (x -> a x): gradients grow by a, distances shrink by it."""
    problem = problem_of(sample)
    a = 8.0
    if isinstance(problem, LinearModel):
        scaled: Problem = LinearModel(dataclasses.replace(problem.data, x=a * problem.data.x))
    else:
        q = np.stack([np.eye(3), 2.0 * np.eye(3)])
        centres = np.arange(6.0).reshape(2, 3)
        problem, scaled = from_matrices(q, centres), from_matrices(a * a * q, centres / a)
    for measure in (sigma_global, sigma_local):
        one, other = measure(problem), measure(scaled)
        assert other.high == pytest.approx(a * one.high, rel=1e-6, abs=1e-12)
        assert other.low == pytest.approx(a * one.low, rel=1e-2, abs=1e-12)
