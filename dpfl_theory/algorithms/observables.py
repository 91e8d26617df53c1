"""Observables: what statements bound, streamed per round and lane.

An observable maps a `Round` to one number for each lane. It knows its unit, its formula, and, where analysis gives one,
the range it cannot leave while the server stays within a known distance of w* (`Reach`): rigorous confidence limits
rest on these ranges.

In the formulas ``u_i`` is client i's update, C the threshold, ``z_i = C/||u_i||`` and Delta_i = f_i(w*) - inf f_i. A
weight z_i times a quantity is 0 where the quantity is 0, and +inf where u_i = 0 and it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.algorithms.base import Round
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems.base import Array, Constants, Problem

__all__ = ["Observable", "Reach", "catalogue", "get"]


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
        """The reach of a run that may go anywhere: what is left is that lengths are not negative, and what the
        Lipschitz constants say.

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
        with np.errstate(invalid="ignore"):  # an infinite radius times L_i = 0 says nothing, and fmin passes it over
            return np.asarray(np.fmin(c.G_i, self.gradient_norms_at_star + c.L_i * self.radius))

    @property
    def update_bounds(self) -> Array:
        """Upper bounds on ||u_i|| for w within the radius, shape (n,). Local steps may leave the radius, but for convex
        f_i each multiplies the gradient's length by at most max(1, eta L_i - 1), and no gradient is longer than G_i.
        """
        c, E = self.constants, self.local_steps
        growth = np.maximum(1.0, self.step * c.L_i - 1.0)
        with np.errstate(over="ignore"):  # beyond the largest number the bound is inf
            total = np.sum(growth ** np.arange(E)[:, None], axis=0)
        return np.asarray(np.minimum(E * c.G_i, total * self.gradient_bounds))

    @property
    def update_floor(self) -> float:
        """A c with ||u_i|| >= c ||grad f_i(w)||: for convex f_i and eta <= 1/L, 1/2 (descent against
        Cauchy-Schwarz) and E (1 - eta L (E-1)/2) (smoothness) both serve."""
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

    unit: exponents of (F, X);  latex: its formula;  meaning: one sentence;  evaluate: Round -> (lanes,);
    low, high: the range within a `Reach`;  of_state: depends on w_k alone, so it also exists after the last round.
    """

    name: str
    unit: tuple[int, int]
    latex: str
    meaning: str
    evaluate: Callable[[Round], Any]
    low: Callable[[Reach], float] = lambda _: -math.inf
    high: Callable[[Reach], float] = lambda _: math.inf
    of_state: bool = False


def need(happened: Round, attribute: str, observable: str) -> Any:
    """What an observable asks of a round. Raises InputError when the algorithm does not have it."""
    value = getattr(happened, attribute)
    if value is None:
        raise InputError(
            f"observable {observable!r} needs {attribute.replace('_', ' ')}, which this algorithm does not have"
        )
    return value


def _once(happened: Round, key: str, compute: Callable[[], Any]) -> Any:
    if key not in happened.cache:
        happened.cache[key] = compute()
    return happened.cache[key]


def _excess(h: Round) -> Any:
    """f_i(w) - inf f_i, (S, n)."""
    return _once(h, "excess", lambda: h.context.kernels.client_excess(h.w))


def minimiser(happened: Round, observable: str) -> Any:
    """The problem's w* on the device, (d,). Raises InputError when the minimum is not attained."""
    star = happened.context.problem.constants.w_star
    if star is None:
        raise InputError(
            f"observable {observable!r} needs a minimiser w*, and the minimum is not attained: add a ridge"
        )
    return happened.context.engine.asarray(star)


def _delta(h: Round) -> Any:
    """Delta_i, (n,)."""
    minimiser(h, "heterogeneity")
    return _once(h, "delta", lambda: h.context.engine.asarray(h.context.problem.constants.delta_i_star))


def _gap(h: Round) -> Any:
    """f_i(w) - f_i(w*), (S, n)."""
    return _once(h, "gap", lambda: _excess(h) - _delta(h))


def unclipped(happened: Round) -> Any:
    """||u_i|| <= C, (S, n)."""
    norms, bound = need(happened, "update_norms", "unclipped"), need(happened, "threshold", "unclipped")
    return _once(happened, "unclipped", lambda: norms <= bound[:, None])


def _weighted_excess(h: Round, share: Any = 1.0) -> Any:
    """z_i (f_i(w) - inf f_i), (S, n). A zero update means a zero gradient, hence a zero excess, despite rounding."""
    xp = h.context.engine.xp
    return _weight(h, xp.where(need(h, "update_norms", "weighted-excess") > 0.0, share * _excess(h), 0.0))


def _weight(h: Round, quantity: Any) -> Any:
    """z_i times a nonnegative quantity, (S, n), by the rule for zero updates."""
    xp = h.context.engine.xp
    norms, bound = need(h, "update_norms", "weighted"), need(h, "threshold", "weighted")
    safe = xp.where(norms > 0.0, norms, 1.0)
    at_zero = xp.where(quantity > 0.0, xp.inf, 0.0)
    return xp.where(norms > 0.0, bound[:, None] / safe * quantity, at_zero)


