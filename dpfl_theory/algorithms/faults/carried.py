"""Mistakes in averaging rounds that carry over from one client or one round to the next: starts where others ended,
momentum, an adaptive threshold, and a cohort that the round draws itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dpfl_theory.algorithms.averaging import heavy_ball, over_cohort
from dpfl_theory.algorithms.faults import clip_fault, cohort_fault, control_fault, local_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import Part, scaled
from dpfl_theory.core.algorithm import Extends, Fault, with_number
from dpfl_theory.lazy import numpy as np

IN_PLACE = "a client starts where the one before it ended"
LEARNS = "a clip level that learns from data without noise"

MOMENTUM = (0.1, 0.5, 0.8, 0.9, 0.95, 0.99)
"""Usual momentum factors in training scripts."""


class _Chain(list[Any]):
    """Updates of clients that start one where the other ended, and the last one's end."""

    last: Any = None


def _in_place() -> Iterator[Fault]:
    """Clients that start where others ended. The variants differ in what a client's end is compared with, and in where
    the server moves from. The comparison is with the client's own parameters (the same array), the round's start
    or the client's start."""
    bases: tuple[tuple[str, Callable[[Any, Any, Any], Any]], ...] = (
        ("so that its update is zero", lambda w, start, y: y),
        ("and its update is its difference from the round's start", lambda w, start, y: w),
        ("and its update is its difference from the end of the client before it", lambda w, start, y: start),
    )

    def chained(base: Callable[[Any, Any, Any], Any]) -> Part:
        def updates(a: Any, o: Any, w: Any, members: Any) -> _Chain:
            found, start = _Chain(), w
            for i in members:
                y = a.local(o, start, i)
                found.append(a.update(o, base(w, start, y), y))
                start = y
            found.last = start
            return found

        return updates

    moves: tuple[Part, ...] = (
        lambda a, o, w, step, state, updates: (a.move(o, updates.last, step), state),
        lambda a, o, w, step, state, updates: (a.move(o, w, step), state),
    )
    for words, base in bases:
        for move in moves:
            yield local_fault(
                IN_PLACE,
                f"only the first client of a cohort starts at w. Each other one starts where the one before it ended, "
                f"{words}. One cause is that all change one array in place, another that y is not set to w for each "
                "client: start each with a copy of its own, y = w.copy()",
                private=True,
                updates=chained(base),
                server=move,
            )


def _momentum() -> Iterator[Fault]:
    ways: tuple[tuple[str, Callable[[float, Any, Any], tuple[Any, Any]]], ...] = (
        ("m = {b} m + average", lambda b, m, step: (b * m + step, b * m + step)),
        ("m = {b} m + {a} average", lambda b, m, step: (b * m + (1 - b) * step, b * m + (1 - b) * step)),
        (
            "m = {b} m + average and steps along average + {b} m",
            lambda b, m, step: (b * m + step, step + b * (b * m + step)),
        ),
    )
    without = "the algorithm has no momentum"
    private = f"{without}, which costs no privacy; no bound on the algorithm's error covers it"

    def along(a: Any, o: Any, w: Any, m: Any, step: Any) -> tuple[Any, Any]:
        return a.move(o, w, step), m

    for words, way in ways:

        def of(b: float, words: str = words, way: Callable[..., tuple[Any, Any]] = way) -> Fault:
            return step_fault(
                "server momentum",
                f"the server keeps {words.format(b=f'{b:.4g}', a=f'{1 - b:.3g}')}: {private}",
                plain=f"the server keeps {words.format(b=f'{b:.4g}', a=f'{1 - b:.3g}')}: {without}",
                server=lambda a, o, w, step, m, updates: along(a, o, w, *way(b, 0.0 * step if m is None else m, step)),
            )

        yield with_number(f"the server keeps {words.format(b='b', a='(1 - b)')}: {without}", MOMENTUM, of)


