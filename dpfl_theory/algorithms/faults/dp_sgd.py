"""Mistakes in a step of DP-SGD: in the lot's sum, its divisor and its noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.algorithms.faults import average_fault, clip_fault, noise_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import DECAYS
from dpfl_theory.algorithms.faults.noise import NO_NOISE, VARIANCE
from dpfl_theory.core.algorithm import Extends, Fault, with_number
from dpfl_theory.lazy import numpy as np


def lot(a: Any, o: Any, updates: Any) -> Any:
    """The size of the lot; 1 where it is empty."""
    size = o.total(o.everyone, o.apply(updates, lambda u: u[1]))
    return o.when(size > 0, lambda: size, lambda: 1)


def bounded(bound: Callable[[Any, Any, Any], Any]) -> Any:
    """Another bound on the gradients of a client's part of the lot, the rows of an array, for which the function may
    ask in several batches."""

    def message(a: Any, o: Any, w: Any, i: Any) -> Any:
        asked = [o.record_gradients(i, w, a.share, lots=True) for _ in range(max(o.batches(i), 1))]
        g = np.concatenate(asked)
        return bound(a, o, g), len(g)

    return message


def microbatches(size: int) -> Any:
    """A bound on the mean of each microbatch of a lot's records, which counts as many times as it has records."""

    def bound(a: Any, o: Any, g: Any) -> Any:
        parts = (g[k : k + size] for k in range(0, len(g), size))
        return sum((len(part) * o.clip(part.mean(axis=0), a.threshold) for part in parts), o.zero)

    return bounded(bound)


def noisy(name: str, description: str, factor: Callable[[Any, Any, Any], Any], **facts: Any) -> Fault:
    """A factor of the noise, a function of the algorithm, ``o`` and the clients' parts of the lot."""
    noise = lambda a, o, updates: o.gaussian(factor(a, o, updates) * a.deviation(o))  # noqa: E731
    return noise_fault(name, description, noise=noise, **facts)


def decay(strength: float) -> Fault:
    """Weight decay, as optimizers add it to the noisy gradient."""
    without = "the algorithm has no weight decay, which costs no privacy: set it to 0, or put the term into the loss"
    return step_fault(
        "weight decay in the step",
        f"the step adds {strength:.4g} w to the noisy average: {without}",
        server=Extends(lambda inner, a, o, w, step, *rest: inner(o, w, step + strength * w, *rest)),
    )


DIVIDED = "which is random and not covered by the accounting: divide it by the expected size s N"
OWN = (
    average_fault(
        "the lot is divided by its size",
        f"the sum over the lot is divided by the size of the lot, {DIVIDED}",
        seen="Opacus, issue 420, which asks for it",
        private=True,
        size=lot,
    ),
    average_fault(
        "the lot and its noise are divided by its size",
        f"the noisy sum over the lot is divided by the size of the lot, {DIVIDED}",
        size=lot,
        noise=Extends(lambda inner, a, o, updates: inner(o, updates) * (a.expected_size(o) / lot(a, o, updates))),
    ),
    average_fault(
        "division by all records in place of the lot",
        "the sum over the lot is divided by N: divide it by the expected size s N",
        size=lambda a, o, updates: o.tally(o.everyone, o.records),
    ),
    average_fault(
        "the mean of the clients' means",
        "each client's part of the lot is divided by its own size, and these means are averaged: records of clients "
        "with few of them count more, and the divisor is random",
        private=True,
        message=bounded(lambda a, o, g: sum(o.clip(row, a.threshold) for row in g) / max(len(g), 1) + o.zero),
        size=lambda a, o, updates: o.n,
    ),
    clip_fault(
        "clip of the lot's mean",
        "the mean gradient of a client's part of the lot is clipped, not each record's: one record can then move it by "
        "as much as all together",
        private=True,
        message=bounded(lambda a, o, g: o.clip(g.mean(axis=0), a.threshold) * len(g) if len(g) else o.zero),
    ),
    *(
        clip_fault(
            "clip of microbatches' means",
            f"the mean gradient of {size} records is clipped, not each record's, so that a record can move the sum by "
            "more than C. Clip each record's gradient",
            private=True,
            message=microbatches(size),
        )
        for size in (2, 4)
    ),
    clip_fault(
        "no clipping",
        "records' gradients are not clipped",
        private=True,
        unaccounted=True,
        message=bounded(lambda a, o, g: g.sum(axis=0)),
    ),
    clip_fault(
        "per-coordinate clipping",
        "each coordinate is clipped to [-C, C]: scale a record's whole gradient by min(1, C/||g||)",
        private=True,
        message=bounded(lambda a, o, g: np.clip(g, -a.threshold, a.threshold).sum(axis=0)),
    ),
    noisy(*NO_NOISE, lambda a, o, updates: 0.0, private=True),
    noisy(
        "noise for each record",
        "each record of the lot gets noise, so that the sum has sqrt(|B|) times the noise: add it once to the sum",
        lambda a, o, updates: lot(a, o, updates) ** 0.5,
    ),
    noisy(
        "noise for each client",
        "each client's part of the lot gets the noise of the whole sum, which then has sqrt(n) times the noise",
        lambda a, o, updates: o.n**0.5,
    ),
    noisy(
        "noise of the sum on the average",
        "noise that is meant for the sum over the lot is added to its mean: divide it by s N too",
        lambda a, o, updates: a.expected_size(o),
        seen="Opacus, issue 200, which asks for it",
    ),
    noisy(
        "noise divided by all records in place of the lot",
        "the noise is z C/N: the sum is divided by s N, and so should be the noise",
        lambda a, o, updates: a.share,
        private=True,
    ),
    noisy(
        "sigma where the multiplier was meant",
        "the noise of the sum has the standard deviation z: it should be z C",
        lambda a, o, updates: 1.0 / a.threshold,
        private=True,
    ),
    noisy(
        *VARIANCE,
        lambda a, o, updates: a.relation_factor * a.noise_multiplier * a.threshold,
        private=True,
    ),
    with_number("the step adds a multiple of w to the noisy average: leave it out", DECAYS, decay),
    noisy(
        "noise after the step size", "the noise is not multiplied by the step", lambda a, o, updates: 1 / a.global_step
    ),
)
