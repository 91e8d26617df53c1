"""Rounds in which clients send vectors whose noisy average moves the server: their parts, and the mistakes in them.

y_i = w;  E times  y_i = y_i - eta grad f_i(y_i);   u_i = update(w, y_i);   g_i = bound(u_i)
w   = move(w, (1/divisor) sum_i g_i + noise)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.conform.base import Fault, Reference, Values, faulty
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["AVERAGING", "CLIPPING", "LOCAL", "NOISE", "Averaging", "clipped", "length"]

Part = Callable[..., Any]


def length(u: Array) -> float:
    """||u||."""
    return float(np.linalg.norm(u))


def clipped(u: Array, level: float) -> Array:
    """u min(1, level/||u||), 0 for 0."""
    norm = length(u)
    return u if norm <= level else u * (level / norm)


def silent(size: int, v: Values, rng: Any) -> Array:
    """No noise."""
    return np.zeros(size)


def drawn(deviation: Callable[[Values, int], float]) -> Part:
    """Noise on the average with this standard deviation, a function of the letters and of |S|."""

    def noise(cohort: Array, v: Values, rng: Any) -> Array:
        scale = deviation(v, len(cohort))
        return np.asarray(rng.normal(0.0, scale, int(v["d"]))) if scale > 0.0 else np.zeros(int(v["d"]))

    return noise


@dataclass(frozen=True)
class Averaging(Reference):
    """A round in these parts; v are the letters, ``v["level"]`` the threshold and ``v["deviation"]`` the noise's
    standard deviation on the average.

    members (cohort, clients, v): who sends.  steps (v): local steps.  gradient (client, y, w, v): of a local step.
    walk (y, g, v): the next local point.  update (w, y, v): what a client has found.  message_noise (d, v, rng): noise
    that a client adds before bounding.  bound (u, v, peers): what it sends, peers being all updates of the round.
    weight (client, cohort, clients, v): in the sum.  after (mean, v): what becomes of the average before the noise.
    noise (cohort, v, rng): on the average.  move (w, step, v): the server's next parameters.
    """

    members: Part = lambda cohort, clients, v: cohort
    steps: Part = lambda v: v["local_steps"]
    gradient: Part = lambda client, y, w, v: client.gradient(y)
    walk: Part = lambda y, g, v: y - v["local_step"] * g
    update: Part = lambda w, y, v: (w - y) / v["local_step"]
    message_noise: Part = silent
    bound: Part = lambda u, v, peers: u
    weight: Part = lambda client, cohort, clients, v: 1.0 / v["r"]
    after: Part = lambda mean, v: mean
    noise: Part = lambda cohort, v, rng: np.zeros(int(v["d"]))
    move: Part = lambda w, step, v: w - v["global_step"] * step

    def found(self, client: Client, w: Array, v: Values) -> Array:
        """u_i."""
        y = w
        for _ in range(int(self.steps(v))):
            y = self.walk(y, self.gradient(client, y, w, v), v)
        return np.asarray(self.update(w, y, v))

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        who = [clients[int(i)] for i in self.members(cohort, clients, v)]
        found = [self.found(client, w, v) for client in who]
        noisy = [u + self.message_noise(len(w), v, rng) for u in found]
        mean = np.zeros(len(w))
        for client, u in zip(who, noisy):
            mean = mean + self.weight(client, cohort, clients, v) * self.bound(u, v, noisy)
        return self.move(w, self.after(mean, v) + self.noise(cohort, v, rng), v), state

    def length(self, client: Client, world: World, v: Values) -> float:
        return length(self.found(client, world.start, v))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*AVERAGING, *LOCAL)


def over_cohort(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """1/|S|."""
    return 1.0 / max(len(cohort), 1)


def by_records(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """m_i/sum of the cohort's m_j."""
    return len(client) / sum(len(clients[int(j)]) for j in cohort)


def scaled(power: Callable[[Values, int], float]) -> Part:
    """The printed noise times a factor, a function of the letters and of |S|."""
    return drawn(lambda v, s: power(v, s) * v["deviation"])


