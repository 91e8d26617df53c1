"""Observables of the server's vector, the clients' updates and the server's sum, for every algorithm that has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables.base import (
    NO_UPDATES,
    Observable,
    Reach,
    cached,
    gradient_squared,
    minimiser,
    nonnegative,
    norms_and_threshold,
    require_attribute,
    unclipped,
)


def _excess(h: Round) -> Any:
    """f_i(w) - inf f_i, (S, n)."""
    return cached(h, "excess", lambda: h.context.kernels.client_excess(h.w))


def _delta(h: Round) -> Any:
    """Delta_i, (n,)."""
    minimiser(h)
    return cached(h, "delta", lambda: h.context.engine.asarray(h.context.problem.constants.delta_i_star))


def _weighted_excess(h: Round, share: Any = 1.0) -> Any:
    """z_i (f_i(w) - inf f_i), (S, n). A zero update means a zero gradient, hence a zero excess, despite rounding."""
    xp = h.context.engine.xp
    return _weight(h, xp.where(require_attribute(h, "update_norms") > 0.0, share * _excess(h), 0.0))


def _weight(h: Round, quantity: Any) -> Any:
    """z_i times a nonnegative quantity, (S, n), by the rule for zero updates."""
    xp = h.context.engine.xp
    norms, bound = norms_and_threshold(h)
    safe = xp.where(norms > 0.0, norms, 1.0)
    at_zero = xp.where(quantity > 0.0, xp.inf, 0.0)
    return xp.where(norms > 0.0, bound / safe * quantity, at_zero)


def _length(x: Any, h: Round) -> Any:
    return h.context.engine.xp.sqrt((x * x).sum(axis=1))


def _snr(h: Round) -> Any:
    """+inf where only the noise is zero, and 0 where both are: no client took part."""
    xp = h.context.engine.xp
    signal, noise = _length(require_attribute(h, "signal"), h), _length(require_attribute(h, "noise"), h)
    silent = xp.where(signal > 0.0, xp.inf, 0.0)
    return xp.where(noise > 0.0, signal / xp.where(noise > 0.0, noise, 1.0), silent)


def _distance_squared(h: Round) -> Any:
    difference = h.w - minimiser(h)
    return (difference * difference).sum(axis=1)


def _dissimilarity(h: Round) -> tuple[Any, Any]:
    """(1/n) sum_i ||grad f_i(w)||^2 and ||grad f(w)||^2, (S,)."""

    def compute() -> tuple[Any, Any]:
        xp = h.context.engine.xp
        gradients = h.context.kernels.local_phase(h.w, xp.zeros(h.w.shape[0]), 1).updates()
        mean = gradients.mean(axis=0)
        return (gradients * gradients).sum(axis=2).mean(axis=0), (mean * mean).sum(axis=1)

    found: tuple[Any, Any] = cached(h, "dissimilarity", compute)
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
    if not reach.update_floor:
        return math.inf
    return float(np.mean(np.minimum(reach.gradient_bounds, reach.threshold / reach.update_floor)) * reach.radius)


def _excess_ceiling(reach: Reach) -> float:
    if not reach.update_floor:
        return math.inf
    return reach.threshold / reach.update_floor * float(np.mean(reach.distances_to_client_minima))


def _suboptimality_ceiling(reach: Reach) -> float:
    c = reach.constants
    return min(float(np.mean(c.G_i)) * reach.radius, 0.5 * c.L_f * reach.radius**2)


def _weighted_heterogeneity_ceiling(reach: Reach) -> float:
    return 0.0 if bool(np.all(reach.constants.delta_i_star == 0.0)) else math.inf


OBSERVABLES = (
    nonnegative(
        "suboptimality",
        (1, 0),
        r"f(w_k) - f(w^*)",
        "suboptimality of the server's vector",
        lambda h: h.context.kernels.suboptimality(h.w),
        _suboptimality_ceiling,
        of_state=True,
    ),
    nonnegative(
        "gradient-norm-squared",
        (2, -2),
        r"\|\nabla f(w_k)\|^2",
        "squared length of the gradient of f",
        gradient_squared,
        lambda r: float(np.mean(r.gradient_bounds)) ** 2,
        of_state=True,
    ),
    nonnegative(
        "gradient-norm",
        (1, -1),
        r"\|\nabla f(w_k)\|",
        "length of the gradient of f",
        lambda h: h.context.engine.xp.sqrt(gradient_squared(h)),
        lambda r: float(np.mean(r.gradient_bounds)),
        of_state=True,
    ),
    nonnegative(
        "distance-squared",
        (0, 2),
        r"\|w_k - w^*\|^2",
        "squared distance to the minimiser",
        _distance_squared,
        lambda r: r.radius**2,
        of_state=True,
    ),
    nonnegative(
        "gradient-dissimilarity",
        (2, -2),
        r"\frac{1}{n}\sum_i \|\nabla f_i(w_k)\|^2 - \|\nabla f(w_k)\|^2",
        "how much the clients' gradients differ from their mean (noble2022 D.3)",
        _gradient_dissimilarity,
        of_state=True,
    ),
    nonnegative(
        "gradient-log-dissimilarity",
        (0, 0),
        r"\ln \frac{1}{n}\sum_i \|\nabla f_i(w_k)\|^2 - \ln \|\nabla f(w_k)\|^2",
        "how much the clients' gradients differ from their mean, as the logarithm of a ratio (noble2022 D.3)",
        _log_dissimilarity,
        of_state=True,
    ),
    Observable(
        "unclipped-gap",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,(f_i(w_k) - f_i(w^*))",
        "mean gap of the clients whose update is not clipped",
        lambda h: (unclipped(h) * (_excess(h) - _delta(h))).mean(axis=1),
        lambda r: -float(np.mean(r.constants.delta_i_star)),
        _gap_ceiling,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "clipped-length",
        (1, -1),
        r"\frac{1}{n}\sum_i 1(\|u_i\| > C)\,\|u_i\|",
        "mean length of the updates that are clipped",
        lambda h: ((1.0 - unclipped(h)) * h.update_norms).mean(axis=1),
        lambda r: float(np.mean(r.update_bounds)),
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "unclipped-heterogeneity",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\Delta_i^*",
        "mean heterogeneity of the clients whose update is not clipped",
        lambda h: (unclipped(h) * _delta(h)).mean(axis=1),
        lambda r: float(np.mean(r.constants.delta_i_star)),
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "unclipped-share",
        (0, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)",
        "share of clients whose update is not clipped",
        lambda h: unclipped(h).mean(axis=1),
        lambda _: 1.0,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "weighted-excess",
        (1, 0),
        r"\frac{1}{n}\sum_i \frac{C}{\|u_i\|}\,(f_i(w_k) - \min f_i)",
        "mean excess over the clients' own minima, weighted by threshold over update length",
        lambda h: _weighted_excess(h).mean(axis=1),
        _excess_ceiling,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "weighted-heterogeneity",
        (1, 0),
        r"\frac{1}{n}\sum_i \frac{C}{\|u_i\|}\,\Delta_i^*",
        "mean heterogeneity, weighted by threshold over update length",
        lambda h: _weight(h, _delta(h)).mean(axis=1),
        _weighted_heterogeneity_ceiling,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "unclipped-weighted-excess",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\frac{C}{\|u_i\|}\,(f_i(w_k) - \min f_i)",
        "mean excess over the clients' own minima, weighted by threshold over update length, where the update is not "
        "longer than the threshold",
        lambda h: _weighted_excess(h, unclipped(h)).mean(axis=1),
        _excess_ceiling,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "unclipped-weighted-heterogeneity",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\frac{C}{\|u_i\|}\,\Delta_i^*",
        "mean heterogeneity, weighted by threshold over update length, where the update is not longer than the "
        "threshold",
        lambda h: _weight(h, unclipped(h) * _delta(h)).mean(axis=1),
        _weighted_heterogeneity_ceiling,
        reported_with=NO_UPDATES,
    ),
    Observable(
        "snr",
        (0, 0),
        r"\|\frac{1}{r}\sum_{i \in S_k} g_i\| / \|\frac{1}{r}\sum_{i \in S_k} \zeta_i\|",
        "signal-to-noise ratio of the server's sum (das2022 Figure 3)",
        _snr,
    ),
    nonnegative(
        "cohort-size",
        (0, 0),
        r"|S_k|",
        "number of clients that take part",
        lambda h: require_attribute(h, "cohort").sum(axis=1),
    ),
    nonnegative(
        "empty-cohort",
        (0, 0),
        r"1(S_k = \emptyset)",
        "whether no client takes part",
        lambda h: (require_attribute(h, "cohort").sum(axis=1) == 0.0) * 1.0,
        lambda _: 1.0,
    ),
    nonnegative(
        "zero-updates",
        (0, 0),
        r"|\{i : u_i = 0\}|",
        "number of clients whose update is exactly zero",
        lambda h: (require_attribute(h, "update_norms") == 0.0).sum(axis=1) * 1.0,
    ),
    nonnegative(
        "smallest-update",
        (1, -1),
        r"\min_i \|u_i\|",
        "length of the shortest update",
        lambda h: require_attribute(h, "update_norms").min(axis=1),
    ),
)
