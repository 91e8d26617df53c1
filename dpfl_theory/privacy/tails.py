r"""Tails of the privacy loss of one release, in closed form.

Neighbouring data sets give a release the distributions P and Q. Here both are mixtures of Gaussians on a line with one
standard deviation z, the unit of length being the largest change of a message. Each class is one order of one pair and
answers, for epsilon >= 0,

.. math:: P[\ell > \varepsilon], \quad Q[\ell > \varepsilon], \qquad \ell = \log (\mathrm{d}P/\mathrm{d}Q),

from which the smallest delta follows: :math:`\delta(\varepsilon) = P[\ell > \varepsilon] - e^\varepsilon Q[\ell >
\varepsilon]`. Both tails keep their relative accuracy far out, where a difference of two probabilities near 1 would
not.

A pair on a line is enough. Let S be any test and e^epsilon = a >= 1. Where P and Q share a component (the unit did not
take part), its coefficient (1-q)(1-a) is not positive, and so is that of Q's own component. Given the mass p that P's
component gives to S, the lemma of Neyman and Pearson bounds the mass of a Gaussian at distance s from below by
:math:`\Phi(\Phi^{-1}(p) - s/z)`, for all components at once, and a half-line attains all these bounds when the others
lie on one side of P's component at their largest distances. So the line is the worst case in any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpfl_theory.lazy import interpolate

Array = NDArray[np.float64]


class Tails(Protocol):
    """One order (P over Q) of a pair: the masses that P and Q give to losses above epsilon >= 0."""

    def __call__(self, epsilon: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class FullParticipation:
    """N(1, z^2) over N(0, z^2): the unit takes part with certainty.

    >>> p, q = FullParticipation(3.0)(np.array([1.0]))
    >>> print(f"{p[0] - np.exp(1) * q[0]:.12f}")
    0.000207512202
    """

    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        return ndtr(0.5 / self.z - self.z * epsilon), ndtr(-0.5 / self.z - self.z * epsilon)


@dataclass(frozen=True)
class SampledUnit:
    """(1-q) N(0, z^2) + q N(1, z^2) over N(0, z^2): the unit's own message, seen with probability q, over none."""

    q: float
    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.log(np.expm1(epsilon) / self.q + 1)  # log((e^eps - 1 + q)/q)
        # e^eps overflows at 709.8; long before, 1 and q are below its rounding: log(e^eps/q).
        odds = np.where(epsilon > 100.0, epsilon - np.log(self.q), odds)
        x = self.z * odds + 0.5 / self.z
        outside = ndtr(-x)
        return (1 - self.q) * outside + self.q * ndtr(1 / self.z - x), outside


@dataclass(frozen=True)
class SampledUnitReversed:
    """N(0, z^2) over (1-q) N(0, z^2) + q N(1, z^2): the other order of `SampledUnit`; its loss stays below
    -log(1-q)."""

    q: float
    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        ratio = np.expm1(-epsilon) / self.q + 1  # (e^-eps - 1 + q)/q
        inside = ratio > 0
        x = self.z * np.log(np.where(inside, ratio, 1.0)) + 0.5 / self.z
        p = np.where(inside, ndtr(x), 0.0)
        return p, np.where(inside, (1 - self.q) * p + self.q * ndtr(x - 1 / self.z), 0.0)


@dataclass(frozen=True)
class Replaced:
    """(1-q) N(0, z^2) + q N(1, z^2) over (1-q) N(0, z^2) + q N(-1, z^2): a message against its opposite.

    The reverse order is the same by reflection.
    """

    q: float
    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        # k y^2 - (1-q)(e^eps - 1) y - e^eps k = 0 with y = e^(x/z^2), k = q e^(-1/2z^2); log y is taken without
        # overflow
        half = (np.log1p(-self.q) if self.q < 1 else -np.inf) - np.log(2 * self.q) + 0.5 / self.z**2
        with np.errstate(divide="ignore"):
            middle = half + np.log(-np.expm1(-epsilon)) + epsilon
        x = self.z * np.logaddexp(middle, 0.5 * np.logaddexp(2 * middle, epsilon))
        p0 = ndtr(-x)
        return (1 - self.q) * p0 + self.q * ndtr(1 / self.z - x), (1 - self.q) * p0 + self.q * ndtr(-1 / self.z - x)


