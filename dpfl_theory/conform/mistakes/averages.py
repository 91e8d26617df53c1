"""Mistakes in rounds that average the clients' messages: in the average, the step, the local steps and the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.averaging import Part, by_records, clipped, length, over_cohort, scaled, stretched
from dpfl_theory.conform.base import Fault, Values, faulty, sized
from dpfl_theory.conform.world import Client
from dpfl_theory.problems.base import Array

__all__ = ["AVERAGING", "BOTH_STEPS", "CLIPPING", "LOCAL", "STEPS", "added"]

BOTH_STEPS = "both step sizes on the server"
AVERAGING = (
    faulty(
        "division by |S| in place of r",
        "the sum of the messages is divided by the number of clients that take part, |S|, which is random: divide it "
        "by the expected number r. Else the sensitivity is C/|S| and grows where few take part, and the bound holds "
        "for another average",
        "average",
        private=True,
        plain=(
            "the sum of the messages is divided by the number of clients that take part, |S|: the algorithm divides it "
            "by the expected number r, which is the same only where all cohorts have one size"
        ),
        weight=over_cohort,
    ),
    faulty(
        "sum and noise divided by |S| in place of r",
        "the noisy sum is divided by |S|, which is random and not covered by the accounting: divide it by r",
        "average",
        weight=over_cohort,
        noise=scaled(lambda v, s: v["r"] / max(s, 1)),
    ),
    faulty(
        "sum and noise divided by |S| in place of r",
        "the noisy sum is divided by |S|, which is random and not covered by the accounting: divide it by r",
        "average",
        weight=over_cohort,
        noise=scaled(lambda v, s: (v["r"] / max(s, 1)) ** 0.5),
    ),
    faulty(
        "sum and noise divided by n in place of r",
        "the noisy sum is divided by the number n of all clients: divide it by the cohort's expected size r",
        "average",
        weight=lambda client, cohort, clients, v: 1.0 / v["n"],
        noise=scaled(lambda v, s: v["r"] / v["n"]),
    ),
    faulty(
        "sum and noise divided by n in place of r",
        "the noisy sum is divided by the number n of all clients: divide it by the cohort's expected size r",
        "average",
        weight=lambda client, cohort, clients, v: 1.0 / v["n"],
        noise=scaled(lambda v, s: (v["r"] * s) ** 0.5 / v["n"]),
    ),
    faulty(
        "division by n in place of r",
        "the sum over the cohort is divided by the number n of all clients: divide it by the cohort's expected size r",
        "average",
        weight=lambda client, cohort, clients, v: 1.0 / v["n"],
    ),
    faulty(
        "no division",
        "the messages are summed, not averaged: divide the sum by r",
        "average",
        private=True,
        weight=lambda client, cohort, clients, v: 1.0,
    ),
    faulty(
        "weights by numbers of records",
        "messages are weighted by their clients' shares of the records, but the algorithm gives all the same weight: "
        "with these weights one client moves the average by up to its share times the threshold. So the noise must be "
        "calibrated to the largest share",
        "average",
        plain=(
            "messages are weighted by their clients' shares of the records, as in FedAvg of McMahan et al. 2017, but "
            "the algorithm of this comparison gives all the same weight"
        ),
        weight=by_records,
    ),
    faulty(
        "all clients in place of the cohort",
        "all clients take part, whoever is in the cohort: the amplification by sampling is then claimed but does not "
        "exist",
        "cohort",
        private=True,
        plain="all clients take part, whoever is in the cohort",
        members=lambda cohort, clients, v, rng: np.arange(len(clients)),
        weight=lambda client, cohort, clients, v: 1.0 / v["r"],
    ),
    faulty(
        "mean over all clients in place of the cohort",
        "all clients take part and are averaged over n, whoever is in the cohort",
        "cohort",
        private=True,
        members=lambda cohort, clients, v, rng: np.arange(len(clients)),
        weight=lambda client, cohort, clients, v: 1.0 / v["n"],
    ),
    faulty(
        "the step has the wrong sign",
        "the server moves in the opposite direction: with u = (w - y)/eta it should be w - step, with u = y - w it "
        "should be w + step",
        "step",
        move=lambda w, step, v: w + v["global_step"] * step,
    ),
    faulty(
        "no global step size",
        "the average is added without a factor: multiply it by the global step size",
        "step",
        move=lambda w, step, v: w - step,
    ),
    faulty(
        "the local step size in place of the global one",
        "the server uses the local step size: it has its own step size",
        "step",
        move=lambda w, step, v: w - v["local_step"] * step,
    ),
    faulty(
        "the global step size twice",
        "the average is multiplied by the global step size twice, as where an optimizer with this step size gets a "
        "gradient that already has this factor: multiply once",
        "step",
        move=lambda w, step, v: w - v["global_step"] ** 2 * step,
    ),
    faulty(
        BOTH_STEPS,
        "the average is multiplied by the local and the global step size",
        "step",
        move=lambda w, step, v: w - v["local_step"] * v["global_step"] * step,
    ),
    sized(
        "the factor of the average in the server's step is not the step size",
        (2.0, 0.5),
        lambda times: faulty(
            "a step of another length",
            f"the server's step is {times:.4g} times as long as it should be: multiply the average only by the step "
            "size",
            "step",
            move=lambda w, step, v: w - times * v["global_step"] * step,
        ),
    ),
)
"""Mistakes in the average and in the server's step."""

