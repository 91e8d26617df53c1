"""Mistakes in averaging rounds that carry over from one client or one round to the next: parameters changed in place,
momentum, an adaptive threshold, and a cohort that the round draws itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.averaging import over_cohort, scaled
from dpfl_theory.conform.base import Fault, Values, faulty, sized
from dpfl_theory.problems.base import Array

__all__ = ["CARRIED", "LEARNED", "LEARNS"]

LEARNS = "a clip level that learns from data without noise"

MOMENTUM = (0.1, 0.5, 0.8, 0.9, 0.95, 0.99)
"""Usual momentum factors in training scripts."""


def _in_place() -> Iterator[Fault]:
    """The server's parameters are changed in place. The variants differ in what a client's end is compared with, and in
    where the server moves from. The comparison is with the client's own parameters (the same array), the round's start
    or the client's start."""
    bases: tuple[tuple[str, Callable[[Array, Array, Array], Array]], ...] = (
        ("so that its update is zero", lambda w, begun, y: y),
        ("and its update is its difference from the round's start", lambda w, begun, y: w),
        ("and its update is its difference from the end of the client before it", lambda w, begun, y: begun),
    )
    for words, base in bases:
        for origin in (lambda w, last: last, lambda w, last: w):
            yield faulty(
                "the server's parameters are changed in place",
                f"a client's local steps change w itself, from which the next client then starts, {words}: start with "
                "a copy, y = w.copy(), and do not use -= on arrays that the round does not own",
                "local",
                private=True,
                begin=lambda w, last: last,
                base=base,
                origin=origin,
            )


def _momentum() -> Iterator[Fault]:
    ways: tuple[tuple[str, Callable[[float, Array, Array], tuple[Array, Array]]], ...] = (
        ("m = {b} m + average", lambda b, m, step: (b * m + step, b * m + step)),
        ("m = {b} m + {a} average", lambda b, m, step: (b * m + (1 - b) * step, b * m + (1 - b) * step)),
        (
            "m = {b} m + average and steps along average + {b} m",
            lambda b, m, step: (b * m + step, step + b * (b * m + step)),
        ),
    )
    without = "the algorithm has no momentum; this costs no privacy, but no bound on the algorithm's error covers it"
    for words, way in ways:

        def of(b: float, words: str = words, way: Callable[..., tuple[Array, Array]] = way) -> Fault:
            return faulty(
                "server momentum",
                f"the server keeps {words.format(b=f'{b:.4g}', a=f'{1 - b:.3g}')}: {without}",
                "step",
                carry=lambda m, step, v: way(b, 0.0 * step if m is None else m, step),
            )

        yield sized(f"the server keeps {words.format(b='b', a='(1 - b)')}: {without}", MOMENTUM, of)


def _cohort() -> Iterator[Fault]:
    draws: tuple[Callable[[Array, int, Values, Any], Any], ...] = (
        lambda cohort, n, v, rng: rng.choice(n, int(v["r"]), replace=False),
        lambda cohort, n, v, rng: np.flatnonzero(rng.random(n) < v["r"] / n),
        lambda cohort, n, v, rng: rng.choice(n, len(cohort), replace=False),
        lambda cohort, n, v, rng: rng.permutation(n)[: int(v["r"])],
    )
    averages: tuple[dict[str, Any], ...] = (
        {},
        {"weight": over_cohort},
        {"weight": over_cohort, "noise": scaled(lambda v, s: v["r"] / max(s, 1))},
    )
    for draw in draws:
        for parts in averages:
            yield faulty(
                "a cohort of its own",
                "the round draws its own cohort and ignores the given one, so that the accounting covers other clients "
                "than those that took part: take the members from the cohort (the function that draws it is tested "
                "separately, as sampler)",
                "cohort",
                plain="the round draws its own cohort and ignores the given one: take the members from the cohort",
                members=lambda cohort, clients, v, rng, draw=draw: draw(cohort, len(clients), v, rng),
                **parts,
            )


CARRIED = (*_in_place(), *_cohort(), *_momentum())
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
    def learn(kept: float | None, lengths: Sequence[float], v: Values, rule: Rule) -> float:
        level = float(v["level"]) if kept is None else kept
        return rule(level, lengths) if len(lengths) else level

    def reported(kept: float | None, v: Values, scales: bool) -> Values:
        if kept is None:
            return v
        times = kept / v["level"] if scales else 1.0
        return {**v, "level": kept, "deviation": v["deviation"] * times}

    for words, rule in _rules():
        for scales in (True, False):
            after = "with noise proportional to it" if scales else "with the noise of the first threshold"
            yield faulty(
                LEARNS,
                f"the threshold of the next round is {words}, {after}; the lengths get no noise, so that the threshold "
                "reveals information about the data and no accounting covers it: fix C beforehand, or add noise to the "
                "lengths and account for that too",
                "clip",
                private=True,
                symbols_now=lambda kept, v, scales=scales: reported(kept, v, scales),
                learn=lambda kept, lengths, v, rule=rule: learn(kept, lengths, v, rule),
            )


LEARNED = tuple(_learned())
"""Thresholds that follow the data from round to round."""
