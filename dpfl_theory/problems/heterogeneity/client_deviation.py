"""How far clients' gradients are from their mean: zhang2021's sigma_g, and zeta at the optimum."""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.heterogeneity.ascent import climb
from dpfl_theory.problems.heterogeneity.ball import Supremum, largest_quadratic
from dpfl_theory.problems.heterogeneity.deviation import client_bounds
from dpfl_theory.problems.heterogeneity.measured import (
    Interval,
    all_gradients,
    ball_of,
    change_length,
    gradient_error,
    gradients_at,
    hessians,
    lipschitz_deviation,
    ridge_of,
    root_of,
)
from dpfl_theory.problems.linear_model import LinearModel

__all__ = ["sigma_global", "zeta"]


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
