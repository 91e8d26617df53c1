"""The base of the private FedAvg of libraries: differences are clipped, and a trusted server adds noise to their sum.

The noise is given by its multiplier z. The sum gets noise with the standard deviation z C where a client is left out or
sends zero, and moves the sum by at most C. Where a client is replaced, the standard deviation is 2 z C.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
from dpfl_theory.core.algorithm import NOISE_MULTIPLIER, Reading, Setting
from dpfl_theory.errors import InputError

MULTIPLIER = replace(
    NOISE_MULTIPLIER, symbol="z", meaning="noise multiplier", aliases=("noise_multiplier",), default=None
)
"""The noise multiplier as a parameter of its own."""
AS_PRINTED = Reading("as printed")


def third_party(algorithm: str, setting: Setting) -> Setting:
    """The setting. Raises InputError where the server is the observer: it adds the noise itself."""
    if setting.view == "server":
        raise InputError(f"`view` is server: the server of {algorithm} sees sums before any noise; use third-party")
    return setting


class Central(DPTwoSidedFedAvg):
    """A round in which the server adds the noise, once, to the sum."""

    sigma_of = "average"
    samplings = ("poisson", "fixed")
    relations: ClassVar[tuple[str, ...]] = ("zero-out", "replace", "add-remove")
    readings: ClassVar[tuple[Reading, ...]] = (AS_PRINTED,)
    mechanism = "SummedMessages"
    relation_factor = 1.0
    """How far a client moves the sum, in C: 2 where it is replaced, 1 where it is left out."""

    local_step = replace(
        DPTwoSidedFedAvg.local_step, symbol="eta", aliases=("local_step", "lr", "learning_rate", "client_lr", "eta_l")
    )
    global_step = replace(
        DPTwoSidedFedAvg.global_step,
        symbol="eta_s",
        aliases=("global_step", "server_lr", "server_learning_rate", "eta_g"),
        search=None,
    )
    local_steps = replace(DPTwoSidedFedAvg.local_steps, symbol="E", aliases=("local_steps", "epochs", "K", "Q"))
    threshold = replace(
        DPTwoSidedFedAvg.threshold,
        symbol="C",
        aliases=(
            *("threshold", "clip", "clip_norm", "max_norm", "level", "S"),
            *("l2_norm_clip", "max_grad_norm", "clipping_norm"),
        ),
        scale=replace(
            DPTwoSidedFedAvg.threshold.scale,
            text="E eta times the mean gradient norm at the start",
        ),
    )
    sigma = None
    has_sigma = False
    noise_multiplier = MULTIPLIER

    def server_adds_noise(self, setting: Setting) -> bool:
        return True

    def under(self, setting: Setting) -> Self:
        return self.with_values(relation_factor=2.0 if setting.relation == "replace" else 1.0)

    def noisy_share(self, o: Any) -> Any:
        """The divisor of the sum by which the noise is divided too."""
        return o.expected

    def divisor(self, o: Any, members: Any) -> Any:
        return self.noisy_share(o)

    def sum_multiplier(self, o: Any) -> Any:
        """The multiplier of the noise of the sum."""
        return self.noise_multiplier

    def deviation(self, o: Any) -> Any:
        return self.relation_factor * self.sum_multiplier(o) * self.threshold / self.noisy_share(o)

    def noise(self, o: Any, members: Any) -> Any:
        return o.gaussian(self.deviation(o))

    def noise_unit(self, o: Any) -> float:
        return 1.0  # the parameter is the multiplier itself

    def sensitivity(self, o: Any) -> float:
        return float(self.global_step * self.threshold / self.noisy_share(o))
