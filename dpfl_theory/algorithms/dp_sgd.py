"""DP-SGD over Poisson lots of records: Abadi et al. 2016 Algorithm 1, divided by the expected size of a lot.

In a step every record of every client is in the lot B independently with probability s. N counts all records:

    w = w - eta (1/(s N)) (sum_{j in B} g_j min(1, C/||g_j||) + N(0, (z C)^2 I))

Where a record is replaced, the noise has twice this standard deviation. s N is a public constant.

This is one step of an optimizer that has per-record gradients; one client with all records is central training.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.central import AS_PRINTED, MULTIPLIER, Central, third_party
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.averaging import AVERAGING, BOTH_STEPS, LOCAL_STEP
from dpfl_theory.algorithms.faults.carried import CARRIED
from dpfl_theory.algorithms.faults.dp_sgd import OWN
from dpfl_theory.algorithms.record_level import RecordLevel
from dpfl_theory.core.algorithm import Setting
from dpfl_theory.core.parameter import Range


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

    noise_unit = Central.noise_unit

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
