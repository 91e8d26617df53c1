"""Sums of bounded messages with noise from a trusted server (DP-FedAvg of libraries)."""

from __future__ import annotations

from dataclasses import dataclass

from dpfl_theory.privacy.mechanisms.averaged_messages import AveragedMessages
from dpfl_theory.privacy.mechanisms.base import parameter

__all__ = ["SummedMessages"]


@dataclass(frozen=True, kw_only=True)
class SummedMessages(AveragedMessages):
    r"""message_i = w_i clip(u_i, C) with fixed weights w_i of at most 1, and the server adds noise to a cohort's sum.

    ``noise_multiplier`` is z: the sum's noise has standard deviation :math:`z C` for zero-out and add-remove, :math:`2 z
    C` for replace. What the noisy sum is divided by must not depend on the cohort.

    >>> m = SummedMessages(clients=100, cohort=10, sampling="poisson", noise_multiplier=2.0, rounds=50)
    >>> m.sigma(clip=0.5)
    {'z': 2.0, 'sigma_of_the_sum': 1.0}
    """

    noise: str = parameter("the server adds the noise, to the sum", default="average", choices=("average",))

    def sigma(self, clip: float) -> dict[str, float]:
        z = self.value("noise_multiplier")
        return {"z": z, "sigma_of_the_sum": z * clip * (2 if self.relation == "replace" else 1)}
