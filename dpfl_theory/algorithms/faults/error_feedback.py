"""Mistakes in rounds with error feedback: in the bound, the memories, the server's estimate and the noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.core.algorithm import Fault, fault
from dpfl_theory.lazy import numpy as np

__all__ = ["CLIPPING", "FAULTS", "NORMALISING"]

CLIPPING = (
    fault(
        "no clipping",
        "the difference grad f_i - v_i is sent unclipped: clip it to tau",
        "clip",
        private=True,
        bound=lambda a, o, u: u,
    ),
    fault(
        "per-coordinate clipping",
        "each coordinate is clipped to [-tau, tau]: scale the whole vector by min(1, tau/||u||)",
        "clip",
        private=True,
        bound=lambda a, o, u: np.clip(u, -a.threshold, a.threshold),
    ),
    fault(
        "normalised in place of clipped",
        "short vectors are stretched to the length tau: clipping does not change them",
        "clip",
        bound=lambda a, o, u: o.stretch(u, a.threshold),
    ),
)
"""Mistakes in Clip21's bound."""


def alone(a: Any, o: Any, memory: Any, sent: Any, g: Any) -> Any:
    """A memory that moves by the whole message."""
    return memory + sent


NORMALISING = (
    fault(
        "normalised without alpha",
        "the difference grad f_i - v_i is divided by its length: smoothed normalisation divides it by alpha + its "
        "length",
        "clip",
        bound=lambda a, o, u: o.stretch(u, 1.0),
    ),
    fault(
        "the server does not normalise",
        "the step is gamma v: Algorithm 1 divides by ||v||",
        "step",
        direction=lambda a, o, estimate: estimate,
    ),
    fault(
        "clipped in place of normalised",
        "the difference grad f_i - v_i is clipped to length 1: smoothed normalisation divides it by alpha + its length",
        "clip",
        bound=lambda a, o, u: o.clip(u, 1.0),
    ),
    fault(
        "beta is missing in the server's estimate",
        "v moves by the mean of the messages: multiply it by beta, as the memories do",
        "control",
        estimate=lambda a, o, before, mean: before + mean,
    ),
    fault(
        "beta is missing in the memories",
        "v_i moves by the message: multiply it by beta, as the server does",
        "control",
        remember=alone,
    ),
    fault(
        "beta is missing everywhere",
        "memories and estimate move by the messages: multiply these by beta",
        "control",
        equivalent_to="beta is missing in the memories",
        remember=alone,
        estimate=lambda a, o, before, mean: before + mean,
    ),
)
"""Mistakes of alpha-NormEC alone."""


def noisy(name: str, description: str, deviation: Callable[[Any, Any], float], private: bool = False) -> Fault:
    """A mistake in the standard deviation of the noise of one message."""
    return fault(name, description, "noise", private=private, noise=lambda a, o: o.gaussian(deviation(a, o) / o.n**0.5))


FAULTS = (
    fault(
        "bounded gradients without error feedback",
        "the operator is applied to the gradient: apply it to the difference from the memory, grad f_i - v_i",
        "control",
        missing=lambda a, o, g, memory: g,
    ),
    fault(
        "memories that are not kept",
        "v_i stays zero: add the message",
        "control",
        equivalent_to="bounded gradients without error feedback",
        remember=lambda a, o, memory, sent, g: memory,
    ),
    fault(
        "memories that take the whole gradient",
        "v_i becomes the gradient: add only the message, which is all that the server knows",
        "control",
        remember=lambda a, o, memory, sent, g: g,
    ),
    fault(
        "the server forgets",
        "the step uses only the mean of this round's messages: the server should add them to its estimate",
        "control",
        estimate=lambda a, o, before, mean: a.memory_step * mean,
    ),
    fault(
        "no division",
        "messages are summed, not averaged: divide by n",
        "average",
        private=True,
        divisor=lambda a, o: 1.0,
    ),
    fault(
        "the step has the wrong sign",
        "x moves along v: it should move against v",
        "step",
        move=lambda a, o, w, direction: w + a.step * direction,
    ),
    noisy("no noise", "no noise is added", lambda a, o: 0.0, private=True),
    noisy(
        "sigma where the multiplier was meant",
        "each message gets noise of standard deviation z: it should be z times the sensitivity of a message over "
        "sqrt(n)",
        lambda a, o: a.noise_multiplier,
        private=True,
    ),
    noisy(
        "sqrt(n) times the noise",
        "the mean has sqrt(n) times the algorithm's noise. One cause is local privacy, where each message gets the "
        "noise that protects it by itself: then z is the multiplier of a message, and the mean needs no change. "
        "Another cause is that noise for one message is added to the mean, which needs 1/sqrt(n) of that",
        lambda a, o: a.sigma * o.n**0.5,
    ),
    noisy(
        "sqrt(n) too little noise",
        "the noise of the mean is divided by sqrt(n) again",
        lambda a, o: a.sigma / o.n**0.5,
        private=True,
    ),
    noisy(
        "variance in place of the standard deviation",
        "the generator gets the variance in place of the standard deviation",
        lambda a, o: a.sigma**2,
        private=True,
    ),
)
"""Mistakes of both algorithms."""
