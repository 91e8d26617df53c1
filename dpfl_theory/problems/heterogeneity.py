r"""How far clients' and records' gradients deviate from their means: zhang2021's sigma_g and sigma_l.

Each comes as an interval ``[low, high]``: high is certified over all parameters, low is attained at a point that is
returned. For clients with affine gradients (quadratics, least squares) the two agree; for Huber, logistic and softmax
losses low comes from a search (`climb`), and high from the bounded slopes.

The slope of such a loss stays in a bounded set, a ball of radius h_j around a centre s_j: the interval [-t_j, t_j], the
segment between 0 and -y_j, the probabilities minus the label's unit vector. A ridge adds the same to every gradient and
leaves all deviations as they are. So with ``c_i = (1/m_i) sum_j s_j x_j^T`` every gradient of client i, less its ridge,
is within r_i of c_i,
``r_i = min{(1/m_i) sum_j h_j ||x_j||, sqrt((1/m_i) sum_j h_j) sqrt(lambda_max((1/m_i) sum_j h_j x_j x_j^T))}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData, linear_gradients
from dpfl_theory.problems.base import EPS, Array, Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.quadratic import Quadratic
from dpfl_theory.problems.smoothness import extremes
from dpfl_theory.problems.sparse import gathered, gram, is_sparse, lengths, scaled, squares

__all__ = ["Interval", "client_bounds", "climb", "record_deviation", "sigma_global", "sigma_local"]

_MOST = 4096
_FAR = 1e6
"""A search goes this many scales from the centre."""


@dataclass(frozen=True)
class Interval:
    """``low <= constant <= high`` and the justification; ``maximizer`` (d,): where low is attained, None where it is
    not."""

    low: float
    high: float
    justification: str
    maximizer: Array | None = None


def sigma_global(problem: Problem, tries: int = 6) -> Interval:
    """``sup_w max_i ||grad f_i(w) - grad f(w)||`` [F/X], zhang2021's sigma_g.

    Quadratics: inf unless all matrices agree to 1e-12. Bounded slopes: `client_bounds`. tries: random directions of the
    search for low.

    >>> from dpfl_theory.problems.scalar import equation_8
    >>> sigma_global(equation_8().problem()).high
    inf
    """
    centre = _centre(problem)
    g = _all_gradients(problem, centre)
    apart = g - g.mean(axis=0)
    length = np.linalg.norm(apart, axis=1)
    matrices = _hessians(problem)
    if matrices is not None:
        if float(np.max(np.abs(matrices - matrices.mean(axis=0)))) > 1e-12 * float(np.max(np.abs(matrices))):
            return Interval(math.inf, math.inf, "quadratics with different matrices: unbounded")
        value = float(np.max(length))
        return Interval(value, value, "all clients' matrices agree: the same at every w", centre)
    assert isinstance(problem, LinearModel)
    bound = client_bounds(problem.data)
    slope = np.maximum(problem.constants.L_i, problem.constants.L_f) - problem.data.ridge
    scale = _change_length(float(np.max(bound)), float(np.max(slope)), centre)

    def deviation(w: Array) -> Array:
        found = _all_gradients(problem, w)
        return np.asarray(found - found.mean(axis=0))

    def value_at(w: Array) -> float:
        return float(np.max(np.linalg.norm(deviation(w), axis=1)))

    def ascent(w: Array) -> Array:
        # The gradient of ||D_i||^2 / 2 is (the difference of Hessians) D_i, here as a difference of deviations.
        found = deviation(w)
        i = int(np.argmax(np.linalg.norm(found, axis=1)))
        h = 1e-4 * scale * found[i] / max(float(np.linalg.norm(found[i])), 1e-300)
        ahead = _gradients_at(problem, np.broadcast_to(np.stack([w + h, w - h]), (problem.n, 2, problem.d)))
        change = ahead[:, 0] - ahead[:, 1]
        return np.asarray(change[i] - change.mean(axis=0))

    low, at = climb(value_at, ascent, centre, list(apart[np.argsort(-length)[:3]]), scale, tries)
    return Interval(low, float(np.max(bound)), "high: bounded slopes; low: search", at)


def sigma_local(problem: Problem, tries: int = 6) -> Interval:
    """``sup_w max_i sqrt(E_j ||grad f_i(w, d_j) - grad f_i(w)||^2)`` [F/X] for one record j, drawn uniformly.

    zhang2021's sigma_l and noble2022's varsigma. Zero without records. Least squares: inf unless all of a client's
    records have the same ``x x^T``. Bounded slopes: `_record_deviation_bound`. tries: as in `sigma_global`.

    >>> from dpfl_theory.problems.scalar import equation_8
    >>> sigma_local(equation_8().problem()).high
    0.0
    """
    centre = _centre(problem)
    if not isinstance(problem, LinearModel):
        return Interval(0.0, 0.0, "the clients have no records: their gradients are exact", centre)
    data, clients = problem.data, range(problem.n)
    if LOSS[data.loss].quadratic:
        return _affine_records(problem, centre)
    here = np.array([record_deviation(data, i, centre) for i in clients])
    slope = max(_record_deviation_slope(data, i) for i in clients)
    high = max(_record_deviation_bound(data, i) for i in clients)
    scale = _change_length(high, slope, centre)

    def value(w: Array) -> float:
        return max(record_deviation(data, i, w) for i in clients)

    def ascent(w: Array) -> Array:
        i = int(np.argmax([record_deviation(data, k, w) for k in clients]))
        return _record_ascent(problem, i, w, 1e-4 * scale)

    rays = [problem.client_gradient(i, centre) for i in np.argsort(-here)[:3]]
    low, at = climb(value, ascent, centre, rays, scale, tries)
    return Interval(low, high, "high: bounded slopes; low: search", at)


def client_bounds(data: LinearData) -> Array:
    """Upper bounds (n,) on ``sup_w ||grad f_i - grad f||`` [F/X] for losses with bounded slopes (Huber, logistic,
    softmax), with any ridge.

    ``||grad f_i - grad f|| <= ||c_i - c|| + R_i``, where R_i is ``(1 - 1/n) r_i + (1/n) sum_{k != i} r_k`` by the
    triangle inequality or, where smaller, the spectral form of r over all records with their weights in the difference.

    >>> x = np.array([[1.0], [1.0]])
    >>> data = LinearData(x, np.array([1.0, -1.0]), np.array([0, 1, 2]), "logistic", np.ones(2), 0.0, 1)
    >>> client_bounds(data)  # slopes -expit(-z) and expit(z): half their difference is 1/2 everywhere
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
    r = np.minimum(total, np.sqrt(weight * top))
    apart = np.linalg.norm(c - c.mean(axis=0), axis=1)
    triangle = (1.0 - 2.0 / n) * r + float(np.mean(r))
    joint = np.sqrt(((1.0 - 2.0 / n) * weight + float(np.mean(weight))) * top_joint)
    return np.asarray((apart + np.minimum(triangle, joint)) * (1.0 + 1e-12))


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


