"""Mistakes in the noise on an average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.algorithms.faults import noise_fault
from dpfl_theory.algorithms.faults.averaging import Part, gaussian, usual_divisor
from dpfl_theory.core.algorithm import Extends, Fault
from dpfl_theory.lazy import numpy as np

NO_NOISE = ("no noise", "no noise is added")
VARIANCE = (
    "variance in place of the standard deviation",
    "the generator gets the variance in place of the standard deviation",
)
ROOT = (
    "square root of the standard deviation",
    "the generator gets the square root of the standard deviation in place of the standard deviation",
)
HALF = (
    "half the sensitivity",
    "the noise is half of what the declared neighbouring relation needs, as if C were taken for 2C",
)
TWICE = (
    "twice the sensitivity",
    "the noise is twice what the declared neighbouring relation needs, as if 2C were taken for C",
)
"""Name and description of mistakes that occur in the noise of all algorithms."""

Deviation = Callable[[Any, Any, int], Any]
"""A standard deviation, or a factor of it, from the algorithm, ``o`` and |S|."""


def _of_a_message(a: Any, o: Any, deviation: Any) -> Any:
    """The standard deviation of one message, where |S| = r of them give this one to an average without weights."""
    return deviation * usual_divisor(a, o) / o.expected**0.5


def _weights(a: Any, o: Any, members: Any, power: int) -> Any:
    """The sum of the powers of the messages' weights."""

    def of(i: Any) -> Any:
        weight = a.weight(o, i, members)
        return 1.0 if weight is None else weight**power

    return o.tally(members, of)


def _by_server_or_clients(deviation: Deviation) -> tuple[Part, Part]:
    """Noise of this standard deviation on the average of a full cohort: the server draws it, or the clients draw it, so
    that |S| noises are weighted, added up and divided as the messages are."""

    def of_clients(a: Any, o: Any, members: Any) -> Any:
        one = _of_a_message(a, o, deviation(a, o, o.count(members)))
        return o.gaussian(one * _weights(a, o, members, 2) ** 0.5 / a.divisor(o, members))

    return gaussian(deviation), of_clients


def _one_vector(times: Part) -> Extends:
    """One vector of noise, this many times as large as that of a message, in place of any other noise."""
    return Extends(lambda inner, a, o, members: o.gaussian(_of_a_message(a, o, a.deviation(o)) * times(a, o, members)))


def _noisy(name: str, description: str, deviation: Deviation, **facts: Any) -> tuple[Fault, ...]:
    """A mistake in the standard deviation on the average of a full cohort."""
    return tuple(noise_fault(name, description, noise=noise, **facts) for noise in _by_server_or_clients(deviation))


def _times(name: str, description: str, factor: Deviation, **facts: Any) -> tuple[Fault, ...]:
    """A factor of the standard deviation on the average of a full cohort."""
    return _noisy(name, description, lambda a, o, s: factor(a, o, s) * a.deviation(o), **facts)


def _sent(name: str, description: str, deviation: Callable[[Any, Any], Any]) -> Fault:
    """A mistake in the standard deviation of the noise in one message, |S| of which are added up and divided by r."""
    noise = gaussian(lambda a, o, s: deviation(a, o) * s**0.5 / o.expected)
    return noise_fault(name, description, private=True, noise=noise)


def on_layer(u: Any, layer: slice) -> Any:
    """u with 0 outside a layer."""
    found = 0.0 * u
    found[..., layer] = u[..., layer]
    return found


