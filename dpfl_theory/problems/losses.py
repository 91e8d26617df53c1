"""The losses of linear models, one record at a time: values, slopes, curvatures and Fenchel conjugates.

Everything is vectorised over records. ``z`` are logits: (m,) for one output, (m, classes) for softmax. A logit of
-inf removes a class from a softmax record (used when a class's share of the loss vanishes at infinity).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, log_expit, softmax, xlog1py

from dpfl_theory.problems.base import Array


class Loss(ABC):
    """A convex loss of a linear model's logits.

    curvature_bound: the largest second derivative (eigenvalue for softmax) over all logits. kind: how it bounds the
    smoothness, ``eigenvalue`` when it is attained by all records at one parameter vector, else ``norm-bound``.
    of_residual: a loss of z - y, least where it is 0; quadratic: of constant curvature; classwise: of a logit for each
    class.
    """

    curvature_bound: float
    kind: str
    of_residual = False
    quadratic = False
    classwise = False

    @abstractmethod
    def value(self, z: Array, y: Array, threshold: Array) -> Array:
        """The losses, shape (m,)."""

    @abstractmethod
    def slope(self, z: Array, y: Array, threshold: Array) -> Array:
        """The derivative with respect to the logits, shape of z."""

    @abstractmethod
    def curvature(self, z: Array, y: Array, threshold: Array) -> Array:
        """The second derivative (m,); for softmax the probabilities p (m, classes) of ``diag(p) - p p^T``."""

    @abstractmethod
    def conjugate(self, slope: Array, y: Array, threshold: Array) -> Array:
        """``sup_z slope z - loss(z)`` for slopes in the domain, shape (m,)."""

    @abstractmethod
    def clip(self, slope: Array, y: Array, threshold: Array) -> Array:
        """The slopes moved into the conjugate's domain, coordinate by coordinate."""

    @abstractmethod
    def slope_bound(self, threshold: Array) -> Array:
        """The largest length of a record's slope, shape (m,); inf when unbounded."""

    def slope_sum(self, threshold: Array) -> Array:
        """The largest sum of the absolute values of a record's slope, shape (m,); inf when unbounded."""
        return self.slope_bound(threshold)

    def slope_ball(self, y: Array, threshold: Array, classes: int) -> tuple[Array, Array]:
        """Centres (m, classes) and radii (m,) of balls that hold every slope of each record."""
        return np.zeros((len(y), classes)), self.slope_bound(threshold)

    @abstractmethod
    def farthest(self, along: Array, square: Array, y: Array, threshold: Array) -> Array:
        """``max_s ||s x^T - v||^2 - ||v||^2`` over a record's slopes s, shape (m,); inf when unbounded.

        along: ``v x`` (m, classes) for the records x, whose squared lengths are square (m,). A convex function is
        largest at the corners of the slopes' set.
        """


class Squared(Loss):
    """``(z - y)^2 / 2``."""

    curvature_bound = 1.0
    kind = "eigenvalue"
    of_residual = True
    quadratic = True

    def value(self, z: Array, y: Array, threshold: Array) -> Array:
        return 0.5 * (z - y) ** 2

    def slope(self, z: Array, y: Array, threshold: Array) -> Array:
        return z - y

    def curvature(self, z: Array, y: Array, threshold: Array) -> Array:
        return np.ones_like(z)

    def conjugate(self, slope: Array, y: Array, threshold: Array) -> Array:
        return slope * (0.5 * slope + y)

    def clip(self, slope: Array, y: Array, threshold: Array) -> Array:
        return slope

    def slope_bound(self, threshold: Array) -> Array:
        return np.full(threshold.shape, math.inf)

    def farthest(self, along: Array, square: Array, y: Array, threshold: Array) -> Array:
        return np.full(threshold.shape, math.inf)


class Huber(Loss):
    """``r^2 / 2`` for ``|r| = |z - y| <= threshold``, else ``threshold (|r| - threshold / 2)``."""

    curvature_bound = 1.0
    kind = "norm-bound"
    of_residual = True

    def value(self, z: Array, y: Array, threshold: Array) -> Array:
        r = np.abs(z - y)
        inner = np.minimum(r, threshold)
        return inner * (r - 0.5 * inner)

    def slope(self, z: Array, y: Array, threshold: Array) -> Array:
        return np.clip(z - y, -threshold, threshold)

    def curvature(self, z: Array, y: Array, threshold: Array) -> Array:
        return (np.abs(z - y) < threshold).astype(np.float64)

    def conjugate(self, slope: Array, y: Array, threshold: Array) -> Array:
        return slope * (0.5 * slope + y)

    def clip(self, slope: Array, y: Array, threshold: Array) -> Array:
        return np.clip(slope, -threshold, threshold)

    def slope_bound(self, threshold: Array) -> Array:
        return np.asarray(threshold, dtype=np.float64)

    def farthest(self, along: Array, square: Array, y: Array, threshold: Array) -> Array:
        return threshold**2 * square + 2.0 * threshold * np.abs(along[:, 0])


