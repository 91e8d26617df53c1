"""Mistakes in the noise on an average."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpfl_theory.conform.averaging import gaussian_noise
from dpfl_theory.conform.base import Fault, Values, faulty

__all__ = ["NOISE"]


def noisy(
    name: str,
    told: str,
    role: str,
    deviation: Callable[[Values, int], float],
    private: bool = False,
    once: bool = False,
) -> tuple[Fault, Fault]:
    """A mistake in the standard deviation on the average of a full cohort. There are two variants: the server draws
    the noise, or the clients draw it, so that |S| noises add up."""
    by_clients = gaussian_noise(lambda v, s: deviation(v, s) * (s / v["r"]) ** 0.5)
    one, other = (
        faulty(name, told, role, "", private, noise=noise) for noise in (gaussian_noise(deviation), by_clients)
    )
    return replace(one, once=once), replace(other, once=once)


def sent(name: str, told: str, role: str, deviation: Callable[[Values], float], private: bool = False) -> tuple[Fault]:
    """A mistake in the standard deviation of the noise in one message, |S| of which are added up and divided by r."""
    return (faulty(name, told, role, "", private, noise=gaussian_noise(lambda v, s: deviation(v) * s**0.5 / v["r"])),)


NOISE = tuple(
    fault
    for both in (
        (
            faulty(
                "no noise",
                "no noise is added",
                "noise",
                private=True,
                noise=lambda cohort, v, rng: np.zeros(int(v["d"])),
            ),
        ),
        noisy(
            "sigma where the multiplier was meant",
            "the noise on the average has the noise multiplier z as its standard deviation: it should be z times the "
            "sensitivity",
            "noise",
            private=True,
            deviation=lambda v, s: v["noise_multiplier"],
        ),
        sent(
            "sigma where the multiplier was meant",
            "the noise of a message has the noise multiplier z as its standard deviation: it should be z times the "
            "sensitivity",
            "noise",
            private=True,
            deviation=lambda v: v["noise_multiplier"],
        ),
        noisy(
            "sensitivity without the clip threshold",
            "the noise is scaled to a sensitivity of 1/r, not to C/r, which clipping gives: a change of the threshold "
            "C does not change the noise",
            "noise",
            private=True,
            deviation=lambda v, s: v["noise_multiplier"] / v["r"],
        ),
        noisy(
            "the multiplier over the threshold",
            "the noise is divided by the threshold C, not multiplied by it",
            "noise",
            private=True,
            deviation=lambda v, s: (v["level"] ** -2.0) * v["deviation"],
        ),
        noisy(
            "sqrt(r) times the noise",
            "the average has sqrt(r) times the algorithm's noise. One cause is local privacy, where each message gets "
            "the noise that protects it by itself: then z is the multiplier of a message, and the average needs no "
            "change. Another cause is that noise for one message is added to the average, which needs 1/sqrt(r) of "
            "that",
            "noise",
            deviation=lambda v, s: (v["r"] ** 0.5) * v["deviation"],
        ),
        noisy(
            "sqrt(r) too little noise",
            "each client adds the noise that is meant for the average, so the average has 1/sqrt(r) of it",
            "noise",
            private=True,
            deviation=lambda v, s: (s**0.5 / v["r"]) * v["deviation"],
        ),
        noisy(
            "sqrt(n) too much noise",
            "the noise is sqrt(n) times the algorithm's",
            "noise",
            deviation=lambda v, s: (v["n"] ** 0.5) * v["deviation"],
        ),
        noisy(
            "sqrt(n) too little noise",
            "the noise is 1/sqrt(n) of the algorithm's",
            "noise",
            private=True,
            deviation=lambda v, s: (v["n"] ** -0.5) * v["deviation"],
        ),
        noisy(
            "noise of the sum on the average",
            "noise that is meant for the sum of the messages is added to their average: this is r times too much",
            "noise",
            deviation=lambda v, s: (v["r"]) * v["deviation"],
        ),
        noisy(
            "noise divided by r twice",
            "the noise of the average is divided by r again",
            "noise",
            private=True,
            deviation=lambda v, s: (1.0 / v["r"]) * v["deviation"],
        ),
        noisy(
            "noise divided by n",
            "the noise has the sensitivity C/n: with r clients in a round it should be C/r",
            "noise",
            private=True,
            deviation=lambda v, s: (v["r"] / v["n"]) * v["deviation"],
        ),
        noisy(
            "noise divided by |S|",
            "the noise is divided by the number of clients that take part, which is random: divide it by r",
            "noise",
            deviation=lambda v, s: (v["r"] / max(s, 1)) * v["deviation"],
        ),
        noisy(
            "variance in place of the standard deviation",
            "the generator gets the variance in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda v, s: v["deviation"] ** 2,
        ),
        sent(
            "variance in place of the standard deviation",
            "the generator gets the variance in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda v: v["deviation"] ** 2 * v["r"],
        ),
        sent(
            "standard deviation in place of the variance",
            "the generator gets the square root of the standard deviation in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda v: (v["deviation"] * v["r"] ** 0.5) ** 0.5,
        ),
        noisy(
            "standard deviation in place of the variance",
            "the generator gets the square root of the standard deviation in place of the standard deviation",
            "noise",
            private=True,
            deviation=lambda v, s: v["deviation"] ** 0.5,
        ),
        noisy(
            "noise divided by sqrt(d)",
            "the length of the noise has the value that the standard deviation of a coordinate should have: do not "
            "divide by the square root of d",
            "noise",
            private=True,
            deviation=lambda v, s: (v["d"] ** -0.5) * v["deviation"],
        ),
        noisy(
            "noise multiplied by the local step size",
            "the noise is multiplied by the local step size, but the sensitivity does not have this factor",
            "noise",
            private=True,
            deviation=lambda v, s: (v["local_step"]) * v["deviation"],
        ),
        noisy(
            "noise after the step size",
            "the noise is added to the parameters without the global step size, by which the average is multiplied",
            "noise",
            deviation=lambda v, s: (1.0 / v["global_step"]) * v["deviation"],
        ),
        tuple(
            faulty(
                "one number for all coordinates",
                "the same random number is added to all coordinates: draw one for each coordinate",
                "noise",
                private=True,
                noise=noise,
            )
            for noise in (
                lambda cohort, v, rng: np.full(int(v["d"]), rng.normal(0.0, v["deviation"], 1)),
                lambda cohort, v, rng: np.full(
                    int(v["d"]), rng.normal(0.0, v["deviation"] * (len(cohort) / v["r"]) ** 0.5, 1)
                ),
            )
        ),
        noisy(
            "the same noise for all clients",
            "one noise vector is drawn and added to every message: averaging does not reduce it, and differences of "
            "messages cancel it; draw one for each client",
            "noise",
            private=True,
            deviation=lambda v, s: (s / v["r"] ** 0.5) * v["deviation"],
            once=True,
        ),
        noisy(
            "half the sensitivity",
            "the noise is calibrated to C/r, but the declared neighbouring relation moves the average by 2C/r",
            "noise",
            private=True,
            deviation=lambda v, s: (0.5) * v["deviation"],
        ),
        noisy(
            "twice the sensitivity",
            "the noise is calibrated to 2C/r, but the declared neighbouring relation moves the average by C/r",
            "noise",
            deviation=lambda v, s: (2.0) * v["deviation"],
        ),
    )
    for fault in both
)
"""Mistakes in the noise on the average, drawn by the server or added by clients to their messages."""
