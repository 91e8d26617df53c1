"""Observables of one local phase: the quantities of a single client that das2022's proofs bound, as means over clients.

``g_i`` is client i's message before noise. The square of a server step towards w* expands, client by client, into the
progress ``A_i = -2 eta <g_i, w_k - w*> + eta^2 ||g_i||^2`` [X^2], where a step of size eta along g_i changes
``||w - w*||^2`` by A_i.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.local_updates import shrunk
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


def _products(h: Round) -> tuple[Any, Any]:
    """<u_i, w_k - w*> (S, n) and the local step size eta (S, 1)."""
    phase, star = require_attribute(h, "phase"), minimiser(h)
    found = cached(h, "products", lambda: (phase.updates() * (h.w - star)[None]).sum(axis=2).T)
    return found, h.local_step[:, None]


def _scaled_progress(h: Round, scale: Any, chosen: Any) -> Any:
    """Mean of A_i with g_i = scale_i u_i over the chosen clients, 0 for the others."""
    products, eta = _products(h)
    length = scale * h.update_norms
    progress = -2.0 * eta * scale * products + eta**2 * length**2
    return h.context.engine.xp.where(chosen, progress, 0.0).mean(axis=1)


def _bounding_factor(h: Round) -> Any:
    """C/||u_i||, and 0 for u_i = 0, which is not sent."""
    return shrunk(h.context.engine.xp, *norms_and_threshold(h), True)


def _clipping_factors(h: Round) -> Any:
    """min(1, C/||u_i||), 1 for u_i = 0, (S, n)."""
    norms, bound = norms_and_threshold(h)
    return bound / h.context.engine.xp.maximum(norms, bound)


def _approach(h: Round) -> Any:
    products, eta = _products(h)
    return (2.0 * eta * products - eta**2 * h.update_norms**2).mean(axis=1)


def _signal(h: Round, factor: Any) -> Any:
    weight = factor * h.cohort
    total = (h.phase.updates() * weight.T[:, :, None]).sum(axis=0) / h.context.problem.n
    return h.context.engine.xp.sqrt((total * total).sum(axis=1))


def _path(h: Round) -> tuple[list[Any], list[Any]]:
    """Every client's points w_{k,0}, ..., w_{k,E} and its gradients there, E + 1 arrays (n, S, d) each."""
    steps = require_attribute(h, "local_steps")

    def compute() -> tuple[list[Any], list[Any]]:
        points, gradients = [h.context.engine.xp.repeat(h.w[None], h.context.problem.n, axis=0)], []
        for _ in range(steps):
            gradients.append(h.context.gradients(points[-1]))
            points.append(points[-1] - h.local_step[None, :, None] * gradients[-1])
        return points, [*gradients, h.context.gradients(points[-1])]

    found: tuple[list[Any], list[Any]] = cached(h, "path", compute)
    return found


def _local_mean_suboptimality(h: Round) -> Any:
    points = _path(h)[0][:-1]
    mean = sum(w.mean(axis=0) for w in points[1:]) + points[0].mean(axis=0)
    return h.context.kernels.suboptimality(mean / len(points))


def _local_suboptimality(h: Round) -> Any:
    points, n = _path(h)[0][:-1], h.context.problem.n
    gap = h.context.kernels.suboptimality
    return sum(gap(w[i]) for w in points for i in range(n)) / (n * len(points))


def _squares(arrays: Any) -> Any:
    """Mean over the clients of the arrays' squared lengths, summed over the arrays, (S,)."""
    return sum((a * a).sum(axis=2).mean(axis=0) for a in arrays)


def _factor_deviation(h: Round, power: int) -> Any:
    factors = _clipping_factors(h)
    return (abs(factors - factors.mean(axis=1, keepdims=True)) ** power).mean(axis=1)


def _descent_product(h: Round) -> Any:
    difference = require_attribute(h, "difference")
    return (h.context.kernels.gradient(h.w) * difference).sum(axis=1)


def _steepest(reach: Reach) -> float:
    """|<grad f, difference>| <= G eta max_i ||u_i||, for a mean of differences eta u_i, clipped or not."""
    return float(np.mean(reach.gradient_bounds)) * reach.step * float(np.max(reach.update_bounds))


def _progress_ceiling(reach: Reach) -> float:
    """|A_i| <= 2 eta C radius + eta^2 C^2, where no message is longer than C."""
    eta, C = reach.step, reach.threshold
    return 2.0 * eta * C * reach.radius + eta**2 * C**2 if math.isfinite(eta * C) else math.inf


