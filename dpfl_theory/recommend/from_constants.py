"""Problems that have given constants: where there are no data, these are what the algorithms are compared on.

Their constants are attained: the largest curvature is L, the smallest mu, gradients are as long as G far from w*. A
bound holds for all problems with these constants, a run is of one of them, and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.quadratic import from_matrices

__all__ = ["Constants", "problem_with"]

_FLATTEST = 1e-3
"""mu/L of the quadratics where no strong convexity is given."""


def problem_with(
    *,
    clients: int,
    dim: int,
    smoothness: float,
    distance: float,
    strong_convexity: float = 0.0,
    lipschitz: float | None = None,
    heterogeneity: float = 0.0,
    seed: int = 0,
) -> Problem:
    r"""A problem with these constants, whose minimiser has the length ``distance`` (runs begin at 0).

    Without a Lipschitz constant quadratics :math:`f_i(w) = (w - c_i)^T Q (w - c_i)/2`, Q diagonal with eigenvalues from
    mu (L/1000 where it is not given) to L; with one Huber losses along the axes, :math:`f_i(w) = (1/d) \sum_j
    \mathrm{huber}_t(\sqrt{dL} (w - c_i)_j)`, :math:`t = G/\sqrt{L}`, which are not strongly convex.

    Args:
        clients, dim: n and d, at least 1.
        smoothness, strong_convexity: L and mu of every f_i [F/X^2].
        distance: ||w*|| [X].
        lipschitz: G of every f_i [F/X].
        heterogeneity: mean of f_i(w*) - min f_i [F], by centres that are spread about w*.
        seed: of the direction of w* and of the spread.

    Raises:
        InputError: for constants that contradict one another.

    >>> problem = problem_with(clients=4, dim=3, smoothness=2.0, distance=5.0, strong_convexity=0.5, heterogeneity=0.3)
    >>> c = problem.constants
    >>> [round(float(x), 9) for x in (c.L_max, c.mu_min, np.linalg.norm(c.w_star), c.delta_i_star.mean())]
    [2.0, 0.5, 5.0, 0.3]
    """
    if strong_convexity > smoothness:
        raise InputError(
            f"`strong_convexity` is {strong_convexity:g} and `smoothness` {smoothness:g}: mu <= L is needed"
        )
    if lipschitz is not None and strong_convexity > 0.0:
        raise InputError("a strongly convex objective on all of R^d has no `lipschitz`: leave one of the two out")
    if heterogeneity > 0.0 and clients == 1:
        raise InputError(f"`heterogeneity` is {heterogeneity:g}, and one client does not differ: give more `clients`")
    rng = np.random.default_rng(seed)
    towards = rng.standard_normal(dim)
    w_star = distance * towards / np.linalg.norm(towards)
    apart = rng.standard_normal((clients, dim))
    apart -= apart.mean(axis=0)
    if lipschitz is not None:
        return _huber(w_star, apart, smoothness, lipschitz, heterogeneity)
    least = strong_convexity if strong_convexity > 0.0 else _FLATTEST * smoothness
    spectrum = np.geomspace(smoothness, least, dim) if dim > 1 else np.array([smoothness])
    mean = float(np.mean(apart**2 @ spectrum)) / 2
    spread = math.sqrt(heterogeneity / mean) if heterogeneity > 0.0 else 0.0
    title = f"quadratics with eigenvalues from {least:g} to {smoothness:g}, ||w*|| = {distance:g}"
    return from_matrices(np.repeat(np.diag(spectrum)[None], clients, axis=0), w_star + spread * apart, title)


@dataclass(frozen=True)
class Constants:
    """Constants in place of data: what `problem_with` takes.

    >>> Constants(5, 3, 1.0, 2.0).problem(copies=2).n
    10
    """

    clients: int
    dim: int
    smoothness: float
    distance: float
    strong_convexity: float = 0.0
    lipschitz: float | None = None
    heterogeneity: float = 0.0

    @property
    def width(self) -> int:
        """The parameters, which fewer may take the place of."""
        return self.dim

    @property
    def records(self) -> int:
        """What a run of one problem costs, in the unit of a record: a client's axes."""
        return self.clients * self.dim

    def narrowed(self, features: int) -> Constants:
        """The same in so many dimensions."""
        return replace(self, dim=features)

    def problem(self, clients: int | None = None, copies: int = 1) -> Problem:
        """The problem, with so many times the clients."""
        found: dict[str, Any] = {**vars(self), "clients": copies * self.clients}
        return problem_with(**found)


def _huber(w_star: Array, apart: Array, L: float, G: float, heterogeneity: float) -> LinearModel:
    """Client i's d records lie along the axes. Within the quadratic parts, which all centres share with w*, the mean
    excess at w* is (L/2) mean ||c_i - w*||^2."""
    clients, dim = apart.shape
    mean = L / 2 * float(np.mean((apart**2).sum(axis=1)))
    spread = math.sqrt(heterogeneity / mean) if heterogeneity > 0.0 else 0.0
    threshold, scale = G / math.sqrt(L), math.sqrt(dim * L)
    most = scale * spread * float(np.abs(apart).max())
    if most > threshold:
        raise InputError(
            f"`heterogeneity` is {heterogeneity:g}: with `lipschitz` = {G:g} and `smoothness` = {L:g} the clients of "
            f"this problem differ by at most {heterogeneity * (threshold / most) ** 2:.3g}; give that or less"
        )
    centres = w_star + spread * apart
    rows = np.tile(scale * np.eye(dim), (clients, 1))
    parts = [np.arange(dim) + dim * i for i in range(clients)]
    data = linear_data(rows, (scale * centres).ravel(), parts, "huber", threshold=np.full(clients, threshold))
    return LinearModel(data, f"Huber losses with L = {L:g} and G = {G:g}, ||w*|| = {float(np.linalg.norm(w_star)):g}")
