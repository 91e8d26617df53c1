"""Error feedback with a bounding operator: Clip21 and alpha-NormEC (shulgin2025 Algorithm 1), memories that begin at
zero.

Delta_i = Psi(grad f_i(x) - v_i);  v_i = v_i + beta Delta_i;  v = v + (beta/n) sum_i (Delta_i + z_i)
x = x - gamma v   (Clip21),   x - gamma v/||v||   (alpha-NormEC),   z_i ~ N(0, sigma^2 I)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.averaging import clipped, length, stretched
from dpfl_theory.conform.base import Fault, Letter, Reading, Reference, Values, calibrated, faulty
from dpfl_theory.conform.references.fedavg import Z
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["REFERENCES", "Clip21", "NormEC"]

Part = Callable[..., Any]
GAMMA = Letter("gamma", "step", (0.2, 0.35), also=("step", "lr", "learning_rate", "eta"))
TAU = Letter("tau", "threshold [F/X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm", "C", "level"))
BETA = Letter("beta", "memory step [F/X]", (0.4, 0.7), also=("memory_step",))
ALPHA = Letter("alpha", "smoothing [F/X]", (0.5, 1.1), also=("smoothing",))


@dataclass
class State:
    """v (d,): the server's estimate;  own (n, d): the clients' memories."""

    v: Array
    own: Array


def _each(deviation: Callable[[Values], float]) -> Part:
    """The mean of n noises of this standard deviation."""
    return lambda d, n, v, rng: rng.normal(0.0, deviation(v) / n**0.5, d) if deviation(v) else np.zeros(d)


def _of_one(v: Values, bound: float) -> float:
    """The sensitivity that one message's noise is a multiple of: the n noises of a round are averaged."""
    return float(bound * v["relation_factor"] / v["n"] ** 0.5)


OF_ALL = _each(lambda v: v["sigma"])


@dataclass(frozen=True)
class Clip21(Reference):
    """Clip21 in these parts. missing (g, own): what is to be bounded.  bound (delta, v).  remember (own, sent, g, v):
    the memory after.  estimate (before, mean, v): the server's.  noise (d, n, v, rng): in the mean.  weight (n): of a
    message.  direction (estimate, mean, v): of the step.  heard (mean, noise): what the clients' memories get of
    noise."""

    name: ClassVar[str] = "dp-clip21"
    source: ClassVar[str] = "shulgin2025 Section 6"
    letters: ClassVar[tuple[Letter, ...]] = (GAMMA, TAU, Z)
    unit: ClassVar[str] = "client"
    level: ClassVar[str] = "tau"
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)

    missing: Part = lambda g, own: g - own
    bound: Part = lambda u, v: clipped(u, v["level"])
    remember: Part = lambda own, sent, g, v: own + v["memory"] * sent
    estimate: Part = lambda before, mean, v: before + v["memory"] * mean
    noise: Part = OF_ALL
    weight: Part = lambda n: 1.0 / n
    direction: Part = lambda estimate, mean, v: estimate
    sign: float = -1.0

    def settled(self, v: dict[str, Any]) -> dict[str, Any]:
        return calibrated({**v, "level": v["tau"], "memory": 1.0}, _of_one(v, v["tau"]))

    def sensitivity(self, v: Values) -> float | None:
        return float(v["gamma"] * v["tau"] / v["n"] * v["relation_factor"])

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        n, d = len(clients), len(w)
        state = State(np.zeros(d), np.zeros((n, d))) if state is None else state
        gradients = [client.gradient(w) for client in clients]
        sent = [self.bound(self.missing(g, own), v) for g, own in zip(gradients, state.own)]
        own = np.array([self.remember(m, s, g, v) for m, s, g in zip(state.own, sent, gradients)])
        mean = self.weight(n) * np.sum(sent, axis=0) + self.noise(d, n, v, rng)
        estimate = self.estimate(state.v, mean, v)
        return w + self.sign * v["gamma"] * self.direction(estimate, mean, v), State(estimate, own)

    def length(self, client: Client, world: World, v: Values) -> float:
        return length(client.gradient(world.start))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*CLIP, *FAULTS)


def _smoothed(u: Array, v: Values) -> Array:
    return np.asarray(u / (v["alpha"] + length(u)))


@dataclass(frozen=True)
class NormEC(Clip21):
    """alpha-NormEC with server normalisation."""

    name: ClassVar[str] = "dp-norm-ec"
    source: ClassVar[str] = "shulgin2025 Algorithm 1"
    letters: ClassVar[tuple[Letter, ...]] = (GAMMA, BETA, ALPHA, Z)

    bound: Part = _smoothed
    direction: Part = lambda estimate, mean, v: stretched(estimate, {"level": 1.0}, ())
    level: ClassVar[str] = "alpha"

    def settled(self, v: dict[str, Any]) -> dict[str, Any]:
        return calibrated({**v, "level": v["alpha"], "memory": v["beta"]}, _of_one(v, 1.0))

    def sensitivity(self, v: Values) -> float | None:
        return None  # the normalised step hides how far the estimate moved

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*NORM, *FAULTS)


