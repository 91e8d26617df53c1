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

__all__ = ["Candidate", "Found", "ObservedDifference", "explains", "find", "leading", "repeating"]


_STEPS = 12
"""Steps to a number that is unknown, each of which squares the error where the way depends smoothly on it."""
_NEAR = 1e-3
"""The share of the first distance that is left where a number explains paths at all."""


@dataclass(frozen=True)
class ObservedDifference:
    """A probe with what the function made of it."""

    probe: Path | Spread
    value: Array
    choices: list[dict[str, Any]] | None
    numbers: int = 0
    """Of the noise, each of which costs a run."""


@dataclass(frozen=True)
class Candidate:
    """A round that might be the function's: which faults it has, and of which reading."""

    reading: Reading
    faults: tuple[Fault, ...]
    player: Player


def explains(player: Player, seen: Sequence[ObservedDifference]) -> bool:
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


def _fitted(
    reference: Reference, families: Sequence[Fault], paths: Sequence[ObservedDifference]
) -> Iterator[Candidate]:
    """The suspects that have one mistake with a number in it, which is found by least squares on a path."""
    for reading, family in itertools.product(type(reference).readings, families):

        def of(number: float, reading: Reading = reading, family: Fault = family) -> Candidate:
            fault = family.sized(number)  # type: ignore[misc]
            return Candidate(reading, (fault,), _player(reference, reading, (fault,)))

        number = _nearest(lambda x, of=of: of(x).player, family.usual, paths[:2])  # type: ignore[misc]
        if number is not None and explains((suspect := of(number)).player, paths):
            yield suspect


def _nearest(
    player: Callable[[float], Player], usual: Sequence[float], paths: Sequence[ObservedDifference]
) -> float | None:
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


@dataclass(frozen=True)
class Found:
    """What was found: suspects that do all that the function does; else those that do it where the noise is silent; and
    where there are none of these either, those that explain the most first rounds of all paths, and how many these
    are."""

    whole: tuple[Candidate, ...] = ()
    silent: tuple[Candidate, ...] = ()
    partly: tuple[Candidate, ...] = ()
    rounds: int = 0


def leading(player: Player, paths: Sequence[ObservedDifference]) -> int:
    """The number of first rounds that a player explains in every path, of those in which w moves; -1 for all rounds."""
    fewest, whole = 10**9, True
    for one in paths:
        assert isinstance(one.probe, Path)
        try:
            value = one.probe.of(player, one.choices)
        except (ArithmeticError, ValueError, KeyError):
            return 0
        if agree(one.probe, one.value, value):
            continue
        whole, moved = False, one.probe.moves(one.value)
        right = next(k for k in range(len(value)) if not agree(one.probe, one.value[: k + 1], value[: k + 1]))
        fewest = min(fewest, sum(moved[:right]))
        if fewest == 0:
            return 0
    return -1 if whole else fewest


def find(reference: Reference, seen: Sequence[ObservedDifference], seconds: float) -> Found:
    """All suspects that do what the function does, with one fault or two, as far as pairs that differ in paths are
    looked for in so many seconds of the processor: first those of which one part explains first rounds."""
    kind = type(reference)
    paths = [one for one in seen if isinstance(one.probe, Path)]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    families = kind.faults()
    faults = [*(variant for fault in families for variant in fault.variants()), *([AGAIN] if kind.unit else [])]
    silent, begun = list[Candidate](), list[tuple[int, Candidate]]()
    for reading in kind.readings:
        for found in ((), *((fault,) for fault in faults)):
            suspect = Candidate(reading, found, _player(reference, reading, found))
            far = leading(suspect.player, paths)
            if far < 0:
                silent.append(suspect)
            elif far > 0:
                begun.append((far, suspect))
    if not silent:
        silent = list(_fitted(reference, [fault for fault in families if fault.sized], paths))
    if whole := [suspect for suspect in silent if explains(suspect.player, spreads)]:
        return Found(tuple(whole))
    of_noise = [fault for fault in faults if fault.role == "noise"]
    if whole := [
        suspect
        for one in silent
        for fault in of_noise
        if _together(one.faults, fault)
        and explains((suspect := _both(reference, one.reading, one.faults, fault)).player, spreads)
    ]:
        return Found(tuple(whole), tuple(silent))
    if silent:
        return Found(silent=tuple(silent))
    pairs = [
        suspect
        for suspect in _pairs(reference, faults, begun, time.process_time() + seconds)
        if explains(suspect.player, paths)
    ]
    if pairs:
        return Found(tuple(one for one in pairs if explains(one.player, spreads)), tuple(pairs))
    most = max((far for far, _ in begun), default=0)
    return Found(partly=tuple(suspect for far, suspect in begun if far == most), rounds=most)


def _together(faults: Sequence[Fault], fault: Fault) -> bool:
    """Whether a fault can be had besides these."""
    return not any(fault is other or fault.parts.keys() & other.parts.keys() for other in faults)


def _both(reference: Reference, reading: Reading, faults: Sequence[Fault], fault: Fault) -> Candidate:
    both = (*faults, fault)
    return Candidate(reading, both, _player(reference, reading, both))


def _pairs(
    reference: Reference, faults: Sequence[Fault], begun: Sequence[tuple[int, Candidate]], until: float
) -> Iterator[Candidate]:
    """Pairs of faults that are not about noise, none twice: first those of which one explains first rounds. None after
    the time ``until``."""
    others = [fault for fault in faults if fault.role != "noise"]
    far_first = sorted(begun, key=lambda one: -one[0])
    first = [fault for _, suspect in far_first for fault in suspect.faults if fault.role != "noise"]
    pairs = itertools.chain(itertools.product(first, others), itertools.combinations(others, 2))
    done = set[frozenset[int]]()
    for one, other in pairs:
        if time.process_time() > until:
            return
        key = frozenset({id(one), id(other)})
        if key in done or not _together([one], other):
            continue
        done.add(key)
        yield _both(reference, type(reference).readings[0], [one], other)