@dataclass(frozen=True)
class SubstitutedUnit:
    """(1-q) N(0, z^2) + q N(2, z^2) over (1-q) N(0, z^2) + q N(1, z^2): a message over noise only, when another
    client's opposite message is otherwise in its place (sampling of a fixed size).
    """

    q: float
    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        # k2 y^2 - e^eps k1 y - (1-q)(e^eps - 1) = 0 with k2 = q e^(-2/z^2), k1 = q e^(-1/2z^2)
        half = epsilon + 1.5 / self.z**2 - np.log(2)  # log(e^eps k1 / (2 k2))
        with np.errstate(divide="ignore"):
            rest = (np.log1p(-self.q) if self.q < 1 else -np.inf) - np.log(self.q) + 2 / self.z**2
            last = rest + np.log(-np.expm1(-epsilon)) + epsilon
        x = self.z * np.logaddexp(half, 0.5 * np.logaddexp(2 * half, last))
        p0 = ndtr(-x)
        return (1 - self.q) * p0 + self.q * ndtr(2 / self.z - x), (1 - self.q) * p0 + self.q * ndtr(1 / self.z - x)


@dataclass(frozen=True)
class SubstitutedUnitReversed:
    """The other order of `SubstitutedUnit`; its loss exceeds epsilon on an interval only, or nowhere."""

    q: float
    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        # e^eps (k2 y^2 + 1-q) < k1 y + (1-q) between two roots
        half = -epsilon + 1.5 / self.z**2 - np.log(2)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rest = (np.log1p(-self.q) if self.q < 1 else -np.inf) - np.log(self.q) + 2 / self.z**2
            last = rest + np.log(-np.expm1(-epsilon))  # log((1-q)(1 - e^-eps)/k2)
            inside = 1 - np.exp(last - 2 * half)
        some = inside > 0
        root = np.sqrt(np.where(some, inside, 0.0))
        high = half + np.log1p(root)
        with np.errstate(divide="ignore"):
            low = np.where(np.isfinite(last), last - high, -np.inf)  # the product of the roots is e^last
        a, b = self.z * low, self.z * high

        def mass(mean: float) -> Array:
            left, right = a - mean / self.z, b - mean / self.z
            value: Array = np.where(left > 0, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left))
            return value

        p0 = mass(0.0)
        p = (1 - self.q) * p0 + self.q * mass(1.0)
        return np.where(some, p, 0.0), np.where(some, (1 - self.q) * p0 + self.q * mass(2.0), 0.0)


@dataclass(frozen=True)
class GaussianMixturePair:
    r"""Mixtures :math:`\sum_j w_j N(a_j, z^2)` over :math:`\sum_j w_j N(b_j, z^2)` whose likelihood ratio increases.

    The threshold at which the loss is epsilon comes from a monotone interpolation of the loss.
    """

    weights: tuple[float, ...]
    p_means: tuple[float, ...]
    q_means: tuple[float, ...]
    z: float

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        thresholds, largest = _thresholds(self)
        inside = epsilon < largest
        t = thresholds(np.where(inside, epsilon, 0.0))
        return np.where(inside, self._tail(self.p_means, t), 0.0), np.where(inside, self._tail(self.q_means, t), 0.0)

    def log_ratio(self, x: Array) -> Array:
        """log dP/dQ."""
        difference: Array = self._log_density(self.p_means, x) - self._log_density(self.q_means, x)
        return difference

    def _log_density(self, means: Sequence[float], x: Array) -> Array:
        logs = (np.log(w) - 0.5 * ((x - m) / self.z) ** 2 for w, m in zip(self.weights, means, strict=True))
        return reduce(np.logaddexp, logs)

    def _tail(self, means: Sequence[float], t: Array) -> Array:
        total = np.zeros_like(t)
        for weight, mean in zip(self.weights, means, strict=True):
            total += weight * ndtr((mean - t) / self.z)
        return total


@cache
def _thresholds(line: GaussianMixturePair) -> tuple[Callable[[Any], Any], float]:
    """The point at which the loss is epsilon, as an interpolation, and the largest loss."""
    reach = 40 * line.z
    points = np.linspace(min(*line.p_means, *line.q_means) - reach, max(*line.p_means, *line.q_means) + reach, 8001)
    losses = line.log_ratio(points)
    rising = np.concatenate([[True], losses[1:] > np.maximum.accumulate(losses)[:-1]])
    return interpolate.PchipInterpolator(losses[rising], points[rising]), float(losses[-1])


@dataclass(frozen=True)
class Mixture:
    """A release whose kind is drawn at random and seen: its tails are the means of the kinds' tails."""

    weights: tuple[float, ...]
    parts: tuple[Tails, ...]

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        p, q = np.zeros_like(epsilon), np.zeros_like(epsilon)
        for weight, part in zip(self.weights, self.parts, strict=True):
            one, other = part(epsilon)
            p += weight * one
            q += weight * other
        return p, q