def _length(x: Any, h: Round) -> Any:
    return h.context.engine.xp.sqrt((x * x).sum(axis=1))


def _snr(h: Round) -> Any:
    """+inf where only the noise is zero, and 0 where both are: nobody took part."""
    xp = h.context.engine.xp
    signal, noise = _length(need(h, "signal", "snr"), h), _length(need(h, "noise", "snr"), h)
    silent = xp.where(signal > 0.0, xp.inf, 0.0)
    return xp.where(noise > 0.0, signal / xp.where(noise > 0.0, noise, 1.0), silent)


def _distance_squared(h: Round) -> Any:
    difference = h.w - minimiser(h, "distance-squared")
    return (difference * difference).sum(axis=1)


def _gradient_squared(h: Round) -> Any:
    gradient = h.context.kernels.gradient(h.w)
    return (gradient * gradient).sum(axis=1)


def _dissimilarity(h: Round) -> tuple[Any, Any]:
    """(1/n) sum_i ||grad f_i(w)||^2 and ||grad f(w)||^2, (S,)."""

    def compute() -> tuple[Any, Any]:
        xp = h.context.engine.xp
        gradients = h.context.kernels.local_phase(h.w, xp.zeros(h.w.shape[0]), 1).updates()
        mean = gradients.mean(axis=0)
        return (gradients * gradients).sum(axis=2).mean(axis=0), (mean * mean).sum(axis=1)

    found: tuple[Any, Any] = _once(h, "dissimilarity", compute)
    return found


def _gradient_dissimilarity(h: Round) -> Any:
    clients, mean = _dissimilarity(h)
    return h.context.engine.xp.maximum(clients - mean, 0.0)


def _log_dissimilarity(h: Round) -> Any:
    """+inf where the gradient of f is zero and the clients' are not, 0 where all are zero."""
    xp = h.context.engine.xp
    clients, mean = _dissimilarity(h)
    moving = mean > 0.0
    ratio = xp.log(xp.where(moving, clients, 1.0) / xp.where(moving, mean, 1.0))
    return xp.where(moving, ratio, xp.where(clients > 0.0, xp.inf, 0.0))


def _gap_ceiling(reach: Reach) -> float:
    return (
        float(np.mean(np.minimum(reach.gradient_bounds, reach.threshold / reach.update_floor)) * reach.radius)
        if reach.update_floor
        else math.inf
    )


def _excess_ceiling(reach: Reach) -> float:
    return (
        reach.threshold / reach.update_floor * float(np.mean(reach.distances_to_client_minima))
        if reach.update_floor
        else math.inf
    )


def _suboptimality_ceiling(reach: Reach) -> float:
    c = reach.constants
    return min(float(np.mean(c.G_i)) * reach.radius, 0.5 * c.L_f * reach.radius**2)


def _weighted_heterogeneity_ceiling(reach: Reach) -> float:
    return 0.0 if bool(np.all(reach.constants.delta_i_star == 0.0)) else math.inf


