"""Mistakes in rounds that skip communication at random (ScaffNew): in control variates, coins, bounds and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dpfl_theory.algorithms.averaging import mean_of_clients
from dpfl_theory.algorithms.faults import (
    average_fault,
    clip_fault,
    cohort_fault,
    control_fault,
    local_fault,
    noise_fault,
)
from dpfl_theory.algorithms.faults.averaging import COORDINATES, MAXIMUM, SQUARED, Part, stretched, unbounded
from dpfl_theory.algorithms.faults.noise import HALF, NO_NOISE, ROOT, TWICE, VARIANCE
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.lazy import numpy as np

Difference = Callable[[Any, Any, Any], Any]
"""A vector of client i, from the algorithm's average (a function of each client's vectors), an exchange, and i."""


def away(difference: Difference) -> Part:
    """Control variates that move by p/eta times this."""
    return lambda a, o, h, t, i: h + a.gain(o) * difference(lambda x: a.after(o, a.average(o, x)), t, i)


def _without_communication(differences: dict[str, Difference], **facts: Any) -> Iterator[Fault]:
    for what, difference in differences.items():

        def idle(a: Any, o: Any, h: Any, x: Any, exchange: Any, i: Any, difference: Difference = difference) -> Any:
            return away(difference)(a, o, h, exchange(), i)

        yield control_fault(
            "control variates move without a communication",
            f"h_i moves by p/eta times {what} also in rounds without a communication, in which the client's vector is "
            "not replaced: move it only in rounds that communicate by the coin",
            idle=idle,
            **facts,
        )


COINS = "a coin for each client"


def _coins() -> Iterator[Fault]:
    tosses: tuple[Part, ...] = (
        lambda a, o: o.rng.random(o.n) < a.probability,
        lambda a, o: o.rng.random(o.n) > 1.0 - a.probability,
    )
    tossed = (
        "each client tosses its own coin: a round should toss one coin, so that all clients communicate or none does"
    )
    random = (
        ". The sum of their messages is divided by the number of those that communicate, which is random, so that one "
        "of them moves the average by more than 1/n of the bound on its message"
    )
    for toss in tosses:
        yield cohort_fault(COINS, tossed, round=_own_coins(toss, lambda o, speakers: o.n))
        yield cohort_fault(
            COINS,
            tossed + random,
            private=True,
            plain=tossed,
            round=_own_coins(toss, lambda o, speakers: max(len(speakers), 1)),
        )


def _own_coins(toss: Part, divisor: Part) -> Part:
    """A round in which some clients communicate, and the sum of their messages has this divisor."""

    def round_(a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        x, h = a.initial(o, w) if state is None else state
        ends = o.each(o.everyone, lambda i: a.local(o, x[i], o.gradient(i, x[i]), h[i]))
        speakers = [i for i, speaks in enumerate(toss(a, o)) if speaks]
        if not speakers:
            idle = o.each(o.everyone, lambda i: a.idle(o, h[i], x[i], lambda: a.exchange(o, w, ends), i))
            return a.skipped(o, w, ends), (ends, idle)
        some = a.replaced(average=lambda a, o, messages: sum(messages[i] for i in speakers) / divisor(o, speakers))
        t = some.exchange(o, w, ends)
        after = w + t.mean
        points = [a.restart(o, after, ends[i]) if i in speakers else ends[i] for i in range(o.n)]
        own = [some.control(o, h[i], t, i) if i in speakers else h[i] for i in range(o.n)]
        return (after if len(speakers) == o.n else a.skipped(o, after, points)), (points, own)

    return round_


FAULTS = (
    *(
        control_fault(
            "the control variate has the wrong sign",
            "h_i moves by Delta_i - mean: it should move by mean - Delta_i",
            control=away(difference),
        )
        for difference in (
            lambda mean, t, i: t.sent[i] - t.mean,
            lambda mean, t, i: t.bounded[i] - t.mean,
            lambda mean, t, i: t.raw[i] - t.mean,
        )
    ),
    control_fault(
        "p is missing in the control variate",
        "h_i moves by (mean - Delta_i)/eta: multiply it by p",
        gain=lambda a, o: 1.0 / a.step,
    ),
    control_fault(
        "p divides the control variate",
        "h_i moves by (mean - Delta_i)/(p eta): the factor should be p/eta",
        gain=lambda a, o: 1.0 / (a.probability * a.step),
    ),
    control_fault(
        "the step is missing in the control variate",
        "h_i moves by p (mean - Delta_i): divide it by eta",
        gain=lambda a, o: a.probability,
    ),
    *(
        control_fault(
            "the step multiplies the control variate",
            f"h_i moves by {words} (mean - Delta_i): the factor should be p/eta, since mean - Delta_i is eta times a "
            "gradient",
            gain=factor,
        )
        for words, factor in (
            ("eta", lambda a, o: a.step),
            ("p eta", lambda a, o: a.probability * a.step),
            ("(eta/p)", lambda a, o: a.step / a.probability),
        )
    ),
    control_fault(
        "p and the step are missing in the control variate",
        "h_i moves by mean - Delta_i: multiply it by p/eta",
        gain=lambda a, o: 1.0,
    ),
    control_fault(
        "control variates that are not kept",
        "h_i stays zero, so this is local gradient descent",
        control=lambda a, o, h, t, i: h,
    ),
    *_without_communication({"x - y_i, x being the server's vector,": lambda mean, t, i: -t.raw[i]}),
    *_without_communication(
        {"mean_j y_j - y_i, whose mean has no noise,": lambda mean, t, i: mean(t.raw) - t.raw[i]},
        private=True,
        unaccounted=True,
    ),
    control_fault(
        "control variates move without a communication",
        "h_i moves by p/eta times the displacement of the local step also in rounds without a communication: move it "
        "only in rounds that communicate by the coin",
        idle=lambda a, o, h, x, exchange, i: h + a.gain(o) * (x - exchange().ends[i]),
    ),
    *_coins(),
    control_fault(
        "the correction has the wrong sign",
        "the local step uses grad f_i + h_i: it should use grad f_i - h_i",
        equivalent_to="the control variate has the wrong sign",
        local=lambda a, o, x, g, h: x - a.step * (g + h),
    ),
    control_fault(
        "no correction",
        "local steps do not use the control variates",
        equivalent_to="control variates that are not kept",
        local=lambda a, o, x, g, h: x - a.step * g,
    ),
    control_fault(
        "the correction without the step",
        "the local step is x - eta grad f_i + h_i: h_i is a gradient, multiply it by eta",
        local=lambda a, o, x, g, h: x - a.step * g + h,
    ),
    local_fault(
        "clients that go on from their own point",
        "after a communication every client should start at the server's vector",
        restart=lambda a, o, w, y: y,
    ),
    average_fault(
        "no division",
        "messages are summed, not averaged: divide their sum by n",
        average=lambda a, o, messages: o.sum(o.everyone, messages),
    ),
)
"""Mistakes that need neither clipping nor noise."""


BOUNDS = (
    clip_fault(
        "no clipping",
        "differences are sent without clipping: clip them to C",
        private=True,
        unaccounted=True,
        bound=unbounded,
    ),
    clip_fault(
        "per-coordinate clipping",
        "each coordinate is clipped to C separately: scale the whole vector by min(1, C/||u||)",
        private=True,
        bound=COORDINATES,
    ),
    clip_fault(
        "normalised in place of clipped",
        "short differences are stretched to the length C: clipping does not change them",
        bound=stretched,
    ),
    clip_fault(
        "clipping by the squared length",
        "differences are scaled by min(1, C/||u||^2): the factor should be min(1, C/||u||)",
        private=True,
        bound=SQUARED,
    ),
    clip_fault(
        "clipping in the maximum norm",
        "differences are scaled by the largest coordinate: use the Euclidean norm",
        private=True,
        bound=MAXIMUM,
    ),
    clip_fault(
        "clip of the parameters in place of the difference",
        "the client's vector is clipped, not its difference from the server's: clip y_i - x",
        private=True,
        bound=lambda a, o, u, w: o.clip(w + u, a.threshold) - w,
    ),
    clip_fault(
        "clip of the mean",
        "the average is clipped, not each client's difference: one client can then move it by as much as all together",
        private=True,
        bound=unbounded,
        after=lambda a, o, mean: o.clip(mean, a.threshold),
    ),
    noise_fault(
        "noise before clipping",
        "each client adds its noise before clipping, to a vector without a bound, so that no noise is enough: clip "
        "first, then add the noise",
        private=True,
        unaccounted=True,
        sent=lambda a, o, t, noise, w, i: a.bound(o, t.raw[i] + noise[i], w),
    ),
)


def _noisy(name: str, description: str, deviation: Callable[[Any, Any], float], private: bool = False) -> Fault:
    """A mistake in the standard deviation of the noise of one message."""

    def noises(a: Any, o: Any) -> Any:
        return o.each(o.everyone, lambda i: o.gaussian(deviation(a, o), i))

    return noise_fault(name, description, private=private, noises=noises)


def _for_all(a: Any, o: Any) -> Any:
    drawn = o.gaussian(a.sigma)
    return o.each(o.everyone, lambda i: drawn)


NOISE = (
    noise_fault(*NO_NOISE, private=True, noises=lambda a, o: o.each(o.everyone, lambda i: o.zero)),
    noise_fault(
        "the same noise for all clients",
        "one noise vector is drawn and added to every message: differences of messages cancel it, and the noise of the "
        "average is sqrt(n) times too large; draw one for each client",
        private=True,
        noises=_for_all,
    ),
    noise_fault(
        "the noise of one message on the average",
        "noise is added once, after averaging, and is as large as that of one message, sqrt(n) times too large for an "
        "average. The messages and the control variates made from them have no noise: each client should add its own",
        unaccounted=True,
        noises=_for_all,
        control=away(lambda mean, t, i: t.mean - t.bounded[i]),
    ),
    noise_fault(
        "one number for all coordinates",
        "the same random number is added to all coordinates of a message: draw one for each coordinate",
        private=True,
        noises=lambda a, o: o.each(o.everyone, lambda i: np.full(o.d, o.rng.normal(0.0, a.sigma, 1))),
    ),
    _noisy(
        "sigma where the multiplier was meant",
        "a message gets noise of standard deviation z: it should be z times the sensitivity",
        lambda a, o: a.noise_multiplier,
        private=True,
    ),
    _noisy(
        "sensitivity without the clip threshold",
        "the noise is scaled to a sensitivity of 1, not to C, which clipping gives: a change of the threshold does not "
        "change the noise",
        lambda a, o: a.sigma / a.threshold,
        private=True,
    ),
    _noisy(
        "sqrt(n) too little noise",
        "each message gets the noise that is meant for the mean",
        lambda a, o: a.sigma / o.n**0.5,
        private=True,
    ),
    _noisy(
        "sqrt(n) times the noise",
        "the noise of a message is sqrt(n) times the algorithm's. One cause is local privacy, where the noise protects "
        "the message by itself: then z is the multiplier of a message, and needs no change. Another cause is that the "
        "noise that is meant for one message is scaled again",
        lambda a, o: a.sigma * o.n**0.5,
    ),
    _noisy(
        "noise divided by n",
        "the noise of a message is divided by n, and averaging divides it again",
        lambda a, o: a.sigma / o.n,
        private=True,
    ),
    _noisy(*VARIANCE, lambda a, o: a.sigma**2, private=True),
    _noisy(*ROOT, lambda a, o: a.sigma**0.5, private=True),
    _noisy(
        "noise multiplied by the local step size",
        "the noise is multiplied by the step eta, but the sensitivity does not have this factor",
        lambda a, o: a.sigma * a.step,
        private=True,
    ),
    _noisy(*HALF, lambda a, o: a.sigma / 2, private=True),
    _noisy(*TWICE, lambda a, o: a.sigma * 2),
)
HEARD = (
    average_fault(
        "the clients' mean without a communication",
        "in rounds without a communication w is the mean of the clients' vectors, without clipping and noise: keep the "
        "server's vector, since no client sends anything in these rounds",
        private=True,
        unaccounted=True,
        skipped=mean_of_clients,
    ),
    control_fault(
        "the control variate without the noise",
        "h_i moves by the message before the noise was added: the mean has the noise, so the h_i no longer add up to "
        "zero",
        control=away(lambda mean, t, i: t.mean - t.bounded[i]),
    ),
    control_fault(
        "the control variate from the unclipped difference",
        "h_i moves by the client's unclipped difference y_i - x: take the message as it was sent, clipped and with its "
        "noise, so that the h_i add up to zero",
        control=away(lambda mean, t, i: t.mean - t.raw[i]),
    ),
    *(
        control_fault(
            "the control variate from an average without noise",
            f"h_i moves by p/eta times {words}, an average without noise, which all clients get: use the noisy average "
            "by which the server moves",
            private=True,
            unaccounted=True,
            control=away(difference),
        )
        for words, difference in (
            ("the clipped average less the clipped difference", lambda mean, t, i: mean(t.bounded) - t.bounded[i]),
            ("the clipped average less the noisy message", lambda mean, t, i: mean(t.bounded) - t.sent[i]),
            ("the average less the whole difference", lambda mean, t, i: mean(t.raw) - t.raw[i]),
        )
    ),
    *_without_communication(
        {
            "the clipped x - y_i": lambda mean, t, i: -t.bounded[i],
            "the noisy, clipped x - y_i": lambda mean, t, i: -t.sent[i],
        }
    ),
    *_without_communication(
        {
            "mean_j Delta_j - Delta_i": lambda mean, t, i: t.mean - t.sent[i],
            "mean_j Delta_j - Delta_i, without the noise of Delta_i,": lambda mean, t, i: t.mean - t.bounded[i],
        },
        private=True,
    ),
)
"""Mistakes in the use of clipped and noisy messages in the control variates."""
PRIVATE = (*BOUNDS, *HEARD, *NOISE)
