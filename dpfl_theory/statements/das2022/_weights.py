"""The weights C/||u_i|| of das2022's normalised bounds: where their expectation is infinite, and what remains of the
bounds then.

With f_i convex and L-smooth and eta L <= 1, ||u_i|| <= E L dist(w_k, argmin f_i): a local step never leads away from a
minimiser. After a noisy round w_k has a positive density everywhere. So E[1/||u_i||] is at least a multiple of the mean
of 1/|x| over as many dimensions as client i's gradients have near its minimiser. That mean is infinite in one
dimension, finite in two and more (there for gradients that grow in proportion to that distance; in two dimensions the
variance is infinite).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpfl_theory.core import Check, Hypothesis, Outcome
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem

_PROBES = 4
_SAME_LINE = 1e-6
"""The second singular value of the probed gradients, relative to the first, below which they lie on one line."""
_NEAR = 1e-5
"""How far the probes are from the client's minimiser, relative to a lower bound of its distance from w*."""


def one_direction(problem: Problem, i: int) -> bool:
    """Whether f_i is minimal somewhere and its gradients near its minimiser vary along one direction only.

    The gradients' differences are taken at a few seeded random points near w_i*, or near w* where no w_i* is known.

    >>> from dpfl_theory.problems import make
    >>> one_direction(make("huber-scalar", minimisers=[-1.0, 1.0], thresholds=[1.0, 1.0]), 0)
    True
    >>> one_direction(make("quadratic", clients=2, dimension=3), 0)
    False
    """
    c = problem.constants
    assert c.w_star is not None
    own = None if c.w_i_star is None else c.w_i_star[i]
    known = own is not None and bool(np.all(np.isfinite(own)))
    centre: Array = np.asarray(own if known else c.w_star)
    scale = float(np.sqrt(2.0 * c.delta_i_star[i] / c.L_i[i]))  # <= ||w* - w_i*||
    ways = np.random.default_rng([i, 77]).standard_normal((_PROBES, problem.d))
    ways *= _NEAR * scale / np.linalg.norm(ways, axis=1, keepdims=True)
    here = problem.client_gradient(i, centre)
    _, sizes, axes = np.linalg.svd(np.stack([problem.client_gradient(i, centre + v) - here for v in ways]))
    if len(sizes) > 1 and sizes[1] > _SAME_LINE * sizes[0]:
        return False
    if known:
        return True
    # Along the one direction f_i has a minimum exactly where its slope changes sign.
    far = scale * 2.0 ** np.arange(60)
    slopes = [float(problem.client_gradient(i, centre + t * axes[0]) @ axes[0]) for t in (*far, *-far)]
    return min(slopes) < 0.0 < max(slopes)


def _finite(problem: Problem | None, values: Mapping[str, float]) -> str | None:
    if problem is None or values["K"] <= 1 or problem.constants.w_star is None:
        return None
    c = problem.constants
    for i in range(problem.n):
        # Rounding leaves a Delta_i* of about 1e-16 |f_i| where it is zero.
        size = max(abs(float(c.f_i_star[i])), abs(float(c.f_i_star[i] + c.delta_i_star[i])))
        if c.delta_i_star[i] > 1e-12 * size and one_direction(problem, i):
            return (
                f"client {i} has Delta_i* = {c.delta_i_star[i]:.6g} and gradients along one direction only, so the "
                f"mean of Delta_i*/||u_i|| over {values['K']:g} rounds is infinite: the bound says nothing about this "
                "run"
            )
    return None


FINITE = Hypothesis.custom(
    r"the weights $\Delta_i^*/\|u_i\|$ have a finite mean: $K = 1$, or every client with $\Delta_i^* > 0$ has "
    "gradients that vary along two directions or more near its minimiser (implied: the paper takes these means to be "
    "finite)",
    _finite,
)


def _mean_inverse() -> Outcome:
    """The mean of 1/|x| for x ~ N(0, I_m): no less than 2 phi(1) log(1/t) over t < |x| < 1 for m = 1, which grows
    without bound as t falls to 0; Gamma((m - 1)/2)/(sqrt(2) Gamma(m/2)) for m >= 2."""
    t, r = sp.symbols("t r", positive=True)
    phi = sp.exp(-sp.Rational(1, 2)) / sp.sqrt(2 * sp.pi)  # the density at 1, the least one on |x| < 1
    part = sp.integrate(2 * phi / r, (r, t, 1))
    if sp.limit(part, t, 0) != sp.oo:
        return Outcome(False, f"in one direction, the part of the mean over t < |x| < 1 is at least {part}: finite")
    for m in (2, 3, 4, 5):
        weight, density = (r**k * sp.exp(-(r**2) / 2) for k in (m - 2, m - 1))
        found = sp.integrate(weight, (r, 0, sp.oo)) / sp.integrate(density, (r, 0, sp.oo))
        closed = sp.gamma(sp.Rational(m - 1, 2)) / (sp.sqrt(2) * sp.gamma(sp.Rational(m, 2)))
        outcome = equal(found, closed, f"the mean of 1/|x| in {m} directions")
        if not outcome.true or found.is_finite is not True:
            return outcome
    return Outcome(True, "the mean of 1/|x| is infinite in one direction and finite in 2, 3, 4 and 5")


def diverging(gap: str, delta: str | None) -> Check:
    """A check that both sides are infinite where gradients vary along one direction, by their difference.

    Near u_i = 0, f_i(w) - f_i(w*) is -Delta_i*. With the weighted gap's coefficient on the left and the weighted
    heterogeneity's on the right, right less left has their sum times E[(C/||u_i||) Delta_i*]; where that is positive
    and the mean infinite, the inequality reads -oo <= oo, or is equally empty. ``delta`` is None where only the gap
    appears.
    """

    share, name = (1, "left side") if delta is None else (2, "both sides")

    @algebra(f"{name} infinite where gradients have one direction", share=share)
    def check(s: Formula, share: int) -> Proof:
        left, right = s.lhs.coeff(s[gap]), sp.Integer(0) if delta is None else s.rhs.coeff(s[delta])
        found = equal(left + right, share, f"the weighted Delta that {s.statement.id} leaves on the right")
        if not found.true:
            return found
        mean = _mean_inverse()
        said = f"right less left of {s.statement.id} has {share} E[(C/||u_i||) Delta_i*], and {mean.reason}"
        return Outcome(mean.true, said, {"left": str(left), "right": str(right)})

    return check
