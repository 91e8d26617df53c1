"""DP-FedAvg whose threshold follows a quantile: Andrew, Thakkar, McMahan and Ramaswamy 2021, Algorithm 1.

For a cohort S of m clients, with b_i = 1 where ||Delta_i|| <= C, else 0, and z_delta = (z^-2 - (2 sigma_b)^-2)^(-1/2):

    v = beta v + (1/m) (sum_{i in S} clip(Delta_i, C) + N(0, (z_delta C)^2 I));  w = w + eta_s v
    b = (1/m) (sum_{i in S} (b_i - 1/2) + N(0, sigma_b^2)) + 1/2;                C = C exp(-eta_C (b - gamma))

A client that is left out moves the two sums by at most C and 1/2, so that together they are one Gaussian mechanism with
multiplier z. Where a client is replaced it moves them by 2C and 1, and both noises are twice as large.
The halves matter only where m is random: the paper prints (1/m)(sum b_i + noise) for cohorts of m, which is the same.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.central import Central
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.adaptive_clipping import OWN
from dpfl_theory.core.algorithm import Setting
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.lazy import numpy as np

SAFE = 5.0
"""sigma_b over z by default: then z_delta is 1.005 z. The paper has sigma_b = m/20, which is more for large cohorts."""


def split(z: Any, half: Any) -> Any:
    """(z^-2 - half^-2)^(-1/2), infinite for z >= half."""
    if np.ndim(z) == 0 and z == 0:
        return z
    with np.errstate(divide="ignore"):
        return z / np.sqrt(np.maximum(1.0 - (z / half) ** 2, 0.0))


class AdaptiveClipping(Central):
    """DP-FedAvg with a threshold that follows a quantile of the updates' lengths, from a noisy count."""

    name = "dp-fedavg-adaptive"
    title = "DP-FedAvg with adaptive clipping"
    source = "Andrew et al. 2021 Algorithm 1"
    samplings = ("fixed", "poisson")
    mechanism = "CountedMessages"

    threshold = replace(
        Central.threshold,
        meaning="first threshold of a difference",
        aliases=(*Central.threshold.aliases, "initial_l2_norm_clip", "initial_clipping_norm", "initial_clip"),
    )
    momentum = Parameter(
        *("beta", "server momentum"),
        kind="fraction",
        aliases=("momentum", "server_momentum"),
        default=0.0,
        trials=(0.0, 0.9),
    )
    quantile = Parameter(
        *("gamma", "share of the updates within the threshold"),
        kind="probability",
        aliases=("quantile", "target_unclipped_quantile", "target_quantile", "clip_norm_target_quantile"),
        default=0.5,
        trials=(0.5, 0.7),
    )
    clip_rate = Parameter(
        *("eta_C", "step of the threshold's logarithm"),
        aliases=("clip_rate", "clip_lr", "clip_norm_lr", "clip_learning_rate"),
        default=0.2,
        trials=(0.2, 1.5),
    )
    count_noise = Parameter(
        *("sigma_b", "noise of the count; 0 for 5 z, or 10 z where a client is replaced"),
        kind="nonnegative",
        aliases=("count_noise", "clipped_count_stddev", "clip_count_stddev"),
        default=0.0,
        trials=(10.0, 4.0),
    )
    split = staticmethod(split)
    first: Any = None
    """The threshold of the first round."""

    def releases(self, setting: Setting) -> dict[str, Any]:
        return {**super().releases(setting), "count_noise": self.count_noise or 0.0}

    def count_deviation(self, o: Any) -> Any:
        """The standard deviation of the count's noise."""
        given, least = self.count_noise, SAFE * self.relation_factor * self.noise_multiplier
        return o.when(given > 0, lambda: given, lambda: least)

    printed_count_deviation = count_deviation

    def released(self, o: Any) -> float:
        """mu of the noisy count, which a client moves by 1/2, or by 1 where it is replaced."""
        deviation = float(self.count_deviation(o))
        return 0.5 * self.relation_factor / deviation if deviation else math.inf

    def sum_multiplier(self, o: Any) -> Any:
        return split(self.noise_multiplier, 2.0 * self.printed_count_deviation(o) / self.relation_factor)

    def initial(self, o: Any, w: Any) -> Any:
        """The threshold and the velocity."""
        return self.threshold, o.zero

    def now(self, o: Any, state: Any) -> AdaptiveClipping:
        return self.with_values(threshold=state[0], first=self.threshold)

    def counted_at(self, o: Any) -> Any:
        """The threshold at which updates are counted."""
        return self.threshold

    def moved(self, o: Any, b: Any) -> Any:
        """The next threshold, by the noisy share b of the updates within this one."""
        return self.threshold * np.exp(-self.clip_rate * (b - self.quantile))

    def velocity(self, o: Any, before: Any, step: Any) -> Any:
        """What the server moves by, from what it moved by before."""
        return self.momentum * before + step

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        level, velocity = self.counted_at(o), self.velocity(o, state[1], step)
        count = o.total(o.cohort, o.apply(updates, lambda u: o.within(u, level) - 0.5))
        b = (count + o.normal(self.count_deviation(o))) / o.expected + 0.5
        return self.move(o, w, velocity), (self.moved(o, b), velocity)

    faults = known(*OWN, *(one for one in Central.faults() if not {"server", "now"} & one.parts.keys()))
