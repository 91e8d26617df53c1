"""ScaffNew and DP-ScaffNew: hou2023 Algorithm 2, with control variates that start at zero. A round is an iteration.

y_i = x_i - eta (grad f_i(x_i) - h_i);  with probability p, for all clients at once:
    Delta_i = clip(y_i - x, C) + N(0, sigma^2 I);  x = x_i = x + mean_j Delta_j;
    h_i = h_i + (p/eta)(mean_j Delta_j - Delta_i)
else  x_i = y_i
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.averaging import clipped, length
from dpfl_theory.conform.base import Fault, Hyperparameter, Reading, Reference, Values, calibrated
from dpfl_theory.conform.mistakes.skipping import FAULTS, PRIVATE, Exchange, every_client
from dpfl_theory.conform.references.fedavg import Z
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["REFERENCES", "DPScaffNew", "ScaffNew"]

Part = Callable[..., Any]
ETA = Hyperparameter("eta", "step [X^2/F]", (0.1, 0.25), also=("step", "lr", "learning_rate"))
P = Hyperparameter("p", "probability of a communication", (1.0, 0.5), "share", ("probability",))
C = Hyperparameter(
    "C", "threshold of a difference [X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm", "level")
)


@dataclass
class State:
    """x_i and h_i, (n, d) each."""

    x: Array
    h: Array


@dataclass(frozen=True)
class ScaffNew(Reference):
    """ScaffNew in these parts. local (x_i, g, h, v).  bound (u, w, v): of a difference u = y_i - w.  noise (n, d, v,
    rng): of the messages, (n, d).  noise_first: whether it is bounded too.  weight (n, speakers): of a message.  after
    (mean, v): a transformation of the average.  control (h, t, v): the control variates after an `Exchange` t, (n, d).
    idle (h, x, tell, v): those after a round without one, x being the clients' start and tell() the exchange that would
    have happened.  coins (n, v, rng): which clients communicate. A round communicates if the server's vector moves
    (``v["moved"]``). restart: whether clients continue from the server's vector."""

    name: ClassVar[str] = "scaffnew"
    source: ClassVar[str] = "hou2023 Algorithm 2 without clipping and noise"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA, P)

    local: Part = lambda x, g, h, v: x - v["eta"] * (g - h)
    bound: Part = lambda u, w, v: u
    noise: Part = lambda n, d, v, rng: np.zeros((n, d))
    noise_first: bool = False
    weight: Part = lambda n, speakers: 1.0 / n
    after: Part = lambda mean, v: mean
    control: Part = lambda h, t, v: h + v["p"] / v["eta"] * (t.mean - t.sent)
    idle: Part = lambda h, x, tell, v: h
    coins: Part = every_client
    restart: bool = True

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        return {**v, "local_step": v["eta"], "local_steps": 1}

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        n, d = len(clients), len(w)
        state = State(np.tile(w, (n, 1)), np.zeros((n, d))) if state is None else state
        moved = np.array([self.local(x, c.gradient(x), h, v) for x, c, h in zip(state.x, clients, state.h)])
        speak = self.coins(n, v, rng)
        if not speak.any():
            all_ = np.ones(n, dtype=bool)
            h = self.idle(state.h, state.x, lambda: self._exchange(moved, w, all_, rng, v), v)
            return w, State(moved, h)
        t = self._exchange(moved, w, speak, rng, v)
        after = w + t.mean
        h = np.where(speak[:, None], self.control(state.h, t, v), state.h)
        return after, State(np.where(speak[:, None], after, moved) if self.restart else moved, h)

    def _exchange(self, ends: Array, w: Array, speak: Array, rng: Any, v: Values) -> Exchange:
        """The messages of these clients."""
        raw, (n, d) = ends - w, ends.shape
        noise = self.noise(n, d, v, rng) * speak[:, None]
        clean = np.array([self.bound(u, w, v) for u in raw])
        sent = np.array([self.bound(u, w, v) for u in raw + noise]) if self.noise_first else clean + noise
        weight = self.weight(n, int(speak.sum()))
        means = [self.after(weight * np.sum(x[speak], axis=0), v) for x in (clean, raw)]
        mean = self.after(weight * np.sum(clean[speak], axis=0), v) + weight * np.sum((sent - clean)[speak], axis=0)
        return Exchange(ends, raw, clean, sent, mean, *means)

    def length(self, client: Client, world: World, v: Values) -> float:
        return float(v["eta"] * length(client.gradient(world.start)))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return FAULTS


@dataclass(frozen=True)
class DPScaffNew(ScaffNew):
    """DP-ScaffNew."""

    name: ClassVar[str] = "dp-scaffnew"
    source: ClassVar[str] = "hou2023 Algorithm 2"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA, P, C, Z)
    unit: ClassVar[str] = "client"
    level: ClassVar[str] = "C"
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)

    bound: Part = lambda u, w, v: clipped(u, v["level"])
    noise: Part = lambda n, d, v, rng: rng.normal(0.0, v["sigma"], (n, d)) if v["sigma"] else np.zeros((n, d))

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        v = {**super().with_defaults(v), "level": v["C"]}
        return calibrated(v, v["C"] * v["relation_factor"] / v["n"] ** 0.5)  # the n noises of a round are averaged

    def sensitivity(self, v: Values) -> float | None:
        return float(v["C"] / v["n"] * v["relation_factor"])

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*PRIVATE, *FAULTS)


REFERENCES = (ScaffNew, DPScaffNew)
