"""The interface of an observable, the ranges that it may depend on, and its access to the data of a round."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array, Constants, Problem
from dpfl_theory.simulation.base import Round


@dataclass(frozen=True)
class Reach:
    """Everything a range may depend on: the distance ``radius`` >= ||w_k - w*|| [X] that holds in all rounds, the
    problem's constants, the threshold C [F/X], the local step size eta [X^2/F] and the number E of local steps."""

    radius: float
    constants: Constants
    gradient_norms_at_star: Array
    threshold: float
    step: float
    local_steps: int

    @classmethod
    def anywhere(cls, problem: Problem) -> Reach:
        """The reach of an unbounded run: it only uses that lengths are not negative, and the Lipschitz constants.

        >>> from dpfl_theory.simulation.observables import get
        >>> from dpfl_theory.problems import make
        >>> reach = Reach.anywhere(make("huber", clients=4, dimension=3, seed=1))
        >>> get("gradient-norm").low(reach), math.isfinite(get("gradient-norm").high(reach))
        (0.0, True)
        """
        return cls(math.inf, problem.constants, np.full(problem.n, math.inf), math.inf, math.inf, 1)

    @property
    def gradient_bounds(self) -> Array:
        """Upper bounds on ||grad f_i|| within the radius: min(G_i, ||grad f_i(w*)|| + L_i radius), shape (n,)."""
        c = self.constants
        with np.errstate(invalid="ignore"):  # an infinite radius times L_i = 0 is undefined, and fmin ignores it
            return np.asarray(np.fmin(c.G_i, self.gradient_norms_at_star + c.L_i * self.radius))

    @property
    def update_bounds(self) -> Array:
        """Upper bounds on ||u_i|| for w within the radius, shape (n,). Local steps may leave the radius. But for
        convex f_i each step multiplies the gradient's length by at most max(1, eta L_i - 1), and no gradient is longer
        than G_i.
        """
        c, E = self.constants, self.local_steps
        growth = np.maximum(1.0, self.step * c.L_i - 1.0)
        with np.errstate(over="ignore"):  # beyond the largest number the bound is inf
            total = np.sum(growth ** np.arange(E)[:, None], axis=0)
        return np.asarray(np.minimum(E * c.G_i, total * self.gradient_bounds))

    @property
    def update_floor(self) -> float:
        """A c with ||u_i|| >= c ||grad f_i(w)||: for convex f_i and eta <= 1/L, 1/2 (descent against
        Cauchy-Schwarz) and E (1 - eta L (E-1)/2) (smoothness) are both valid."""
        c, E = self.constants, self.local_steps
        if self.step * c.L_max > 1.0:
            return 0.0
        return max(0.5, E * (1.0 - self.step * c.L_max * (E - 1) / 2.0))

    @property
    def distances_to_client_minima(self) -> Array:
        """Upper bounds on the distance to client i's nearest minimiser within the radius, shape (n,), inf when
        unknown."""
        c = self.constants
        shared = c.delta_i_star == 0.0
        if c.w_i_star is None or c.w_star is None:
            own = np.full(len(shared), math.inf)
        else:
            own = np.linalg.norm(c.w_i_star - c.w_star, axis=1)
            own = np.where(np.isfinite(own), own, math.inf)
        return self.radius + np.where(shared, 0.0, own)


@dataclass(frozen=True)
class Observable:
    """One streamed quantity.

    unit: exponents of (F, X);  latex: its formula;  meaning: one sentence;  of: Round -> (replicates,);
    low, high: the range within a `Reach`;  of_state: depends only on w_k, so it also exists after the last round;
    reported_with: observables whose means are reported with it, since its value depends on a convention where they are
    not zero.
    """

    name: str
    unit: tuple[int, int]
    latex: str
    meaning: str
    of: Callable[[Round], Any]
    low: Callable[[Reach], float] = lambda _: -math.inf
    high: Callable[[Reach], float] = lambda _: math.inf
    of_state: bool = False
    reported_with: tuple[str, ...] = ()

    def evaluate(self, round_: Round) -> Any:
        """The values in a round, (replicates,). Raises InputError where the round lacks what it needs."""
        try:
            return self.of(round_)
        except _Lacks as lacks:
            raise InputError(f"observable {self.name!r} needs {lacks}") from None


class _Lacks(Exception):
    """What a round does not have."""


def nonnegative(
    name: str,
    unit: tuple[int, int],
    latex: str,
    meaning: str,
    of: Callable[[Round], Any],
    high: Callable[[Reach], float] = lambda _: math.inf,
    of_state: bool = False,
    reported_with: tuple[str, ...] = (),
) -> Observable:
    """An `Observable` that is never negative."""
    return Observable(name, unit, latex, meaning, of, lambda _: 0.0, high, of_state, reported_with)


NO_UPDATES = ("zero-updates", "empty-cohort")
"""The ``reported_with`` observables of an observable of clipped, unclipped or weighted clients."""


def require_attribute(round_: Round, attribute: str) -> Any:
    """An attribute of a round that an observable needs; the algorithm may lack it."""
    value = getattr(round_, attribute)
    if value is None:
        raise _Lacks(f"{attribute.replace('_', ' ')}, which this algorithm does not have")
    return value


def cached(round_: Round, key: str, compute: Callable[[], Any]) -> Any:
    """The result of ``compute``, kept for the other observables of the round."""
    if key not in round_.cache:
        round_.cache[key] = compute()
    return round_.cache[key]


def minimiser(round_: Round) -> Any:
    """The problem's w* on the device, (d,); it may not exist."""
    star = round_.context.problem.constants.w_star
    if star is None:
        raise _Lacks("a minimiser w*, and the minimum is not attained: add a ridge")
    return round_.context.engine.asarray(star)


def norms_and_threshold(round_: Round) -> tuple[Any, Any]:
    """||u_i|| (S, n) and C (S, 1)."""
    return require_attribute(round_, "update_norms"), require_attribute(round_, "threshold")[:, None]


def unclipped(round_: Round) -> Any:
    """||u_i|| <= C, (S, n)."""
    norms, bound = norms_and_threshold(round_)
    return cached(round_, "unclipped", lambda: norms <= bound)


def gradient_squared(round_: Round) -> Any:
    """||grad f(w)||^2, (S,)."""
    gradient = round_.context.kernels.gradient(round_.w)
    return (gradient * gradient).sum(axis=1)
