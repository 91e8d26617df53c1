"""Search for players that agree with the function: readings, known faults, and pairs of faults, compared on all
probes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.conform.probes import Path, Spread, agree
from dpfl_theory.conform.references import Player, Reference, Values
from dpfl_theory.core.algorithm import Extends, Fault, Reading
from dpfl_theory.problems.base import Array

__all__ = ["Candidate", "ObservedDifference", "SearchResult", "explains", "find", "leading", "repeating"]


_STEPS = 12
"""Number of Newton steps to an unknown number; each squares the error where the path depends smoothly on it."""
_NEAR = 1e-3
"""The share of the first distance that remains where a number explains paths at all."""


@dataclass(frozen=True)
class ObservedDifference:
    """A probe with the function's result."""

    probe: Path | Spread
    value: Array
    choices: list[dict[str, Any]] | None
    numbers: int = 0
    """Numbers of the noise, each of which costs a run."""


@dataclass(frozen=True)
class Candidate:
    """A round that might be the function's: its faults and its reading."""

    reading: Reading
    faults: tuple[Fault, ...]
    player: Player


def explains(player: Player, seen: Sequence[ObservedDifference]) -> bool:
    """Whether a player agrees with the function on all of these."""
    for one in seen:
        try:
            value = one.probe.outcome(player, one.choices)
        except (ArithmeticError, ValueError, KeyError):
            return False
        if not agree(one.probe, one.value, value):
            return False
    return True


class _Recorded:
    """Noise that is recorded, or replayed in the same order."""

    def __init__(self, rng: Any, retained: list[Array], again: bool) -> None:
        self._rng, self._kept, self._again, self._at = rng, retained, again, 0

    def normal(self, loc: float, scale: float, size: int) -> Array:
        if self._again and self._kept:
            self._at += 1
            return self._kept[(self._at - 1) % len(self._kept)]
        self._kept.append(np.asarray(self._rng.normal(loc, scale, size)))
        return self._kept[-1]


def repeating(player: Player) -> Player:
    """A player that draws noise only in its first round, and re-uses it in all others."""

    def play(w: Array, state: Any, clients: Any, cohort: Array, rng: Any, v: Values) -> tuple[Array, Any]:
        inner, kept = (None, None) if state is None else state
        again, kept = kept is not None, [] if kept is None else kept
        after, inner = player(w, inner, clients, cohort, _Recorded(rng, kept, again), v)
        return after, (inner, kept)

    return play


AGAIN = Fault(
    "noise re-used",
    "the noise of the first round is re-used in the others, so that differences of rounds cancel it: draw fresh "
    "noise in every round",
    "noise",
    {},
    private=True,
)


def _player(reference: Reference, reading: Reading, faults: Sequence[Fault]) -> Player:
    player = reference.with_parts(reading.parts, *(fault.parts for fault in faults)).round
    return repeating(player) if AGAIN in faults else player


def _fitted(
    reference: Reference, families: Sequence[Fault], paths: Sequence[ObservedDifference]
) -> Iterator[Candidate]:
    """The suspects with one mistake that has a free number, which least squares on a path gives."""
    for reading, family in itertools.product(reference.readings, families):

        def of(number: float, reading: Reading = reading, family: Fault = family) -> Candidate:
            fault = family.sized(number)  # type: ignore[misc]
            return Candidate(reading, (fault,), _player(reference, reading, (fault,)))

        number = _nearest(lambda x, of=of: of(x).player, family.usual, paths[:2])  # type: ignore[misc]
        if number is not None and explains((suspect := of(number)).player, paths):
            yield suspect


def _nearest(
    player: Callable[[float], Player], usual: Sequence[float], paths: Sequence[ObservedDifference]
) -> float | None:
    """The number whose paths are nearest to those seen, by the Gauss-Newton method from the best usual number; None
    where they do not come near."""

    def off(x: float) -> Array:
        with np.errstate(all="ignore"):
            return np.concatenate([(one.probe.outcome(player(x), one.choices) - one.value).ravel() for one in paths])

    try:
        tried = {x: off(x) for x in usual}
        x = min(tried, key=lambda one: float(np.linalg.norm(tried[one])))
        started, found = float(np.linalg.norm(tried[x])), tried[x]
        for _ in range(_STEPS):
            h = 1e-6 * max(abs(x), 1e-3)
            slope = (off(x + h) - found) / h
            move = -float(slope @ found) / float(slope @ slope)
            x, found = x + move, off(x + move)
            if not np.isfinite(x) or abs(move) <= 1e-10 * abs(x):
                break
        near = float(np.linalg.norm(found)) <= _NEAR * started
    except (ArithmeticError, ValueError, KeyError):
        return None
    return x if near and x > 0.0 else None


