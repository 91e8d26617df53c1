"""How far single records' gradients are from their client's: zhang2021's sigma_l, noble2022's varsigma."""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.heterogeneity.ascent import climb
from dpfl_theory.problems.heterogeneity.ball import Supremum, largest_quadratic
from dpfl_theory.problems.heterogeneity.deviation import (
    record_deviation,
    record_deviation_bound,
    record_deviation_slope,
)
from dpfl_theory.problems.heterogeneity.measured import Interval, ball_of, change_length, few_columns, product, root_of
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.sparse import gathered, scaled, squares
from dpfl_theory.problems.sparse import gram as weighted_gram

__all__ = ["sigma_local"]


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
