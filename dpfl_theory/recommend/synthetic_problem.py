"""Problems with given constants, on which the algorithms are compared if there are no data.

Their constants are attained: the largest curvature is L, the smallest mu, gradients are as long as G far from w*. A
bound holds for all problems with these constants. A run is on one of them, and the report says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.quadratic import Quadratic, from_matrices
from dpfl_theory.recommend.constants_from_data import constants_of
from dpfl_theory.recommend.inputs import ConstantOptions, Document

_FLATTEST = 1e-3
"""mu/L of the quadratics if no strong convexity is given."""


class Constants(ConstantOptions):
    r"""Constants in place of data, and the problem that has them, on which runs start at 0.

    Without a Lipschitz constant, these are quadratics :math:`f_i(w) = (w - c_i)^T Q (w - c_i)/2`, Q diagonal with
    eigenvalues from mu (L/1000 where it is not given) to L; with one, Huber losses along the axes, :math:`f_i(w) =
    (1/d) \sum_j \mathrm{huber}_t(\sqrt{dL} (w - c_i)_j)`, :math:`t = G/\sqrt{L}`, which are not strongly convex.
    Heterogeneity comes from centres that are spread around w*.

    >>> known = Constants(clients=4, dim=3, smoothness=2.0, distance=5.0, strong_convexity=0.5, heterogeneity=0.3)
    >>> c = known.problem().constants
    >>> [round(float(x), 9) for x in (c.L_max, c.mu_min, np.linalg.norm(c.w_star), c.delta_i_star.mean())]
    [2.0, 0.5, 5.0, 0.3]
    """

    @property
    def width(self) -> int:
        """The number of model parameters, which fewer may replace."""
        return self.dim

    @property
    def records(self) -> int:
        """The cost of a run of one problem, in the unit of a record: a client's axes."""
        return self.clients * self.dim

    def with_features(self, features: int) -> Constants:
        """The same in the given number of dimensions."""
        return replace(self, dim=features)

    def contradictions(self, clients: int) -> Iterator[str]:
        """All contradictions between the constants, for the given number of clients."""
        L, mu = self.smoothness, self.strong_convexity
        if mu > L:
            yield f"`strong_convexity` is {mu:g} and `smoothness` {L:g}: mu <= L is needed"
        if self.lipschitz is not None and mu > 0.0:
            yield "a strongly convex objective on all of R^d has no `lipschitz`: leave one of the two out"
        if self.heterogeneity > 0.0 and clients == 1:
            yield f"`heterogeneity` is {self.heterogeneity:g}, but one client has no heterogeneity: give more `clients`"

    def problem(self, clients: int | None = None, copies: int = 1) -> Problem:
        """The problem, with the given number of clients in place of its own, if given, and each client repeated the
        given number of times.

        Raises InputError for constants that contradict one another.

        >>> Constants(5, 3, 1.0, 2.0).problem(copies=2).n
        10
        """
        n = copies * (self.clients if clients is None else clients)
        if wrong := list(self.contradictions(n)):
            raise InputError("; and ".join(wrong))
        L, mu, apart_by = self.smoothness, self.strong_convexity, self.heterogeneity
        rng = np.random.default_rng(0)
        towards = rng.standard_normal(self.dim)
        w_star = self.distance * towards / np.linalg.norm(towards)
        apart = rng.standard_normal((n, self.dim))
        apart -= apart.mean(axis=0)
        if self.lipschitz is not None:
            return _huber(w_star, apart, L, self.lipschitz, apart_by)
        return _quadratics(w_star, apart, L, mu if mu > 0.0 else _FLATTEST * L, apart_by)

    def report(self, problem: Problem) -> Document:
        """A description of the problem that has the constants."""
        message = (
            "the measurements are on this problem; another one with these constants may give better or worse results"
        )
        known = {"clients": problem.n, "dim": problem.d, "constants": constants_of(problem)}
        return {"source": None, "problem": problem.name, **vars(self), **known, "stands_for": message}


def _quadratics(w_star: Array, apart: Array, L: float, minimum: float, heterogeneity: float) -> Quadratic:
    """All clients have one Hessian, so that the mean excess at w* is half of the centres' mean square in its norm."""
    clients, dim = apart.shape
    spectrum = np.geomspace(L, minimum, dim) if dim > 1 else np.array([L])
    mean = float(np.mean(apart**2 @ spectrum)) / 2
    spread = math.sqrt(heterogeneity / mean) if heterogeneity > 0.0 else 0.0
    distance = float(np.linalg.norm(w_star))
    title = f"quadratics with eigenvalues from {minimum:g} to {L:g}, ||w*|| = {distance:g}"
    return from_matrices(np.repeat(np.diag(spectrum)[None], clients, axis=0), w_star + spread * apart, title)


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
