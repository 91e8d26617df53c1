"""Minimal values of linear models with a certificate: Newton's method, then a bound on ``f(w) - inf f``.

* ridge or mu > 0: ``f(w) - f* <= ||grad f(w)||^2 / (2 mu)``.
* otherwise a Fenchel duality gap. Slopes theta with ``sum_j a_j theta_j x_j = 0`` give the lower bound
  ``-sum_j a_j loss*(theta_j) <= inf f``. The residuals at w nearly satisfy this; the correction with the smallest
  norm in the metric of the curvatures, which moves interior coordinates only, makes them feasible up to rounding.
* a logistic or softmax loss without ridge has a minimiser if and only if some feasible theta is strictly inside its
  domain (Stiemke's theorem of alternatives). So the corrected residuals also prove that the minimum is attained. When
  they do not, a direction with positive margins proves the contrary, and a linear program decides the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import EPS, Array
from dpfl_theory.problems.risk import Risk
from dpfl_theory.problems.separability import Mask, pairs, separates, vanishing_pairs
from dpfl_theory.problems.sparse import is_sparse, nonzero_columns
from dpfl_theory.problems.whitened import Spanned, Whitened, spannable

_DENSE = 1 << 22
"""Up to this many numbers, CSR records are processed as an array of the columns that they use."""
_WIDE = 512


@dataclass(frozen=True)
class Minimum:
    """An infimum [F] with its certificate: ``value - error <= inf f <= value``; w is None if it is not attained."""

    w: Array | None
    value: float
    error: float
    kind: str
    text: str
    unique: bool = False
    gradient_norm: float = 0.0


def _solve(h: Array, damping: float, g: Array) -> Array:
    """(H + damping I)^{-1} g, with more damping where rounding makes H indefinite."""
    while True:
        try:
            shifted = h.copy()
            shifted[np.diag_indices_from(shifted)] += damping
            return np.asarray(cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), g))
        except LinAlgError:
            damping *= 10.0


def newton(
    risk: Whitened, start: Array | None = None, stop: Callable[[Array], bool] | None = None, iterations: int = 300
) -> Array:
    """Damped Newton with a line search, until the gradient norm is at the rounding floor; returns q.

    The damping is proportional to the gradient's norm. This keeps the local convergence superlinear and is safe where
    the Hessian is singular (Huber losses far from their quadratic part). Near the minimum, where rounding dominates the
    differences of values, a step is accepted when it shortens the gradient. ``stop(q)`` ends the search early."""
    q = np.zeros(risk.size) if start is None else start
    value = risk.value(q)
    if value == 0.0 or risk.size == 0:
        return q
    g = risk.gradient(q)
    unit = math.sqrt(2.0 * value)
    slow = 0
    h, fresh = risk.hessian(risk.curvature(q)), True
    for _ in range(iterations):
        length = float(np.linalg.norm(g))
        if length <= 0.1 * EPS * unit or slow == 3 or (stop is not None and stop(q)):
            break
        direction = _solve(h, max(1e-14, 0.1 * min(1.0, length / unit)), g)
        descent = float(g @ direction)
        t = 1.0
        for _ in range(80):
            trial = q - t * direction
            reached = risk.value(trial)
            if reached <= value - 1e-4 * t * descent or reached <= value * (1.0 + 16.0 * EPS):
                slope = risk.gradient(trial)
                shorter = float(np.linalg.norm(slope)) < length
                if shorter or reached < value * (1.0 - 16.0 * EPS):
                    break
            t *= 0.5
        else:
            if fresh:
                break
            h, fresh = risk.hessian(risk.curvature(q)), True
            continue
        ratio = float(np.linalg.norm(slope)) / length
        near = length < 1e-13 * unit
        slow = slow + 1 if near and ratio > 0.5 else 0
        q, value, g = trial, reached, slope
        # With many records a Hessian costs a hundred gradients: it is reused until a step gains less than a digit, and
        # at the rounding floor, where a new one could not help either.
        fresh = ratio > 0.1 and not near
        if fresh:
            h = risk.hessian(risk.curvature(q))
    return q


def _least_squares(white: Whitened) -> Array:
    """The minimiser of the squared loss with the smallest norm."""
    risk = white.risk
    if isinstance(white, Spanned):
        squared = Spanned(replace(risk, name="squared"))
        return squared.parameters(newton(squared))
    root = np.sqrt(risk.weight)
    a, b = root[:, None] * risk.x, root * risk.y
    if risk.ridge > 0.0:
        a = np.vstack([a, math.sqrt(risk.ridge) * np.eye(risk.x.shape[1])])
        b = np.concatenate([b, np.zeros(risk.x.shape[1])])
    return np.asarray(np.linalg.lstsq(a, b, rcond=None)[0])


def _dual(white: Whitened, q: Array) -> tuple[Array, Array]:
    """Feasible slopes near those at q, and the rounding error of ``sum_j a_j theta_j x_j``, flat [F/X]."""
    r = white.risk
    theta = r.loss.slope(white.logits(q), r.y, r.threshold)
    curvature = white.curvature(q)
    h = white.hessian(curvature)
    for _ in range(4):
        v = white.pull(theta)
        if white.size == 0 or not np.any(v):
            break
        theta = r.loss.clip(theta - white.bend(curvature, white.move(_solve(h, 1e-14, v))), r.y, r.threshold)
    return theta, np.abs(r.pull(theta))


@dataclass(frozen=True)
class _Gap:
    """A duality gap [F], its dual point, and whether that is feasible to rounding."""

    gap: float
    theta: Array
    feasible: bool


def _duality_gap(white: Whitened, q: Array) -> _Gap:
    r = white.risk
    theta, remainder = _dual(white, q)
    w = white.parameters(q)
    z = white.logits(q)
    product = theta * np.where(np.isfinite(z), z, 0.0)
    loss, conjugate = r.loss.value(z, r.y, r.threshold), r.loss.conjugate(theta, r.y, r.threshold)
    product = product if product.ndim == 1 else np.sum(product, axis=1)
    magnitude = np.abs(loss) + np.abs(conjugate) + np.abs(product)
    young = float(r.weight @ np.maximum(loss + conjugate - product, 0.0))
    length = np.linalg.norm(white.x, axis=1) * np.linalg.norm(theta.reshape(len(theta), -1), axis=1)
    feasible = float(np.linalg.norm(white.pull(theta))) <= 1e-13 * float(r.weight @ length) + 1e-300
    # The remainder v changes the lower bound by <v, w*>; coordinates of w* are taken to be at most twice those of w.
    gap = young + 2.0 * float(remainder @ np.abs(w)) + 8.0 * EPS * float(r.weight @ magnitude)
    return _Gap(gap, theta, feasible)


def _certified(risk: Risk, w: Array, mu: float, unique: bool, gap: Callable[[], _Gap]) -> Minimum:
    """The best certificate for f(w) as the minimum."""
    value, rounding = risk.value(w), risk.rounding(w)
    g = float(np.linalg.norm(risk.gradient(w)))
    convex = math.inf
    if mu > 0.0:
        convex = g * g / (2.0 * mu) + rounding
        strong = Minimum(w, value, convex, "strong-convexity", f"||grad f(w)|| = {g:.1e}, mu = {mu:.3g}", True, g)
        if risk.ridge > 0.0 or convex <= 1e-9 * value:
            return strong
    found = gap()
    if mu > 0.0 and (not found.feasible or convex <= found.gap + rounding):
        return strong
    if found.feasible:
        text = f"Fenchel duality gap {found.gap:.1e} with the residuals as dual point; ||grad f(w)|| = {g:.1e}"
        return Minimum(w, value, found.gap + rounding, "duality-gap", text, unique, g)
    text = f"no dual-feasible point was found near the residuals; only ||grad f(w)|| = {g:.1e} is known"
    return Minimum(w, value, math.inf, "gradient-norm", text, unique, g)


def minimise(risk: Risk, mu: float = 0.0) -> Minimum:
    """inf f and, where it is attained, a minimiser; mu: a strong-convexity constant of f [F/X^2], 0 when unknown.

    >>> x, y = np.array([[1.0], [1.0], [1.0]]), np.array([0.0, 1.0, 5.0])
    >>> huber = Risk(x, y, np.ones(3), np.ones(3) / 3, "huber", 0.0, 1)
    >>> minimise(huber).w.round(12), minimise(huber).kind
    (array([1.]), 'duality-gap')
    """
    if is_sparse(risk.x):
        return _sparse(risk, mu)
    return _minimise(Whitened(risk), mu)


def _sparse(risk: Risk, mu: float) -> Minimum:
    """`minimise` for CSR features: on the columns in which a record has an entry; the others stay at 0."""
    x, columns = nonzero_columns(risk.x)
    # A dense least-squares solve with ridge costs the cube of the columns.
    wide = risk.loss.of_residual and risk.ridge > 0.0 and x.shape[1] > _WIDE
    dense = x.shape[0] * x.shape[1] <= _DENSE and not wide
    own = replace(risk, x=x.toarray() if dense else x)
    if dense or spannable(x):
        found = _minimise(Whitened(own) if dense else Spanned(own), mu)
    elif risk.ridge > 0.0:
        w = _newton_cg(own)
        found = _certified(own, w, max(mu, risk.ridge), True, lambda: _Gap(math.inf, w, False))
    else:
        raise InputError(
            f"{x.shape[0]} sparse records with {x.shape[1]} features are too many to find the infimum without ridge: "
            "give `ridge`"
        )
    if found.w is None:
        return found
    w = np.zeros((risk.classes, risk.x.shape[1]))
    w[:, columns] = found.w.reshape(risk.classes, -1)
    return replace(found, w=w.ravel(), unique=found.unique and (risk.ridge > 0.0 or len(columns) == risk.x.shape[1]))


def _newton_cg(risk: Risk) -> Array:
    """A minimiser of a risk with ridge by Newton's method with conjugate gradients."""

    def bend(w: Array, v: Array) -> Array:
        curvature = risk.loss.curvature(risk.logits(w), risk.y, risk.threshold)
        z = replace(risk, allowed=None).logits(v)
        return risk.pull(Whitened(risk).bend(curvature, z)) + risk.ridge * v

    start = np.zeros(risk.classes * risk.x.shape[1])
    found = optimize.minimize(
        risk.value, start, jac=risk.gradient, hessp=bend, method="trust-ncg", options={"gtol": 1e-11, "maxiter": 500}
    )
    return np.asarray(found.x)


