"""Mistakes in a threshold that follows a quantile, and in the noisy count that it follows."""

from __future__ import annotations

from dpfl_theory.algorithms.faults import clip_fault, noise_fault, step_fault
from dpfl_theory.lazy import numpy as np

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
        sum_multiplier=lambda a, o: a.split(a.noise_multiplier, a.count_deviation(o) / a.relation_factor),
    ),
    noise_fault(
        "the count's noise on the share",
        "N(0, sigma_b^2) is added to the share of the updates, not to their number: this is m times too much",
        count_deviation=lambda a, o: a.printed_count_deviation(o) * o.expected,
        sum_multiplier=lambda a, o: a.split(a.noise_multiplier, 2.0 * a.printed_count_deviation(o) / a.relation_factor),
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
)
