"""Mistakes in the private gradient of a local step that protects single records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.algorithms.faults import average_fault, clip_fault, control_fault, local_fault, noise_fault
from dpfl_theory.algorithms.faults.averaging import Part
from dpfl_theory.algorithms.faults.noise import HALF, NO_NOISE, TWICE
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.lazy import numpy as np

LOTS = "Poisson batches of records"


def bounded(bound: Callable[[Any, Any, Any], Any]) -> Part:
    """Another bound on the gradients of a batch's records, the rows of an array."""

    def total(a: Any, o: Any, i: Any, y: Any) -> tuple[Any, Any]:
        g = o.record_gradients(i, y, a.share)
        return bound(a, o, g).sum(axis=0), len(g)

    return total


def lots(words: str, sensitivity: Callable[[Any], float]) -> Fault:
    return average_fault(
        LOTS,
        "a batch has each record with probability s, so that its size varies, and the sum is divided by s R, with "
        f"noise of {words}: this is Poisson sampling, but the algorithm draws floor(s R) records. Account for it as "
        "Poisson sampling, not by the algorithm's theorem",
        total=lambda a, o, i, y: o.clipped_records(i, y, a.share, a.threshold, lots=True),
        size=lambda a, o, i, b: a.share * o.records(i),
        step_noise=lambda a, o, i, b: sensitivity(a) / (a.share * o.records(i)) * a.noise_multiplier,
    )


def noisy(
    name: str, description: str, deviation: Callable[[Any, Any, Any, Any], float], private: bool = False
) -> Fault:
    """A mistake in the standard deviation of the noise, in units of the sensitivity over the size of the batch."""
    return noise_fault(
        name,
        description,
        private=private,
        step_noise=lambda a, o, i, b: deviation(a, o, i, b) * a.relation_factor * a.threshold / b * a.noise_multiplier,
    )


RECORDS = (
    lots("the sensitivity that was declared", lambda a: float(a.relation_factor * a.threshold)),
    lots("the sensitivity of adding or leaving out a record, C", lambda a: float(a.threshold)),
    clip_fault(
        "clip of the batch's mean",
        "the mean gradient of a batch is clipped, not each record's: one record can then move it by as much as all "
        "together",
        private=True,
        total=bounded(lambda a, o, g: o.clip(g.mean(axis=0), a.threshold)[None, :].repeat(len(g), 0)),
    ),
    clip_fault(
        "no clipping",
        "records' gradients are not clipped",
        private=True,
        unaccounted=True,
        total=bounded(lambda a, o, g: g),
    ),
    clip_fault(
        "per-coordinate clipping",
        "each coordinate is clipped to [-C, C]: scale a record's whole gradient by min(1, C/||g||)",
        private=True,
        total=bounded(lambda a, o, g: np.clip(g, -a.threshold, a.threshold)),
    ),
    average_fault(
        "division by all records in place of the batch",
        "the sum over the batch is divided by R: divide it by the batch's size",
        size=lambda a, o, i, b: o.records(i),
    ),
    noisy(*NO_NOISE, lambda a, o, i, b: 0.0, private=True),
    noisy(*HALF, lambda a, o, i, b: 0.5, private=True),
    noisy(*TWICE, lambda a, o, i, b: 2.0),
    noise_fault(
        "sigma where the multiplier was meant",
        "the noise of a step has standard deviation sigma_g: it should be sigma_g times the sensitivity",
        private=True,
        step_noise=lambda a, o, i, b: a.noise_multiplier,
    ),
    noisy(
        "sensitivity without the clip threshold",
        "the noise does not depend on the threshold C",
        lambda a, o, i, b: 1.0 / a.threshold,
        private=True,
    ),
    noisy(
        "noise of the sum on the average",
        "noise that is meant for the sum over the batch is added to its mean",
        lambda a, o, i, b: b,
    ),
    noisy(
        "noise without the local step size",
        "the noise is added to the client's parameters, and only the gradient is multiplied by the step eta_l: the "
        "noise is 1/eta_l times the algorithm's, which adds it to the gradient",
        lambda a, o, i, b: 1.0 / a.local_step,
    ),
    noisy(
        "noise divided by all records in place of the batch",
        "the noise is divided by the number R of all records: with b records in a step it should be divided by b",
        lambda a, o, i, b: b / o.records(i),
        private=True,
    ),
    local_fault(
        "batches for steps",
        "a local step is a whole pass over the batches: K counts gradients, not epochs, and each noisy gradient costs "
        "privacy",
        seen="FL-bench, issue 3; FL4Health, pull request 64",
        private=True,
        steps=lambda a, o, i: a.local_steps * round(1.0 / a.share),
    ),
)
"""Mistakes in a record-level gradient, and in the number of these."""


def raw_means(bound: Callable[[Any, Any, Any], Any]) -> Part:
    """Clients whose control variates are the means of their batches' gradients, with this bound, without noise."""

    def trained(a: Any, o: Any, w: Any, c: Any, own: Any) -> Any:
        seen: list[Any] = []

        def total(_: Any, o: Any, i: Any, y: Any) -> tuple[Any, Any]:
            g = o.record_gradients(i, y, a.share)
            clipped = sum((o.clip(row, a.threshold) for row in g), o.zero)
            seen.append(bound(a, o, g).sum(axis=0) / a.size(o, i, len(g)))
            return clipped, len(g)

        def train(i: Any) -> Any:
            seen.clear()
            return noting.train(o, w, i, own[i], c)

        noting = a.replaced(total=total, control=lambda a, o, t: sum(seen, o.zero) / max(len(seen), 1))
        return o.each(o.cohort, train)

    return trained


def rows_clipped(a: Any, o: Any, g: Any) -> Any:
    """The rows of g, each clipped to C."""
    return np.stack([o.clip(row, a.threshold) for row in g])


UNPROTECTED = tuple(
    control_fault(
        "control variates of gradients without noise",
        f"c_i^+ is {words}, and information about it reaches the server through c and the client's next steps. Form it "
        "from the noisy local steps, c_i - c + (w - y)/(K eta_l)",
        private=True,
        unaccounted=True,
        **parts,
    )
    for words, parts in (
        ("a gradient that is neither clipped nor noisy", {"control": lambda a, o, t: o.gradient(t.i, t.y)}),
        ("a gradient that is neither clipped nor noisy", {"control": lambda a, o, t: o.gradient(t.i, t.w)}),
        ("a mean of gradients that are neither clipped nor noisy", {"trained": raw_means(lambda a, o, g: g)}),
        ("a mean of clipped gradients without their noise", {"trained": raw_means(rows_clipped)}),
    )
)
"""Control variates that reveal records."""