def _record_deviation_bound(data: LinearData, i: int) -> float:
    """An upper bound on ``sup_w`` of `record_deviation` for bounded slopes: with any v it is at most
    ``sqrt((1/m_i) sum_j max_s ||s x_j^T - v||^2)``, s over the corners of the slopes' set; v is 0 or c_i.

    >>> data = LinearData(np.ones((2, 1)), np.array([1.0, -1.0]), np.array([0, 2]), "logistic", np.ones(2), 0.0, 1)
    >>> round(_record_deviation_bound(data, 0), 9)  # slopes -p and 1 - p, p = expit(-z): the deviation is 1/2
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


def _record_deviation_slope(data: LinearData, i: int) -> float:
    """A Lipschitz constant of `record_deviation` in w [F/X^2].

    ``c sqrt(lambda_max((1/m_i) sum_j ||x_j||^2 x_j x_j^T))`` with c the loss's largest curvature.

    >>> data = LinearData(np.ones((2, 1)), np.zeros(2), np.array([0, 2]), "logistic", np.ones(2), 0.0, 1)
    >>> round(_record_deviation_slope(data, 0), 9)
    0.25
    """
    x = data.x[int(data.offsets[i]) : int(data.offsets[i + 1])]
    m = x.shape[0]
    top = _sparse_top(x, squares(x) / m) if data.sparse else _top((x * squares(x)[:, None]).T @ x / m)
    return LOSS[data.loss].curvature_bound * math.sqrt(top)


def climb(
    value: Callable[[Array], float],
    ascent: Callable[[Array], Array],
    centre: Array,
    directions: Sequence[Array],
    scale: float,
    tries: int = 6,
    steps: int = 40,
) -> tuple[float, Array]:
    """The largest value along rays from the centre, then by gradient ascent from the best point at each distance; and
    its point (d,). The search continues along the rays through the points that the ascent reached.

    value(w), ascent(w): the function and a direction in which it grows;  directions: rays of the search, in both
    directions, in addition to ``tries`` random ones;  scale: the distance [X] at which the function is expected to
    change.

    >>> found, at = climb(lambda w: -float((w[0] - 3.0) ** 2), lambda w: 2.0 * (3.0 - w), np.zeros(1), [], 1.0)
    >>> bool(abs(at - 3.0) < 1e-6)
    True
    """
    rays = [*directions, *np.random.default_rng(0).standard_normal((tries, len(centre)))]
    rays = [ray for ray in rays if 0.0 < float(np.linalg.norm(ray)) < math.inf]
    distances = [scale * t for t in (0.1, 1.0, 10.0, 100.0, 1e4, _FAR)]

    def along(ray: Array, distance: float) -> tuple[float, Array]:
        w = centre + distance / float(np.linalg.norm(ray)) * ray
        return value(w), w

    # Many small products: one BLAS thread is several times faster than two.
    with threadpool_limits(limits=1, user_api="blas"):
        best = value(centre), centre
        starts = [best]
        for distance in distances:
            found = [along(sign * ray, distance) for ray in rays for sign in (1.0, -1.0)]
            starts.append(max(found, key=lambda one: one[0], default=best))
        # Far away the slopes of bounded losses are constant and give no direction: those points are only compared.
        for start in starts:
            found = [start]
            if float(np.linalg.norm(start[1] - centre)) <= 1e3 * scale:
                found.append(_polished(value, ascent, start, centre, scale, steps))
                ray = found[-1][1] - centre
                if float(np.linalg.norm(ray)) > 0.0:
                    found += [along(ray, distance) for distance in distances]
            best = max([best, *found], key=lambda one: one[0])
    return best


def _polished(
    value: Callable[[Array], float],
    ascent: Callable[[Array], Array],
    start: tuple[float, Array],
    centre: Array,
    scale: float,
    steps: int,
) -> tuple[float, Array]:
    best, move = start, scale
    for _ in range(steps):
        direction = ascent(best[1])
        norm = float(np.linalg.norm(direction))
        if not (norm > 0.0 and math.isfinite(norm)):
            break
        for _attempt in range(12):
            w = best[1] + move / norm * direction
            away = float(np.linalg.norm(w - centre))
            if away > _FAR * scale:
                w = centre + (w - centre) * (_FAR * scale / away)
            reached = value(w)
            if reached > best[0]:
                best, move = (reached, w), 2.0 * move
                break
            move *= 0.25
        else:
            break
    return best


def _centre(problem: Problem) -> Array:
    """w*, or zero where it does not exist."""
    w_star = problem.constants.w_star
    return np.asarray(np.zeros(problem.d) if w_star is None else w_star, dtype=np.float64)


def _change_length(size: float, curvature: float, centre: Array) -> float:
    """The distance [X] over which gradients of this size change, or one where that is not known."""
    if math.isfinite(size) and size > 0.0 and curvature > 0.0:
        return size / curvature
    return 1.0 + float(np.linalg.norm(centre))


def _gradients_at(problem: Problem, points: Array) -> Array:
    """grad f_i at each of client i's own points (n, S, d): (n, S, d) [F/X]."""
    if isinstance(problem, LinearModel):
        return linear_gradients(problem.data, points)
    return np.stack([[problem.client_gradient(i, w) for w in own] for i, own in enumerate(points)])


