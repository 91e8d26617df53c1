"""Shared parts of the measurements of heterogeneity: intervals, clients' gradients, and the error of the computed
w*."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData, linear_gradients
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.heterogeneity.suprema import Supremum
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.quadratic import Quadratic
from dpfl_theory.problems.sparse import is_sparse
from dpfl_theory.problems.validation import nonnegative

__all__ = [
    "Interval",
    "all_gradients",
    "ball_of",
    "change_length",
    "few_columns",
    "gradient_error",
    "gradients_at",
    "hessians",
    "lipschitz_deviation",
    "product",
    "ridge_of",
    "root_of",
]


_MOST = 4096


@dataclass(frozen=True)
class Interval:
    """``low <= constant <= high`` and the justification; ``maximizer`` (d,): where low is attained, None where it is
    not."""

    low: float
    high: float
    justification: str
    maximizer: Array | None = None


def gradients_at(problem: Problem, points: Array) -> Array:
    """grad f_i at each of client i's own points (n, S, d): (n, S, d) [F/X]."""
    if isinstance(problem, LinearModel):
        return linear_gradients(problem.data, points)
    return np.stack([[problem.client_gradient(i, w) for w in own] for i, own in enumerate(points)])


def all_gradients(problem: Problem, w: Array) -> Array:
    """grad f_i(w) of all clients, (n, d) [F/X]."""
    return gradients_at(problem, np.broadcast_to(w, (problem.n, 1, problem.d)))[:, 0]


def ridge_of(problem: Problem) -> float:
    return problem.data.ridge if isinstance(problem, LinearModel) else 0.0


def hessians(problem: Problem) -> Array | None:
    """The clients' Hessians (n, d, d) where they are constant, else None."""
    if isinstance(problem, Quadratic):
        rows = [slice(int(a), int(b)) for a, b in zip(problem.offsets[:-1], problem.offsets[1:])]
        return np.stack([(problem.basis[r].T * problem.eigenvalues[r]) @ problem.basis[r] for r in rows])
    if isinstance(problem, LinearModel) and LOSS[problem.data.loss].quadratic:
        data, eye = few_columns(problem.data), np.eye(problem.d)
        parts = [data.x[a:b] for a, b in zip(data.offsets[:-1], data.offsets[1:])]
        return np.stack([product(x) / x.shape[0] + data.ridge * eye for x in parts])
    return None


def few_columns(data: LinearData) -> LinearData:
    """The data, unless they are CSR and a matrix of columns times columns would not fit."""
    if data.sparse and data.parameters > _MOST:
        raise InputError(
            f"the heterogeneity of least squares needs matrices of {data.parameters} times {data.parameters} for "
            f"sparse records: list at most {_MOST} `features`, or take another loss"
        )
    return data


def product(x: Any) -> Array:
    """``x^T x``, dense."""
    return np.asarray((x.T @ x).toarray() if is_sparse(x) else x.T @ x)


def lipschitz_deviation(problem: Problem) -> Array:
    """``(1 - 1/n) G_i + (1/n) sum_{k != i} G_k`` (n,), at least ``sup_w ||grad f_i - grad f||``; inf when unbounded."""
    g, n = problem.constants.G_i, problem.n
    if not np.all(np.isfinite(g)):
        return np.full(n, math.inf)
    return np.asarray((1.0 - 2.0 / n) * g + float(np.mean(g)))


def ball_of(problem: Problem, radius: float | None, centre: Array | None) -> tuple[Array, float]:
    """The centre, by default w* or zero, and the radius, by default inf."""
    if centre is None:
        w_star = problem.constants.w_star
        centre = np.zeros(problem.d) if w_star is None else w_star
    return np.asarray(centre, dtype=np.float64), math.inf if radius is None else nonnegative("radius", radius)


def gradient_error(problem: Problem) -> Array:
    """Bounds (n,) on the error of grad f_i at the computed w* [F/X].

    ``L_i ||w - w*||`` with the certificate of w*, or ``sqrt(2 L_i n (f(w) - f*))``: by convexity and smoothness
    ``||grad f_i(w) - grad f_i(w*)||^2 / (2 L_i)``, averaged over the clients, is at most ``f(w) - f*``.
    """
    c = problem.constants
    gap = np.sqrt(2.0 * c.L_i * problem.n * c.certificates["f_star"].error)
    known = c.certificates.get("w_star")
    rounding = 1e-13 * np.linalg.norm(problem.gradients_at_star, axis=1)
    return np.asarray(np.minimum(gap, c.L_i * known.error if known is not None else np.inf) + rounding)


def root_of(largest: Supremum, justification: str, centre: Array) -> Interval:
    """The interval of the square root of a supremum."""
    at = None if largest.maximizer is None else centre + largest.maximizer
    return Interval(math.sqrt(max(largest.low, 0.0)), math.sqrt(max(largest.high, 0.0)), justification, at)


def change_length(size: float, curvature: float, centre: Array) -> float:
    """The distance [X] over which gradients of this size change, or one where that is not known."""
    if math.isfinite(size) and size > 0.0 and curvature > 0.0:
        return size / curvature
    return 1.0 + float(np.linalg.norm(centre))