class Logistic(Loss):
    """``log(1 + exp(-y z))`` for labels y in {-1, +1}."""

    curvature_bound = 0.25
    kind = "eigenvalue"

    def value(self, z: Array, y: Array, threshold: Array) -> Array:
        return np.asarray(-log_expit(y * z))

    def slope(self, z: Array, y: Array, threshold: Array) -> Array:
        return np.asarray(-y * expit(-y * z))

    def curvature(self, z: Array, y: Array, threshold: Array) -> Array:
        return np.asarray(expit(z) * expit(-z))

    def conjugate(self, slope: Array, y: Array, threshold: Array) -> Array:
        p = -y * slope
        return np.asarray(-entr(p) + xlog1py(1.0 - p, -p))

    def clip(self, slope: Array, y: Array, threshold: Array) -> Array:
        return -y * np.clip(-y * slope, 0.0, 1.0)

    def slope_bound(self, threshold: Array) -> Array:
        return np.ones(threshold.shape)

    def slope_ball(self, y: Array, threshold: Array, classes: int) -> tuple[Array, Array]:
        return -0.5 * y[:, None], np.full(len(y), 0.5)

    def farthest(self, along: Array, square: Array, y: Array, threshold: Array) -> Array:
        return np.maximum(0.0, square + 2.0 * y * along[:, 0])


class Softmax(Loss):
    """``log sum_c exp(z_c) - z_y`` for labels y in 0..classes-1."""

    curvature_bound = 0.5
    kind = "norm-bound"
    classwise = True

    @staticmethod
    def _own(y: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.arange(len(y)), y.astype(np.int64)

    def value(self, z: Array, y: Array, threshold: Array) -> Array:
        # log(1 + sum of the others) keeps the digits of a small loss, which logsumexp - z_y would cancel.
        gap = z - z[self._own(y)][:, None]
        gap[self._own(y)] = -math.inf
        top = np.maximum(np.max(gap, axis=1, initial=-math.inf), 0.0)
        rest = np.sum(np.exp(gap - top[:, None]), axis=1)
        return np.asarray(top + np.where(top > 0.0, np.log(np.exp(-top) + rest), np.log1p(rest)))

    def slope(self, z: Array, y: Array, threshold: Array) -> Array:
        p = np.asarray(softmax(z, axis=1))
        own = self._own(y)
        p[own] = 0.0
        p[own] = -np.sum(p, axis=1)
        return p

    def curvature(self, z: Array, y: Array, threshold: Array) -> Array:
        return np.asarray(softmax(z, axis=1))

    def conjugate(self, slope: Array, y: Array, threshold: Array) -> Array:
        p = slope.copy()
        own = self._own(y)
        p[own] = 0.0
        rest = -slope[own]
        return np.asarray(-np.sum(entr(p), axis=1) + xlog1py(1.0 - rest, -rest))

    def clip(self, slope: Array, y: Array, threshold: Array) -> Array:
        p = np.maximum(slope, 0.0)
        own = self._own(y)
        p[own] = 0.0
        p /= np.maximum(np.sum(p, axis=1), 1.0)[:, None]
        p[own] = -np.sum(p, axis=1)
        return p

    def slope_bound(self, threshold: Array) -> Array:
        return np.full(threshold.shape, math.sqrt(2.0))

    def slope_sum(self, threshold: Array) -> Array:
        return np.full(threshold.shape, 2.0)

    def slope_ball(self, y: Array, threshold: Array, classes: int) -> tuple[Array, Array]:
        centres = np.full((len(y), classes), 1.0 / classes)
        centres[self._own(y)] -= 1.0
        return centres, np.full(len(y), math.sqrt(1.0 - 1.0 / classes))

    def farthest(self, along: Array, square: Array, y: Array, threshold: Array) -> Array:
        own = self._own(y)
        corner = 2.0 * square[:, None] - 2.0 * (along - along[own][:, None])
        corner[own] = 0.0
        return np.asarray(np.max(corner, axis=1))


LOSS: dict[str, Loss] = {"squared": Squared(), "huber": Huber(), "logistic": Logistic(), "softmax": Softmax()}
"""The losses by the names that ``LinearData`` uses."""
