"""ScaffNew and DP-ScaffNew: hou2023 Algorithm 2, control variates that begin at zero. A round is an iteration.

y_i = x_i - eta (grad f_i(x_i) - h_i);  with probability p, for all clients at once:
    Delta_i = clip(y_i - x, C) + N(0, sigma^2 I);  x = x_i = x + mean_j Delta_j;  h_i = h_i + (p/eta)(mean_j Delta_j -
    Delta_i)
else  x_i = y_i
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.averaging import clipped, length
from dpfl_theory.conform.base import Fault, Letter, Reading, Reference, Values, calibrated, faulty
from dpfl_theory.conform.references.fedavg import Z
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["REFERENCES", "DPScaffNew", "ScaffNew"]

Part = Callable[..., Any]
ETA = Letter("eta", "step [X^2/F]", (0.1, 0.25), also=("step", "lr", "learning_rate"))
P = Letter("p", "probability of a communication", (1.0, 0.5), "share", ("probability",))
C = Letter(
    "C", "threshold of a difference [X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm", "level")
)


@dataclass
class State:
    """x_i and h_i, (n, d) each."""

    x: Array
    h: Array


@dataclass(frozen=True)
class ScaffNew(Reference):
    """ScaffNew in these parts. local (x_i, g, h, v).  bound (u, v).  noise (d, v, rng): of one message.  weight (n).
    control (h, mean, sent, clean, v): h_i after a communication.  Whether a round communicates is seen from whether the
    server's vector moves (``v["moved"]``)."""

    name: ClassVar[str] = "scaffnew"
    source: ClassVar[str] = "hou2023 Algorithm 2 without clipping and noise"
    letters: ClassVar[tuple[Letter, ...]] = (ETA, P)

    local: Part = lambda x, g, h, v: x - v["eta"] * (g - h)
    bound: Part = lambda u, v: u
    noise: Part = lambda d, v, rng: np.zeros(d)
    weight: Part = lambda n: 1.0 / n
    control: Part = lambda h, mean, sent, clean, v: h + v["p"] / v["eta"] * (mean - sent)
    restart: bool = True

    def settled(self, v: dict[str, Any]) -> dict[str, Any]:
        return {**v, "local_step": v["eta"], "local_steps": 1}

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        n, d = len(clients), len(w)
        state = State(np.tile(w, (n, 1)), np.zeros((n, d))) if state is None else state
        moved = np.array([self.local(x, c.gradient(x), h, v) for x, c, h in zip(state.x, clients, state.h)])
        if not v.get("moved", True):
            return w, State(moved, state.h)
        clean = [self.bound(y - w, v) for y in moved]
        sent = [u + self.noise(d, v, rng) for u in clean]
        mean = self.weight(n) * np.sum(sent, axis=0)
        h = np.array([self.control(h, mean, s, u, v) for h, s, u in zip(state.h, sent, clean)])
        after = w + mean
        return after, State(np.tile(after, (n, 1)) if self.restart else moved, h)

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
    letters: ClassVar[tuple[Letter, ...]] = (ETA, P, C, Z)
    unit: ClassVar[str] = "client"
    level: ClassVar[str] = "C"
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)

    bound: Part = lambda u, v: clipped(u, v["level"])
    noise: Part = lambda d, v, rng: rng.normal(0.0, v["sigma"], d) if v["sigma"] else np.zeros(d)

    def settled(self, v: dict[str, Any]) -> dict[str, Any]:
        v = {**super().settled(v), "level": v["C"]}
        return calibrated(v, v["C"] * v["relation_factor"] / v["n"] ** 0.5)  # the n noises of a round are averaged

    def sensitivity(self, v: Values) -> float | None:
        return float(v["C"] / v["n"] * v["relation_factor"])

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*PRIVATE, *FAULTS)


FAULTS = (
    faulty(
        "the control variate has the wrong sign",
        "h_i moves by Delta_i - mean: it is mean - Delta_i",
        "control",
        control=lambda h, mean, sent, clean, v: h - v["p"] / v["eta"] * (mean - sent),
    ),
    faulty(
        "p is missing in the control variate",
        "h_i moves by (mean - Delta_i)/eta: multiply it by p",
        "control",
        control=lambda h, mean, sent, clean, v: h + (mean - sent) / v["eta"],
    ),
    faulty(
        "p divides the control variate",
        "h_i moves by (mean - Delta_i)/(p eta): the factor is p/eta",
        "control",
        control=lambda h, mean, sent, clean, v: h + (mean - sent) / (v["p"] * v["eta"]),
    ),
    faulty(
        "the step is missing in the control variate",
        "h_i moves by p (mean - Delta_i): divide it by eta",
        "control",
        control=lambda h, mean, sent, clean, v: h + v["p"] * (mean - sent),
    ),
    faulty(
        "control variates that are not kept",
        "h_i stays zero, so that this is local gradient descent",
        "control",
        control=lambda h, mean, sent, clean, v: h,
    ),
    faulty(
        "the correction has the wrong sign",
        "the local step uses grad f_i + h_i: it is grad f_i - h_i",
        "control",
        local=lambda x, g, h, v: x - v["eta"] * (g + h),
    ),
    faulty(
        "no correction",
        "local steps do not use the control variates",
        "control",
        local=lambda x, g, h, v: x - v["eta"] * g,
    ),
    faulty(
        "clients that go on from their own point",
        "after a communication every client begins at the server's vector",
        "local",
        restart=False,
    ),
    faulty("no division", "messages are added up and not averaged", "average", "", True, weight=lambda n: 1.0),
)
PRIVATE = (
    faulty("no clipping", "differences are sent whole: clip them to C", "clip", "", True, bound=lambda u, v: u),
    faulty(
        "per-coordinate clipping",
        "each coordinate is clipped to [-C, C]: scale the whole vector by min(1, C/||u||)",
        "clip",
        "",
        True,
        bound=lambda u, v: np.clip(u, -v["level"], v["level"]),
    ),
    faulty(
        "the control variate without the noise",
        "h_i moves by the message before the noise was added: the mean has the noise, so that the h_i no longer add "
        "up to "
        "zero",
        "control",
        control=lambda h, mean, sent, clean, v: h + v["p"] / v["eta"] * (mean - clean),
    ),
    faulty("no noise", "no noise is added", "noise", "", True, noise=lambda d, v, rng: np.zeros(d)),
    faulty(
        "sigma where the multiplier was meant",
        "a message gets noise of standard deviation z: it is z times the sensitivity",
        "noise",
        "",
        True,
        noise=lambda d, v, rng: rng.normal(0.0, v["noise_multiplier"], d),
    ),
    faulty(
        "sqrt(n) too little noise",
        "each message gets the noise that is meant for the mean",
        "noise",
        "",
        True,
        noise=lambda d, v, rng: rng.normal(0.0, v["sigma"] / v["n"] ** 0.5, d),
    ),
    faulty(
        "sqrt(n) too much noise",
        "the noise of a message is sqrt(n) times what it should be",
        "noise",
        noise=lambda d, v, rng: rng.normal(0.0, v["sigma"] * v["n"] ** 0.5, d),
    ),
)

REFERENCES = (ScaffNew, DPScaffNew)
