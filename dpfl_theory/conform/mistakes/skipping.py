"""Mistakes in rounds that skip communication at random (ScaffNew): in control variates, coins, bounds and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.conform.averaging import clipped, length, stretched
from dpfl_theory.conform.base import Fault, Values, faulty
from dpfl_theory.problems.base import Array

__all__ = ["FAULTS", "PRIVATE", "Exchange", "every_client"]

Part = Callable[..., Any]


@dataclass(frozen=True)
class Exchange:
    """A communication: the clients' points y_i, their differences y_i - x, the bounded differences, and these with
    noise, (n, d) each; the averages of the messages, of the bounded and of the unbounded differences, (d,) each."""

    ends: Array
    raw: Array
    clean: Array
    sent: Array
    mean: Array
    clean_mean: Array
    raw_mean: Array


def every_client(n: int, v: Values, rng: Any) -> Array:
    """One coin for all clients."""
    return np.full(n, bool(v.get("moved", True)))


def by(factor: Callable[[Values], float]) -> Part:
    """Control variates that move by a factor other than p/eta."""
    return lambda h, t, v: h + factor(v) * (t.mean - t.sent)


def away(difference: Callable[[Exchange], Array]) -> Part:
    """Control variates that move by p/eta times this, (n, d)."""
    return lambda h, t, v: h + v["p"] / v["eta"] * difference(t)


def _without_communication(differences: dict[str, Callable[[Exchange], Array]]) -> Iterator[Fault]:
    for what, difference in differences.items():
        yield faulty(
            "control variates move without a communication",
            f"h_i moves by p/eta times {what} also in rounds without a communication, in which the client's vector is "
            "not replaced: move it only in rounds that communicate by the coin",
            "control",
            idle=lambda h, x, tell, v, difference=difference: h + v["p"] / v["eta"] * difference(tell()),
        )


def _coins() -> Iterator[Fault]:
    tosses: tuple[Part, ...] = (
        lambda n, v, rng: rng.random(n) < v["p"],
        lambda n, v, rng: rng.random(n) > 1.0 - v["p"],
    )
    weights: tuple[Part, ...] = (lambda n, speakers: 1.0 / n, lambda n, speakers: 1.0 / max(speakers, 1))
    for toss in tosses:
        for weight in weights:
            yield faulty(
                "a coin for each client",
                "each client tosses its own coin: a round should toss one coin, so that all clients communicate or "
                "none does",
                "cohort",
                coins=toss,
                weight=weight,
            )


FAULTS = (
    *(
        faulty(
            "the control variate has the wrong sign",
            "h_i moves by Delta_i - mean: it should move by mean - Delta_i",
            "control",
            control=away(difference),
        )
        for difference in (
            lambda t: t.sent - t.mean,
            lambda t: t.clean - t.mean,
            lambda t: t.raw - t.mean,
        )
    ),
    faulty(
        "p is missing in the control variate",
        "h_i moves by (mean - Delta_i)/eta: multiply it by p",
        "control",
        control=by(lambda v: 1.0 / v["eta"]),
    ),
    faulty(
        "p divides the control variate",
        "h_i moves by (mean - Delta_i)/(p eta): the factor should be p/eta",
        "control",
        control=by(lambda v: 1.0 / (v["p"] * v["eta"])),
    ),
    faulty(
        "the step is missing in the control variate",
        "h_i moves by p (mean - Delta_i): divide it by eta",
        "control",
        control=by(lambda v: v["p"]),
    ),
    *(
        faulty(
            "the step multiplies the control variate",
            f"h_i moves by {words} (mean - Delta_i): the factor should be p/eta, since mean - Delta_i is eta times a "
            "gradient",
            "control",
            control=by(factor),
        )
        for words, factor in (
            ("eta", lambda v: v["eta"]),
            ("p eta", lambda v: v["p"] * v["eta"]),
            ("(eta/p)", lambda v: v["eta"] / v["p"]),
        )
    ),
    faulty(
        "p and the step are missing in the control variate",
        "h_i moves by mean - Delta_i: multiply it by p/eta",
        "control",
        control=by(lambda v: 1.0),
    ),
    faulty(
        "control variates that are not kept",
        "h_i stays zero, so this is local gradient descent",
        "control",
        control=lambda h, t, v: h,
    ),
    *_without_communication(
        {
            "x - y_i, x being the server's vector,": lambda t: -t.raw,
            "mean_j y_j - y_i": lambda t: t.raw_mean - t.raw,
        }
    ),
    faulty(
        "control variates move without a communication",
        "h_i moves by p/eta times the displacement of the local step also in rounds without a communication: move it "
        "only in rounds that communicate by the coin",
        "control",
        idle=lambda h, x, tell, v: h + v["p"] / v["eta"] * (x - tell().ends),
    ),
    *_coins(),
    faulty(
        "the correction has the wrong sign",
        "the local step uses grad f_i + h_i: it should use grad f_i - h_i",
        "control",
        equivalent_to="the control variate has the wrong sign",
        local=lambda x, g, h, v: x - v["eta"] * (g + h),
    ),
    faulty(
        "no correction",
        "local steps do not use the control variates",
        "control",
        local=lambda x, g, h, v: x - v["eta"] * g,
    ),
    faulty(
        "the correction without the step",
        "the local step is x - eta grad f_i + h_i: h_i is a gradient, multiply it by eta",
        "control",
        local=lambda x, g, h, v: x - v["eta"] * g + h,
    ),
    faulty(
        "clients that go on from their own point",
        "after a communication every client should start at the server's vector",
        "local",
        restart=False,
    ),
    faulty(
        "no division",
        "messages are summed, not averaged: divide their sum by n",
        "average",
        "",
        True,
        weight=lambda n, speakers: 1.0,
    ),
)
"""Mistakes that need neither clipping nor noise."""


def _bound(name: str, told: str, bound: Callable[[Array, Values], Array], private: bool = True) -> Fault:
    return faulty(name, told, "clip", "", private, bound=lambda u, w, v: bound(u, v))


def _shrunk(u: Array, v: Values, size: float) -> Array:
    return np.asarray(u * min(1.0, v["level"] / max(size, 1e-300)))


BOUNDS = (
    _bound("no clipping", "differences are sent without clipping: clip them to C", lambda u, v: u),
    _bound(
        "per-coordinate clipping",
        "each coordinate (or layer) is clipped to C separately: scale the whole vector by min(1, C/||u||)",
        lambda u, v: np.clip(u, -v["level"], v["level"]),
    ),
    _bound(
        "normalised in place of clipped",
        "short differences are stretched to the length C: clipping does not change them",
        lambda u, v: stretched(u, v, ()),
        private=False,
    ),
    _bound(
        "clipping by the squared length",
        "differences are scaled by C/||u||^2: the factor should be C/||u||",
        lambda u, v: _shrunk(u, v, length(u) ** 2),
    ),
    _bound(
        "clipping in the maximum norm",
        "differences are scaled by the largest coordinate: use the Euclidean norm",
        lambda u, v: _shrunk(u, v, float(np.max(np.abs(u), initial=0.0))),
    ),
    faulty(
        "clip of the parameters in place of the difference",
        "the client's vector is clipped, not its difference from the server's: clip y_i - x",
        "clip",
        "",
        True,
        bound=lambda u, w, v: clipped(w + u, v["level"]) - w,
    ),
    faulty(
        "clip of the mean",
        "the average is clipped, not each client's difference: one client can then move it by as much as all together",
        "clip",
        "",
        True,
        bound=lambda u, w, v: u,
        after=lambda mean, v: clipped(mean, v["level"]),
    ),
    faulty(
        "noise before clipping",
        "each client adds its noise before its difference is clipped: the clipping then cuts the noise as well",
        "noise",
        "",
        True,
        noise_first=True,
    ),
)


def _size(
    name: str, told: str, deviation: Callable[[Values], float], private: bool = False, **parts: Any
) -> Iterator[Fault]:
    def noise(n: int, d: int, v: Values, rng: Any) -> Array:
        return np.asarray(rng.normal(0.0, deviation(v), (n, d)))

    yield faulty(name, told, "noise", "", private, noise=noise, **parts)


def _for_all(n: int, d: int, v: Values, rng: Any) -> Array:
    return np.tile(rng.normal(0.0, v["sigma"], d), (n, 1))


NOISE = (
    faulty("no noise", "no noise is added", "noise", "", True, noise=lambda n, d, v, rng: np.zeros((n, d))),
    faulty(
        "the same noise for all clients",
        "one noise vector is drawn and added to every message: differences of messages cancel it, and the noise of the "
        "average is sqrt(n) times too large; draw one for each client",
        "noise",
        "",
        True,
        noise=_for_all,
    ),
    faulty(
        "the noise of one message on the average",
        "noise is added once, after averaging, and is as large as that of one message, sqrt(n) times too large for an "
        "average; the messages and the control variates made from them have no noise: each client should add its own",
        "noise",
        noise=_for_all,
        control=away(lambda t: t.mean - t.clean),
    ),
    faulty(
        "one number for all coordinates",
        "the same random number is added to all coordinates of a message: draw one for each coordinate",
        "noise",
        "",
        True,
        noise=lambda n, d, v, rng: np.tile(rng.normal(0.0, v["sigma"], (n, 1)), (1, d)),
    ),
    *_size(
        "sigma where the multiplier was meant",
        "a message gets noise of standard deviation z: it should be z times the sensitivity",
        lambda v: v["noise_multiplier"],
        private=True,
    ),
    *_size(
        "sensitivity without the clip threshold",
        "the noise is scaled to a sensitivity of 1, not to C, which clipping gives: a change of the threshold does not "
        "change the noise",
        lambda v: v["sigma"] / v["level"],
        private=True,
    ),
    *_size(
        "sqrt(n) too little noise",
        "each message gets the noise that is meant for the mean",
        lambda v: v["sigma"] / v["n"] ** 0.5,
        private=True,
    ),
    *_size(
        "sqrt(n) times the noise",
        "the noise of a message is sqrt(n) times the algorithm's. One cause is local privacy, where the noise protects "
        "the message by itself: then z is the multiplier of a message, and needs no change. Another cause is that the "
        "noise that is meant for one message is scaled again",
        lambda v: v["sigma"] * v["n"] ** 0.5,
    ),
    *_size(
        "noise divided by n",
        "the noise of a message is divided by n, and averaging divides it again",
        lambda v: v["sigma"] / v["n"],
        private=True,
    ),
    *_size(
        "variance in place of the standard deviation",
        "the generator gets the variance in place of the standard deviation",
        lambda v: v["sigma"] ** 2,
        private=True,
    ),
    *_size(
        "standard deviation in place of the variance",
        "the generator gets the square root of the standard deviation in place of the standard deviation",
        lambda v: v["sigma"] ** 0.5,
        private=True,
    ),
    *_size(
        "noise multiplied by the local step size",
        "the noise is multiplied by the step eta, but the sensitivity does not have this factor",
        lambda v: v["sigma"] * v["eta"],
        private=True,
    ),
    *_size(
        "half the sensitivity",
        "the noise is calibrated to half of the distance by which the declared neighbouring relation moves a message",
        lambda v: v["sigma"] / 2,
        private=True,
    ),
    *_size(
        "twice the sensitivity",
        "the noise is calibrated to twice the distance by which the declared neighbouring relation moves a message",
        lambda v: v["sigma"] * 2,
    ),
)
HEARD = (
    faulty(
        "the control variate without the noise",
        "h_i moves by the message before the noise was added: the mean has the noise, so the h_i no longer add up to "
        "zero",
        "control",
        control=away(lambda t: t.mean - t.clean),
    ),
    faulty(
        "the control variate from the unclipped difference",
        "h_i moves by the client's unclipped difference y_i - x: take the message as it was sent, clipped and with its "
        "noise, so that the h_i add up to zero",
        "control",
        control=away(lambda t: t.mean - t.raw),
    ),
    *(
        faulty(
            "the control variate from an average without noise",
            f"h_i moves by p/eta times {words}, an average without noise, which all clients get: use the noisy average "
            "by which the server moves",
            "control",
            "",
            True,
            control=away(difference),
        )
        for words, difference in (
            ("the clipped average less the clipped difference", lambda t: t.clean_mean - t.clean),
            ("the clipped average less the noisy message", lambda t: t.clean_mean - t.sent),
            ("the average less the whole difference", lambda t: t.raw_mean - t.raw),
        )
    ),
    *_without_communication(
        {
            "the clipped x - y_i": lambda t: -t.clean,
            "the noisy, clipped x - y_i": lambda t: -t.sent,
            "mean_j Delta_j - Delta_i": lambda t: t.mean - t.sent,
            "mean_j Delta_j - Delta_i, without the noise of Delta_i,": lambda t: t.mean - t.clean,
        }
    ),
)
"""Mistakes in the use of clipped and noisy messages in the control variates."""
PRIVATE = (*BOUNDS, *HEARD, *NOISE)
