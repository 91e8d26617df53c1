"""How far clients' and records' gradients deviate from their means: zhang2021's sigma_g and sigma_l, and zeta.

Upper bounds for linear models are certified over all parameters.

The slope of a Huber, logistic or softmax loss stays in a bounded set, a ball of radius h_j around a centre s_j: the
interval [-t_j, t_j], the segment between 0 and -y_j, the probabilities minus the label's unit vector. A ridge adds the
same to every gradient and leaves all deviations as they are. So with
``c_i = (1/m_i) sum_j s_j x_j^T`` every gradient of client i, less its ridge, is within r_i of c_i,
``r_i = min{(1/m_i) sum_j h_j ||x_j||, sqrt((1/m_i) sum_j h_j) sqrt(lambda_max((1/m_i) sum_j h_j x_j x_j^T))}``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.heterogeneity.measured import (
    Interval,
    all_gradients,
    ball_of,
    change_length,
    few_columns,
    gradient_error,
    gradients_at,
    hessians,
    lipschitz_deviation,
    product,
    ridge_of,
    root_of,
)
from dpfl_theory.problems.heterogeneity.suprema import Supremum, climb, largest_quadratic
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.smoothness import extremes
from dpfl_theory.problems.sparse import gathered, lengths, scaled, squares
from dpfl_theory.problems.sparse import gram as weighted_gram

__all__ = [
    "ClientBounds",
    "client_bounds",
    "record_deviation",
    "record_deviation_bound",
    "record_deviation_slope",
    "sigma_global",
    "sigma_local",
    "zeta",
]


def _top(gram: Array) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, rounded up."""
    return max(0.0, float(np.linalg.eigvalsh(gram)[-1])) * (1.0 + 1e-13 * len(gram))


def _tops(data: LinearData, radii: Array) -> tuple[Array, Array]:
    """The largest eigenvalues of ``G_i = (1/m_i) sum_j h_j x_j x_j^T`` and of ``(1 - 2/n) G_i + (1/n) sum_k G_k`` for
    each client, rounded up."""
    n, parts = data.clients, [slice(a, b) for a, b in zip(data.offsets[:-1], data.offsets[1:])]
    sizes = np.diff(data.offsets)
    if data.sparse:
        weight = radii / np.repeat(sizes, sizes)
        joint = np.tile(weight / n, (n, 1))
        for i, own in enumerate(parts):
            joint[i, own] += (1.0 - 2.0 / n) * weight[own]
        alone = [_sparse_top(data.x[own], weight[own]) for own in parts]
        return np.array(alone), np.array([_sparse_top(data.x, one) for one in joint])
    grams = np.stack([(data.x[own] * radii[own][:, None]).T @ data.x[own] / m for own, m in zip(parts, sizes)])
    mean = grams.mean(axis=0)
    return np.array([_top(g) for g in grams]), np.array([_top((1.0 - 2.0 / n) * g + mean) for g in grams])


def _sparse_top(x: Any, weight: Array) -> float:
    """The largest eigenvalue of ``sum_j a_j x_j x_j^T``, rounded up."""
    found = extremes(x, np.maximum(weight, 0.0))
    return found.largest * (1.0 + 1e-13 * found.order)


@dataclass(frozen=True)
class ClientBounds:
    """sigma (n,): upper bounds on ``sup_w ||grad f_i - grad f||``;  variance: one on ``sup_w (1/n) sum_i ||grad f_i -
    grad f||^2``; both in units of gradients [F/X], the second squared."""

    sigma: Array
    variance: float


