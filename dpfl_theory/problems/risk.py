"""A weighted empirical risk of a linear model, and the rounding of its values.

``f(w) = sum_j a_j loss(x_j^T w, y_j) + (ridge/2) ||w||^2``: a client (a_j = 1/m_i) or all of them (a_j = 1/(n m_i)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import EPS, Array
from dpfl_theory.problems.losses import LOSS, Loss
from dpfl_theory.problems.sparse import gathered, lengths, terms


@dataclass(frozen=True, eq=False)
class Risk:
    """Records x (m, d0), dense or CSR, y, threshold, weight (m,); allowed (m, classes): the softmax classes that take
    part."""

    x: Any
    y: Array
    threshold: Array
    weight: Array
    name: str
    ridge: float
    classes: int
    allowed: NDArray[np.bool_] | None = None

    @property
    def loss(self) -> Loss:
        """The loss of one record."""
        return LOSS[self.name]

    def logits(self, w: Array) -> Array:
        """(m,), or (m, classes) for softmax."""
        if not self.loss.classwise:
            return np.asarray(self.x @ w)
        z = self.x @ w.reshape(self.classes, -1).T
        return z if self.allowed is None else np.where(self.allowed, z, -np.inf)

    def slopes(self, w: Array) -> Array:
        """The derivatives of the losses with respect to the logits."""
        return self.loss.slope(self.logits(w), self.y, self.threshold)

    def value(self, w: Array) -> float:
        """f(w) [F]."""
        losses = self.loss.value(self.logits(w), self.y, self.threshold)
        return float(self.weight @ losses) + 0.5 * self.ridge * float(w @ w)

    def pull(self, slopes: Array) -> Array:
        """``sum_j a_j slope_j x_j``, flat."""
        weighted = slopes * self.weight.reshape((-1,) + (1,) * (slopes.ndim - 1))
        return gathered(weighted, self.x).ravel()

    def gradient(self, w: Array) -> Array:
        """grad f(w) [F/X]."""
        return self.pull(self.slopes(w)) + self.ridge * w

    def logit_error(self, w: Array) -> Array:
        """A bound on the rounding error of each record's residual at w, shape (m,)."""
        size = abs(self.x) @ np.max(np.abs(w.reshape(self.classes, -1)), axis=0)
        if self.loss.of_residual:
            size = size + np.abs(self.y)
        return np.asarray(16.0 * (terms(self.x) + 4) * EPS * size)

    def fit_error(self, w: Array) -> float:
        """How far a residual can be from zero when w was computed to fit every record.

        Solvers are backward stable only in norm, so all records share the error of the largest.
        """
        longest = float(np.max(lengths(self.x), initial=0.0)) * float(np.linalg.norm(w))
        size = longest + float(np.max(np.abs(self.y), initial=0.0))
        return float(16.0 * (terms(self.x) + 4) * EPS * size)

    def rounding(self, w: Array, error: Array | float | None = None) -> float:
        """A bound on the error of ``value(w)`` [F] for errors of the residuals, by default those of rounding."""
        slopes = np.abs(self.slopes(w))
        if slopes.ndim == 2:
            slopes = np.sum(slopes, axis=1)
        shift = self.logit_error(w) if error is None else error
        return 8.0 * EPS * self.value(w) + float(self.weight @ (shift * (slopes + 0.5 * shift)))

    def restrict(self, gone: NDArray[np.bool_]) -> Risk:
        """The risk without the (record, class) pairs of the mask, which has the shape of ``separability.margins``."""
        if self.loss.classwise:
            return replace(self, allowed=~gone if self.allowed is None else self.allowed & ~gone)
        keep = ~gone[:, 0]
        return replace(self, x=self.x[keep], y=self.y[keep], threshold=self.threshold[keep], weight=self.weight[keep])


def client_risk(data: LinearData, i: int) -> Risk:
    """Client i's objective."""
    own = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
    m = own.stop - own.start
    weight = np.full(m, 1.0 / m)
    return Risk(data.x[own], data.y[own], data.threshold[own], weight, data.loss, data.ridge, data.classes)


def global_risk(data: LinearData) -> Risk:
    """The mean of the clients' objectives."""
    sizes = np.diff(data.offsets)
    weight = np.repeat(1.0 / (data.clients * sizes), sizes)
    return Risk(data.x, data.y, data.threshold, weight, data.loss, data.ridge, data.classes)


@dataclass(frozen=True)
class Rounding:
    """The data's properties that the bound needs.

    longest: the largest length of a record's features; target: the largest |y| of a regression, 0 otherwise; slope: the
    largest slope of a loss by its logit, inf for the squared loss; terms: the number of terms of a value; features: the
    number of terms of a logit; classes: of one logit."""

    longest: float
    target: float
    slope: float
    terms: int
    features: int
    classes: int

    @classmethod
    def from_records(cls, data: LinearData) -> Rounding:
        """Of records on the host."""
        loss = LOSS[data.loss]
        return cls(
            float(np.max(lengths(data.x))),
            float(np.max(np.abs(data.y))) if loss.of_residual else 0.0,
            float(np.max(loss.slope_sum(data.threshold))),
            int(np.max(np.diff(data.offsets))) + data.clients + data.parameters,
            terms(data.x),
            data.classes,
        )

    def bound(self, xp: Any, w: Any, values: Any) -> Any:
        """A bound on the rounding error of values at w (S, d), f (S,) or the f_i (S, n) [F].

        Each logit z errs by at most ``delta = 16 (d0 + 4) eps (max ||x|| ||w|| + max |y|)``, as in `Risk.logit_error`.
        The mean loss errs by at most ``delta (s + delta/2)`` for slopes of length s, at most ``min(slope, sqrt(2 f))``
        in the mean for each of the losses; the sums and the loss functions add ``(terms + 8) eps f`` and, for softmax,
        whose normaliser is 1 at least, 4 eps for each class.

        >>> data = LinearData(np.ones((2, 1)), np.zeros(2), np.array([0, 1, 2]), "squared", np.ones(2), 0.0, 1)
        >>> bool(Rounding.from_records(data).bound(np, np.ones((1, 1)), np.array([0.5]))[0] < 1e-13)
        True
        """
        with np.errstate(over="ignore"):  # beyond the largest number the bound is inf
            length = xp.sqrt((w * w).sum(axis=1))
            if values.ndim == 2:
                length = length[:, None]
            delta = 16.0 * (self.features + 4) * EPS * (self.longest * length + self.target)
            slope = xp.minimum(self.slope, xp.sqrt(2.0 * xp.maximum(values, 0.0)))
            total = (self.terms + 8) * EPS * xp.abs(values) + delta * (slope + 0.5 * delta)
            return total + (4.0 * self.classes * EPS if self.classes > 1 else 0.0)
