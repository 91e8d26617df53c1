"""Parts of rounds in which clients send vectors and the server moves by their noisy average.

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
    "gaussian_noise",
    "length",
    "over_cohort",
    "over_expected",
    "scaled",
    "stretched",
    "without_noise",
]

Part = Callable[..., Any]


def length(u: Array) -> float:
    """||u||."""
    return float(np.linalg.norm(u))


def clipped(u: Array, level: float) -> Array:
    """u min(1, level/||u||), and 0 for u = 0."""
    norm = length(u)
    return u if norm <= level else u * (level / norm)


def without_noise(size: int, v: Values, rng: Any) -> Array:
    """No noise."""
    return np.zeros(size)


def gaussian_noise(deviation: Callable[[Values, int], float]) -> Part:
    """Noise on the average with this standard deviation, a function of the hyper-parameters and of |S|."""

    def noise(cohort: Array, v: Values, rng: Any) -> Array:
        scale = deviation(v, len(cohort))
        return np.asarray(rng.normal(0.0, scale, int(v["d"]))) if scale > 0.0 else np.zeros(int(v["d"]))

    return noise


@dataclass(frozen=True)
class Averaging(Reference):
    """A round in these parts. v are the hyper-parameters, ``v["level"]`` is the threshold, and ``v["deviation"]`` is
    the standard deviation of the noise on the average.

    members (cohort, clients, v, rng): the clients that send; weight and noise get these.  ``begin`` (w, last): the
    start of a client, last being the end of the client before it.  steps (v): local steps.  gradient (client, y, w, v):
    of a local step.  pull (y, w): a term added to the gradient.  walk (y, g, v): the next local point.  base (w,
    ``begun``, y): the point that a client's end is compared with.  update (w, y, v): the client's update, w being its
    base. message_noise (d, v, rng): noise that a client adds before bounding.  bound (u, v, peers): the message, peers
    being all updates of the round.  weight (client, cohort, clients, v): in the sum.  after (mean, v): a transformation
    of the average before the noise.  noise (cohort, v, rng): on the average.  carry (kept, step, v): the step made from
    the average and the state of the round before.  origin (w, last): where the server moves from.  move (w, step, v):
    its next parameters.  parameters_now (kept, v): the hyper-parameters of a round, given the state of earlier rounds.
    learn (kept, lengths, v): the state that the next round gets from the lengths of the updates.
    """

    members: Part = lambda cohort, clients, v, rng: cohort
    begin: Part = lambda w, last: w
    steps: Part = lambda v: v["local_steps"]
    gradient: Part = lambda client, y, w, v: client.gradient(y)
    pull: Part = lambda y, w: 0.0
    walk: Part = lambda y, g, v: y - v["local_step"] * g
    base: Part = lambda w, begun, y: w
    update: Part = lambda w, y, v: (w - y) / v["local_step"]
    message_noise: Part = without_noise
    bound: Part = lambda u, v, peers: u
    weight: Part = lambda client, cohort, clients, v: over_expected(client, cohort, clients, v)
    after: Part = lambda mean, v: mean
    noise: Part = lambda cohort, v, rng: np.zeros(int(v["d"]))
    carry: Part = lambda kept, step, v: (None, step)
    origin: Part = lambda w, last: w
    move: Part = lambda w, step, v: w - v["global_step"] * step
    symbols_now: Part = lambda kept, v: v
    learn: Part = lambda kept, lengths, v: None

    def local_update(self, client: Client, w: Array, begun: Array, v: Values) -> tuple[Array, Array]:
        """u_i, and where the client ended."""
        y = begun
        for _ in range(int(self.steps(v))):
            y = self.walk(y, self.gradient(client, y, w, v) + self.pull(y, w), v)
        return np.asarray(self.update(self.base(w, begun, y), y, v)), y

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        kept, learned = (None, None) if state is None else state
        here = self.symbols_now(learned, v)
        members = self.members(cohort, clients, v, rng)
        who, found, last = [clients[int(i)] for i in members], [], w
        for client in who:
            u, last = self.local_update(client, w, self.begin(w, last), here)
            found.append(u)
        noisy = [u + self.message_noise(len(w), here, rng) for u in found]
        mean = np.zeros(len(w))
        for client, u in zip(who, noisy):
            mean = mean + self.weight(client, members, clients, here) * self.bound(u, here, noisy)
        kept, step = self.carry(kept, self.after(mean, here) + self.noise(members, here, rng), here)
        learned = self.learn(learned, [length(u) for u in found], v)
        return self.move(self.origin(w, last), step, here), (kept, learned)

    def length(self, client: Client, world: World, v: Values) -> float:
        return length(self.local_update(client, world.start, world.start, v)[0])


def over_expected(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """1/r."""
    return float(1.0 / v["r"])


def over_cohort(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """1/|S|."""
    return 1.0 / max(len(cohort), 1)


def by_records(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """m_i/sum of the cohort's m_j."""
    return len(client) / sum(len(clients[int(j)]) for j in cohort)


def scaled(power: Callable[[Values, int], float]) -> Part:
    """The printed noise times a factor, a function of the hyper-parameters and of |S|."""
    return gaussian_noise(lambda v, s: power(v, s) * v["deviation"])


def stretched(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """Scaled to the level."""
    return u * (v["level"] / length(u)) if length(u) > 0.0 else u