CLIP = (
    faulty("no clipping", "what is missing is sent whole: clip it to tau", "clip", "", True, bound=lambda u, v: u),
    faulty(
        "per-coordinate clipping",
        "each coordinate is clipped to [-tau, tau]: scale the whole vector by min(1, tau/||u||)",
        "clip",
        "",
        True,
        bound=lambda u, v: np.clip(u, -v["level"], v["level"]),
    ),
    faulty(
        "normalised in place of clipped",
        "short vectors are stretched to the length tau: clipping leaves them as they are",
        "clip",
        bound=lambda u, v: stretched(u, v, ()),
    ),
)
NORM = (
    faulty(
        "normalised without alpha",
        "what is missing is divided by its length: smoothed normalisation divides it by alpha + its length",
        "clip",
        bound=lambda u, v: stretched(u, {"level": 1.0}, ()),
    ),
    faulty(
        "the server does not normalise",
        "the step is gamma v: Algorithm 1 divides by ||v||",
        "step",
        direction=lambda estimate, mean, v: estimate,
    ),
    faulty(
        "clipped in place of normalised",
        "what is missing is clipped to length 1: smoothed normalisation divides it by alpha + its length",
        "clip",
        bound=lambda u, v: clipped(u, 1.0),
    ),
    faulty(
        "beta is missing in the server's estimate",
        "v moves by the mean of the messages: multiply it by beta, as the memories do",
        "control",
        estimate=lambda before, mean, v: before + mean,
    ),
    faulty(
        "beta is missing in the memories",
        "v_i moves by what was sent: multiply it by beta, as the server does",
        "control",
        remember=lambda own, sent, g, v: own + sent,
    ),
    faulty(
        "beta is missing everywhere",
        "memories and estimate move by what was sent: multiply it by beta",
        "control",
        alike="beta is missing in the memories",
        remember=lambda own, sent, g, v: own + sent,
        estimate=lambda before, mean, v: before + mean,
    ),
)
FAULTS = (
    faulty(
        "bounded gradients without error feedback",
        "the operator is applied to the gradient: apply it to what the memory lacks, grad f_i - v_i",
        "control",
        missing=lambda g, own: g,
    ),
    faulty(
        "memories that are not kept",
        "v_i stays zero: add what was sent",
        "control",
        alike="bounded gradients without error feedback",
        remember=lambda own, sent, g, v: own,
    ),
    faulty(
        "memories that take the whole gradient",
        "v_i becomes the gradient: add only what was sent, which is all that the server knows",
        "control",
        remember=lambda own, sent, g, v: g,
    ),
    faulty(
        "the server forgets",
        "the step uses the mean of this round's messages: the server adds them to its estimate",
        "control",
        estimate=lambda before, mean, v: v["memory"] * mean,
    ),
    faulty(
        "no division",
        "messages are added up and not averaged: divide by n",
        "average",
        "",
        True,
        weight=lambda n: 1.0,
    ),
    faulty("the step has the wrong sign", "x moves along v: it moves against it", "step", sign=1.0),
    faulty("no noise", "no noise is added", "noise", "", True, noise=lambda d, n, v, rng: np.zeros(d)),
    faulty(
        "sigma where the multiplier was meant",
        "each message gets noise of standard deviation z: it is z times the sensitivity of a message over sqrt(n)",
        "noise",
        "",
        True,
        noise=_each(lambda v: v["noise_multiplier"]),
    ),
    faulty(
        "sqrt(n) times the noise",
        "the mean has sqrt(n) times the algorithm's noise, as it has where each message gets the noise that protects "
        "it by itself (local privacy: then z is the multiplier of a message, and the mean needs no change), and where "
        "noise of one message is added to the mean, whose noise needs 1/sqrt(n) of that",
        "noise",
        noise=_each(lambda v: v["sigma"] * v["n"] ** 0.5),
    ),
    faulty(
        "sqrt(n) too little noise",
        "the noise of the mean is divided by sqrt(n) once more",
        "noise",
        "",
        True,
        noise=_each(lambda v: v["sigma"] / v["n"] ** 0.5),
    ),
    faulty(
        "variance in place of the standard deviation",
        "the variance is given where the generator takes the standard deviation",
        "noise",
        "",
        True,
        noise=_each(lambda v: v["sigma"] ** 2),
    ),
)

REFERENCES = (Clip21, NormEC)
