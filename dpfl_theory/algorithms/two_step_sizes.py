"""FedAvg with two step sizes, and clipping of the difference that a client sends.

zhang2021 Algorithms 1 and 3: Delta_i = y_i - w after Q local steps of size eta_l, clipped to c, plus N(0, sigma^2 I);
w = w + eta_g (1/|S|) sum_{i in S} Delta_i. hou2023 Algorithm 1 is this with eta_g = 1 and all clients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import Averaging, over_cohort
from dpfl_theory.algorithms.faults import clip_fault, known, local_fault
from dpfl_theory.algorithms.faults.averaging import AVERAGING, CLIPPING, LOCAL
from dpfl_theory.algorithms.faults.carried import CARRIED, LEARNED
from dpfl_theory.algorithms.faults.noise import NOISE
from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
from dpfl_theory.core.algorithm import Reading
from dpfl_theory.core.parameter import Scale

DIVIDED = local_fault(
    "the update in place of the difference",
    "a client sends (y - w)/eta, not y - w: do not divide by the local step size",
    update=lambda a, o, w, y: (y - w) / a.local_step,
)
CLIPPED_PARAMETERS = clip_fault(
    "clip of the parameters in place of the difference",
    "the client's parameters are clipped, not their difference: clip y - w",
    seen="disco, pull request 317",
    private=True,
    update=lambda a, o, w, y: o.clip(y, a.threshold) - w,
    bound=Averaging.bound,
)


class TwoSidedFedAvg(Averaging):
    """FedAvg with two step sizes."""

    name = "fedavg-two-sided"
    title = "FedAvg with two step sizes"
    source = "zhang2021 Algorithm 1"
    samplings: ClassVar[tuple[str, ...]] = ("fixed", "poisson", "with-replacement")

    local_step = replace(FedAvg.local_step, symbol="eta_l", aliases=("local_step", "lr", "learning_rate", "eta"))
    global_step = replace(
        FedAvg.global_step,
        symbol="eta_g",
        unit="",
        aliases=("global_step", "server_lr", "beta"),
        scale=None,
        trials=(1.0, 1.5),
    )
    local_steps = replace(FedAvg.local_steps, symbol="Q", aliases=("local_steps", "epochs", "K", "E"))

    def divisor(self, o: Any, members: Any) -> Any:
        return over_cohort(self, o, members)

    faults = known(*AVERAGING, *LOCAL, *CARRIED, DIVIDED)


class DPTwoSidedFedAvg(TwoSidedFedAvg):
    """DP-FedAvg with two step sizes: differences are clipped.

    Cohorts have r members in the paper. Where they are drawn independently, the sum is divided by the expected number
    r, as the sensitivity c/r needs: 1/|S| would be as large as 1.
    """

    name = "dp-fedavg-two-sided"
    title = "DP-FedAvg with two step sizes"
    source = "zhang2021 Algorithm 3"
    protects = "client"
    sigma_of = "message"
    readings: ClassVar[tuple[Reading, ...]] = DPFedAvg.readings

    threshold = replace(
        DPFedAvg.threshold,
        symbol="c",
        meaning="threshold of a difference",
        unit="X",
        aliases=("threshold", "clip", "clip_norm", "max_norm", "C", "level"),
        scale=Scale(
            "Q eta_l times the mean gradient norm at the start", lambda a, p: a.local_steps * a.local_step * p.slope
        ),
    )
    sigma = replace(DPFedAvg.sigma, meaning="noise of one message", unit="X")
    bound = DPFedAvg.bound
    sensitivity = DPFedAvg.sensitivity

    def divisor(self, o: Any, members: Any) -> Any:
        return o.expected

    def noise(self, o: Any, members: Any) -> Any:
        return o.sum_of_noises(members, self.sigma) / o.expected

    def deviation(self, o: Any) -> Any:
        return self.sigma / o.expected**0.5

    def noise_unit(self, o: Any) -> float:
        return float(self.threshold / o.expected**0.5)

    faults = known(*CLIPPING, *NOISE, DIVIDED, CLIPPED_PARAMETERS, *TwoSidedFedAvg.faults(), *LEARNED)


class UnclippedTwoSidedFedAvg(DPTwoSidedFedAvg):
    """DP-FedAvg with two step sizes as the proofs treat it: differences are not clipped, and have noise."""

    name = "dp-fedavg-two-sided-unclipped"
    title = "DP-FedAvg with two step sizes, without clipping"
    threshold = None
    bound = Averaging.bound


class ModelClippedFedAvg(DPTwoSidedFedAvg):
    """FedAvg whose clients clip the models that they send, not the differences.

    The server takes the mean of these models, and stays where no client takes part. zhang2021 Claim 2.1 shows that this
    misses the optimum. So it is not among the algorithms that are offered by name.
    """

    name = "fedavg-model-clipping"
    title = "FedAvg with model clipping"
    source = "zhang2021 Section 2.1"
    samplings = ("fixed", "with-replacement")
    global_step = 1.0
    threshold = replace(DPTwoSidedFedAvg.threshold, meaning="threshold of a model")

    def update(self, o: Any, w: Any, y: Any) -> Any:
        return y

    divisor = over_cohort

    def noise(self, o: Any, members: Any) -> Any:
        return o.sum_of_noises(members, self.sigma) / self.divisor(o, members)

    def move(self, o: Any, w: Any, step: Any) -> Any:
        return o.when(o.count(o.cohort) > 0, lambda: step, lambda: w)