AVERAGING = (
    faulty(
        "division by |S| in place of r",
        "the sum of the messages is divided by the number of clients that take part, |S|, which is random: divide "
        "it by "
        "the expected number r, else the sensitivity is C/|S| and grows where few take part, and the bound is of "
        "another average",
        "average",
        private=True,
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
        "the messages are added up and not averaged: divide the sum by r",
        "average",
        private=True,
        weight=lambda client, cohort, clients, v: 1.0,
    ),
    faulty(
        "weights by numbers of records",
        "messages are weighted by their clients' shares of the records, so that one client can move the average by "
        "more "
        "than C/r: weight all alike",
        "average",
        private=True,
        weight=by_records,
    ),
    faulty(
        "all clients in place of the cohort",
        "all clients take part, whoever is in the cohort: the amplification by sampling is then claimed and not there",
        "cohort",
        private=True,
        members=lambda cohort, clients, v: np.arange(len(clients)),
        weight=lambda client, cohort, clients, v: 1.0 / v["r"],
    ),
    faulty(
        "mean over all clients in place of the cohort",
        "all clients take part and are averaged over n, whoever is in the cohort",
        "cohort",
        private=True,
        members=lambda cohort, clients, v: np.arange(len(clients)),
        weight=lambda client, cohort, clients, v: 1.0 / v["n"],
    ),
    faulty(
        "the step has the wrong sign",
        "the server moves the other way: with u = (w - y)/eta it is w - step, with u = y - w it is w + step",
        "step",
        move=lambda w, step, v: w + v["global_step"] * step,
    ),
    faulty(
        "no global step size",
        "the average is added as it is: multiply it by the global step size",
        "step",
        move=lambda w, step, v: w - step,
    ),
    faulty(
        "the local step size in place of the global one",
        "the server uses the local step size: it has one of its own",
        "step",
        move=lambda w, step, v: w - v["local_step"] * step,
    ),
    faulty(
        "both step sizes on the server",
        "the average is multiplied by the local and the global step size",
        "step",
        move=lambda w, step, v: w - v["local_step"] * v["global_step"] * step,
    ),
)
"""Mistakes in the average and in the server's step."""

