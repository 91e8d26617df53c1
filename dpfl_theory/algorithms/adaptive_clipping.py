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
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.central import Central
from dpfl_theory.algorithms.faults import clip_fault, known, noise_fault, step_fault
from dpfl_theory.core.algorithm import Extends, Setting
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


def counted_once(inner: Callable[..., Any], a: Any, o: Any, updates: Any) -> Any:
    """The next threshold, whose count gets its noise where it is first asked for in a round."""
    if "next" not in vars(a):
        a.next = inner(o, updates)
    return a.next


def counted_first(inner: Callable[..., Any], a: Any, o: Any, members: Any, updates: Any) -> Any:
    """The noisy average, after the threshold has moved."""
    a.next_threshold(o, updates)
    return inner(o, members, updates)


OWN = (
    noise_fault(
        "a count without noise",
        "the number of updates within the threshold gets no noise, so that the threshold of the next round reveals it: "
        "add N(0, sigma_b^2) to it",
        private=True,
        count_deviation=lambda a, o: 0.0,
    ),
    noise_fault(
        "the count's noise is not in the split",
        "the updates get noise with the multiplier z, but the noisy count is released too: both together have the "
        "multiplier (z^-2 + (2 sigma_b)^-2)^(-1/2), which is less than z. Give the updates z_delta = (z^-2 - (2 "
        "sigma_b)^-2)^(-1/2), or account for the smaller one",
        seen="TensorFlow Federated, pull request 1080",
        private=True,
        sum_multiplier=lambda a, o: a.noise_multiplier,
    ),
    noise_fault(
        "a split for a count that moves by 1",
        "the updates have the multiplier (z^-2 - sigma_b^-2)^(-1/2), as if a client moved the count by 1: around 1/2 "
        "it moves it by 1/2, so that (z^-2 - (2 sigma_b)^-2)^(-1/2) is enough",
        sum_multiplier=lambda a, o: split(a.noise_multiplier, a.count_deviation(o) / a.relation_factor),
    ),
    noise_fault(
        "the count's noise on the share",
        "N(0, sigma_b^2) is added to the share of the updates, not to their number: this is m times too much",
        count_deviation=lambda a, o: a.printed_count_deviation(o) * o.expected,
        sum_multiplier=lambda a, o: split(a.noise_multiplier, 2.0 * a.printed_count_deviation(o) / a.relation_factor),
    ),
    step_fault(
        "momentum of the average in place of its sum",
        "the server moves by v = beta v + (1 - beta) average, for example where momentum is dampened: the algorithm "
        "has v = beta v + average",
        velocity=lambda a, o, before, step: a.momentum * before + (1.0 - a.momentum) * step,
    ),
    clip_fault(
        "the threshold moves the wrong way",
        "the threshold grows where more than a share gamma of the updates is within it, and so moves away from the "
        "quantile: it should be C exp(-eta_C (b - gamma))",
        moved=lambda a, o, b: a.threshold * np.exp(a.clip_rate * (b - a.quantile)),
    ),
    clip_fault(
        "the share of clipped updates in place of the others",
        "b counts the updates beyond the threshold, and gamma is the share within it",
        moved=lambda a, o, b: a.threshold * np.exp(-a.clip_rate * (1.0 - b - a.quantile)),
    ),
    clip_fault(
        "a linear update of the threshold",
        "the threshold moves by eta_C (b - gamma), in the unit of the updates: the geometric one multiplies it by "
        "exp(-eta_C (b - gamma)), and stays positive",
        moved=lambda a, o, b: a.threshold - a.clip_rate * (b - a.quantile),
    ),
    clip_fault(
        "a linear update of the threshold",
        "the threshold is multiplied by 1 - eta_C (b - gamma): the geometric update multiplies it by "
        "exp(-eta_C (b - gamma)), and stays positive",
        moved=lambda a, o, b: a.threshold * (1.0 - a.clip_rate * (b - a.quantile)),
    ),
    clip_fault(
        "a threshold that stays",
        "the threshold is that of the first round for ever: keep the new one in the state",
        seen="TensorFlow Privacy, issue 111",
        moved=lambda a, o, b: a.threshold,
    ),
    clip_fault(
        "updates are counted at the first threshold",
        "b counts the updates within the first round's threshold: count those within this round's",
        counted_at=lambda a, o: a.first,
    ),
    clip_fault(
        "updates are counted after they are clipped",
        "every update is within the threshold once it is clipped, so that the share b is 1 up to its noise, and the "
        "threshold falls whatever the lengths are: count the updates as they are before clipping",
        counted_at=lambda a, o: np.inf,
    ),
    noise_fault(
        "noise that does not follow the threshold",
        "the noise keeps the size that fits the first round's threshold: a later round clips to C_t, so that its noise "
        "should be z_delta C_t",
        private=True,
        unaccounted=True,
        noise=lambda a, o, members: o.gaussian(a.deviation(o) * a.first / a.threshold),
    ),
    noise_fault(
        "noise of the next round's threshold",
        "the threshold moves before the noise is added, which is then z_delta C_(t+1), though this round clips to C_t. "
        "So it is C_(t+1)/C_t times what the accounting needs, and too little in a round whose threshold falls. Its "
        "size reveals only the noisy count, which the accounting covers. Add the noise z_delta C_t before the "
        "threshold moves",
        private=True,
        unaccounted=True,
        next_threshold=Extends(counted_once),
        step=Extends(counted_first),
        noise=Extends(lambda inner, a, o, members: a.next / a.threshold * inner(o, members)),
    ),
)


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

    def next_threshold(self, o: Any, updates: Any) -> Any:
        """The threshold of the next round, from the noisy count of this round's updates."""
        level = self.counted_at(o)
        count = o.total(o.cohort, o.apply(updates, lambda u: o.within(u, level) - 0.5))
        return self.moved(o, (count + o.normal(self.count_deviation(o))) / o.expected + 0.5)

    def velocity(self, o: Any, before: Any, step: Any) -> Any:
        """What the server moves by, from what it moved by before."""
        return self.momentum * before + step

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        velocity = self.velocity(o, state[1], step)
        return self.move(o, w, velocity), (self.next_threshold(o, updates), velocity)

    faults = known(*OWN, *(one for one in Central.faults() if not {"server", "now"} & one.parts.keys()))
