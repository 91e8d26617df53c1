"""How far rounding can move a linear model's value at any parameters: an a-priori bound that reads no record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.sparse import lengths, terms

__all__ = ["Rounding"]

_EPS = float(np.finfo(np.float64).eps)


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
            delta = 16.0 * (self.features + 4) * _EPS * (self.longest * length + self.target)
            slope = xp.minimum(self.slope, xp.sqrt(2.0 * xp.maximum(values, 0.0)))
            total = (self.terms + 8) * _EPS * xp.abs(values) + delta * (slope + 0.5 * delta)
            return total + (4.0 * self.classes * _EPS if self.classes > 1 else 0.0)