STEPS = (
    faulty(
        "one local step too few",
        "a client takes one local step fewer than it should",
        "local",
        steps=lambda v: v["local_steps"] - 1,
    ),
    faulty(
        "one local step too many",
        "a client takes one local step more than it should",
        "local",
        steps=lambda v: v["local_steps"] + 1,
    ),
)
"""One local step too few or too many."""

DECAYS = (1.0, 0.5, 0.1, 5e-2, 1e-2, 5e-3, 1e-3, 5e-4, 1e-4)
"""Usual strengths of weight decay in training scripts, as far as a path shows them."""
PROXIMAL = (1.0, 0.5, 0.1, 5e-2, 1e-2, 5e-3, 1e-3)
"""The same for a proximal term, which is smaller since it is proportional to the client's path."""


def added(part: str) -> tuple[Fault, ...]:
    """Terms added to a local gradient by ``part`` (y, w) of a round, y being the client's point and w the
    server's."""

    def decay(strength: float) -> Fault:
        return Fault(
            "weight decay in the local steps",
            f"a local step adds {strength:.4g} times the client's parameters to the gradient: {decays}",
            "local",
            {part: lambda y, w: strength * y},
        )

    def proximal(strength: float) -> Fault:
        return Fault(
            "a proximal term in the local steps",
            f"a local step adds {strength:.4g} (y - w) to the gradient, which is FedProx: leave it out",
            "local",
            {part: lambda y, w: strength * (y - w)},
        )

    decays = "the algorithm has no weight decay; set it to 0, or put the term into the loss, which changes the loss"
    return (
        sized(f"a local step adds a multiple of the client's parameters to the gradient: {decays}", DECAYS, decay),
        sized(
            "a local step adds a multiple of y - w to the gradient, which is FedProx: leave it out", PROXIMAL, proximal
        ),
    )


LOCAL = (
    *STEPS,
    *added("pull"),
    faulty(
        "a single local step",
        "a client takes one local step, whatever the number of local steps",
        "local",
        steps=lambda v: 1,
    ),
    faulty(
        "batches for steps",
        "a local step is a whole pass over the records, one by one: the number of steps counts gradients, not epochs",
        "local",
        seen="FL-bench, issue 3; FL4Health, pull request 64",
        steps=lambda v: v["local_steps"],
        walk=lambda y, g, v: g,
        gradient=lambda client, y, w, v: one_by_one(client, y, v),
    ),
    faulty(
        "local gradients at the server's parameters",
        "all local gradients are taken at the round's start, not at the client's current point",
        "local",
        gradient=lambda client, y, w, v: client.gradient(w),
    ),
)
"""Mistakes in the local steps."""


