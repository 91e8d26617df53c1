"""DP-SCAFFOLD and DP-FedAvg that protect single records: noble2022 Algorithms 1 and 2.

    H_i(y) = (1/(s R)) sum_{j in B} g_j min(1, C/||g_j||) + (2C/(s R)) N(0, sigma_g^2 I)

in place of grad f_i(y), g_j being the gradient of one of R records, B a batch of floor(s R) distinct ones. Replacing a
record moves the sum by up to 2C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import Averaging, over_cohort
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.record_level import RECORDS, UNPROTECTED
from dpfl_theory.algorithms.faults.scaffold import FAULTS
from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core.algorithm import Fault, Reading, Setting
from dpfl_theory.core.parameter import Parameter, Range, Scale
from dpfl_theory.lazy import numpy as np

__all__ = ["DPScaffold", "RecordLevel", "RecordLevelFedAvg"]


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
        return 1.0  # the parameter is the multiplier itself

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
