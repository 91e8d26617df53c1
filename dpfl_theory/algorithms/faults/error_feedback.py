"""Mistakes in rounds with error feedback: in the bound, the memories, the server's estimate and the noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.algorithms.faults import average_fault, clip_fault, control_fault, noise_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import COORDINATES, stretched, unbounded
from dpfl_theory.algorithms.faults.noise import NO_NOISE, VARIANCE
from dpfl_theory.core.algorithm import Extends, Fault

CLIPPING = (
    clip_fault(
        "no clipping",
        "the difference grad f_i - v_i is sent unclipped: clip it to tau",
        private=True,
        unaccounted=True,
        bound=unbounded,
    ),
    clip_fault(
        "per-coordinate clipping",
        "each coordinate is clipped to [-tau, tau]: scale the whole vector by min(1, tau/||u||)",
        private=True,
        bound=COORDINATES,
    ),
    clip_fault(
        "normalised in place of clipped",
        "short vectors are stretched to the length tau: clipping does not change them",
        bound=stretched,
    ),
)
"""Mistakes in Clip21's bound."""


def alone(a: Any, o: Any, memory: Any, sent: Any, g: Any) -> Any:
    """A memory that moves by the whole message."""
    return memory + sent


NORMALISING = (
    clip_fault(
        "normalised without alpha",
        "the difference grad f_i - v_i is divided by its length: smoothed normalisation divides it by alpha + its "
        "length",
        bound=lambda a, o, u: o.stretch(u, 1.0),
    ),
    step_fault(
        "the server does not normalise",
        "the step is gamma v: Algorithm 1 divides by ||v||",
        direction=lambda a, o, estimate: estimate,
    ),
    clip_fault(
        "clipped in place of normalised",
        "the difference grad f_i - v_i is clipped to length 1: smoothed normalisation divides it by alpha + its length",
        bound=lambda a, o, u: o.clip(u, 1.0),
    ),
    control_fault(
        "beta is missing in the server's estimate",
        "v moves by the mean of the messages: multiply it by beta, as the memories do",
        estimate=lambda a, o, before, mean: before + mean,
    ),
    control_fault(
        "beta is missing in the memories",
        "v_i moves by the message: multiply it by beta, as the server does",
        remember=alone,
    ),
    control_fault(
        "beta is missing everywhere",
        "memories and estimate move by the messages: multiply these by beta",
        equivalent_to="beta is missing in the memories",
        remember=alone,
        estimate=lambda a, o, before, mean: before + mean,
    ),
)
"""Mistakes of alpha-NormEC alone."""


def noisy(name: str, description: str, deviation: Callable[[Any, Any], float], private: bool = False) -> Fault:
    """A mistake in the standard deviation of the noise of one message."""
    return noise_fault(name, description, private=private, noise=lambda a, o: o.gaussian(deviation(a, o) / o.n**0.5))


FAULTS = (
    control_fault(
        "bounded gradients without error feedback",
        "the operator is applied to the gradient: apply it to the difference from the memory, grad f_i - v_i",
        missing=lambda a, o, g, memory: g,
    ),
    control_fault(
        "memories that are not kept",
        "v_i stays zero: add the message",
        equivalent_to="bounded gradients without error feedback",
        remember=lambda a, o, memory, sent, g: memory,
    ),
    control_fault(
        "memories that take the whole gradient",
        "v_i becomes the gradient: add only the message, which is all that the server knows",
        remember=lambda a, o, memory, sent, g: g,
    ),
    control_fault(
        "the server forgets",
        "the step uses only the mean of this round's messages: the server should add them to its estimate",
        estimate=lambda a, o, before, mean: a.memory_step * mean,
    ),
    average_fault(
        "no division", "messages are summed, not averaged: divide by n", private=True, divisor=lambda a, o: 1.0
    ),
    average_fault(
        "no division of sum and noise",
        "the noisy messages are summed, not averaged: divide by n",
        divisor=lambda a, o: 1.0,
        noise=Extends(lambda inner, a, o: o.n * inner(o)),
    ),
    step_fault(
        "the step has the wrong sign",
        "x moves along v: it should move against v",
        move=lambda a, o, w, direction: w + a.step * direction,
    ),
    noisy(*NO_NOISE, lambda a, o: 0.0, private=True),
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
    noisy(*VARIANCE, lambda a, o: a.sigma**2, private=True),
)
"""Mistakes of both algorithms."""