def client_bounds(data: LinearData) -> ClientBounds:
    """Bounds over all parameters for losses with bounded slopes (Huber, logistic, softmax), with any ridge.

    ``||grad f_i - grad f|| <= ||c_i - c|| + R_i``, where R_i is ``(1 - 1/n) r_i + (1/n) sum_{k != i} r_k`` by the
    triangle inequality or, where smaller, the spectral form of r over all records with their weights in the difference.
    The variance is at most ``(1/n) sum_i (||c_i - c|| + r_i)^2``, since a mean minimises the mean square.

    >>> x = np.array([[1.0], [1.0]])
    >>> data = LinearData(x, np.array([1.0, -1.0]), np.array([0, 1, 2]), "logistic", np.ones(2), 0.0, 1)
    >>> client_bounds(data).sigma  # slopes -expit(-z) and expit(z): half their difference is 1/2 everywhere
    array([1., 1.])
    """
    n, features = data.clients, data.x.shape[1]
    centres, radii = LOSS[data.loss].slope_ball(data.y, data.threshold, data.classes)
    far = radii * lengths(data.x)
    c = np.empty((n, data.classes * features))
    total, weight = np.empty(n), np.empty(n)
    for i in range(n):
        own = slice(data.offsets[i], data.offsets[i + 1])
        x, m = data.x[own], int(data.offsets[i + 1] - data.offsets[i])
        c[i] = (gathered(centres[own], x) / m).ravel()
        total[i], weight[i] = math.fsum(far[own]) / m, math.fsum(radii[own]) / m
    top, top_joint = _tops(data, radii)
    r = np.array([min(total[i], math.sqrt(weight[i] * top[i])) for i in range(n)])
    apart = np.linalg.norm(c - c.mean(axis=0), axis=1)
    triangle = (1.0 - 2.0 / n) * r + float(np.mean(r))
    joint = np.empty(n)
    for i in range(n):
        joint[i] = math.sqrt(((1.0 - 2.0 / n) * weight[i] + float(np.mean(weight))) * top_joint[i])
    sigma = (apart + np.minimum(triangle, joint)) * (1.0 + 1e-12)
    variance = min(float(np.mean((apart + r) ** 2)), float(np.mean(sigma**2)))
    return ClientBounds(sigma, variance * (1.0 + 1e-12))


def record_deviation(data: LinearData, i: int, w: Array) -> float:
    """``sqrt((1/m_i) sum_j ||grad f_i(w, d_j) - grad f_i(w)||^2)`` [F/X], without the ridge, which cancels.

    >>> data = LinearData(np.ones((2, 1)), np.array([0.0, 2.0]), np.array([0, 2]), "squared", np.ones(2), 0.0, 1)
    >>> record_deviation(data, 0, np.array([5.0]))  # gradients 5 and 3
    1.0
    """
    own = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
    x = data.x[own]
    z, loss = x @ w.reshape(data.classes, -1).T, LOSS[data.loss]
    slopes = loss.slope(z if loss.classwise else z[:, 0], data.y[own], data.threshold[own])
    slopes = slopes.reshape(len(z), -1)
    square = np.sum(slopes**2, axis=1) * squares(x)
    mean = gathered(slopes, x) / len(slopes)
    return math.sqrt(max(float(np.mean(square)) - float(np.sum(mean**2)), 0.0))


def record_deviation_bound(data: LinearData, i: int) -> float:
    """An upper bound on ``sup_w`` of ``record_deviation`` for bounded slopes: with any v it is at most
    ``sqrt((1/m_i) sum_j max_s ||s x_j^T - v||^2)``, s over the corners of the slopes' set; v is 0 or c_i.

    >>> data = LinearData(np.ones((2, 1)), np.array([1.0, -1.0]), np.array([0, 2]), "logistic", np.ones(2), 0.0, 1)
    >>> round(record_deviation_bound(data, 0), 9)  # slopes -p and 1 - p, p = expit(-z): the deviation is 1/2 everywhere
    1.0
    """
    own = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
    x, y = data.x[own], data.y[own]
    if len(y) == 1:
        return 0.0
    square = squares(x)
    loss = LOSS[data.loss]
    centres, _ = loss.slope_ball(y, data.threshold[own], data.classes)
    c = gathered(centres, x) / len(y)
    best = math.inf
    for v in (np.zeros_like(c), c):
        along = x @ v.T  # (m, classes): s^T v x_j for the unit slopes s
        worst = loss.farthest(along, square, y, data.threshold[own])
        best = min(best, float(np.mean(worst)) + float(np.sum(v**2)))
    return math.sqrt(best) * (1.0 + 1e-12)


def record_deviation_slope(data: LinearData, i: int) -> float:
    """A Lipschitz constant of ``record_deviation`` in w [F/X^2].

    ``c sqrt(lambda_max((1/m_i) sum_j ||x_j||^2 x_j x_j^T))`` with c the loss's largest curvature.

    >>> data = LinearData(np.ones((2, 1)), np.zeros(2), np.array([0, 2]), "logistic", np.ones(2), 0.0, 1)
    >>> round(record_deviation_slope(data, 0), 9)
    0.25
    """
    x = data.x[int(data.offsets[i]) : int(data.offsets[i + 1])]
    m = x.shape[0]
    top = _sparse_top(x, squares(x) / m) if data.sparse else _top((x * squares(x)[:, None]).T @ x / m)
    return LOSS[data.loss].curvature_bound * math.sqrt(top)