def _minimise(white: Whitened, mu: float) -> Minimum:
    """`minimise` in whitened coordinates."""
    risk = white.risk
    mu = max(mu, risk.ridge)
    full = risk.ridge > 0.0 or white.rank == risk.x.shape[1]
    if risk.loss.of_residual:
        w = _least_squares(white)
        r = np.abs(risk.x @ w - risk.y)
        if risk.ridge == 0.0 and bool(np.all(r <= risk.fit_error(w))):
            error = max(risk.value(w), 0.0)
            return Minimum(w, 0.0, error, "closed-form", "w fits every record up to rounding, so inf f = 0", full)
        if risk.loss.quadratic or bool(np.all(r <= risk.threshold)):
            q = white.project(w)
            return _certified(risk, w, mu, full, lambda: _duality_gap(white, q))
        q = newton(white, white.project(w))
        bent = white.hessian(white.curvature(q))
        unique = full and bool(np.linalg.eigvalsh(bent)[0] > 1e-10)
        return _certified(risk, white.parameters(q), mu, unique, lambda: _duality_gap(white, q))
    if risk.ridge > 0.0:
        q = newton(white)
        return _certified(risk, white.parameters(q), mu, True, lambda: _duality_gap(white, q))
    return _classify(white, full)


def _classify(white: Whitened, full: bool) -> Minimum:
    """Logistic and softmax losses without ridge: attained or not, and the infimum either way."""
    risk = white.risk
    unique = full and not risk.loss.classwise
    if white.rank == risk.x.shape[0]:
        text = "the records are linearly independent, so a direction gives all of them positive margins"
        return Minimum(None, 0.0, 0.0, "not-attained", text)
    classes = risk.classes

    def separated(q: Array) -> bool:
        return separates(risk.x, risk.y, white.parameters(q), classes)

    q = newton(white, stop=separated)
    if separated(q):
        text = "a direction with positive margins for all records was found, so inf f = 0"
        return Minimum(None, 0.0, 0.0, "not-attained", text)
    found = _duality_gap(white, q)
    # A direction with margins >= 0 gives margin 0 to every pair with a positive weight in a feasible dual point, since
    # the weighted margins sum to zero. Only pairs whose weight may be zero up to rounding are left to the program.
    fixed = _weights(risk, found.theta) > 1e-8 if found.feasible else None
    if fixed is not None and bool(np.all(fixed)):
        return _certified(risk, white.parameters(q), 0.0, unique, lambda: found)
    gone = vanishing_pairs(white.x, risk.y, classes, fixed)
    if not np.any(gone):
        return _certified(risk, white.parameters(q), 0.0, unique, lambda: found)
    return _without(white, gone)


def _weights(risk: Risk, theta: Array) -> Array:
    """The weights of the (record, wrong class) pairs in the slopes theta, (m, 1) or (m, classes); 1 elsewhere."""
    weights = np.abs(theta).reshape(len(theta), -1)
    wanted = pairs(risk.y, risk.classes)
    if risk.allowed is not None:
        wanted = wanted & risk.allowed
    return np.where(wanted, weights, 1.0)


def _without(white: Whitened, gone: Mask) -> Minimum:
    """The infimum when the losses of the pairs ``gone`` vanish at infinity."""
    risk = white.risk
    count = int(np.sum(gone))
    if count == int(np.sum(pairs(risk.y, risk.classes))):
        text = "a linear program found that all records' losses vanish at infinity"
        return Minimum(None, 0.0, 0.0, "linear-program", text)
    rest = type(white)(risk.restrict(gone))
    q = newton(rest)
    left = _certified(rest.risk, rest.parameters(q), 0.0, False, lambda: _duality_gap(rest, q))
    text = f"by a linear program {count} (record, class) pairs vanish at infinity; over the rest: {left.text}"
    kind = left.kind if left.kind == "gradient-norm" else "linear-program"
    return Minimum(None, left.value, left.error, kind, text, False, left.gradient_norm)
