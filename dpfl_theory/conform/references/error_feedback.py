"""Error feedback with a bounding operator: Clip21 and alpha-NormEC (shulgin2025 Algorithm 1), with memories that start
at zero.

Delta_i = Psi(grad f_i(x) - v_i);  v_i = v_i + beta Delta_i;  v = v + (beta/n) sum_i (Delta_i + z_i)
x = x - gamma v   (Clip21),   x - gamma v/||v||   (alpha-NormEC),   z_i ~ N(0, sigma^2 I)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.averaging import clipped, length, stretched
from dpfl_theory.conform.base import Fault, Hyperparameter, Reading, Reference, Values, Z, calibrated, faulty
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["REFERENCES", "Clip21", "NormEC"]

Part = Callable[..., Any]
GAMMA = Hyperparameter("gamma", "step", (0.2, 0.35), also=("step", "lr", "learning_rate", "eta"))
TAU = Hyperparameter(
    "tau", "threshold [F/X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm", "C", "level")
)
BETA = Hyperparameter("beta", "memory step [F/X]", (0.4, 0.7), also=("memory_step",))
ALPHA = Hyperparameter("alpha", "smoothing [F/X]", (0.5, 1.1), also=("smoothing",))


@dataclass
class State:
    """v (d,): the server's estimate;  own (n, d): the clients' memories."""

    v: Array
    own: Array


def _each(deviation: Callable[[Values], float]) -> Part:
    """The mean of n noises of this standard deviation."""
    return lambda d, n, v, rng: rng.normal(0.0, deviation(v) / n**0.5, d) if deviation(v) else np.zeros(d)


def _of_one(v: Values, bound: float) -> float:
    """The sensitivity of which the noise of one message is a multiple: the n noises of a round are averaged."""
    return float(bound * v["relation_factor"] / v["n"] ** 0.5)


OF_ALL = _each(lambda v: v["sigma"])


@dataclass(frozen=True)
class Clip21(Reference):
    """Clip21 in these parts. missing (g, own): the vector to be bounded.  bound (delta, v).  remember (own, sent, g,
    v): the next memory.  estimate (before, mean, v): the server's.  noise (d, n, v, rng): in the mean.  weight (n): of
    a message.  direction (estimate, mean, v): of the step.  heard (mean, noise): the noise that enters the clients'
    memories."""

    name: ClassVar[str] = "dp-clip21"
    source: ClassVar[str] = "shulgin2025 Section 6"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (GAMMA, TAU, Z)
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

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
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
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (GAMMA, BETA, ALPHA, Z)

    bound: Part = _smoothed
    direction: Part = lambda estimate, mean, v: stretched(estimate, {"level": 1.0}, ())
    level: ClassVar[str] = "alpha"

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        return calibrated({**v, "level": v["alpha"], "memory": v["beta"]}, _of_one(v, 1.0))

    def sensitivity(self, v: Values) -> float | None:
        return None  # the normalised step hides the displacement of the estimate

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*NORM, *FAULTS)


CLIP = (
    faulty(
        "no clipping",
        "the difference grad f_i - v_i is sent unclipped: clip it to tau",
        "clip",
        "",
        True,
        bound=lambda u, v: u,
    ),
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
        "short vectors are stretched to the length tau: clipping does not change them",
        "clip",
        bound=lambda u, v: stretched(u, v, ()),
    ),
)
NORM = (
    faulty(
        "normalised without alpha",
        "the difference grad f_i - v_i is divided by its length: smoothed normalisation divides it by alpha + its "
        "length",
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
        "the difference grad f_i - v_i is clipped to length 1: smoothed normalisation divides it by alpha + its length",
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
        "v_i moves by the message: multiply it by beta, as the server does",
        "control",
        remember=lambda own, sent, g, v: own + sent,
    ),
    faulty(
        "beta is missing everywhere",
        "memories and estimate move by the messages: multiply these by beta",
        "control",
        equivalent_to="beta is missing in the memories",
        remember=lambda own, sent, g, v: own + sent,
        estimate=lambda before, mean, v: before + mean,
    ),
)
FAULTS = (
    faulty(
        "bounded gradients without error feedback",
        "the operator is applied to the gradient: apply it to the difference from the memory, grad f_i - v_i",
        "control",
        missing=lambda g, own: g,
    ),
    faulty(
        "memories that are not kept",
        "v_i stays zero: add the message",
        "control",
        equivalent_to="bounded gradients without error feedback",
        remember=lambda own, sent, g, v: own,
    ),
    faulty(
        "memories that take the whole gradient",
        "v_i becomes the gradient: add only the message, which is all that the server knows",
        "control",
        remember=lambda own, sent, g, v: g,
    ),
    faulty(
        "the server forgets",
        "the step uses only the mean of this round's messages: the server should add them to its estimate",
        "control",
        estimate=lambda before, mean, v: v["memory"] * mean,
    ),
    faulty(
        "no division",
        "messages are summed, not averaged: divide by n",
        "average",
        "",
        True,
        weight=lambda n: 1.0,
    ),
    faulty("the step has the wrong sign", "x moves along v: it should move against v", "step", sign=1.0),
    faulty("no noise", "no noise is added", "noise", "", True, noise=lambda d, n, v, rng: np.zeros(d)),
    faulty(
        "sigma where the multiplier was meant",
        "each message gets noise of standard deviation z: it should be z times the sensitivity of a message over "
        "sqrt(n)",
        "noise",
        "",
        True,
        noise=_each(lambda v: v["noise_multiplier"]),
    ),
    faulty(
        "sqrt(n) times the noise",
        "the mean has sqrt(n) times the algorithm's noise. One cause is local privacy, where each message gets the "
        "noise that protects it by itself: then z is the multiplier of a message, and the mean needs no change. "
        "Another cause is that noise for one message is added to the mean, which needs 1/sqrt(n) of that",
        "noise",
        noise=_each(lambda v: v["sigma"] * v["n"] ** 0.5),
    ),
    faulty(
        "sqrt(n) too little noise",
        "the noise of the mean is divided by sqrt(n) again",
        "noise",
        "",
        True,
        noise=_each(lambda v: v["sigma"] / v["n"] ** 0.5),
    ),
    faulty(
        "variance in place of the standard deviation",
        "the generator gets the variance in place of the standard deviation",
        "noise",
        "",
        True,
        noise=_each(lambda v: v["sigma"] ** 2),
    ),
)

REFERENCES = (Clip21, NormEC)