def _all_gradients(problem: Problem, w: Array) -> Array:
    """grad f_i(w) of all clients, (n, d) [F/X]."""
    return _gradients_at(problem, np.broadcast_to(w, (problem.n, 1, problem.d)))[:, 0]


def _hessians(problem: Problem) -> Array | None:
    """The clients' Hessians (n, d, d) where they are constant, else None."""
    if isinstance(problem, Quadratic):
        rows = [slice(int(a), int(b)) for a, b in zip(problem.offsets[:-1], problem.offsets[1:])]
        return np.stack([(problem.basis[r].T * problem.eigenvalues[r]) @ problem.basis[r] for r in rows])
    if isinstance(problem, LinearModel) and LOSS[problem.data.loss].quadratic:
        data, eye = _few_columns(problem.data), np.eye(problem.d)
        parts = [data.x[a:b] for a, b in zip(data.offsets[:-1], data.offsets[1:])]
        return np.stack([_product(x) / x.shape[0] + data.ridge * eye for x in parts])
    return None


def _few_columns(data: LinearData) -> LinearData:
    """The data, unless they are CSR and a matrix of columns times columns would not fit."""
    if data.sparse and data.parameters > _MOST:
        raise InputError(
            f"the heterogeneity of least squares needs matrices of {data.parameters} times {data.parameters} for "
            f"sparse records: list at most {_MOST} `features`, or take another loss"
        )
    return data


