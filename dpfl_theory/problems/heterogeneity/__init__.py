"""Heterogeneity constants, measured: how far clients' and records' gradients are from their means.

Each comes as an interval ``[low, high]``: high is certified, low is attained at a point that is returned. For clients
with affine gradients (quadratics, least squares) the two agree; for Huber, logistic and softmax losses high comes from
the bounded slopes (see ``deviation``) and low from a search (see ``suprema.climb``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.heterogeneity.deviation import record_deviation_slope, sigma_global, sigma_local, zeta
from dpfl_theory.problems.heterogeneity.dissimilarity import dissimilarity_g
from dpfl_theory.problems.heterogeneity.measured import Interval, gradient_error
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.sparse import squares

__all__ = [
    "Heterogeneity",
    "Interval",
    "dissimilarity_g",
    "heterogeneity",
    "sigma_global",
    "sigma_local",
    "zeta",
]


@dataclass(frozen=True)
class Heterogeneity:
    """The measured heterogeneity of a problem [F/X], ``zeta`` [F^2/X^2].

    * sigma_global: ``sup_w max_i ||grad f_i - grad f||`` over all w, at w* and over the ball of this radius around w*;
    * sigma_local: the same for ``max_i sqrt(E_j ||grad f_i(w, d_j) - grad f_i(w)||^2)``, j uniform over client i's
      records;
    * zeta: ``(1/n) sum_i ||grad f_i(w*)||^2``;
    * g: the smallest G of noble2022 Assumption 4 for this b.

    Constants that need a w* are None where the infimum of f is not attained; those of the ball are None without a
    radius.
    """

    sigma_global: Interval
    sigma_global_at_star: Interval | None
    sigma_global_ball: Interval | None
    sigma_local: Interval
    sigma_local_at_star: Interval | None
    sigma_local_ball: Interval | None
    zeta: Interval | None
    g: Interval
    b: float
    radius: float | None

    def describe(self) -> dict[str, Any]:
        """The constants as plain JSON data, inf as None."""
        out: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Interval):
                ends = {end: v if math.isfinite(v) else None for end, v in (("low", value.low), ("high", value.high))}
                value = {**ends, "how": value.justification}
            out[one.name] = value
        return out


def heterogeneity(
    problem: Problem, b: float = 1.0, radius: float | None = None, seed: int = 0, tries: int = 6
) -> Heterogeneity:
    """All heterogeneity constants of a problem. b: B >= 1 of noble2022 Assumption 4; radius: of the ball around w* [X].

    seed, tries: of the searches for lower limits; certified ends do not depend on them.

    >>> from dpfl_theory.problems import make
    >>> h = heterogeneity(make("huber-scalar", minimisers=[0.0, 2.0], thresholds=[1.0, 1.0]))
    >>> round(h.sigma_global.low, 6), round(h.sigma_global.high, 6), round(h.zeta.low, 5)  # slopes -1 and 1
    (1.0, 1.0, 1.0)
    """
    starred = problem.constants.w_star is not None
    near = starred and radius is not None
    return Heterogeneity(
        sigma_global(problem, seed=seed, tries=tries),
        _at_star(sigma_global(problem, 0.0), 2.0 * float(np.max(gradient_error(problem)))) if starred else None,
        sigma_global(problem, radius, seed=seed, tries=tries) if near else None,
        sigma_local(problem, seed=seed, tries=tries),
        _at_star(sigma_local(problem, 0.0), _record_error(problem)) if starred else None,
        sigma_local(problem, radius, seed=seed, tries=tries) if near else None,
        zeta(problem) if starred else None,
        dissimilarity_g(problem, b, seed=seed, tries=tries),
        b,
        radius,
    )


def _at_star(found: Interval, error: float) -> Interval:
    """The value at the computed w*, plus or minus the effect of the error of w*."""
    return Interval(
        max(found.low - error, 0.0), found.high + error, "the value at w*, with the error of w*", found.maximizer
    )


def _record_error(problem: Problem) -> float:
    """How far the deviation of records at the computed w* may be from that at w* [F/X].

    The slope of the deviation times ``||w - w*||``, or ``sqrt(2 L n (f(w) - f*))`` with the records' smoothness L, as
    in ``gradient_error``.
    """
    if not isinstance(problem, LinearModel):
        return 0.0
    data, c = problem.data, problem.constants
    longest = float(np.max(squares(data.x)))
    smooth = LOSS[data.loss].curvature_bound * longest + data.ridge
    gap = math.sqrt(2.0 * smooth * problem.n * c.certificates["f_star"].error)
    known = c.certificates.get("w_star")
    if known is None:
        return gap
    slope = smooth if LOSS[data.loss].quadratic else max(record_deviation_slope(data, i) for i in range(problem.n))
    return min(gap, slope * known.error)
