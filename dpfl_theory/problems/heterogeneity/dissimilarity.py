"""Gradient dissimilarity (G, B) of noble2022 Assumption 4: the smallest G for a given B."""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.heterogeneity.deviation import client_bounds, zeta
from dpfl_theory.problems.heterogeneity.measured import (
    Interval,
    all_gradients,
    ball_of,
    change_length,
    gradients_at,
    hessians,
    lipschitz_deviation,
    ridge_of,
    root_of,
)
from dpfl_theory.problems.heterogeneity.suprema import Supremum, climb, largest_quadratic
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.validation import nonnegative

__all__ = ["dissimilarity_g"]


class _Dissimilarity:
    """``phi_B(w) = (1/n) sum_i ||grad f_i||^2 - B^2 ||grad f||^2``, its supremum bounded for any B."""

    def __init__(self, problem: Problem, radius: float | None, centre: Array | None, seed: int, tries: int) -> None:
        self.problem, self.seed, self.tries = problem, seed, tries
        self.centre, self.radius = ball_of(problem, radius, centre)
        self.g = all_gradients(problem, self.centre)
        self.matrices = hessians(problem)
        c, ridge = problem.constants, ridge_of(problem)
        self.spread = math.sqrt(float(np.mean((c.L_i - ridge) ** 2)))  # a Lipschitz constant of sqrt(variance)
        if isinstance(problem, LinearModel) and self.matrices is None:
            self.variance = client_bounds(problem.data).variance
        else:
            self.variance = float(np.mean(lipschitz_deviation(problem) ** 2))
        self.scale = change_length(math.sqrt(self.variance), self.spread, self.centre)

    def value(self, w: Array, b: float) -> float:
        g = all_gradients(self.problem, w)
        mean = g.mean(axis=0)
        return float(np.mean(np.sum((g - mean) ** 2, axis=1))) - (b * b - 1.0) * float(mean @ mean)

    def largest(self, b: float) -> Supremum | None:
        """Exact for affine gradients, else None."""
        if self.matrices is None:
            return None
        mean, centre = self.matrices.mean(axis=0), self.g.mean(axis=0)
        h = np.mean(self.matrices @ self.matrices, axis=0) - b * b * mean @ mean
        slope = np.einsum("ikl,il->k", self.matrices, self.g) / len(self.g) - b * b * mean @ centre
        constant = float(np.mean(np.sum(self.g**2, axis=1))) - b * b * float(centre @ centre)
        size = float(np.max(np.linalg.norm(self.matrices, axis=(1, 2))))
        pull = size * float(np.max(np.linalg.norm(self.g, axis=1)))
        return largest_quadratic(h, slope, constant, self.radius, (size**2 * b * b, pull * b * b))

    def high(self, b: float) -> float:
        """A certified bound on the supremum."""
        found = self.largest(b)
        if found is not None:
            return found.high
        best = self.variance
        if math.isfinite(self.radius):
            mean = self.g.mean(axis=0)
            here = math.sqrt(float(np.mean(np.sum((self.g - mean) ** 2, axis=1))))
            best = min(best, (here + self.spread * self.radius) ** 2)
        c = self.problem.constants
        if c.mu_f > 0.0 and c.w_star is not None and b > 1.0:
            best = min(best, self._away(math.sqrt(zeta(self.problem).high), (b * b - 1.0) * c.mu_f**2))
        return best

    def _away(self, start: float, fall: float) -> float:
        """``sup over rho >= 0 of min{variance, (start + spread rho)^2} - fall rho^2``, rho = ||w - w*||, as
        ``||grad f(w)|| >= mu_f rho``."""
        if start**2 >= self.variance or self.spread == 0.0:
            return self.variance
        full = (math.sqrt(self.variance) - start) / self.spread
        slack = fall - self.spread**2
        top = start * self.spread / slack if slack > 0.0 else math.inf
        rho = min(top, full)
        return (start + self.spread * rho) ** 2 - fall * rho**2

    def search(self, b: float) -> tuple[float, Array]:
        problem = self.problem

        def ascent(w: Array) -> Array:
            # Half the gradient is (1/n) sum_i H_i g_i - B^2 H g; Hessians times vectors are differences of gradients.
            g = all_gradients(problem, w)
            h = 1e-4 * self.scale
            own, common = (_directions(v) for v in (g, g.mean(axis=0)[None]))
            steps = h * np.stack([own, -own, *(np.broadcast_to(k * common, own.shape) for k in (1.0, -1.0))], axis=1)
            found = gradients_at(problem, w + steps)
            length = np.linalg.norm(g, axis=1)[:, None]
            clients = np.mean(length * (found[:, 0] - found[:, 1]), axis=0)
            mean = float(np.linalg.norm(g.mean(axis=0))) * np.mean(found[:, 2] - found[:, 3], axis=0)
            return np.asarray(clients - b * b * mean)

        rays = list(self.g[np.argsort(-np.linalg.norm(self.g, axis=1))[:3]])
        best = climb(
            lambda w: self.value(w, b), ascent, self.centre, rays, self.scale, self.radius, self.tries, self.seed
        )
        return best.value, best.maximizer


def _directions(vectors: Array) -> Array:
    """Rows of length one; zero rows are kept."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0.0, length, 1.0))


def dissimilarity_g(
    problem: Problem,
    b: float = 1.0,
    radius: float | None = None,
    centre: Array | None = None,
    seed: int = 0,
    tries: int = 6,
) -> Interval:
    """The smallest G of noble2022 Assumption 4 for a given B: ``(1/n) sum_i ||grad f_i||^2 <= G^2 + B^2 ||grad f||^2``.

    Affine gradients: the maximum of a quadratic, inf where that is not bounded above. Bounded slopes: G^2 is at most
    the bound on the variance of ``client_bounds``, less ``(B^2 - 1) mu_f^2 ||w - w*||^2`` where f is strongly convex.
    Raises InputError for B < 1.

    >>> from dpfl_theory.problems.scalar import equation_8
    >>> dissimilarity_g(equation_8().problem(), b=1.0).high
    inf
    >>> g = dissimilarity_g(equation_8().problem(), b=2.0)  # phi = (1313 x^2 + 408 x + 56)/3 - 4 (41 x/3)^2
    >>> round(g.low**2, 6), round(g.high**2, 6)
    (33.609575, 33.609575)
    """
    if not nonnegative("B", b) >= 1.0:
        raise InputError(f"B is {b!r}: noble2022 Assumption 4 needs a number of at least 1")
    phi = _Dissimilarity(problem, radius, centre, seed, tries)
    found = phi.largest(b)
    if found is not None:
        how = "exact maximum of a quadratic" if math.isfinite(found.high) else "a quadratic that is unbounded above"
        return root_of(found, how, phi.centre)
    low, at = phi.search(b)
    return Interval(
        math.sqrt(max(low, 0.0)), math.sqrt(phi.high(b)), "high: bounded slopes and strong convexity; low: search", at
    )