def sigma_global(
    problem: Problem, radius: float | None = None, centre: Array | None = None, seed: int = 0, tries: int = 6
) -> Interval:
    """``sup_w max_i ||grad f_i(w) - grad f(w)||`` [F/X], zhang2021's sigma_g, over all w or a ball around the centre.

    Quadratics: inf unless all matrices agree to 1e-12; on a ball the exact maximum of a convex quadratic. Bounded
    slopes: ``client_bounds``, and on a ball at most the value at the centre plus radius times ``max(L_i, L_f)`` without
    the ridge. Other problems: the same from G_i and L_i.

    >>> from dpfl_theory.problems.scalar import equation_8
    >>> sigma_global(equation_8().problem()).high
    inf
    >>> round(sigma_global(equation_8().problem(), radius=1.0).high, 9)  # 36 x + 6 - 41 x/3 at x = 1
    28.333333333
    """
    centre, radius = ball_of(problem, radius, centre)
    g = all_gradients(problem, centre)
    apart = g - g.mean(axis=0)
    length = np.linalg.norm(apart, axis=1)
    if radius == 0.0:
        return Interval(float(length.max()), float(length.max()), "the value at the centre", centre)
    matrices = hessians(problem)
    if matrices is not None:
        return _affine_sigma(matrices, apart, radius, centre)
    c, ridge = problem.constants, ridge_of(problem)
    slope = np.maximum(c.L_i, c.L_f) - ridge
    bound = client_bounds(problem.data).sigma if isinstance(problem, LinearModel) else lipschitz_deviation(problem)
    high = float(np.max(np.minimum(bound, length + radius * slope)))
    scale = change_length(float(np.max(bound)), float(np.max(slope)), centre)

    def deviation(w: Array) -> Array:
        found = all_gradients(problem, w)
        return np.asarray(found - found.mean(axis=0))

    def value(w: Array) -> float:
        return float(np.max(np.linalg.norm(deviation(w), axis=1)))

    def ascent(w: Array) -> Array:
        # The gradient of ||D_i||^2 / 2 is (the difference of Hessians) D_i, here as a difference of deviations.
        found = deviation(w)
        i = int(np.argmax(np.linalg.norm(found, axis=1)))
        h = 1e-4 * scale * found[i] / max(float(np.linalg.norm(found[i])), 1e-300)
        ahead = gradients_at(problem, np.broadcast_to(np.stack([w + h, w - h]), (problem.n, 2, problem.d)))
        change = ahead[:, 0] - ahead[:, 1]
        return np.asarray(change[i] - change.mean(axis=0))

    rays = list(apart[np.argsort(-length)[:3]])
    best = climb(value, ascent, centre, rays, scale, radius, tries, seed)
    how = "high: bounded slopes" if math.isinf(radius) else "high: bounded slopes, or the centre's value and smoothness"
    return Interval(best.value, high, f"{how}; low: search", best.maximizer)


def _affine_sigma(matrices: Array, apart: Array, radius: float, centre: Array) -> Interval:
    differences = matrices - matrices.mean(axis=0)
    size = float(np.max(np.abs(matrices)))
    same = float(np.max(np.abs(differences))) <= 1e-12 * size
    if same:
        value = float(np.max(np.linalg.norm(apart, axis=1)))
        return Interval(value, value, "all clients' matrices agree: the same at every w", centre)
    if math.isinf(radius):
        return Interval(math.inf, math.inf, "quadratics with different matrices: unbounded")
    balls = [largest_quadratic(a.T @ a, a.T @ b, float(b @ b), radius) for a, b in zip(differences, apart)]
    best = max(balls, key=lambda one: one.low)
    return root_of(
        Supremum(best.low, max(one.high for one in balls), best.maximizer),
        "exact maximum of a quadratic on a ball",
        centre,
    )


def zeta(problem: Problem) -> Interval:
    """``(1/n) sum_i ||grad f_i(w*)||^2`` [F^2/X^2]; all minimisers have the same.

    Raises ValueError when there is no w*.

    >>> from dpfl_theory.problems.scalar import equation_8
    >>> round(zeta(equation_8().problem()).high, 9)  # (16 + 4 + 36)/3
    18.666666667
    """
    length = np.linalg.norm(problem.gradients_at_star, axis=1)
    error = gradient_error(problem)
    low = float(np.mean(np.maximum(length - error, 0.0) ** 2))
    high = float(np.mean((length + error) ** 2))
    return Interval(low, high, "gradients at w*, with the error of w*", problem.constants.w_star)


