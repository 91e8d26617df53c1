"""Measured heterogeneity: hand-computed cases, certified ends against random search, attained ends, units."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory import problems
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Certificate, Problem
from dpfl_theory.problems.heterogeneity import (
    Interval,
    dissimilarity_g,
    heterogeneity,
    sigma_global,
    sigma_local,
    zeta,
)
from dpfl_theory.problems.heterogeneity.suprema import largest_quadratic
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


def phi(problem: Problem, w: np.ndarray, b: float) -> float:
    g = client_gradients(problem, w)
    mean = g.mean(axis=0)
    return float(np.mean(np.sum((g - mean) ** 2, axis=1)) - (b * b - 1.0) * (mean @ mean))


def random_points(problem: Problem, radius: float, count: int, seed: int) -> list[np.ndarray]:
    """Points in the ball around w* (or 0), half of them on its boundary; many distances when it is the whole space."""
    rng = np.random.default_rng(seed)
    w_star = problem.constants.w_star
    centre = np.zeros(problem.d) if w_star is None else w_star
    found = []
    for k in range(count):
        v = rng.standard_normal(problem.d)
        v /= np.linalg.norm(v)
        length = 10.0 ** rng.uniform(-2, 4) if math.isinf(radius) else radius * (1.0 if k % 2 else rng.random())
        found.append(centre + length * v)
    return found


Measure = Callable[..., Interval]
MEASURES: dict[str, tuple[Measure, Callable[[Problem, np.ndarray], float]]] = {
    "sigma_global": (sigma_global, global_deviation),
    "sigma_local": (sigma_local, local_deviation),
}


@pytest.mark.exhaustive(keep=3)
@every_sample
@pytest.mark.parametrize("radius", [0.3, 5.0, math.inf])
@pytest.mark.parametrize("measure", MEASURES)
def test_high_is_never_exceeded_and_low_is_attained(sample: str, radius: float, measure: str) -> None:
    problem = problem_of(sample)
    function, value = MEASURES[measure]
    found = function(problem, None if math.isinf(radius) else radius)
    assert 0.0 <= found.low <= found.high * (1.0 + 1e-12)
    largest = max(value(problem, w) for w in random_points(problem, radius, 60, 1))
    assert largest <= found.high * (1.0 + 1e-10) + 1e-12
    if math.isfinite(found.low):
        assert largest <= found.low * 1.05 + 1e-12, "a random point beats the search by a twentieth"
        assert found.maximizer is not None
        assert value(problem, found.maximizer) == pytest.approx(found.low, rel=1e-9, abs=1e-12)
        w_star = problem.constants.w_star
        if math.isfinite(radius) and w_star is not None:
            assert np.linalg.norm(found.maximizer - w_star) <= radius * (1.0 + 1e-9)


@pytest.mark.exhaustive(keep=5)
@every_sample
@pytest.mark.parametrize("b", [1.0, 2.0, 20.0])
def test_dissimilarity_holds_everywhere_and_is_attained(sample: str, b: float) -> None:
    problem = problem_of(sample)
    g = dissimilarity_g(problem, b)
    points = random_points(problem, math.inf, 60, 2) + random_points(problem, 1.0, 60, 3)
    for w in points:
        scale = float(np.mean(np.sum(client_gradients(problem, w) ** 2, axis=1)))
        assert phi(problem, w, b) <= g.high**2 * (1.0 + 1e-10) + 1e-12 * b * b * (1.0 + scale)
    assert g.low <= g.high * (1.0 + 1e-12)
    if g.maximizer is not None:
        assert phi(problem, g.maximizer, b) == pytest.approx(g.low**2, rel=1e-7, abs=1e-10)
    if problem.constants.w_star is not None:
        assert zeta(problem).low <= g.high**2 * (1.0 + 1e-9), "G^2 is at least the mean square at w*, for every B"


@pytest.mark.exhaustive
@every_sample
def test_values_at_the_optimum(sample: str) -> None:
    problem = problem_of(sample)
    found = heterogeneity(problem, b=2.0, radius=1.0)
    w_star = problem.constants.w_star
    assert w_star is not None
    for interval, value in (
        (found.sigma_global_at_star, global_deviation(problem, w_star)),
        (found.sigma_local_at_star, local_deviation(problem, w_star)),
        (found.zeta, phi(problem, w_star, 1.0)),
    ):
        assert interval is not None
        assert interval.low - 1e-12 <= value <= interval.high + 1e-12
        assert interval.high - interval.low <= 1e-4 * interval.high + 2e-6
    assert found.sigma_global_ball is not None
    assert found.sigma_global_at_star.low <= found.sigma_global_ball.high  # type: ignore[union-attr]
    json.dumps(found.describe(), allow_nan=False)


def test_without_a_minimiser_what_needs_one_is_none() -> None:
    separable = LinearModel(linear_data([[1.0], [-1.0]], [1, -1], [np.array([0]), np.array([1])], "logistic"))
    found = heterogeneity(separable, radius=1.0)
    assert found.zeta is found.sigma_global_at_star is found.sigma_local_ball is None
    assert found.sigma_global.high == pytest.approx(0.0, abs=1.0)
    assert found.sigma_local.high == 0.0  # one record each


# --- hand-computed ---------------------------------------------------------------------------------------------------


def test_equation_8_by_hand() -> None:
    """Slopes x - 4, 4x - 2, 36x + 6, mean 41x/3; deviations from it -38x/3 - 4, -29x/3 - 2, 67x/3 + 6."""
    problem = equation_8().problem()
    assert zeta(problem).low == pytest.approx(56.0 / 3.0, rel=1e-12)
    assert sigma_global(problem, 0.0).low == pytest.approx(6.0, rel=1e-12)
    on_ball = sigma_global(problem, 2.0)
    assert on_ball.low == pytest.approx(134.0 / 3.0 + 6.0, rel=1e-9)
    assert on_ball.high == pytest.approx(134.0 / 3.0 + 6.0, rel=1e-9)
    assert on_ball.maximizer == pytest.approx([2.0])
    # phi_B = (1313 x^2 + 408 x + 56)/3 - B^2 (41 x/3)^2, bounded above if and only if B^2 > 3939/1681.
    threshold = math.sqrt(3939.0 / 1681.0)
    assert math.isinf(dissimilarity_g(problem, threshold * 0.999).high)
    for b in (threshold * 1.01, 2.0, 5.0):
        exact = 56.0 / 3.0 + 136.0**2 / (4.0 * ((41.0 * b / 3.0) ** 2 - 1313.0 / 3.0))
        found = dissimilarity_g(problem, b)
        assert found.low**2 == pytest.approx(exact, rel=1e-9)
        assert found.high**2 == pytest.approx(exact, rel=1e-9)


def test_equal_matrices_give_a_constant_deviation() -> None:
    q = np.array([[2.0, 1.0], [1.0, 3.0]])
    problem = from_matrices(np.stack([q, q]), np.array([[1.0, 0.0], [-1.0, 0.0]]))
    expected = float(np.linalg.norm(q @ [1.0, 0.0]))
    for radius in (None, 0.0, 7.0):
        found = sigma_global(problem, radius)
        assert found.low == pytest.approx(expected, rel=1e-12)
        assert found.high == pytest.approx(expected, rel=1e-12)
    assert dissimilarity_g(problem, 1.0).high == pytest.approx(expected, rel=1e-9)


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
    """One client with the record x = y = 1 and nine with x = 0: its deviation is 9/10 of its slope -expit(-w), its
    smoothness 1/4, and over all w the bound is attained in the limit."""
    zeros = [[1.0], *([[0.0]] * 9)]
    model = LinearModel(linear_data(zeros, [1.0] * 10, [np.array([i]) for i in range(10)], "logistic"))
    origin = np.zeros(1)
    slope = 1.0 / (1.0 + math.exp(-0.3))
    assert sigma_global(model, 0.0, origin).low == pytest.approx(0.45, rel=1e-12)
    near = sigma_global(model, 0.3, origin)
    assert near.low == pytest.approx(0.9 * slope, rel=1e-6)
    assert 0.9 * slope <= near.high <= 0.45 + 0.3 * 0.25 + 1e-9
    assert sigma_global(model, None, origin).low == pytest.approx(0.9, rel=1e-4)
    assert sigma_global(model, None, origin).high == pytest.approx(0.9, rel=1e-9)
    mean_square = dissimilarity_g(model, 1.0, 0.3, origin)
    assert mean_square.low == pytest.approx(0.3 * slope, rel=1e-6)
    assert 0.3 * slope <= mean_square.high <= 0.15 + 0.3 * 0.25 / math.sqrt(10.0) + 1e-9


def test_centred_bounds_on_records_are_used() -> None:
    """Two equal records: the deviation is 0, and the bound around the slopes' centre half of that around 0."""
    for sign in (1.0, -1.0):
        data = linear_data([[1.0], [1.0]], [sign, sign], [np.array([0, 1])], "logistic")
        assert sigma_local(LinearModel(data)).high == pytest.approx(0.5, rel=1e-9)