LOCAL = (
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
    faulty(
        "a single local step",
        "a client takes one local step, whatever their number",
        "local",
        steps=lambda v: 1,
    ),
    faulty(
        "batches for steps",
        "a local step is a whole pass over the records, one by one: the number of steps is that of gradients, not of "
        "epochs",
        "local",
        seen="FL-bench, issue 3; FL4Health, pull request 64",
        steps=lambda v: v["local_steps"],
        walk=lambda y, g, v: g,
        gradient=lambda client, y, w, v: one_by_one(client, y, v),
    ),
    faulty(
        "local gradients at the server's parameters",
        "all local gradients are taken at the round's start and not where the client is",
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
    """Every coordinate within the level."""
    return np.clip(u, -v["level"], v["level"])


def quantile(share: float) -> Part:
    """Clipping to a quantile of the round's lengths."""
    return lambda u, v, peers: clipped(u, float(np.quantile([length(p) for p in peers], share)))


def stretched(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """Scaled to the level."""
    return u * (v["level"] / length(u)) if length(u) > 0.0 else u


def squared(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """min(1, C/||u||^2)."""
    return np.asarray(u * min(1.0, v["level"] / max(length(u) ** 2, 1e-300)))


def in_norm(order: float) -> Part:
    """Clipped in another norm."""
    return lambda u, v, peers: u * min(1.0, v["level"] / max(float(np.linalg.norm(u, order)), 1e-300))


CLIPPING = (
    faulty(
        "no clipping",
        "nothing bounds a client's message (a threshold that is the largest of the lengths bounds nothing), so no "
        "noise is enough: "
        "clip it to C",
        "clip",
        private=True,
        bound=lambda u, v, peers: u,
    ),
    faulty(
        "per-coordinate clipping",
        "each coordinate is clipped to [-C, C], so that a message can be sqrt(d) C long: scale the whole vector by "
        "min(1, C/||u||)",
        "clip",
        seen="Truxify, issue 3844",
        private=True,
        bound=by_coordinate,
    ),
    faulty(
        "clip of the mean",
        "the average is clipped and not each client's message: one client can then move it by as much as all",
        "clip",
        seen="caamas, issue 36",
        private=True,
        bound=lambda u, v, peers: u,
        after=lambda mean, v: clipped(mean, v["level"]),
    ),
    faulty(
        "clip level from data: the median of the lengths",
        "messages are clipped to the median of their own lengths, which the noise is not calibrated to and which "
        "itself "
        "tells of the data",
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
        "short messages are stretched to the length C: clipping leaves them as they are",
        "clip",
        bound=stretched,
    ),
    faulty(
        "clipping by the squared length",
        "messages are scaled by C/||u||^2: the factor is C/||u||",
        "clip",
        private=True,
        bound=squared,
    ),
    faulty(
        "clipping in the maximum norm",
        "messages are scaled by the largest coordinate, so that they can be sqrt(d) C long: use the Euclidean norm",
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
        "each local gradient is clipped and not what the client sends, which then can be E C long",
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


def noisy(
    name: str, told: str, role: str, deviation: Callable[[Values, int], float], private: bool = False
) -> tuple[Fault, Fault]:
    """A mistake in the standard deviation on the average of a full cohort, where the server draws the noise, and where
    the clients do: |S| noises then add up."""
    by_clients = drawn(lambda v, s: deviation(v, s) * (s / v["r"]) ** 0.5)
    return faulty(name, told, role, "", private, noise=drawn(deviation)), faulty(
        name, told, role, "", private, noise=by_clients
    )


def sent(name: str, told: str, role: str, deviation: Callable[[Values], float], private: bool = False) -> tuple[Fault]:
    """A mistake in the standard deviation of the noise in one message, |S| of which are added up and divided by r."""
    return (faulty(name, told, role, "", private, noise=drawn(lambda v, s: deviation(v) * s**0.5 / v["r"])),)


NOISE = tuple(
    fault
    for both in (
        (
            faulty(
                "no noise",
                "no noise is added",
                "noise",
                private=True,
                noise=lambda cohort, v, rng: np.zeros(int(v["d"])),
            ),
        ),
        noisy(
            "sigma where the multiplier was meant",
            "the noise on the average has the noise multiplier z as its standard deviation: it is z times the "
            "sensitivity",
            "noise",
            private=True,
            deviation=lambda v, s: v["noise_multiplier"],
        ),
        sent(
            "sigma where the multiplier was meant",
            "the noise of a message has the noise multiplier z as its standard deviation: it is z times the "
            "sensitivity",
            "noise",
            private=True,
            deviation=lambda v: v["noise_multiplier"],
        ),
        noisy(
            "sensitivity beside the clip",
            "the noise is scaled to a sensitivity of 1/r and not to that of the clip, C/r: a threshold C that "
            "changes does "
            "not change the noise",
            "noise",
            private=True,
            deviation=lambda v, s: v["noise_multiplier"] / v["r"],
        ),
        noisy(
            "the multiplier over the threshold",
            "the noise is divided by the threshold C and not multiplied by it",
            "noise",
            private=True,
            deviation=lambda v, s: (v["level"] ** -2.0) * v["deviation"],
        ),
        noisy(
            "sqrt(r) too much noise",
            "the average gets the noise of a single message: the mean of r noises has 1/sqrt(r) of its deviation",
            "noise",
            deviation=lambda v, s: (v["r"] ** 0.5) * v["deviation"],
        ),
        noisy(
            "sqrt(r) too little noise",
            "each client adds the noise that is meant for the average, so that the average has 1/sqrt(r) of it",
            "noise",
            private=True,
            deviation=lambda v, s: (s**0.5 / v["r"]) * v["deviation"],
        ),
        noisy(
            "sqrt(n) too much noise",
            "the noise is sqrt(n) times what it should be",
            "noise",
            deviation=lambda v, s: (v["n"] ** 0.5) * v["deviation"],
        ),
        noisy(
            "sqrt(n) too little noise",
            "the noise is 1/sqrt(n) of what it should be",
            "noise",
            private=True,
            deviation=lambda v, s: (v["n"] ** -0.5) * v["deviation"],
        ),
        noisy(
            "noise of the sum on the average",
            "noise that is meant for the sum of the messages is added to their average: r times too much",
            "noise",
            deviation=lambda v, s: (v["r"]) * v["deviation"],
        ),
        noisy(
            "noise divided by r twice",
            "the noise of the average is divided by r once more",
            "noise",
            private=True,
            deviation=lambda v, s: (1.0 / v["r"]) * v["deviation"],
        ),
        noisy(
            "noise divided by n",
            "the sensitivity of the noise is C/n: with r clients in a round it is C/r",
            "noise",
            private=True,
            deviation=lambda v, s: (v["r"] / v["n"]) * v["deviation"],
        ),
        noisy(
            "noise divided by |S|",
            "the noise is divided by the number of clients that take part, which is random: divide it by r",
            "noise",
            deviation=lambda v, s: (v["r"] / max(s, 1)) * v["deviation"],
        ),
        noisy(
            "variance in place of the standard deviation",
            "the variance is given where the generator takes the standard deviation",
            "noise",
            private=True,
            deviation=lambda v, s: v["deviation"] ** 2,
        ),
        sent(
            "variance in place of the standard deviation",
            "the variance is given where the generator takes the standard deviation",
            "noise",
            private=True,
            deviation=lambda v: v["deviation"] ** 2 * v["r"],
        ),
        sent(
            "standard deviation in place of the variance",
            "the square root of the standard deviation is given where the generator takes the standard deviation",
            "noise",
            private=True,
            deviation=lambda v: (v["deviation"] * v["r"] ** 0.5) ** 0.5,
        ),
        noisy(
            "standard deviation in place of the variance",
            "the square root of the standard deviation is given where the generator takes the standard deviation",
            "noise",
            private=True,
            deviation=lambda v, s: v["deviation"] ** 0.5,
        ),
        noisy(
            "noise divided by sqrt(d)",
            "the noise's length is what its coordinates' deviation should be: do not divide by the square root of d",
            "noise",
            private=True,
            deviation=lambda v, s: (v["d"] ** -0.5) * v["deviation"],
        ),
        noisy(
            "noise multiplied by the local step size",
            "the noise is multiplied by the local step size, which the sensitivity does not have",
            "noise",
            private=True,
            deviation=lambda v, s: (v["local_step"]) * v["deviation"],
        ),
        noisy(
            "noise after the step size",
            "the noise is added to the parameters, without the global step size that the average has",
            "noise",
            deviation=lambda v, s: (1.0 / v["global_step"]) * v["deviation"],
        ),
        tuple(
            faulty(
                "one number for all coordinates",
                "a single random number is added to all coordinates: draw one for each of them",
                "noise",
                private=True,
                noise=noise,
            )
            for noise in (
                lambda cohort, v, rng: np.full(int(v["d"]), rng.normal(0.0, v["deviation"], 1)),
                lambda cohort, v, rng: np.full(
                    int(v["d"]), rng.normal(0.0, v["deviation"] * (len(cohort) / v["r"]) ** 0.5, 1)
                ),
            )
        ),
        noisy(
            "the same noise for all clients",
            "one noise vector is drawn and added to every message: its average does not shrink, and differences of "
            "messages "
            "cancel it",
            "noise",
            private=True,
            deviation=lambda v, s: (s / v["r"] ** 0.5) * v["deviation"],
        ),
        noisy(
            "half the sensitivity",
            "the noise is calibrated to C/r, and the neighbouring relation that is declared moves the average by 2C/r",
            "noise",
            private=True,
            deviation=lambda v, s: (0.5) * v["deviation"],
        ),
        noisy(
            "twice the sensitivity",
            "the noise is calibrated to 2C/r, and the neighbouring relation that is declared moves the average by C/r",
            "noise",
            deviation=lambda v, s: (2.0) * v["deviation"],
        ),
    )
    for fault in both
)
"""Mistakes in the noise on the average: that which the server draws, and that which clients add to their messages."""