def _product(x: Any) -> Array:
    """``x^T x``, dense."""
    return np.asarray((x.T @ x).toarray() if is_sparse(x) else x.T @ x)


def _top(matrix: Array) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, rounded up."""
    return max(0.0, float(np.linalg.eigvalsh(matrix)[-1])) * (1.0 + 1e-13 * len(matrix))


def _sparse_top(x: Any, weight: Array) -> float:
    """The largest eigenvalue of ``sum_j a_j x_j x_j^T``, rounded up."""
    found = extremes(x, np.maximum(weight, 0.0))
    return found.largest * (1.0 + 1e-13 * found.order)


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


def _record_ascent(problem: LinearModel, i: int, w: Array, h: float) -> Array:
    """The gradient of half the variance, ``(1/m) sum_j ||x_j||^2 S_j s_j x_j^T - H_i grad f_i``, S_j the slopes' own
    derivative; products with S_j and H_i as differences."""
    data, (own, z) = problem.data, problem.own_logits(i, w)
    x, y, threshold, loss = data.x[own], data.y[own], data.threshold[own], LOSS[data.loss]
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


def _affine_records(problem: LinearModel, centre: Array) -> Interval:
    """`sigma_local` of least squares: the square is a quadratic for each client."""
    data = _few_columns(problem.data)
    found = []
    for i in range(data.clients):
        x = data.x[data.offsets[i] : data.offsets[i + 1]]
        r = x @ centre - data.y[data.offsets[i] : data.offsets[i + 1]]
        m, square = len(r), squares(x)
        longest = float(np.max(square))
        second, mean = _product(x) / m, x.T @ r / m
        h = gram(x, square) / m - second @ second
        g = x.T @ (square * r) / m - second @ mean
        k = float(np.mean(square * r * r)) - float(mean @ mean)
        sizes = longest**2, longest * float(np.max(abs(scaled(x, r)))) * len(centre)
        found.append(_largest_quadratic(h, g, k, *sizes))
    low, _, u = max(found, key=lambda one: one[0])
    if u is None:
        return Interval(math.inf, math.inf, "records with different x x^T: unbounded")
    high = max(high for _, high, _ in found)
    low, high = math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
    return Interval(low, high, "exact maximum of a quadratic", centre + u)


def _largest_quadratic(h: Array, g: Array, k: float, size: float, pull: float) -> tuple[float, float, Array | None]:
    """``sup u^T H u + 2 g^T u + k``, H symmetric (d, d), g (d,): the value at a point, the supremum, rounded up, and
    the point; inf and None where H has a positive eigenvalue, or g a component along the zero ones.

    size, pull: the sizes of what H and g were computed from; eigenvalues, and such components of g, below 1e-12 times
    these count as zero.

    >>> _largest_quadratic(np.array([[-2.0]]), np.array([1.0]), 0.0, 0.0, 0.0)  # -2 u^2 + 2 u at u = 1/2
    (0.5, 0.5, array([0.5]))
    """
    values, vectors = np.linalg.eigh(h)
    slope = vectors.T @ g
    size, pull = max(float(np.max(np.abs(values))), size), max(float(np.linalg.norm(g)), pull)
    zero = np.abs(values) <= 1e-12 * size
    if np.any(values > 1e-12 * size) or float(np.linalg.norm(slope[zero])) > 1e-12 * pull:
        return math.inf, math.inf, None
    along = np.where(zero, 0.0, slope / np.where(zero, 1.0, -values))
    dual, u = k + float(slope @ along), vectors @ along
    value = float(u @ h @ u + 2.0 * (g @ u)) + k
    room = 64.0 * EPS * len(u) * (float(np.linalg.norm(h, 2)) * float(u @ u) + 2.0 * abs(float(g @ u)) + abs(k))
    return value, max(dual, value) + (0.0 if dual == value else room), u