def with_new_optimizer(inner: Callable[..., Any], a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
    """A round that starts without an optimizer."""
    a.made = {}
    found: tuple[Any, Any] = inner(o, w, state)
    return found


ONE_BUFFER = "one momentum buffer for all clients"
ONE_BUFFER_TEXT = (
    "all clients of a round share one momentum buffer, so that a client's steps go on along gradients of the clients "
    "before it. Start each client with a new buffer"
)
SHARED = local_fault(
    ONE_BUFFER,
    ONE_BUFFER_TEXT,
    optimizer=Extends(lambda inner, a, o, i: a.made.setdefault("", inner(o, int(i)))),  # one client after the other
    round=Extends(with_new_optimizer),
)
"""For algorithms with local momentum."""


def _in_epochs() -> Iterator[Fault]:
    """The optimizer of an epoch: the algorithm's own, or one with momentum."""
    name, text = "local momentum that starts again in each epoch", "a client's momentum buffer is new in each epoch"

    def of_an_epoch(make: Callable[[Any, Any], Any], a: Any, o: Any, i: Any) -> Callable[[Any], Any] | None:
        step, taken = make(o, i), 0

        def steps(g: Any) -> Any:
            nonlocal step, taken
            if taken and taken % a.batches(o, i) == 0:
                step = make(o, i)
            taken += 1
            return step(g)

        return step and steps

    def of(b: float) -> Fault:
        return local_fault(
            name,
            f"{text}, with b = {b:.4g}: the algorithm has no momentum",
            optimizer=Extends(lambda inner, a, o, i: inner(o, i) or of_an_epoch(lambda *_: heavy_ball(b), a, o, i)),
        )

    yield local_fault(name, f"{text}: use one buffer in all epochs of a round", optimizer=Extends(of_an_epoch))
    yield with_number(f"{text}: the algorithm has no momentum", MOMENTUM, of)


IN_EPOCHS = tuple(_in_epochs())
"""For algorithms with epochs of batches."""


def by_position(inner: Callable[..., Any], a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
    """A round whose clients read and write the memory of their place in the cohort, not their own."""
    first, own = a.initial(o, w) if state is None else state
    members = list(o.cohort)
    read = o.put(own, members, [own[j] for j in range(len(members))])
    w, (first, written) = inner(o, w, (first, read))
    return w, (first, o.put(own, range(len(members)), [written[i] for i in members]))


def forgotten(inner: Callable[..., Any], a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
    """A round after which clients that took no part have what they start with."""
    fresh = a.initial(o, w)[1]
    w, (first, own) = inner(o, w, state)
    return w, (first, o.put(fresh, o.cohort, [own[i] for i in o.cohort]))


KEPT = (
    control_fault(
        "what clients keep is stored by their place in the cohort",
        "a client reads what the client at its place in the last cohort kept: store it by the client's number",
        round=Extends(by_position),
    ),
    control_fault(
        "what absent clients keep is lost",
        "what a client keeps is 0 again after a round without it, for example where each round makes a new dictionary "
        "for its cohort. Keep it for clients that take no part",
        round=Extends(forgotten),
    ),
)
"""For rounds whose state is the server's part and a list with one of each client."""


OWN_COHORT = tuple(
    cohort_fault(
        "a cohort of its own",
        "the round draws its own cohort and ignores the given one: take the members from the cohort. Whether "
        "draws fit the accounting is tested on the function that draws (`sampler`)",
        plain="the round draws its own cohort and ignores the given one: take the members from the cohort",
        members=draw,
        **parts,
    )
    for draw in (
        lambda a, o: o.rng.choice(o.n, int(o.expected), replace=False),
        lambda a, o: np.flatnonzero(o.rng.random(o.n) < o.expected / o.n),
        lambda a, o: o.rng.choice(o.n, o.count(o.cohort), replace=False),
        lambda a, o: o.rng.permutation(o.n)[: int(o.expected)],
    )
    for parts in (
        {},
        {"divisor": over_cohort},
        {"divisor": over_cohort, "noise": scaled(lambda a, o, s: o.expected / max(s, 1))},
    )
)
CARRIED = (*_in_place(), *OWN_COHORT, *_momentum())
"""All of these mistakes except those with thresholds."""
RATES, QUANTILES, SHARES = (0.1, 0.2, 0.3, 0.5, 1.0), (0.5, 0.8, 0.9), (0.1, 0.5, 0.9)
Rule = Callable[[float, Sequence[float]], float]


def _rules() -> Iterator[tuple[str, Rule]]:
    """Rules for the threshold of the next round, from this round's threshold and the lengths of its updates."""
    centres: dict[str, Callable[[Sequence[float]], float]] = {
        "median": lambda lengths: float(np.median(lengths)),
        "mean": lambda lengths: float(np.mean(lengths)),
        "maximum": lambda lengths: float(np.max(lengths)),
    }
    for words, centre in centres.items():
        yield f"the {words} of this round's lengths", lambda level, lengths, centre=centre: centre(lengths)  # type: ignore[misc]
        for a in SHARES:
            yield (
                f"{1 - a:.3g} times the threshold plus {a:g} times the {words} of the lengths",
                lambda level, lengths, a=a, centre=centre: (1 - a) * level + a * centre(lengths),  # type: ignore[misc]
            )
    for rate in RATES:
        for q in QUANTILES:
            yield (
                f"the threshold times exp({rate:g} ({q:g} - the share of updates that are shorter))",
                lambda level, lengths, rate=rate, q=q: (  # type: ignore[misc]
                    level * math.exp(rate * (q - float(np.mean(np.asarray(lengths) <= level))))
                ),
            )


def _learned() -> Iterator[Fault]:
    def learn(rule: Rule) -> Part:
        def server(a: Any, o: Any, w: Any, step: Any, level: Any, updates: Any) -> tuple[Any, Any]:
            level = float(a.threshold) if level is None else level
            return a.move(o, w, step), rule(level, [o.length(u) for u in updates]) if len(updates) else level

        return server

    def now(scales: bool) -> Part:
        def adapted(a: Any, o: Any, level: float | None) -> Any:
            if level is None:
                return a
            noise, times = a.noise_parameter(), level / a.threshold if scales else 1.0
            times = times if noise == "sigma" else times * a.threshold / level  # a multiplier is one of the threshold
            return a.with_values(threshold=level, **{noise: getattr(a, noise) * times})

        return adapted

    for words, rule in _rules():
        for scales in (True, False):
            after = "with noise proportional to it" if scales else "with the noise of the first threshold"
            yield clip_fault(
                LEARNS,
                f"the threshold of the next round is {words}, {after}; the lengths get no noise, so that the threshold "
                "reveals information about the data and no accounting covers it: fix C beforehand, or add noise to the "
                "lengths and account for that too",
                private=True,
                unaccounted=True,
                now=now(scales),
                server=learn(rule),
            )


LEARNED = tuple(_learned())
"""Thresholds that follow the data from round to round."""