def _product_ceiling(reach: Reach) -> float:
    return float(np.mean(reach.update_bounds)) * reach.radius if math.isfinite(reach.radius) else math.inf


OBSERVABLES = (
    Observable(
        "clipped-progress",
        (0, 2),
        r"\frac{1}{n}\sum_i 1(\|u_i\| > C)\,A_i",
        "mean progress of the clients whose update is clipped to length C",
        lambda h: _scaled_progress(h, _bounding_factor(h), ~unclipped(h)),
        lambda r: -_progress_ceiling(r),
        _progress_ceiling,
        reported_with=NO_UPDATES,
    ),
    Observable(
        "unclipped-progress",
        (0, 2),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,A_i \text{ with } g_i = u_i",
        "mean progress of the clients whose update is not clipped",
        lambda h: _scaled_progress(h, 1.0, unclipped(h)),
        lambda r: -_progress_ceiling(r),
        _progress_ceiling,
        reported_with=NO_UPDATES,
    ),
    Observable(
        "normalised-progress",
        (0, 2),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,A_i \text{ with } g_i = C u_i/\|u_i\|",
        "mean progress of the clients whose update is lengthened to C",
        lambda h: _scaled_progress(h, _bounding_factor(h), unclipped(h)),
        lambda r: -_progress_ceiling(r),
        _progress_ceiling,
    ),
    Observable(
        "inner-product",
        (1, 0),
        r"\frac{1}{n}\sum_i \langle u_i, w_k - w^* \rangle",
        "mean inner product of the updates with the difference from w*",
        lambda h: _products(h)[0].mean(axis=1),
        lambda r: -_product_ceiling(r),
        _product_ceiling,
    ),
    Observable(
        "unclipped-inner-product",
        (1, 0),
        r"\frac{1}{n}\sum_i 1(\|u_i\| \leq C)\,\langle u_i, w_k - w^* \rangle",
        "mean inner product of the updates with the difference from w*, where the update is not clipped",
        lambda h: h.context.engine.xp.where(unclipped(h), _products(h)[0], 0.0).mean(axis=1),
        lambda r: -_product_ceiling(r),
        _product_ceiling,
        reported_with=NO_UPDATES,
    ),
    Observable(
        "approach",
        (0, 2),
        r"\frac{1}{n}\sum_i (\|w_k - w^*\|^2 - \|w_k - \eta u_i - w^*\|^2)",
        "mean decrease of the squared distance to w* in the local phases",
        _approach,
        lambda r: -2.0 * r.step * _product_ceiling(r) - r.step**2 * float(np.mean(r.update_bounds**2)),
        lambda r: 2.0 * r.step * _product_ceiling(r),
    ),
    nonnegative(
        "update-squared",
        (2, -2),
        r"\frac{1}{n}\sum_i \|u_i\|^2",
        "mean squared length of the updates",
        lambda h: (require_attribute(h, "update_norms") ** 2).mean(axis=1),
        lambda r: float(np.mean(r.update_bounds**2)),
    ),
    nonnegative(
        "displacement-squared",
        (0, 2),
        r"\frac{1}{n}\sum_i \|w_k - w_{k,E}^{(i)}\|^2",
        "mean squared distance that the local steps move a client",
        lambda h: (require_attribute(h, "local_step")[:, None] ** 2 * h.update_norms**2).mean(axis=1),
        lambda r: r.step**2 * float(np.mean(r.update_bounds**2)),
    ),
    nonnegative(
        "end-distance-squared",
        (0, 2),
        r"\frac{1}{n}\sum_i \|w_{k,E}^{(i)} - w^*\|^2",
        "mean squared distance to w* after the local steps",
        lambda h: _squares([_path(h)[0][-1] - minimiser(h)]),
    ),
    nonnegative(
        "local-mean-suboptimality",
        (1, 0),
        r"f(\frac{1}{nE}\sum_i \sum_{\tau < E} w_{k,\tau}^{(i)}) - f(w^*)",
        "suboptimality of the mean of all clients' points before each of their local steps",
        _local_mean_suboptimality,
    ),
    nonnegative(
        "local-suboptimality",
        (1, 0),
        r"\frac{1}{nE}\sum_i \sum_{\tau < E} f(w_{k,\tau}^{(i)}) - f(w^*)",
        "mean suboptimality of all clients' points before each of their local steps",
        _local_suboptimality,
    ),
    nonnegative(
        "local-gradients-squared",
        (2, -2),
        r"\frac{1}{n}\sum_i \sum_{\tau < E} \|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
        "mean over the clients of the squared gradients along their local steps, summed",
        lambda h: _squares(_path(h)[1][:-1]),
    ),
    nonnegative(
        "next-gradients-squared",
        (2, -2),
        r"\frac{1}{n}\sum_i \sum_{\tau < E} \|\nabla f_i(w_{k,\tau+1}^{(i)})\|^2",
        "mean over the clients of the squared gradients after each of their local steps, summed",
        lambda h: _squares(_path(h)[1][1:]),
    ),
    nonnegative(
        "gradient-change-squared",
        (2, -2),
        r"\frac{1}{n}\sum_i \sum_{\tau < E} \|\nabla f_i(w_{k,\tau+1}^{(i)}) - \nabla f_i(w_{k,\tau}^{(i)})\|^2",
        "how much the gradients change from one local step to the next, squared and summed",
        lambda h: _squares([b - a for a, b in itertools.pairwise(_path(h)[1])]),
    ),
    nonnegative(
        "signal-squared",
        (2, -2),
        r"\|\frac{1}{r}\sum_{i \in S_k} g_i\|^2",
        "squared length of the server's sum, before noise",
        lambda h: (require_attribute(h, "signal") ** 2).sum(axis=1),
    ),
    Observable(
        "descent-product",
        (1, 0),
        r"\langle \nabla f(w_k), \frac{1}{|S_k|}\sum_{i \in S_k} \Delta_i \rangle",
        "inner product of the gradient with the mean of the clients' differences of parameters, before noise",
        _descent_product,
        lambda r: -_steepest(r),
        _steepest,
    ),
    nonnegative(
        "clipped-signal",
        (1, -1),
        r"\|\frac{1}{n}\sum_{i \in S_k} \mathrm{clip}(u_i, C)\|",
        "length of the sum of the cohort's updates, clipped, over n",
        lambda h: _signal(h, _clipping_factors(h)),
        lambda r: r.threshold,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "normalised-signal",
        (1, -1),
        r"\|\frac{1}{n}\sum_{i \in S_k} \mathrm{norm}(u_i, C)\|",
        "length of the sum of the cohort's updates, normalised, over n",
        lambda h: _signal(h, _bounding_factor(h)),
        lambda r: r.threshold,
    ),
    nonnegative(
        "bounding-difference",
        (1, -1),
        r"\frac{1}{n}\sum_i \|\mathrm{norm}(u_i, C) - \mathrm{clip}(u_i, C)\|",
        "mean distance between the normalised and the clipped update",
        lambda h: (abs(_bounding_factor(h) - _clipping_factors(h)) * h.update_norms).mean(axis=1),
        lambda r: r.threshold,
    ),
    nonnegative(
        "clipped-alignment",
        (2, -2),
        r"\bar{\alpha}^k \|\nabla f(w_k)\|^2 \text{ with } \bar{\alpha}^k = \frac{1}{n}\sum_i \min(1, C/\|u_i\|)",
        "squared gradient times the mean clipping factor (zhang2021 Theorem 3.1)",
        lambda h: _clipping_factors(h).mean(axis=1) * gradient_squared(h),
        lambda r: float(np.mean(r.gradient_bounds)) ** 2,
        reported_with=NO_UPDATES,
    ),
    nonnegative(
        "clipping-factor",
        (0, 0),
        r"\bar{\alpha}^k",
        "mean clipping factor",
        lambda h: _clipping_factors(h).mean(axis=1),
        lambda _: 1.0,
    ),
    nonnegative(
        "clipping-factor-squared",
        (0, 0),
        r"(\bar{\alpha}^k)^2",
        "the mean clipping factor, squared",
        lambda h: _clipping_factors(h).mean(axis=1) ** 2,
        lambda _: 1.0,
    ),
    nonnegative(
        "clipping-factor-deviation",
        (0, 0),
        r"\frac{1}{n}\sum_i |\alpha_i^k - \bar{\alpha}^k|",
        "mean distance of the clients' clipping factors from their mean",
        lambda h: _factor_deviation(h, 1),
        lambda _: 1.0,
    ),
    nonnegative(
        "clipping-factor-variance",
        (0, 0),
        r"\frac{1}{n}\sum_i |\alpha_i^k - \bar{\alpha}^k|^2",
        "mean squared distance of the clients' clipping factors from their mean",
        lambda h: _factor_deviation(h, 2),
        lambda _: 1.0,
    ),
)