def one_by_one(client: Client, y: Array, v: Values) -> Any:
    """The point after a pass over the records."""
    for j in range(len(client)):
        y = np.asarray(y - v["local_step"] * client.gradient(y, [j]))
    return y


def by_coordinate(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """Every coordinate clipped to the level."""
    return np.clip(u, -v["level"], v["level"])


def quantile(share: float) -> Part:
    """Clipping to a quantile of the round's lengths."""
    return lambda u, v, peers: clipped(u, float(np.quantile([length(p) for p in peers], share)))


def squared(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """min(1, C/||u||^2)."""
    return np.asarray(u * min(1.0, v["level"] / max(length(u) ** 2, 1e-300)))


def in_norm(order: float) -> Part:
    """Clipped in another norm."""
    return lambda u, v, peers: u * min(1.0, v["level"] / max(float(np.linalg.norm(u, order)), 1e-300))


CLIPPING = (
    faulty(
        "no clipping",
        "a client's message has no bound (the largest of the lengths as a threshold is no bound), so no noise is "
        "enough: clip it to C",
        "clip",
        private=True,
        bound=lambda u, v, peers: u,
    ),
    faulty(
        "per-coordinate clipping",
        "each coordinate (or each layer) is clipped to C separately, so that a message with d of them can be sqrt(d) C "
        "long: scale the whole vector by min(1, C/||u||)",
        "clip",
        seen="Truxify, issue 3844",
        private=True,
        bound=by_coordinate,
    ),
    faulty(
        "per-layer clipping",
        "each layer (here each coordinate) is clipped separately, to C over the root of their number: a message is "
        "then at most C long, but is also cut where the whole vector is short enough; scale the whole vector by min(1, "
        "C/||u||)",
        "clip",
        bound=lambda u, v, peers: by_coordinate(u, {"level": v["level"] / len(u) ** 0.5}, peers),
    ),
    faulty(
        "clip of the mean",
        "the average is clipped, not each client's message: one client can then move it by as much as all together",
        "clip",
        seen="caamas, issue 36",
        private=True,
        bound=lambda u, v, peers: u,
        after=lambda mean, v: clipped(mean, v["level"]),
    ),
    faulty(
        "clip level from data: the median of the lengths",
        "messages are clipped to the median of their own lengths, to which the noise is not calibrated and which "
        "itself reveals information about the data",
        "clip",
        private=True,
        bound=quantile(0.5),
    ),
    faulty(
        "clip level from data: the mean of the lengths",
        "messages are clipped to the mean of their own lengths, which depends on the data",
        "clip",
        private=True,
        bound=lambda u, v, peers: clipped(u, float(np.mean([length(p) for p in peers]))),
    ),
    faulty(
        "normalised in place of clipped",
        "short messages are stretched to the length C: clipping does not change them",
        "clip",
        bound=stretched,
    ),
    faulty(
        "clipping by the squared length",
        "messages are scaled by C/||u||^2: the factor should be C/||u||",
        "clip",
        private=True,
        bound=squared,
    ),
    faulty(
        "clipping in the maximum norm",
        "messages are scaled by the largest coordinate, so they can be sqrt(d) C long: use the Euclidean norm",
        "clip",
        private=True,
        bound=in_norm(np.inf),
    ),
    faulty(
        "clipping in the 1-norm",
        "messages are scaled by the sum of the absolute coordinates: use the Euclidean norm",
        "clip",
        bound=in_norm(1),
    ),
    faulty(
        "clip of single gradients in place of the update",
        "each local gradient is clipped, not the client's message, which can then be E C long",
        "clip",
        private=True,
        gradient=lambda client, y, w, v: clipped(client.gradient(y), v["level"]),
        bound=lambda u, v, peers: u,
    ),
    faulty(
        "noise before clipping",
        "each client adds its noise before its message is clipped: the clipping then cuts the noise as well",
        "noise",
        private=True,
        message_noise=lambda d, v, rng: rng.normal(0.0, v["deviation"] * v["r"] ** 0.5, d),
        noise=lambda cohort, v, rng: np.zeros(int(v["d"])),
    ),
)
"""Mistakes in the bound on what a client sends."""