def test_the_error_of_the_minimiser_is_in_the_intervals() -> None:
    """A w* that is wrong by 1e-3, and certified to be no worse: intervals still hold the values at the true one."""
    exact = from_matrices(np.stack([np.eye(2), np.diag([3.0, 1.0])]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    wrong = from_matrices(np.stack([np.eye(2), np.diag([3.0, 1.0])]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    c = exact.constants
    assert c.w_star is not None
    reported = Certificate("strong-convexity", 1e-3 * math.sqrt(2.0), "shifted on purpose")
    gap = Certificate("strong-convexity", 1e-3, "shifted on purpose")
    shifted = dataclasses.replace(
        c, w_star=c.w_star + 1e-3, certificates={**c.certificates, "w_star": reported, "f_star": gap}
    )
    wrong.__dict__["constants"] = shifted
    found, truth = heterogeneity(wrong, b=3.0), heterogeneity(exact, b=3.0)
    for name in ("zeta", "sigma_global_at_star"):
        told_interval, value = getattr(found, name), getattr(truth, name).low
        assert told_interval.low < value < told_interval.high
        assert told_interval.high - told_interval.low < 0.05


def test_least_squares_records_by_hand() -> None:
    """Records x = 1 with y = 0 and x = 2 with y = 0: gradients w and 4w, deviation 3|w|/2."""
    model = LinearModel(linear_data([[1.0], [2.0]], [0.0, 0.0], [np.array([0, 1])], "squared"))
    assert math.isinf(sigma_local(model).low)
    assert sigma_local(model, 2.0).high == pytest.approx(3.0, rel=1e-9)
    same = LinearModel(linear_data([[1.0], [-1.0]], [0.0, 4.0], [np.array([0, 1])], "squared"))  # w and w + 4
    assert sigma_local(same).high == pytest.approx(2.0, rel=1e-9)


def test_a_ridge_changes_no_deviation() -> None:
    plain = problem_of("logistic")
    assert isinstance(plain, LinearModel)
    ridged = LinearModel(dataclasses.replace(plain.data, ridge=0.3))
    for measure in (sigma_global, sigma_local):
        at = np.full(plain.d, 0.7)
        a, b = measure(plain, 0.5, at), measure(ridged, 0.5, at)
        assert a.high == pytest.approx(b.high, rel=1e-9)
        assert a.low == pytest.approx(b.low, rel=1e-2)
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
        one, other = measure(problem, 0.5), measure(scaled, 0.5 / a)
        assert other.high == pytest.approx(a * one.high, rel=1e-6, abs=1e-12)
        assert other.low == pytest.approx(a * one.low, rel=1e-2, abs=1e-12)
    assert zeta(scaled).high == pytest.approx(a * a * zeta(problem).high, rel=1e-4)
    one, other = dissimilarity_g(problem, 3.0), dissimilarity_g(scaled, 3.0)
    assert other.high == pytest.approx(a * one.high, rel=1e-6) or (math.isinf(one.high) and math.isinf(other.high))


def test_units_of_the_objective() -> None:
    q, centres = np.stack([np.eye(2), np.diag([3.0, 1.0])]), np.array([[1.0, 0.0], [0.0, 2.0]])
    one, other = from_matrices(q, centres), from_matrices(5.0 * q, centres)
    assert sigma_global(other, 1.0).high == pytest.approx(5.0 * sigma_global(one, 1.0).high, rel=1e-9)
    assert dissimilarity_g(other, 3.0).high == pytest.approx(5.0 * dissimilarity_g(one, 3.0).high, rel=1e-9)


def test_refusals() -> None:
    problem = problem_of("quadratic")
    with pytest.raises(InputError, match="B is"):
        dissimilarity_g(problem, 0.5)
    with pytest.raises(InputError, match="radius"):
        sigma_global(problem, -1.0)


def test_quadratics_on_balls_convex_concave_indefinite_and_hard() -> None:
    """Dual and primal values agree, and random points never exceed them; every fifth has g without a component along
    the top eigenvector (the hard case of trust regions)."""
    rng = np.random.default_rng(5)
    for k in range(400):
        d = int(rng.integers(1, 6))
        h = rng.standard_normal((d, d))
        h = [h + h.T, h @ h.T, -h @ h.T][k % 3]
        g = rng.standard_normal(d) * (k % 7 > 0)
        if k % 5 == 0:
            _, vectors = np.linalg.eigh(h)
            g = g - vectors[:, -1] * (vectors[:, -1] @ g)
        radius = 10.0 ** rng.uniform(-2, 2)
        found = largest_quadratic(h, g, 1.0, radius)
        assert found.maximizer is not None
        assert np.linalg.norm(found.maximizer) <= radius * (1.0 + 1e-12)
        assert found.high - found.low <= 1e-8 * max(1.0, abs(found.high))
        u = rng.standard_normal((200, d))
        u *= (radius * rng.random(200) ** 0.2 / np.linalg.norm(u, axis=1))[:, None]
        values = np.einsum("sk,kl,sl->s", u, h, u) + 2.0 * u @ g + 1.0
        assert float(values.max()) <= found.high + 1e-9 * (1.0 + abs(found.high))
    assert math.isinf(largest_quadratic(np.diag([-1.0, 0.0]), np.array([0.0, 1.0]), 0.0).high)
    assert largest_quadratic(np.diag([-1.0, 0.0]), np.array([1.0, 0.0]), 0.0).high == pytest.approx(1.0)
