r"""How far a computed minimiser of the logistic loss can be from the true one, without strong convexity.

Along any line the logistic loss satisfies :math:`|\ell'''| \le R \|v\| \ell''`, R the longest record's length (Bach,
2010, "Self-concordant analysis for logistic regression"), so that with :math:`H = \nabla^2 f(w)` and s = R ||v||

.. math:: f(w + v) \ge f(w) + \nabla f(w)^T v + v^T H v \, (e^{-s} + s - 1)/s^2 .

Where s <= 6/5 the last factor exceeds 0.34. With :math:`g = \|\nabla f(w)\|` and H's least eigenvalue lambda, all v
with :math:`v^T H v = 9 g^2/\lambda` have :math:`s \le 3 R g/\lambda` and, where that is at most 6/5, f(w + v) > f(w):
the minimiser lies within, at most :math:`3 g/\lambda` from w.
"""

from __future__ import annotations

import numpy as np

from dpfl_theory.problems.base import Array, Certificate
from dpfl_theory.problems.risk import Risk
from dpfl_theory.problems.sparse import gram, lengths

__all__ = ["near_minimiser"]

_MOST = 2000
"""Parameters beyond which the eigenvalues would take too long."""
_LONGEST = 1.2
_ROUNDING = 1e-12


def near_minimiser(risk: Risk, w: Array, gradient_norm: float) -> Certificate | None:
    """A bound on the distance between w (d,) and the minimiser of a logistic risk whose gradient at w has this length;
    None for other losses, singular Hessians and gradients that are too long for it.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.problems.risk import global_risk
    >>> problem = make("logistic-synthetic", clients=4, dimension=2, records=10)
    >>> risk, w = global_risk(problem.data), problem.constants.w_star + 1e-6
    >>> found = near_minimiser(risk, w, float(np.linalg.norm(risk.gradient(w))))
    >>> 1e-6 < found.error < 1e-4
    True
    """
    if risk.name != "logistic" or risk.ridge > 0.0 or len(w) > _MOST:
        return None
    curvature = risk.loss.curvature(risk.x @ w, risk.y, risk.threshold)
    values = np.linalg.eigvalsh(gram(risk.x, risk.weight * curvature))
    least = float(values[0] - _ROUNDING * values[-1])
    longest = float(lengths(risk.x).max())
    if least <= 0.0 or 3.0 * longest * gradient_norm / least > _LONGEST:
        return None
    text = f"||w - w*|| <= 3 ||grad f(w)||/lambda, lambda = {least:.3g} the least eigenvalue of the Hessian at w"
    return Certificate("self-concordance", 3.0 * gradient_norm / least, text)
