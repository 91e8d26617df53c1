"""Sums of bounded messages with noise from a trusted server (DP-FedAvg of libraries)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpfl_theory.errors import InputError
from dpfl_theory.privacy.mechanisms.averaged_messages import AveragedMessages
from dpfl_theory.privacy.mechanisms.base import parameter

__all__ = ["CountedMessages", "SummedMessages"]


@dataclass(frozen=True, kw_only=True)
class SummedMessages(AveragedMessages):
    r"""message_i = w_i clip(u_i, C) with fixed weights w_i of at most 1, and the server adds noise to a cohort's sum.

    ``noise_multiplier`` is z: the sum's noise has standard deviation :math:`z C` for zero-out and add-remove,
    :math:`2 z C` for replace. What the noisy sum is divided by must not depend on the cohort.

    >>> m = SummedMessages(clients=100, cohort=10, sampling="poisson", noise_multiplier=2.0, rounds=50)
    >>> m.sigma(clip=0.5)
    {'sigma_of_the_sum': 1.0}
    """

    noise: str = parameter("the server adds the noise, to the sum", default="average", choices=("average",))

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma_of_the_sum": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}


@dataclass(frozen=True, kw_only=True)
class CountedMessages(SummedMessages):
    r"""As in `SummedMessages`, and the server also releases a noisy count of the messages within the threshold.

    ``noise_multiplier`` is z, that of both together. A client moves the sum by at most C, and the count, from which
    half the number of messages is subtracted, by at most 1/2. So both are one Gaussian mechanism with :math:`z^{-2} =
    z_\Delta^{-2} + (2 \sigma_b)^{-2}`; ``count_noise`` is :math:`\sigma_b`, and :math:`z_\Delta C` is the noise of the
    sum. Zero-out and add-remove: a client that is left out sends neither an update nor a bit.

    >>> m = CountedMessages(clients=100, cohort=10, sampling="fixed", noise_multiplier=0.6, count_noise=0.5, rounds=50)
    >>> round(m.sigma(clip=1.0)["sigma_of_the_sum"], 9)
    0.75
    """

    count_noise: float = parameter("standard deviation sigma_b of the count's noise; 0 for 5 z", default=0.0)

    def validate(self) -> None:
        super().validate()
        self._of_kind("nonnegative", ["count_noise"])
        z, most = self.noise_multiplier, self._most()
        if z is not None and z >= most:
            raise InputError(
                f"`count_noise` is {self.count_noise}: the count alone has the multiplier {most:g}, and both together "
                f"cannot have {z:g}; raise `count_noise` above {z / most * self.count_noise:g}"
            )

    def _most(self) -> float:
        """The multiplier of the count alone."""
        factor = 2.0 if self.relation == "replace" else 1.0
        return 2.0 * self.count_noise / factor if self.count_noise else math.inf

    def sigma(self, clip: float) -> dict[str, float]:
        """The noise of the sum, of multiplier z_delta."""
        z = self.value("noise_multiplier")
        most = self._most() if self.count_noise else 10.0 * z
        (total,) = super().sigma(clip).values()
        return {"sigma_of_the_sum": total / math.sqrt(1.0 - (z / most) ** 2)}
