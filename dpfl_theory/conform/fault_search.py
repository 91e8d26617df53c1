"""Search for players that agree with the function: readings, and sets of up to three known faults."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.conform.probes import Path, Spread, agree
from dpfl_theory.conform.references import NOISE, Player, Reference, Values
from dpfl_theory.conform.traces import FirstRound, Points, begun, same_points
from dpfl_theory.core.algorithm import Extends, Fault, Reading
from dpfl_theory.problems.base import Array

__all__ = ["FAILURES", "Candidate", "ObservedDifference", "SearchResult", "explains", "find", "leading", "repeating"]


MOST, FREE = 4, 2
"""The largest number of faults that are sought together, besides one that concerns only noise; and how many of those
that act first in the same way have free numbers."""
_STEPS = 12
"""Number of Newton steps to unknown numbers; each squares the error where the result depends smoothly on them."""
_SLOW = 0.7
"""The share of the difference that a Newton step leaves at most where numbers explain the result."""
_EXACT = 1e-11
"""The share of the largest difference at usual numbers below which a usual number is exact, up to rounding."""
_NEAR = 1e-3
"""The share of the first difference that remains where numbers explain the result at all."""
CLOCK = 8
"""The clock is read once for this number of sets, since this is slow on some machines."""
FIRST_STEP, LOCAL_STEPS, ROUND, LATER = range(4)
"""What a fault acts on first."""
FAILURES = (ArithmeticError, ValueError, KeyError, TypeError, IndexError, AttributeError)
"""Errors of candidates whose parts do not fit together."""


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
        except FAILURES:
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


@dataclass(frozen=True)
class SearchResult:
    """The suspects found, with as few faults as possible.

    whole: those that agree with the function everywhere; silent: where the noise is silent; partly: those that explain
    the most first rounds of all paths, and rounds: the number of these; local: where there are none, those that explain
    the local steps of first rounds.
    """

    whole: tuple[Candidate, ...] = ()
    silent: tuple[Candidate, ...] = ()
    partly: tuple[Candidate, ...] = ()
    rounds: int = 0
    local: tuple[Candidate, ...] = ()


def leading(player: Player, paths: Sequence[ObservedDifference]) -> int:
    """The number of first rounds in which w moves that a player explains in every path; -1 for all rounds."""
    fewest, whole = 10**9, True
    for one in paths:
        assert isinstance(one.probe, Path)
        try:
            value = one.probe.outcome(player, one.choices)
        except FAILURES:
            return 0
        if agree(one.probe, one.value, value):
            continue
        whole, moved = False, one.probe.moves(one.value)
        right = next(k for k in range(len(value)) if not agree(one.probe, one.value[: k + 1], value[: k + 1]))
        fewest = min(fewest, sum(moved[:right]))
        if fewest == 0:
            return 0
    return -1 if whole else fewest


def find(reference: Reference, seen: Sequence[ObservedDifference], seconds: float, most: int = MOST) -> SearchResult:
    """The suspects with the fewest faults that agree with the function. The search in paths takes at most this
    processor time in seconds, and once more with general deviations, whose numbers are those that were observed."""
    paths = [one for one in seen if isinstance(one.probe, Path)]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    known = reference.faults()
    special = [one for one in known if not one.general]
    searches = list[_Search]()
    for faults in (known,) if len(special) == len(known) or _own_steps(paths) else (special, known):
        until = time.process_time() + seconds
        searches = [_Search(reference, reading, faults, paths, until) for reading in reference.readings]
        for more, size in itertools.product((False, True), range(most + 1)):
            if found := [suspect for search in searches for suspect in search.whole(size, more)]:
                named = [one for one in found if not any(fault.general for fault in one.faults)]
                return _with_noise(reference, named or found, spreads, searches[0].silent)
    return _partly(searches, paths)


def _own_steps(paths: Sequence[ObservedDifference]) -> bool:
    """Whether clients draw batches, or take different numbers of local steps."""
    rounds = [choices for one in paths for choices in one.choices or ()]
    return any(choices["batches"] or len(set(choices["steps"].values())) > 1 for choices in rounds)


def _with_noise(
    reference: Reference,
    silent: Sequence[Candidate],
    spreads: Sequence[ObservedDifference],
    unseen: Sequence[Fault],
) -> SearchResult:
    """The suspects that also explain the noise, alone or with a fault that concerns it. unseen: faults that paths
    without noise do not show."""
    of_noise = [x for fault in reference.faults() for x in fault.variants() if fault.role == "noise"]
    of_noise += [fault for fault in unseen if fault.role != "noise"]
    of_noise += [AGAIN] if reference.unit else []
    for suspects in (
        silent,
        (
            candidate(reference, one.reading, (*one.faults, fault))
            for one in silent
            for fault in of_noise
            if compatible((*one.faults, fault))
        ),
    ):
        if whole := tuple(suspect for suspect in suspects if explains(suspect.player, spreads)):
            return SearchResult(whole, tuple(silent))
    return SearchResult(silent=tuple(silent))


def _partly(searches: Sequence[_Search], paths: Sequence[ObservedDifference]) -> SearchResult:
    """The suspects with the fewest faults that explain the first round of all paths, and how many rounds they explain;
    or those that explain only the local steps."""
    begun: list[Candidate] = []
    for size in range(MOST + 1):
        begun = begun or [
            candidate(one.reference, one.reading, faults) for one in searches for faults in one.first_rounds(size)
        ]
    found = [(leading(one.player, paths), one) for one in begun]
    if most := max((far for far, _ in found), default=0):
        return SearchResult(partly=tuple(one for far, one in found if far == most), rounds=most)
    for size in range(MOST + 1):
        local = [candidate(x.reference, x.reading, faults) for x in searches if x.seen for faults in x.local(size)]
        if local:
            return SearchResult(local=tuple(local))
    return SearchResult()


def candidate(reference: Reference, reading: Reading, faults: Sequence[Fault]) -> Candidate:
    """The round of a reading with these faults."""
    player = reference.with_parts(reading.parts, *(fault.parts for fault in faults)).round
    return Candidate(reading, tuple(faults), repeating(player) if AGAIN in faults else player)


def compatible(faults: Sequence[Fault]) -> bool:
    """Whether faults can occur together: no two replace the same part, so that one of them would be lost."""
    return not any(
        one is other
        or one.name == other.name
        or any(
            not isinstance(one.parts[name], Extends) and not isinstance(other.parts[name], Extends)
            for name in one.parts.keys() & other.parts.keys()
        )
        for one, other in itertools.combinations(faults, 2)
    )


@dataclass(frozen=True)
class _Level:
    """A comparison of candidates with the function, on all paths. agrees: on path number k; off: the difference there,
    None where it cannot be a small one."""

    agrees: Callable[[Player, int], bool]
    off: Callable[[Player, int], Array | None]


class _Search:
    """The search for sets of faults on paths, given a reading.

    A fault acts first on one of four things: the first local step (the points at which clients take gradients), later
    local steps, the server's vector after the first round, or later rounds. The smallest sets of these four kinds
    are found one after the other. So a set of three costs about as much as three sets of one.
    """

    def __init__(
        self,
        reference: Reference,
        reading: Reading,
        faults: Sequence[Fault],
        paths: Sequence[ObservedDifference],
        until: float,
    ) -> None:
        self.reference, self.reading, self.paths, self.until = reference, reading, paths, until
        self.firsts = [FirstRound(one.probe, one.choices, one.value[0]) for one in paths if isinstance(one.probe, Path)]
        self.seen = all(first.points for first in self.firsts)
        """Whether the points of the function are known: not where it reads the records itself."""
        self._faults = faults
        self.silent: list[Fault] = []
        """The faults that these paths do not show."""
        self._more = False
        self._known: dict[tuple[str, int, bool], list[tuple[Fault, ...]]] = {}
        self._fewest: dict[tuple[str, int], int] = {}
        """How many faults extend a set at least, by what they explain and the set."""

    def _player(self, faults: Sequence[Fault]) -> Player:
        return candidate(self.reference, self.reading, faults).player

    @cached_property
    def _kinds(self) -> list[list[Fault]]:
        """The faults that act first on the first local step, on later ones, on the first round, and later."""
        kinds: list[list[Fault]] = [[] for _ in (FIRST_STEP, LOCAL_STEPS, ROUND, LATER)]
        self.silent = []
        plain = self._player(())
        own = [first.both(plain) for first in self.firsts]
        whole = [one.probe.outcome(plain, one.choices) for one in self.paths]
        for fault in self._faults:
            if fault.parts.keys() <= NOISE:
                continue
            try:
                kind = self._kind(self._player((fault.variants()[0],)), own, whole)
            except FAILURES:
                continue
            (self.silent if kind is None else kinds[kind]).append(fault)
        return kinds

    def _kind(self, player: Player, own: Sequence[Any], whole: Sequence[Array]) -> int | None:
        kind = None
        for first, one, (w, points), path in zip(self.firsts, self.paths, own, whole):
            moved, asked = first.both(player)
            if self.seen and not same_points(first.path.world.start, *begun(first.path.world.start, asked, points)):
                return FIRST_STEP
            if self.seen and not same_points(first.path.world.start, asked, points):
                kind = LOCAL_STEPS
            elif kind != LOCAL_STEPS and not agree(first.path.first, moved[None], w[None]):
                kind = ROUND
            elif kind is None and not agree(one.probe, one.probe.outcome(player, one.choices), path):
                kind = LATER
            if kind == ROUND and not self.seen:
                break
        return kind

    def _extended(
        self,
        of: str,
        size: int,
        before: Callable[[int], list[tuple[Fault, ...]]],
        kind: int,
        level: Callable[[tuple[Fault, ...]], _Level],
    ) -> list[tuple[Fault, ...]]:
        """The sets of this size that consist of one that explains less and of the fewest faults of this kind; or one
        more than the fewest, where that is wanted, since momentum alone may explain two local steps, where a third one
        shows another cause, too. Those with the fewest faults that act early come first."""
        key = (of, size, self._more)
        if key not in self._known:
            found = self._known[key] = list[tuple[Fault, ...]]()
            for early in range(size + 1):
                for faults in before(early):
                    fewest = self._fewest.get((of, id(faults)), size - early)
                    if size - early == fewest or (self._more and 0 < fewest == size - early - 1):
                        few = self._matching(faults, self._kinds[kind], size - early, level(faults))
                        found += [(*faults, *one) for one in few]
                        if few:
                            self._fewest.setdefault((of, id(faults)), size - early)
        return self._known[key]

    def first_steps(self, size: int) -> list[tuple[Fault, ...]]:
        """The sets of this size that explain the first local step of all first rounds."""
        if not self.seen:
            return [()] if size == 0 else []
        return self._extended("first step", size, nothing, FIRST_STEP, lambda _: self._local_steps(begun))

    def local(self, size: int) -> list[tuple[Fault, ...]]:
        """The sets of this size that explain the local steps of all first rounds."""
        if not self.seen:
            return [()] if size == 0 else []
        every = self._local_steps(lambda start, own, seen: (own, seen))
        return self._extended("local steps", size, self.first_steps, LOCAL_STEPS, lambda _: every)

    def first_rounds(self, size: int) -> list[tuple[Fault, ...]]:
        """The sets of this size that explain the first round of all paths."""
        return self._extended("first round", size, self.local, ROUND, self._first_round)

    def whole(self, size: int, more: bool) -> list[Candidate]:
        """The sets of this size that explain all rounds of all paths. more: whether they may have one fault more than
        the fewest that explain the local steps, or first rounds."""
        self._more = more
        sets = self._extended("all rounds", size, self.first_rounds, LATER, lambda _: self._all_rounds)
        return [candidate(self.reference, self.reading, faults) for faults in sets]

    def _local_steps(self, part: Callable[[Array, Points, Points], tuple[Points, Points]]) -> _Level:
        def off(player: Player, k: int) -> Array | None:
            own, seen = part(self.firsts[k].path.world.start, self.firsts[k].both(player)[1], self.firsts[k].points)
            if own.keys() != seen.keys() or any(len(own[i]) != len(seen[i]) for i in own):
                return None
            return np.concatenate([(own[i] - seen[i]).ravel() for i in own]) if own else None

        def agrees(player: Player, k: int) -> bool:
            own, seen = part(self.firsts[k].path.world.start, self.firsts[k].both(player)[1], self.firsts[k].points)
            return same_points(self.firsts[k].path.world.start, seen, own)

        return _Level(agrees, off)

    def _first_round(self, local: tuple[Fault, ...]) -> _Level:
        """The level of the first round, whose local steps are computed once."""
        ends: list[list[Any] | None] = [[] if self.seen else None for _ in self.firsts]

        def off(player: Player, k: int) -> Array:
            return self.firsts[k].play(player, ends[k]) - self.firsts[k].w

        def agrees(player: Player, k: int) -> bool:
            first = self.firsts[k]
            return agree(first.path.first, first.w[None], first.play(player, ends[k])[None])

        if self.seen:
            for k, first in enumerate(self.firsts):
                first.play(self._player(local), ends[k])
        return _Level(agrees, off)

    @property
    def _all_rounds(self) -> _Level:
        def off(player: Player, k: int) -> Array:
            one = self.paths[k]
            return np.asarray(one.probe.outcome(player, one.choices) - one.value).ravel()

        return _Level(lambda player, k: explains(player, [self.paths[k]]), off)

    def _matching(
        self, given: tuple[Fault, ...], faults: Sequence[Fault], size: int, level: _Level
    ) -> list[tuple[Fault, ...]]:
        """The sets of this size that agree with the function together with the given faults. Free numbers are fitted
        where no usual number agrees."""
        fixed, families = ([one for one in faults if (one.sized is None) == plain] for plain in (True, False))
        known = [one for fault in faults for one in fault.variants()] if size == 1 else fixed
        found = [more for more in self._sets(known, size) if self._agrees((*given, *more), level)]
        for free in range(1, min(size, FREE) + 1) if not found else ():
            for own in self._sets(families, free):
                for more in self._sets(fixed, size - free):
                    fitted = self._fitted((*given, *more), own, level) if compatible((*given, *more, *own)) else None
                    found += [] if fitted is None else [(*more, *fitted)]
            if found:
                break
        return found

    def _sets(self, faults: Sequence[Fault], size: int) -> Iterator[tuple[Fault, ...]]:
        """The sets of this size, until the time is up. Single faults do not depend on the time."""
        for k, few in enumerate(itertools.combinations(faults, size)):
            if size > 1 and k % CLOCK == 0 and time.process_time() >= self.until:
                return
            yield few

    def _agrees(self, faults: tuple[Fault, ...], level: _Level) -> bool:
        if not compatible(faults):
            return False
        player = self._player(faults)
        try:
            return all(level.agrees(player, k) for k in reversed(range(len(self.firsts))))
        except FAILURES:
            return False

    def _fitted(self, given: tuple[Fault, ...], families: Sequence[Fault], level: _Level) -> tuple[Fault, ...] | None:
        """The families with the numbers that agree with the function, by the Gauss-Newton method from the best usual
        numbers; None where no numbers do."""

        def of(numbers: Array) -> tuple[Fault, ...]:
            return tuple(family.sized(float(x)) for family, x in zip(families, numbers))  # type: ignore[misc]

        def off(numbers: Array) -> Array:
            player = self._player((*given, *of(numbers)))
            found = level.off(player, 0)
            if found is None:
                raise ValueError("another number of local steps")
            return found

        few = [
            family.usual if len(families) == 1 else family.usual[:: max(len(family.usual) - 1, 1)]
            for family in families
        ]
        numbers = nearest(off, list(itertools.product(*few)))
        if numbers is None:
            return None
        found = of(numbers)
        return found if self._agrees((*given, *found), level) else None


def nothing(size: int) -> list[tuple[Fault, ...]]:
    """The sets of this size that explain nothing: the empty one."""
    return [()] if size == 0 else []


def nearest(off: Callable[[Array], Array], usual: Sequence[Sequence[float]]) -> Array | None:
    """The numbers at which a difference vanishes, by the Gauss-Newton method from the best usual ones; None where it
    does not come near zero, or where a number is not positive.

    >>> nearest(lambda x: x**3 - 0.125, [(1.0,), (2.0,)])
    array([0.5])
    >>> nearest(lambda x: x**3 - 0.125 + 1e-17, [(0.5,), (2.0,)])
    array([0.5])
    """
    try:
        with np.errstate(all="ignore"):
            tried = {tuple(x): off(np.array(x)) for x in usual}
            best = min(tried, key=lambda one: float(np.nan_to_num(np.linalg.norm(tried[one]), nan=np.inf)))
            numbers, now = np.array(best), tried[best]
            started = float(np.linalg.norm(now))
            if not np.isfinite(started):
                return None
            if started <= _EXACT * max(float(np.linalg.norm(one)) for one in tried.values()):
                return numbers if bool((numbers > 0.0).all()) else None
            for step in range(_STEPS):
                h = 1e-6 * np.maximum(np.abs(numbers), 1e-3)
                slopes = np.stack([(off(numbers + e) - now) / e.max() for e in np.diag(h)], axis=1)
                move = -np.linalg.lstsq(slopes, now, rcond=None)[0]
                before = float(np.linalg.norm(now))
                numbers, now = numbers + move, off(numbers + move)
                slow = step > 1 and float(np.linalg.norm(now)) > _SLOW * before
                if not np.isfinite(now).all() or slow or np.all(np.abs(move) <= 1e-10 * np.abs(numbers)):
                    break
            near = float(np.linalg.norm(now)) <= _NEAR * started and bool((numbers > 0.0).all())
    except (*FAILURES, np.linalg.LinAlgError):
        return None
    return numbers if near else None
