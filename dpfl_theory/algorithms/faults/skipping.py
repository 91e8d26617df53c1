"""Mistakes in rounds that skip communication at random (ScaffNew): in control variates, coins, bounds and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dpfl_theory.core.algorithm import Fault, fault
from dpfl_theory.lazy import numpy as np

__all__ = ["FAULTS", "PRIVATE"]

Part = Callable[..., Any]
Difference = Callable[[Any, Any, Any], Any]
"""A vector of client i, from the algorithm's average (a function of each client's vectors), an exchange, and i."""


def away(difference: Difference) -> Part:
    """Control variates that move by p/eta times this."""
    return lambda a, o, h, t, i: h + a.gain(o) * difference(lambda x: a.after(o, a.average(o, x)), t, i)


def _without_communication(differences: dict[str, Difference]) -> Iterator[Fault]:
    for what, difference in differences.items():

        def idle(a: Any, o: Any, h: Any, x: Any, exchange: Any, i: Any, difference: Difference = difference) -> Any:
            return away(difference)(a, o, h, exchange(), i)

        yield fault(
            "control variates move without a communication",
            f"h_i moves by p/eta times {what} also in rounds without a communication, in which the client's vector is "
            "not replaced: move it only in rounds that communicate by the coin",
            "control",
            idle=idle,
        )


def _coins() -> Iterator[Fault]:
    tosses: tuple[Part, ...] = (
        lambda a, o: o.rng.random(o.n) < a.probability,
        lambda a, o: o.rng.random(o.n) > 1.0 - a.probability,
    )
    divisors: tuple[Part, ...] = (lambda o, speakers: o.n, lambda o, speakers: max(len(speakers), 1))
    for toss in tosses:
        for divisor in divisors:
            yield fault(
                "a coin for each client",
                "each client tosses its own coin: a round should toss one coin, so that all clients communicate or "
                "none does",
                "cohort",
                round=_own_coins(toss, divisor),
            )


def _own_coins(toss: Part, divisor: Part) -> Part:
    """A round in which some clients communicate, and the sum of their messages has this divisor."""

    def round_(a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        x, h = a.initial(o, w) if state is None else state
        ends = o.each(o.everyone, lambda i: a.local(o, x[i], o.gradient(i, x[i]), h[i]))
        speakers = [i for i, speaks in enumerate(toss(a, o)) if speaks]
        if not speakers:
            return w, (ends, o.each(o.everyone, lambda i: a.idle(o, h[i], x[i], lambda: a.exchange(o, w, ends), i)))
        some = a.replaced(average=lambda a, o, messages: sum(messages[i] for i in speakers) / divisor(o, speakers))
        t = some.exchange(o, w, ends)
        after = w + t.mean
        points = [a.restart(o, after, ends[i]) if i in speakers else ends[i] for i in range(o.n)]
        return after, (points, [some.control(o, h[i], t, i) if i in speakers else h[i] for i in range(o.n)])

    return round_


FAULTS = (
    *(
        fault(
            "the control variate has the wrong sign",
            "h_i moves by Delta_i - mean: it should move by mean - Delta_i",
            "control",
            control=away(difference),
        )
        for difference in (
            lambda mean, t, i: t.sent[i] - t.mean,
            lambda mean, t, i: t.bounded[i] - t.mean,
            lambda mean, t, i: t.raw[i] - t.mean,
        )
    ),
    fault(
        "p is missing in the control variate",
        "h_i moves by (mean - Delta_i)/eta: multiply it by p",
        "control",
        gain=lambda a, o: 1.0 / a.step,
    ),
    fault(
        "p divides the control variate",
        "h_i moves by (mean - Delta_i)/(p eta): the factor should be p/eta",
        "control",
        gain=lambda a, o: 1.0 / (a.probability * a.step),
    ),
    fault(
        "the step is missing in the control variate",
        "h_i moves by p (mean - Delta_i): divide it by eta",
        "control",
        gain=lambda a, o: a.probability,
    ),
    *(
        fault(
            "the step multiplies the control variate",
            f"h_i moves by {words} (mean - Delta_i): the factor should be p/eta, since mean - Delta_i is eta times a "
            "gradient",
            "control",
            gain=factor,
        )
        for words, factor in (
            ("eta", lambda a, o: a.step),
            ("p eta", lambda a, o: a.probability * a.step),
            ("(eta/p)", lambda a, o: a.step / a.probability),
        )
    ),
    fault(
        "p and the step are missing in the control variate",
        "h_i moves by mean - Delta_i: multiply it by p/eta",
        "control",
        gain=lambda a, o: 1.0,
    ),
    fault(
        "control variates that are not kept",
        "h_i stays zero, so this is local gradient descent",
        "control",
        control=lambda a, o, h, t, i: h,
    ),
    *_without_communication(
        {
            "x - y_i, x being the server's vector,": lambda mean, t, i: -t.raw[i],
            "mean_j y_j - y_i": lambda mean, t, i: mean(t.raw) - t.raw[i],
        }
    ),
    fault(
        "control variates move without a communication",
        "h_i moves by p/eta times the displacement of the local step also in rounds without a communication: move it "
        "only in rounds that communicate by the coin",
        "control",
        idle=lambda a, o, h, x, exchange, i: h + a.gain(o) * (x - exchange().ends[i]),
    ),
    *_coins(),
    fault(
        "the correction has the wrong sign",
        "the local step uses grad f_i + h_i: it should use grad f_i - h_i",
        "control",
        equivalent_to="the control variate has the wrong sign",
        local=lambda a, o, x, g, h: x - a.step * (g + h),
    ),
    fault(
        "no correction",
        "local steps do not use the control variates",
        "control",
        local=lambda a, o, x, g, h: x - a.step * g,
    ),
    fault(
        "the correction without the step",
        "the local step is x - eta grad f_i + h_i: h_i is a gradient, multiply it by eta",
        "control",
        local=lambda a, o, x, g, h: x - a.step * g + h,
    ),
    fault(
        "clients that go on from their own point",
        "after a communication every client should start at the server's vector",
        "local",
        restart=lambda a, o, w, y: y,
    ),
    fault(
        "no division",
        "messages are summed, not averaged: divide their sum by n",
        "average",
        "",
        True,
        average=lambda a, o, messages: o.sum(o.everyone, messages),
    ),
)
"""Mistakes that need neither clipping nor noise."""


def _bound(name: str, description: str, bound: Callable[[Any, Any], Any], private: bool = True) -> Fault:
    return fault(name, description, "clip", private=private, bound=lambda a, o, u, w: bound(a, u))


def _shrunk(a: Any, u: Any, size: float) -> Any:
    return u * min(1.0, a.threshold / max(size, 1e-300))


BOUNDS = (
    _bound("no clipping", "differences are sent without clipping: clip them to C", lambda a, u: u),
    _bound(
        "per-coordinate clipping",
        "each coordinate (or layer) is clipped to C separately: scale the whole vector by min(1, C/||u||)",
        lambda a, u: np.clip(u, -a.threshold, a.threshold),
    ),
    fault(
        "normalised in place of clipped",
        "short differences are stretched to the length C: clipping does not change them",
        "clip",
        bound=lambda a, o, u, w: o.stretch(u, a.threshold),
    ),
    _bound(
        "clipping by the squared length",
        "differences are scaled by C/||u||^2: the factor should be C/||u||",
        lambda a, u: _shrunk(a, u, float(u @ u)),
    ),
    _bound(
        "clipping in the maximum norm",
        "differences are scaled by the largest coordinate: use the Euclidean norm",
        lambda a, u: _shrunk(a, u, float(np.max(np.abs(u), initial=0.0))),
    ),
    fault(
        "clip of the parameters in place of the difference",
        "the client's vector is clipped, not its difference from the server's: clip y_i - x",
        "clip",
        "",
        True,
        bound=lambda a, o, u, w: o.clip(w + u, a.threshold) - w,
    ),
    fault(
        "clip of the mean",
        "the average is clipped, not each client's difference: one client can then move it by as much as all together",
        "clip",
        "",
        True,
        bound=lambda a, o, u, w: u,
        after=lambda a, o, mean: o.clip(mean, a.threshold),
    ),
    fault(
        "noise before clipping",
        "each client adds its noise before its difference is clipped: the clipping then cuts the noise as well",
        "noise",
        "",
        True,
        sent=lambda a, o, t, noise, w, i: a.bound(o, t.raw[i] + noise[i], w),
    ),
)


def _size(
    name: str, description: str, deviation: Callable[[Any, Any], float], private: bool = False
) -> Iterator[Fault]:
    def noises(a: Any, o: Any) -> Any:
        return o.each(o.everyone, lambda i: o.gaussian(deviation(a, o), i))

    yield fault(name, description, "noise", private=private, noises=noises)


def _for_all(a: Any, o: Any) -> Any:
    drawn = o.gaussian(a.sigma)
    return o.each(o.everyone, lambda i: drawn)


NOISE = (
    fault("no noise", "no noise is added", "noise", "", True, noises=lambda a, o: o.each(o.everyone, lambda i: o.zero)),
    fault(
        "the same noise for all clients",
        "one noise vector is drawn and added to every message: differences of messages cancel it, and the noise of the "
        "average is sqrt(n) times too large; draw one for each client",
        "noise",
        "",
        True,
        noises=_for_all,
    ),
    fault(
        "the noise of one message on the average",
        "noise is added once, after averaging, and is as large as that of one message, sqrt(n) times too large for an "
        "average; the messages and the control variates made from them have no noise: each client should add its own",
        "noise",
        noises=_for_all,
        control=away(lambda mean, t, i: t.mean - t.bounded[i]),
    ),
    fault(
        "one number for all coordinates",
        "the same random number is added to all coordinates of a message: draw one for each coordinate",
        "noise",
        "",
        True,
        noises=lambda a, o: o.each(o.everyone, lambda i: np.full(o.d, o.rng.normal(0.0, a.sigma, 1))),
    ),
    *_size(
        "sigma where the multiplier was meant",
        "a message gets noise of standard deviation z: it should be z times the sensitivity",
        lambda a, o: a.noise_multiplier,
        private=True,
    ),
    *_size(
        "sensitivity without the clip threshold",
        "the noise is scaled to a sensitivity of 1, not to C, which clipping gives: a change of the threshold does not "
        "change the noise",
        lambda a, o: a.sigma / a.threshold,
        private=True,
    ),
    *_size(
        "sqrt(n) too little noise",
        "each message gets the noise that is meant for the mean",
        lambda a, o: a.sigma / o.n**0.5,
        private=True,
    ),
    *_size(
        "sqrt(n) times the noise",
        "the noise of a message is sqrt(n) times the algorithm's. One cause is local privacy, where the noise protects "
        "the message by itself: then z is the multiplier of a message, and needs no change. Another cause is that the "
        "noise that is meant for one message is scaled again",
        lambda a, o: a.sigma * o.n**0.5,
    ),
    *_size(
        "noise divided by n",
        "the noise of a message is divided by n, and averaging divides it again",
        lambda a, o: a.sigma / o.n,
        private=True,
    ),
    *_size(
        "variance in place of the standard deviation",
        "the generator gets the variance in place of the standard deviation",
        lambda a, o: a.sigma**2,
        private=True,
    ),
    *_size(
        "standard deviation in place of the variance",
        "the generator gets the square root of the standard deviation in place of the standard deviation",
        lambda a, o: a.sigma**0.5,
        private=True,
    ),
    *_size(
        "noise multiplied by the local step size",
        "the noise is multiplied by the step eta, but the sensitivity does not have this factor",
        lambda a, o: a.sigma * a.step,
        private=True,
    ),
    *_size(
        "half the sensitivity",
        "the noise is calibrated to half of the distance by which the declared neighbouring relation moves a message",
        lambda a, o: a.sigma / 2,
        private=True,
    ),
    *_size(
        "twice the sensitivity",
        "the noise is calibrated to twice the distance by which the declared neighbouring relation moves a message",
        lambda a, o: a.sigma * 2,
    ),
)
HEARD = (
    fault(
        "the control variate without the noise",
        "h_i moves by the message before the noise was added: the mean has the noise, so the h_i no longer add up to "
        "zero",
        "control",
        control=away(lambda mean, t, i: t.mean - t.bounded[i]),
    ),
    fault(
        "the control variate from the unclipped difference",
        "h_i moves by the client's unclipped difference y_i - x: take the message as it was sent, clipped and with its "
        "noise, so that the h_i add up to zero",
        "control",
        control=away(lambda mean, t, i: t.mean - t.raw[i]),
    ),
    *(
        fault(
            "the control variate from an average without noise",
            f"h_i moves by p/eta times {words}, an average without noise, which all clients get: use the noisy average "
            "by which the server moves",
            "control",
            "",
            True,
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
            "mean_j Delta_j - Delta_i": lambda mean, t, i: t.mean - t.sent[i],
            "mean_j Delta_j - Delta_i, without the noise of Delta_i,": lambda mean, t, i: t.mean - t.bounded[i],
        }
    ),
)
"""Mistakes in the use of clipped and noisy messages in the control variates."""
PRIVATE = (*BOUNDS, *HEARD, *NOISE)