MULTIPLIER = "sigma where the multiplier was meant"
NOISE = (
    noise_fault(*NO_NOISE, private=True, noise=lambda a, o, members: o.zero),
    *(
        noise_fault(
            "noise on one layer alone",
            f"only the {which} layer of the model gets noise: a client's message is clipped as a whole and moves all "
            "layers, so add noise to every one",
            private=True,
            noise=Extends(lambda inner, a, o, members, k=k: on_layer(inner(o, members), o.layers[k])),
        )
        for which, k in (("first", 0), ("last", -1))
    ),
    *_noisy(
        MULTIPLIER,
        "the noise on the average has the noise multiplier z as its standard deviation: it should be z times the "
        "sensitivity",
        lambda a, o, s: a.noise_multiplier,
        private=True,
    ),
    _sent(
        MULTIPLIER,
        "the noise of a message has the noise multiplier z as its standard deviation: it should be z times the "
        "sensitivity",
        lambda a, o: a.noise_multiplier,
    ),
    *_times(
        "sensitivity without the clip threshold",
        "the noise is scaled to a threshold of 1, not of C: a change of the threshold C does not change the noise",
        lambda a, o, s: 1.0 / a.threshold,
        private=True,
    ),
    *_times(
        "the multiplier over the threshold",
        "the noise is divided by the threshold C, not multiplied by it",
        lambda a, o, s: a.threshold**-2.0,
        private=True,
    ),
    *_times(
        "sqrt(r) times the noise",
        "the average has sqrt(r) times the algorithm's noise. One cause is local privacy, where each message gets the "
        "noise that protects it by itself: then z is the multiplier of a message, and the average needs no change. "
        "Another cause is that noise for one message is added to the average, which needs 1/sqrt(r) of that",
        lambda a, o, s: o.expected**0.5,
    ),
    *_times(
        "sqrt(r) too little noise",
        "each client adds the noise that is meant for the average, so the average has 1/sqrt(r) of it",
        lambda a, o, s: s**0.5 / o.expected,
        private=True,
    ),
    *_times("sqrt(n) too much noise", "the noise is sqrt(n) times the algorithm's", lambda a, o, s: o.n**0.5),
    *_times(
        "sqrt(n) too little noise", "the noise is 1/sqrt(n) of the algorithm's", lambda a, o, s: o.n**-0.5, private=True
    ),
    *_times(
        "noise of the sum on the average",
        "the average has the noise that the sum of the messages needs, r times too much. One cause is that this noise "
        "is added after the division, another that all messages have one noise vector of this size: divide noise and "
        "sum, or draw noise for each message",
        lambda a, o, s: usual_divisor(a, o),
    ),
    *_times(
        "noise divided by r twice",
        "the noise of the average is divided by r again",
        lambda a, o, s: 1.0 / usual_divisor(a, o),
        private=True,
    ),
    *_times(
        "noise divided by n",
        "the noise is that of an average over all n clients: r clients in a round need n/r times as much",
        lambda a, o, s: o.expected / o.n,
        private=True,
    ),
    *_times(
        "noise divided by |S|",
        "the noise is divided by the number of clients that take part, which is random: divide it by r",
        lambda a, o, s: usual_divisor(a, o) / max(s, 1),
    ),
    *_noisy(*VARIANCE, lambda a, o, s: a.deviation(o) ** 2, private=True),
    _sent(*VARIANCE, lambda a, o: a.deviation(o) ** 2 * o.expected),
    _sent(*ROOT, lambda a, o: (a.deviation(o) * o.expected**0.5) ** 0.5),
    *_noisy(*ROOT, lambda a, o, s: a.deviation(o) ** 0.5, private=True),
    *_times(
        "noise divided by sqrt(d)",
        "the length of the noise has the value that the standard deviation of a coordinate should have: do not divide "
        "by the square root of d",
        lambda a, o, s: o.d**-0.5,
        private=True,
    ),
    *_times(
        "noise multiplied by the local step size",
        "the noise is multiplied by the local step size, but the sensitivity does not have this factor",
        lambda a, o, s: a.local_step,
        private=True,
    ),
    *_times(
        "noise after the step size",
        "the noise is added to the parameters without the global step size, by which the average is multiplied",
        lambda a, o, s: 1.0 / a.global_step,
    ),
    *(
        noise_fault(
            "one number for all coordinates",
            "the same random number is added to all coordinates: draw one for each coordinate",
            private=True,
            noise=lambda a, o, members, size=size: np.full(o.d, o.rng.normal(0.0, size(a, o, o.count(members)), 1)),
        )
        for size in (lambda a, o, s: a.deviation(o), lambda a, o, s: a.deviation(o) * (s / o.expected) ** 0.5)
    ),
    *(
        noise_fault(
            "the same noise for all clients",
            "one noise vector, as large as that of a message, is drawn in a round and added to every message, or to "
            "their average: averaging does not reduce it, and where messages have it their differences cancel it; draw "
            "one for each client",
            private=True,
            once=True,
            noise=_one_vector(times),
        )
        for times in (
            lambda a, o, members: _weights(a, o, members, 1) / a.divisor(o, members),
            lambda a, o, members: 1.0,
        )
    ),
    *_times(*HALF, lambda a, o, s: 0.5, private=True),
    *_times(*TWICE, lambda a, o, s: 2.0),
)
"""Mistakes in the noise on the average, drawn by the server or added by clients to their messages."""
