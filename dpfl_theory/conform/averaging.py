"""Rounds in which clients send vectors whose noisy average moves the server: their parts.

y_i = w;  E times  y_i = y_i - eta grad f_i(y_i);   u_i = update(w, y_i);   g_i = bound(u_i)
w   = move(w, (1/divisor) sum_i g_i + noise)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.conform.base import Reference, Values
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = [
    "Averaging",
    "Part",
    "by_records",
    "clipped",
    "drawn",
    "length",
    "over_cohort",
    "scaled",
    "silent",
    "stretched",
]

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


def over_cohort(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """1/|S|."""
    return 1.0 / max(len(cohort), 1)


def by_records(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """m_i/sum of the cohort's m_j."""
    return len(client) / sum(len(clients[int(j)]) for j in cohort)


def scaled(power: Callable[[Values, int], float]) -> Part:
    """The printed noise times a factor, a function of the letters and of |S|."""
    return drawn(lambda v, s: power(v, s) * v["deviation"])


def stretched(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """Scaled to the level."""
    return u * (v["level"] / length(u)) if length(u) > 0.0 else u
