"""Certified upper bounds on how far gradients of linear models deviate from their means, over all parameters.

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
from dpfl_theory.problems.base import Array
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.sparse import gathered, lengths, squares
from dpfl_theory.problems.spectrum import extremes

__all__ = ["ClientBounds", "client_bounds", "record_deviation", "record_deviation_bound", "record_deviation_slope"]


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
