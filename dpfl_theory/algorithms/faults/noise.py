"""Mistakes in the noise on an average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.algorithms.faults.averaging import gaussian
from dpfl_theory.core.algorithm import Fault, fault
from dpfl_theory.lazy import numpy as np

__all__ = ["NOISE"]


def noisy(
    name: str,
    description: str,
    role: str,
    deviation: Callable[[Any, Any, int], float],
    private: bool = False,
    once: bool = False,
) -> tuple[Fault, Fault]:
    """A mistake in the standard deviation on the average of a full cohort. There are two variants: the server draws
    the noise, or the clients draw it, so that |S| noises add up."""
    by_clients = gaussian(lambda a, o, s: deviation(a, o, s) * (s / o.expected) ** 0.5)
    one, other = (
        fault(name, description, role, private=private, once=once, noise=noise)
        for noise in (gaussian(deviation), by_clients)
    )
    return one, other


def sent(
    name: str, description: str, role: str, deviation: Callable[[Any, Any], float], private: bool = False
) -> tuple[Fault]:
    """A mistake in the standard deviation of the noise in one message, |S| of which are added up and divided by r."""
    return (
        fault(
            name, description, role, "", private, noise=gaussian(lambda a, o, s: deviation(a, o) * s**0.5 / o.expected)
        ),
    )


NOISE = tuple(
    one
    for both in (
        (
            fault(
                "no noise",
                "no noise is added",
                "noise",
                private=True,
                noise=lambda a, o, members: o.zero,
            ),
        ),
        noisy(
            "sigma where the multiplier was meant",
            "the noise on the average has the noise multiplier z as its standard deviation: it should be z times the "
            "sensitivity",
            "noise",
            private=True,
            deviation=lambda a, o, s: a.noise_multiplier,
        ),
        sent(
            "sigma where the multiplier was meant",
            "the noise of a message has the noise multiplier z as its standard deviation: it should be z times the "
            "sensitivity",
            "noise",
            private=True,
            deviation=lambda a, o: a.noise_multiplier,
        ),
        noisy(
            "sensitivity without the clip threshold",
            "the noise is scaled to a sensitivity of 1/r, not to C/r, which clipping gives: a change of the threshold "
            "C does not change the noise",
            "noise",
            private=True,
            deviation=lambda a, o, s: a.noise_multiplier / o.expected,
        ),
        noisy(
            "the multiplier over the threshold",
            "the noise is divided by the threshold C, not multiplied by it",
            "noise",
            private=True,
            deviation=lambda a, o, s: (a.threshold**-2.0) * a.deviation(o),
        ),
        noisy(
            "sqrt(r) times the noise",
            "the average has sqrt(r) times the algorithm's noise. One cause is local privacy, where each message gets "
            "the noise that protects it by itself: then z is the multiplier of a message, and the average needs no "
            "change. Another cause is that noise for one message is added to the average, which needs 1/sqrt(r) of "
            "that",
            "noise",
            deviation=lambda a, o, s: o.expected**0.5 * a.deviation(o),
        ),
        noisy(
            "sqrt(r) too little noise",
            "each client adds the noise that is meant for the average, so the average has 1/sqrt(r) of it",
            "noise",
            private=True,
            deviation=lambda a, o, s: (s**0.5 / o.expected) * a.deviation(o),
        ),
        noisy(
            "sqrt(n) too much noise",
            "the noise is sqrt(n) times the algorithm's",
            "noise",
            deviation=lambda a, o, s: o.n**0.5 * a.deviation(o),
        ),
        noisy(
            "sqrt(n) too little noise",
            "the noise is 1/sqrt(n) of the algorithm's",
            "noise",
            private=True,
            deviation=lambda a, o, s: o.n**-0.5 * a.deviation(o),
        ),
        noisy(
            "noise of the sum on the average",
            "noise that is meant for the sum of the messages is added to their average: this is r times too much",
            "noise",
            deviation=lambda a, o, s: o.expected * a.deviation(o),
        ),
        noisy(
            "noise divided by r twice",
            "the noise of the average is divided by r again",
            "noise",
            private=True,
            deviation=lambda a, o, s: (1.0 / o.expected) * a.deviation(o),
        ),
        noisy(
            "noise divided by n",
            "the noise has the sensitivity C/n: with r clients in a round it should be C/r",
            "noise",
            private=True,
            deviation=lambda a, o, s: (o.expected / o.n) * a.deviation(o),
        ),
        noisy(
            "noise divided by |S|",
            "the noise is divided by the number of clients that take part, which is random: divide it by r",
            "noise",
            deviation=lambda a, o, s: (o.expected / max(s, 1)) * a.deviation(o),
        ),
        noisy(
            "variance in place of the standard deviation",
            "the generator gets the variance in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda a, o, s: a.deviation(o) ** 2,
        ),
        sent(
            "variance in place of the standard deviation",
            "the generator gets the variance in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda a, o: a.deviation(o) ** 2 * o.expected,
        ),
        sent(
            "standard deviation in place of the variance",
            "the generator gets the square root of the standard deviation in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda a, o: (a.deviation(o) * o.expected**0.5) ** 0.5,
        ),
        noisy(
            "standard deviation in place of the variance",
            "the generator gets the square root of the standard deviation in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda a, o, s: a.deviation(o) ** 0.5,
        ),
        noisy(
            "noise divided by sqrt(d)",
            "the length of the noise has the value that the standard deviation of a coordinate should have: do not "
            "divide by the square root of d",
            "noise",
            private=True,
            deviation=lambda a, o, s: o.d**-0.5 * a.deviation(o),
        ),
        noisy(
            "noise multiplied by the local step size",
            "the noise is multiplied by the local step size, but the sensitivity does not have this factor",
            "noise",
            private=True,
            deviation=lambda a, o, s: a.local_step * a.deviation(o),
        ),
        noisy(
            "noise after the step size",
            "the noise is added to the parameters without the global step size, by which the average is multiplied",
            "noise",
            deviation=lambda a, o, s: (1.0 / a.global_step) * a.deviation(o),
        ),
        tuple(
            fault(
                "one number for all coordinates",
                "the same random number is added to all coordinates: draw one for each coordinate",
                "noise",
                private=True,
                noise=noise,
            )
            for noise in (
                lambda a, o, members: np.full(o.d, o.rng.normal(0.0, a.deviation(o), 1)),
                lambda a, o, members: np.full(
                    o.d, o.rng.normal(0.0, a.deviation(o) * (o.count(members) / o.expected) ** 0.5, 1)
                ),
            )
        ),
        noisy(
            "the same noise for all clients",
            "one noise vector is drawn and added to every message: averaging does not reduce it, and differences of "
            "messages cancel it; draw one for each client",
            "noise",
            private=True,
            deviation=lambda a, o, s: (s / o.expected**0.5) * a.deviation(o),
            once=True,
        ),
        noisy(
            "half the sensitivity",
            "the noise is calibrated to C/r, but the declared neighbouring relation moves the average by 2C/r",
            "noise",
            private=True,
            deviation=lambda a, o, s: 0.5 * a.deviation(o),
        ),
        noisy(
            "twice the sensitivity",
            "the noise is calibrated to 2C/r, but the declared neighbouring relation moves the average by C/r",
            "noise",
            deviation=lambda a, o, s: 2.0 * a.deviation(o),
        ),
    )
    for one in both
)
"""Mistakes in the noise on the average, drawn by the server or added by clients to their messages."""
