"""Who does what the function does: the readings, the known faults, and pairs of them, compared on all probes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.conform.base import Fault, Player, Reading, Reference, Values, faulty
from dpfl_theory.conform.comparisons.probes import Path, Spread, agree
from dpfl_theory.problems.base import Array

__all__ = ["Seen", "Suspect", "explains", "find", "repeating"]


_STEPS = 12
"""Steps to a number that is unknown, each of which squares the error where the way depends smoothly on it."""
_NEAR = 1e-3
"""The share of the first distance that is left where a number explains paths at all."""


@dataclass(frozen=True)
class Seen:
    """A probe with what the function made of it."""

    probe: Path | Spread
    value: Array
    choices: list[dict[str, Any]] | None
    numbers: int = 0
    """Of the noise, each of which costs a run."""


@dataclass(frozen=True)
class Suspect:
    """A round that might be the function's: which faults it has, and of which reading."""

    reading: Reading
    faults: tuple[Fault, ...]
    player: Player


def explains(player: Player, seen: Sequence[Seen]) -> bool:
    """Whether a player does on all of these what the function did."""
    for one in seen:
        try:
            value = one.probe.of(player, one.choices)
        except (ArithmeticError, ValueError, KeyError):
            return False
        if not agree(one.probe, one.value, value):
            return False
    return True


class _Recorded:
    """Noise that is kept, or given again in the same order."""

    def __init__(self, rng: Any, kept: list[Array], again: bool) -> None:
        self._rng, self._kept, self._again, self._at = rng, kept, again, 0

    def normal(self, loc: float, scale: float, size: int) -> Array:
        if self._again and self._kept:
            self._at += 1
            return self._kept[(self._at - 1) % len(self._kept)]
        self._kept.append(np.asarray(self._rng.normal(loc, scale, size)))
        return self._kept[-1]


def repeating(player: Player) -> Player:
    """A player that draws noise in its first round alone, and uses it again in all others."""

    def play(w: Array, state: Any, clients: Any, cohort: Array, rng: Any, v: Values) -> tuple[Array, Any]:
        inner, kept = (None, None) if state is None else state
        again, kept = kept is not None, [] if kept is None else kept
        after, inner = player(w, inner, clients, cohort, _Recorded(rng, kept, again), v)
        return after, (inner, kept)

    return play


AGAIN = faulty(
    "noise re-used",
    "the noise of the first round is used again in the others, so that differences of rounds cancel it: draw fresh "
    "noise in every round",
    "noise",
    private=True,
)


def _player(reference: Reference, reading: Reading, faults: Sequence[Fault]) -> Player:
    parts = dict(reading.parts)
    for fault in faults:
        parts |= fault.parts
    player = replace(reference, **parts).round  # type: ignore[type-var]
    return repeating(player) if AGAIN in faults else player


def _fitted(reference: Reference, families: Sequence[Fault], paths: Sequence[Seen]) -> Iterator[Suspect]:
    """The suspects that have one mistake with a number in it, which is found by least squares on a path."""
    for reading, family in itertools.product(type(reference).readings, families):

        def of(number: float, reading: Reading = reading, family: Fault = family) -> Suspect:
            fault = family.sized(number)  # type: ignore[misc]
            return Suspect(reading, (fault,), _player(reference, reading, (fault,)))

        number = _nearest(lambda x, of=of: of(x).player, family.usual, paths[:2])  # type: ignore[misc]
        if number is not None and explains((suspect := of(number)).player, paths):
            yield suspect


def _nearest(player: Callable[[float], Player], usual: Sequence[float], paths: Sequence[Seen]) -> float | None:
    """The number with which paths come nearest to those seen, by Gauss and Newton from the best of the usual ones; None
    where they do not come near."""

    def off(x: float) -> Array:
        with np.errstate(all="ignore"):
            return np.concatenate([(one.probe.of(player(x), one.choices) - one.value).ravel() for one in paths])

    try:
        tried = {x: off(x) for x in usual}
        x = min(tried, key=lambda one: float(np.linalg.norm(tried[one])))
        begun, found = float(np.linalg.norm(tried[x])), tried[x]
        for _ in range(_STEPS):
            h = 1e-6 * max(abs(x), 1e-3)
            slope = (off(x + h) - found) / h
            move = -float(slope @ found) / float(slope @ slope)
            x, found = x + move, off(x + move)
            if not np.isfinite(x) or abs(move) <= 1e-10 * abs(x):
                break
        near = float(np.linalg.norm(found)) <= _NEAR * begun
    except (ArithmeticError, ValueError, KeyError):
        return None
    return x if near and x > 0.0 else None


def find(reference: Reference, seen: Sequence[Seen], seconds: float) -> tuple[Suspect | None, list[Suspect]]:
    """The suspect that does all that the function does, with one fault or two; and those with one fault at most that
    do it where the noise is silent. Pairs that differ in paths are looked for so many seconds."""
    kind = type(reference)
    paths = [one for one in seen if isinstance(one.probe, Path)]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    families = kind.faults()
    faults = [*(variant for fault in families for variant in fault.variants()), *([AGAIN] if kind.unit else [])]
    silent: list[Suspect] = []
    for reading in kind.readings:
        for found in ((), *((fault,) for fault in faults)):
            suspect = Suspect(reading, found, _player(reference, reading, found))
            if explains(suspect.player, paths):
                if explains(suspect.player, spreads):
                    return suspect, []
                silent.append(suspect)
    if not silent:
        silent = list(_fitted(reference, [fault for fault in families if fault.sized], paths))
        for suspect in silent:
            if explains(suspect.player, spreads):
                return suspect, []
    of_noise = [fault for fault in faults if fault.role == "noise"]
    for one in silent:
        for fault in of_noise:
            if any(fault is other or fault.parts.keys() & other.parts.keys() for other in one.faults):
                continue
            both = (*one.faults, fault)
            suspect = Suspect(one.reading, both, _player(reference, one.reading, both))
            if explains(suspect.player, spreads):
                return suspect, silent
    if silent:
        return None, silent
    until = time.perf_counter() + seconds
    for reading in kind.readings[:1]:
        for i, first in enumerate(faults):
            for second in faults[i + 1 :]:
                if time.perf_counter() > until:
                    return None, []
                if first.parts.keys() & second.parts.keys() or "noise" in (first.role, second.role):
                    continue
                suspect = Suspect(reading, (first, second), _player(reference, reading, (first, second)))
                if explains(suspect.player, paths):
                    return (suspect if explains(suspect.player, spreads) else None), [suspect]
    return None, []
