"""DP-SCAFFOLD and DP-FedAvg that protect single records: noble2022 Algorithms 1 and 2.

    H_i(y) = (1/(s R)) sum_{j in B} g_j min(1, C/||g_j||) + (2C/(s R)) N(0, sigma_g^2 I)

in place of grad f_i(y), g_j being the gradient of one of R records, B a batch of floor(s R) distinct ones. Replacing a
record moves the sum by up to 2C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import Averaging, over_cohort
from dpfl_theory.algorithms.faults import average_fault, clip_fault, control_fault, known, local_fault, noise_fault
from dpfl_theory.algorithms.faults.averaging import Part
from dpfl_theory.algorithms.faults.noise import HALF, NO_NOISE, TWICE
from dpfl_theory.algorithms.faults.scaffold import FAULTS
from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core.algorithm import Fault, Reading, Setting
from dpfl_theory.core.parameter import Parameter, Range, Scale
from dpfl_theory.lazy import numpy as np

__all__ = ["DPScaffold", "RecordLevel", "RecordLevelFedAvg"]

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


class RecordLevel(Averaging):
    """Rounds whose local steps clip each record's gradient and add noise."""

    protects = "record"
    relations = ("replace",)
    samplings: ClassVar[tuple[str, ...]] = ("fixed",)
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("as printed"),
        Reading("sums are divided by the number of records in the batch", {"size": lambda a, o, i, b: b}),
    )
    relation_factor = 2.0
    """How far a record moves a sum, in C: 2 where it is replaced, 1 where it is added or left out."""

    local_step, global_step, local_steps = Scaffold.local_step, Scaffold.global_step, Scaffold.local_steps
    threshold = replace(
        DPFedAvg.threshold,
        meaning="threshold of a record's gradient",
        aliases=("threshold", "clip", "clip_norm", "max_norm"),
        scale=Scale("the records' mean gradient norm at the start", lambda a, problem: problem.record_slope),
        search=Range((3e-3, 3.0)),
    )
    share = Parameter(
        *("s", "share of the records in a local step"), kind="share", aliases=("share",), trials=(1.0, 0.5), shared=True
    )
    noise_multiplier = Parameter(
        *("sigma_g", "noise multiplier of a local step"),
        kind="nonnegative",
        aliases=("z",),
        default=None,
        trials=(1.3, 0.6),
    )

    mechanism = "NoisyLocalSteps"

    def releases(self, setting: Setting) -> dict[str, Any]:
        return {
            "users": setting.clients,
            "records": setting.records,
            "user_rate": (setting.cohort or setting.clients) / setting.clients,
            "record_rate": self.share,
            "local_steps": self.local_steps,
            "view": setting.view,
            "rounds": setting.rounds,
        }

    def normals(self, clients: int) -> float:
        return float(clients * self.local_steps)

    def total(self, o: Any, i: Any, y: Any) -> Any:
        """The sum of the clipped gradients of the next batch, and the number of its records."""
        return o.clipped_records(i, y, self.share, self.threshold)

    def size(self, o: Any, i: Any, b: Any) -> Any:
        """What the sum over a batch of b records is divided by: s R, as printed."""
        return self.share * o.records(i)

    def step_noise(self, o: Any, i: Any, b: Any) -> Any:
        """The standard deviation of the noise of a local step with b records."""
        return self.relation_factor * self.threshold / self.size(o, i, b) * self.noise_multiplier

    def gradient(self, o: Any, i: Any, y: Any) -> Any:
        total, b = self.total(o, i, y)
        return total / self.size(o, i, b) + o.gaussian(self.step_noise(o, i, b), i)

    divisor = over_cohort

    def length(self, o: Any, w: Any, i: Any) -> float:
        """The median length of the records' gradients."""
        return float(np.median(np.linalg.norm(o.record_gradients(i, w, 1.0), axis=1)))

    def noise_unit(self, o: Any) -> float:
        return 1.0  # noble2022's sigma_g is the multiplier itself

    def sensitivity(self, o: Any) -> float | None:
        """That of a client with R records, all of which take part: K steps, each moved by C/R."""
        if self.share < 1.0:
            return None  # the record may not be in any batch
        path = self.global_step * self.local_step * self.local_steps
        return float(path * self.threshold / o.records(0) / o.expected)


def of_noisy_steps(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Mistakes of rounds whose local steps have noise: one more of these costs privacy."""
    for one in faults:
        if one.name == "one local step too many":
            one = replace(one, description=f"{one.description}, which costs privacy", private=True)
        yield one


class DPScaffold(RecordLevel, Scaffold):
    """DP-SCAFFOLD, with record-level privacy."""

    name = "dp-scaffold"
    title = "DP-SCAFFOLD"
    source = "noble2022 Algorithm 1"

    vectors = 2

    mechanism = "NoisyControlVariates"

    faults = known(*RECORDS, *UNPROTECTED, *of_noisy_steps(FAULTS))


class RecordLevelFedAvg(RecordLevel):
    """DP-FedAvg with noise at every local step, with record-level privacy."""

    name = "dp-fedavg-record"
    title = "DP-FedAvg with noise at every local step"
    source = "noble2022 Algorithm 2"

    faults = known(*RECORDS, *of_noisy_steps(one for one in FAULTS if one.role not in ("control", "cohort")))


class DPSGDRecord(RecordLevelFedAvg):
    """DP-SGD over all clients' records, with record-level privacy."""

    name = "dp-sgd-record"
    title = "DP-SGD over all clients' records"
    source = "noble2022 Algorithm 2, K = 1 and l = 1"
    samplings = ()
    is_reference = False  # conform has dp-fedavg-record, of which it is a special case

    local_steps = 1
    global_step = 1.0
    local_step = replace(
        FedAvg.local_step, meaning="step", aliases=("step", "lr", "learning_rate"), search=Range((1e-3, 20.0))
    )
    share = replace(
        RecordLevel.share, meaning="share of the records in a step", search=Range((1 / 4, 1 / 2, 1.0), between=False)
    )

    def members(self, o: Any) -> Any:
        return o.everyone