@dataclass(frozen=True)
class SearchResult:
    """The suspects found. First choice: those that agree with the function everywhere. Second: those that agree with it
    where the noise is silent. Third: those that explain the most first rounds of all paths, and the number of these
    rounds."""

    whole: tuple[Candidate, ...] = ()
    silent: tuple[Candidate, ...] = ()
    partly: tuple[Candidate, ...] = ()
    rounds: int = 0


def leading(player: Player, paths: Sequence[ObservedDifference]) -> int:
    """The number of first rounds in which w moves that a player explains in every path; -1 for all rounds."""
    fewest, whole = 10**9, True
    for one in paths:
        assert isinstance(one.probe, Path)
        try:
            value = one.probe.outcome(player, one.choices)
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


def find(reference: Reference, seen: Sequence[ObservedDifference], seconds: float) -> SearchResult:
    """All suspects with one or two faults that agree with the function. The search for pairs that differ in paths ends
    after this processor time in seconds. Pairs of which one part explains first rounds come first."""
    paths = [one for one in seen if isinstance(one.probe, Path)]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    families = reference.faults()
    faults = [*(variant for fault in families for variant in fault.variants()), *([AGAIN] if reference.unit else [])]
    silent, started = list[Candidate](), list[tuple[int, Candidate]]()
    for reading in reference.readings:
        for found in ((), *((fault,) for fault in faults)):
            suspect = Candidate(reading, found, _player(reference, reading, found))
            far = leading(suspect.player, paths)
            if far < 0:
                silent.append(suspect)
            elif far > 0:
                started.append((far, suspect))
    if not silent:
        silent = list(_fitted(reference, [fault for fault in families if fault.sized], paths))
    if whole := [suspect for suspect in silent if explains(suspect.player, spreads)]:
        return SearchResult(tuple(whole))
    of_noise = [fault for fault in faults if fault.role == "noise"]
    if whole := [
        suspect
        for one in silent
        for fault in of_noise
        if _together(one.faults, fault)
        and explains((suspect := _both(reference, one.reading, one.faults, fault)).player, spreads)
    ]:
        return SearchResult(tuple(whole), tuple(silent))
    if silent:
        return SearchResult(silent=tuple(silent))
    pairs = [
        suspect
        for suspect in _pairs(reference, faults, started, time.process_time() + seconds)
        if explains(suspect.player, paths)
    ]
    if pairs:
        return SearchResult(tuple(one for one in pairs if explains(one.player, spreads)), tuple(pairs))
    most = max((far for far, _ in started), default=0)
    return SearchResult(partly=tuple(suspect for far, suspect in started if far == most), rounds=most)


def _together(faults: Sequence[Fault], fault: Fault) -> bool:
    """Whether a fault can occur together with these."""
    return not any(fault is other or shared(fault, other) for other in faults)


def shared(one: Fault, other: Fault) -> list[str]:
    """The parts that both replace, so that one replacement would be lost."""
    both = one.parts.keys() & other.parts.keys()
    return [name for name in both if not any(isinstance(x.parts[name], Extends) for x in (one, other))]


def _both(reference: Reference, reading: Reading, faults: Sequence[Fault], fault: Fault) -> Candidate:
    both = (*faults, fault)
    return Candidate(reading, both, _player(reference, reading, both))


def _pairs(
    reference: Reference, faults: Sequence[Fault], begun: Sequence[tuple[int, Candidate]], until: float
) -> Iterator[Candidate]:
    """Pairs of faults that do not concern noise, each once. Pairs of which one fault explains first rounds come first.
    Ends at the time ``until``."""
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
        yield _both(reference, reference.readings[0], [one], other)
