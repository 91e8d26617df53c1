"""DP-SGD over Poisson lots of records: Abadi et al. 2016 Algorithm 1, divided by the expected size of a lot.

In a step every record of every client is in the lot B independently with probability s. N counts all records:

    w = w - eta (1/(s N)) (sum_{j in B} g_j min(1, C/||g_j||) + N(0, (z C)^2 I))

Where a record is replaced, the noise has twice this standard deviation. s N is a public constant.

This is one step of an optimizer that has per-record gradients; one client with all records is central training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.central import AS_PRINTED, MULTIPLIER, Central, third_party
from dpfl_theory.algorithms.faults import average_fault, clip_fault, known, noise_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import AVERAGING, BOTH_STEPS, DECAYS, LOCAL_STEP
from dpfl_theory.algorithms.faults.carried import CARRIED
from dpfl_theory.algorithms.faults.noise import NO_NOISE, VARIANCE
from dpfl_theory.algorithms.record_level import RecordLevel
from dpfl_theory.core.algorithm import Extends, Fault, Setting, with_number
from dpfl_theory.core.parameter import Range
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


DIVIDED = (
    "in place of the expected size s N. Where the size is random, the accounting does not cover it; a constant size "
    "near s N changes little. Divide by s N"
)
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
        "with few of them count more. Divide the sum over the lot by the expected size s N",
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


class DPSGD(Averaging):
    """DP-SGD over Poisson lots of all clients' records; a round is a step."""

    name = "dp-sgd"
    title = "DP-SGD over Poisson lots of records"
    source = "Abadi et al. 2016 Algorithm 1"
    protects = "record"
    relations = ("zero-out", "add-remove", "replace")
    mechanism = "PoissonGaussian"
    readings = (AS_PRINTED,)
    sign = -1
    lots = True
    relation_factor = 1.0

    global_step = replace(
        Central.local_step, meaning="step", aliases=("step", "lr", "learning_rate"), search=Range((1e-3, 20.0))
    )
    threshold = replace(
        RecordLevel.threshold, aliases=(*RecordLevel.threshold.aliases, "max_grad_norm", "l2_norm_clip")
    )
    share = replace(
        RecordLevel.share,
        meaning="probability with which a record is in a lot",
        aliases=("share", "q", "sample_rate", "sampling_rate"),
        search=Range((1 / 4, 1 / 2, 1.0), between=False),
    )
    noise_multiplier = MULTIPLIER
    local_step = property(lambda self: self.global_step)
    length = RecordLevel.length

    def releases(self, setting: Setting) -> dict[str, Any]:
        setting = third_party(self.name, setting)
        return {"sampling_rate": self.share, "relation": setting.relation, "rounds": setting.rounds}

    under = Central.under

    def members(self, o: Any) -> Any:
        return o.everyone

    def message(self, o: Any, w: Any, i: Any) -> Any:
        """The sum over client i's part of the lot, and its size."""
        return o.clipped_records(i, w, self.share, self.threshold, lots=True)

    def messages(self, o: Any, updates: Any) -> Any:
        return o.apply(updates, lambda u: u[0])

    def expected_size(self, o: Any) -> Any:
        """s N."""
        return self.share * o.tally(o.everyone, o.records)

    def size(self, o: Any, updates: Any) -> Any:
        """What the sum over the lot is divided by."""
        return self.expected_size(o)

    def deviation(self, o: Any) -> Any:
        return self.relation_factor * self.noise_multiplier * self.threshold / self.expected_size(o)

    def noise(self, o: Any, updates: Any) -> Any:
        """The noise on the average, of which ``updates`` are the clients' parts."""
        return o.gaussian(self.deviation(o))

    def step(self, o: Any, members: Any, updates: Any) -> Any:
        total = o.sum(members, self.messages(o, updates))
        return self.after(o, total / self.size(o, updates)) + self.noise(o, updates)

    def noise_unit(self, o: Any) -> float:
        return 1.0  # Abadi et al. call the multiplier sigma

    def sensitivity(self, o: Any) -> float | None:
        if self.share < 1.0:
            return None  # the record may not be in the lot
        return float(self.global_step * self.threshold / self.expected_size(o))

    faults = known(
        *OWN,
        *(
            one
            for one in (*AVERAGING, *CARRIED)
            if one.parts.keys() <= {"move", "server"} and one.name not in (BOTH_STEPS, LOCAL_STEP)
        ),
    )
