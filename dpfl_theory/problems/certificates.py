r"""All certified constants of a linear model: eigenvalues, norms, minimisers and infima.

How far a computed minimiser of the logistic loss can be from the true one needs no strong convexity. Along any line
the loss satisfies :math:`|\ell'''| \le R \|v\| \ell''`, R the longest record's length (Bach, 2010, "Self-concordant
analysis for logistic regression"), so that with :math:`H = \nabla^2 f(w)` and s = R ||v||

.. math:: f(w + v) \ge f(w) + \nabla f(w)^T v + v^T H v \, (e^{-s} + s - 1)/s^2 .

Where s <= 6/5 the last factor exceeds 0.34. With :math:`g = \|\nabla f(w)\|` and H's least eigenvalue lambda, all v
with :math:`v^T H v = 9 g^2/\lambda` have :math:`s \le 3 R g/\lambda` and, where that is at most 6/5, f(w + v) > f(w):
the minimiser lies within, at most :math:`3 g/\lambda` from w.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Array, Certificate, Constants
from dpfl_theory.problems.minimise import Minimum, minimise
from dpfl_theory.problems.risk import Risk, client_risk, global_risk
from dpfl_theory.problems.smoothness import lipschitz, spectral
from dpfl_theory.problems.sparse import gram, lengths

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


# From the weakest to the strongest; the clients' common certificate is their weakest one.
_KINDS = ("gradient-norm", "linear-program", "duality-gap", "strong-convexity", "not-attained", "closed-form")


def _worst(minima: Sequence[Minimum]) -> Certificate:
    """One certificate for all clients: the weakest kind, the largest error."""
    kinds = Counter(m.kind for m in minima)
    kind = next(k for k in _KINDS if k in kinds)
    error = max(m.error for m in minima)
    shares = ", ".join(f"{kinds[k]} by {k}" for k in _KINDS if k in kinds)
    missing = sum(m.w is None for m in minima)
    attained = "attained by all clients" if missing == 0 else f"not attained by {missing} of {len(minima)} clients"
    example = next(m.text for m in minima if m.kind == kind)
    return Certificate(kind, error, f"{shares}; {attained}; for example: {example}")


def _clients_at(data: LinearData, w: Array, minima: Sequence[Minimum]) -> Array:
    """f_i(w) (n,), set to inf f_i where the two differ by no more than rounding (clients that share a minimiser)."""
    values = np.empty(data.clients)
    for i, minimum in enumerate(minima):
        risk = client_risk(data, i)
        value = risk.value(w)
        slack = risk.rounding(w, risk.fit_error(w)) + minimum.error
        values[i] = minimum.value if minimum.w is not None and abs(value - minimum.value) <= slack else value
    return values


def linear_constants(data: LinearData) -> Constants:
    """The certified constants of a linear model; see ``Constants``.

    f_star and f_i_star are the smallest values found, at most their certificates' errors above the infima. w_star is
    None when the infimum of f is not attained, and w_i_star when that of some f_i is not. Newton's method ends at
    gradient norms of about 1e-15 of the gradients' scale, far below the guaranteed 1e-10; the certificate's text has
    the gradient norm it reached. For softmax w_star has columns that sum to zero over the classes.

    >>> x = np.array([[1.0], [1.0]])
    >>> data = LinearData(x, np.array([0.0, 4.0]), np.array([0, 1, 2]), "huber", np.array([1.0, 3.0]), 0.0, 1)
    >>> c = linear_constants(data)
    >>> c.w_star.round(12), round(c.f_star, 12), c.delta_i_star.round(12)  # (1/2)(w - 1/2 + 3 (w - 4) - 9/2)
    (array([3.]), 1.5, array([2.5, 0.5]))
    """
    # Many small factorisations: one BLAS thread is several times faster here than two, and on a busy machine fifty.
    with threadpool_limits(limits=1, user_api="blas"):
        return _constants(data)


def _constants(data: LinearData) -> Constants:
    curvature = spectral(data)
    G_i, G_record, norm = lipschitz(data)
    best = minimise(global_risk(data), curvature.mu_f)
    minima = [minimise(client_risk(data, i), float(curvature.mu_i[i])) for i in range(data.clients)]
    certificates = dict(curvature.certificates)
    certificates["G_i"] = certificates["G_record"] = norm
    certificates["f_star"] = Certificate(best.kind, best.error, best.text)
    certificates["f_i_star"] = _worst(minima)
    if best.w is None:
        certificates["w_star"] = Certificate(best.kind, 0.0, f"the infimum is not attained: {best.text}")
    elif curvature.mu_f > 0.0:
        text = "||w - w*|| <= ||grad f(w)|| / mu_f"
        certificates["w_star"] = Certificate("strong-convexity", best.gradient_norm / curvature.mu_f, text)
    elif near := near_minimiser(global_risk(data), best.w, best.gradient_norm):
        certificates["w_star"] = near
    points = [m.w for m in minima if m.w is not None]
    return Constants(
        L_i=curvature.L_i,
        L_f=curvature.L_f,
        mu_i=curvature.mu_i,
        mu_f=curvature.mu_f,
        G_i=G_i,
        G_record=G_record if math.isfinite(G_record) else math.inf,
        w_star=best.w,
        f_star=best.value,
        f_i_star=np.array([m.value for m in minima]),
        f_i_at_star=None if best.w is None else _clients_at(data, best.w, minima),
        w_i_star=np.array(points) if len(points) == data.clients else None,
        unique=best.w is not None and best.unique,
        certificates=certificates,
    )