def sigma_local(
    problem: Problem, radius: float | None = None, centre: Array | None = None, seed: int = 0, tries: int = 6
) -> Interval:
    """``sup_w max_i sqrt(E_j ||grad f_i(w, d_j) - grad f_i(w)||^2)`` [F/X] for one record j, drawn uniformly.

    zhang2021's sigma_l and noble2022's varsigma. Zero without records. Least squares: inf unless all of a client's
    records have the same ``x x^T``; on a ball the exact maximum of a quadratic. Bounded slopes:
    ``record_deviation_bound``, and on a ball at most the centre's value plus radius times ``record_deviation_slope``.

    >>> from dpfl_theory.problems.scalar import equation_8
    >>> sigma_local(equation_8().problem()).high
    0.0
    """
    centre, radius = ball_of(problem, radius, centre)
    if not isinstance(problem, LinearModel):
        return Interval(0.0, 0.0, "the clients have no records: their gradients are exact", centre)
    data = problem.data

    def value(w: Array) -> float:
        return max(record_deviation(data, i, w) for i in range(data.clients))

    here = np.array([record_deviation(data, i, centre) for i in range(data.clients)])
    if radius == 0.0:
        return Interval(float(here.max()), float(here.max()), "the value at the centre", centre)
    if LOSS[data.loss].quadratic:
        return _affine_records(problem, radius, centre)
    slopes = np.array([record_deviation_slope(data, i) for i in range(data.clients)])
    everywhere = np.array([record_deviation_bound(data, i) for i in range(data.clients)])
    high = float(np.max(np.minimum(everywhere, (here + radius * slopes) * (1.0 + 1e-12))))
    scale = change_length(float(np.max(everywhere)), float(np.max(slopes)), centre)

    def ascent(w: Array) -> Array:
        i = int(np.argmax([record_deviation(data, k, w) for k in range(data.clients)]))
        return _record_ascent(problem, i, w, 1e-4 * scale)

    rays = [problem.client_gradient(i, centre) for i in np.argsort(-here)[:3]]
    best = climb(value, ascent, centre, rays, scale, radius, tries, seed)
    return Interval(best.value, high, "high: bounded slopes; low: search", best.maximizer)


def _record_ascent(problem: LinearModel, i: int, w: Array, h: float) -> Array:
    """The gradient of half the variance, ``(1/m) sum_j ||x_j||^2 S_j s_j x_j^T - H_i grad f_i``, S_j the slopes' own
    derivative; products with S_j and H_i as differences."""
    data = problem.data
    own = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
    x, y, threshold = data.x[own], data.y[own], data.threshold[own]
    z = x @ w.reshape(data.classes, -1).T
    loss = LOSS[data.loss]
    z = z if loss.classwise else z[:, 0]
    s = loss.slope(z, y, threshold)
    bent = (loss.slope(z + 1e-4 * s, y, threshold) - loss.slope(z - 1e-4 * s, y, threshold)) / 2e-4
    weighted = bent.reshape(len(y), -1) * squares(x)[:, None]
    mean = problem.client_gradient(i, w) - data.ridge * w
    length = float(np.linalg.norm(mean))
    pull = np.zeros_like(w)
    if length > 0.0:
        step = h / length * mean
        change = problem.client_gradient(i, w + step) - problem.client_gradient(i, w - step) - 2.0 * data.ridge * step
        pull = change * (length / (2.0 * h))
    return np.asarray((gathered(weighted, x) / len(y)).ravel() - pull)


def _affine_records(problem: LinearModel, radius: float, centre: Array) -> Interval:
    data = few_columns(problem.data)
    found = []
    for i in range(data.clients):
        x = data.x[data.offsets[i] : data.offsets[i + 1]]
        r = x @ centre - data.y[data.offsets[i] : data.offsets[i + 1]]
        m, square = len(r), squares(x)
        longest = float(np.max(square))
        gram, mean = product(x) / m, x.T @ r / m
        h = weighted_gram(x, square) / m - gram @ gram
        g = x.T @ (square * r) / m - gram @ mean
        k = float(np.mean(square * r * r)) - float(mean @ mean)
        found.append(
            largest_quadratic(h, g, k, radius, (longest**2, longest * float(np.max(abs(scaled(x, r)))) * len(centre)))
        )
    best = max(found, key=lambda one: one.low)
    how = "exact maximum of a quadratic" if math.isfinite(best.low) else "records with different x x^T: unbounded"
    return root_of(Supremum(best.low, max(one.high for one in found), best.maximizer), how, centre)