_ALL = (
    Observable(
        "suboptimality",
        (1, 0),
        r"f(w_k) - f(w^*)",
        "suboptimality of the server's vector",
        lambda h: h.context.kernels.suboptimality(h.w),
        lambda _: 0.0,
        _suboptimality_ceiling,
        of_state=True,
    ),
    Observable(
        "gradient-norm-squared",
        (2, -2),
        r"\|\nabla f(w_k)\|^2",
        "squared length of the gradient of f",
        _gradient_squared,
        lambda _: 0.0,
        lambda r: float(np.mean(r.gradient_bounds)) ** 2,
        of_state=True,
    ),
    Observable(
        "gradient-norm",
        (1, -1),
        r"\|\nabla f(w_k)\|",
        "length of the gradient of f",
        lambda h: h.context.engine.xp.sqrt(_gradient_squared(h)),
        lambda _: 0.0,
        lambda r: float(np.mean(r.gradient_bounds)),
        of_state=True,
    ),
    Observable(
        "distance-squared",
        (0, 2),
        r"\|w_k - w^*\|^2",
        "squared distance to the minimiser",
        _distance_squared,
        lambda _: 0.0,
        lambda r: r.radius**2,
        of_state=True,
    ),
    Observable(
        "gradient-dissimilarity",
        (2, -2),
        r"\frac{1}{n}\sum_i \|\nabla f_i(w_k)\|^2 - \|\nabla f(w_k)\|^2",
        "how much the clients' gradients differ from their mean (noble2022 D.3)",
        _gradient_dissimilarity,
        lambda _: 0.0,
        of_state=True,
    ),
    Observable(
        "gradient-log-dissimilarity",
        (0, 0),
        r"\ln \frac{1}{n}\sum_i \|\nabla f_i(w_k)\|^2 - \ln \|\nabla f(w_k)\|^2",
        "the same as a ratio (noble2022 D.3)",
        _log_dissimilarity,
        lambda _: 0.0,
        of_state=True,
    ),
    Observable(
        "unclipped-gap",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,(f_i(w_k) - f_i(w^*))",
        "mean gap of the clients whose update is not clipped",
        lambda h: (unclipped(h) * _gap(h)).mean(axis=1),
        lambda r: -float(np.mean(r.constants.delta_i_star)),
        _gap_ceiling,
    ),
    Observable(
        "clipped-length",
        (1, -1),
        r"\frac{1}{n}\sum_i 1(\|u_i\| > C)\,\|u_i\|",
        "mean length of the updates that are clipped",
        lambda h: ((1.0 - unclipped(h)) * h.update_norms).mean(axis=1),
        lambda _: 0.0,
        lambda r: float(np.mean(r.update_bounds)),
    ),
    Observable(
        "unclipped-heterogeneity",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\Delta_i^*",
        "mean heterogeneity of the clients whose update is not clipped",
        lambda h: (unclipped(h) * _delta(h)).mean(axis=1),
        lambda _: 0.0,
        lambda r: float(np.mean(r.constants.delta_i_star)),
    ),
    Observable(
        "unclipped-share",
        (0, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)",
        "share of clients whose update is not clipped",
        lambda h: unclipped(h).mean(axis=1),
        lambda _: 0.0,
        lambda _: 1.0,
    ),
    Observable(
        "weighted-excess",
        (1, 0),
        r"\frac{1}{n}\sum_i \frac{C}{\|u_i\|}\,(f_i(w_k) - \min f_i)",
        "mean excess over the clients' own minima, weighted by threshold over update length",
        lambda h: _weighted_excess(h).mean(axis=1),
        lambda _: 0.0,
        _excess_ceiling,
    ),
    Observable(
        "weighted-heterogeneity",
        (1, 0),
        r"\frac{1}{n}\sum_i \frac{C}{\|u_i\|}\,\Delta_i^*",
        "mean heterogeneity, weighted by threshold over update length",
        lambda h: _weight(h, _delta(h)).mean(axis=1),
        lambda _: 0.0,
        _weighted_heterogeneity_ceiling,
    ),
    Observable(
        "unclipped-weighted-excess",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\frac{C}{\|u_i\|}\,(f_i(w_k) - \min f_i)",
        "as weighted-excess, over the clients whose update is not longer than the threshold",
        lambda h: _weighted_excess(h, unclipped(h)).mean(axis=1),
        lambda _: 0.0,
        _excess_ceiling,
    ),
    Observable(
        "unclipped-weighted-heterogeneity",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\frac{C}{\|u_i\|}\,\Delta_i^*",
        "as weighted-heterogeneity, over the clients whose update is not longer than the threshold",
        lambda h: _weight(h, unclipped(h) * _delta(h)).mean(axis=1),
        lambda _: 0.0,
        _weighted_heterogeneity_ceiling,
    ),
    Observable(
        "snr",
        (0, 0),
        r"\|\frac{1}{r}\sum_{i \in S_k} g_i\| / \|\frac{1}{r}\sum_{i \in S_k} \zeta_i\|",
        "signal-to-noise ratio of what the server adds up (das2022 Figure 3)",
        _snr,
    ),
    Observable(
        "cohort-size",
        (0, 0),
        r"|S_k|",
        "number of clients that take part",
        lambda h: need(h, "cohort", "cohort-size").sum(axis=1),
        lambda _: 0.0,
    ),
    Observable(
        "empty-cohort",
        (0, 0),
        r"1(S_k = \emptyset)",
        "whether no client takes part",
        lambda h: (need(h, "cohort", "empty-cohort").sum(axis=1) == 0.0) * 1.0,
        lambda _: 0.0,
        lambda _: 1.0,
    ),
    Observable(
        "zero-updates",
        (0, 0),
        r"|\{i : u_i = 0\}|",
        "number of clients whose update is exactly zero",
        lambda h: (need(h, "update_norms", "zero-updates") == 0.0).sum(axis=1) * 1.0,
        lambda _: 0.0,
    ),
    Observable(
        "smallest-update",
        (1, -1),
        r"\min_i \|u_i\|",
        "length of the shortest update",
        lambda h: need(h, "update_norms", "smallest-update").min(axis=1),
        lambda _: 0.0,
    ),
)


def catalogue() -> dict[str, Observable]:
    """All observables by name."""
    from dpfl_theory.algorithms.ef21_observables import EF21
    from dpfl_theory.algorithms.local_observables import LOCAL
    from dpfl_theory.algorithms.scaffnew_observables import SCAFFNEW

    return {o.name: o for o in (*_ALL, *LOCAL, *SCAFFNEW, *EF21)}


def get(observable: str | Observable) -> Observable:
    """The observable of that name; an `Observable` of the user's own is returned as it is.

    >>> get("suboptimality").unit
    (1, 0)
    """
    if isinstance(observable, Observable):
        return observable
    known = catalogue()
    if observable not in known:
        raise unknown_name("observable", observable, known)
    return known[observable]
