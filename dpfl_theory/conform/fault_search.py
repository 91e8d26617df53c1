"""Search for players that agree with the function: readings, and sets of up to three known faults."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.conform.probes import Path, Spread, agree
from dpfl_theory.conform.references import NOISE, Player, Reference, Values
from dpfl_theory.conform.traces import FirstRound, Points, first_local_steps, same_points
from dpfl_theory.core.algorithm import Extends, Fault, Reading
from dpfl_theory.problems.base import Array

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
ROUNDS, FEWER_ROUNDS = 7000, 2500
"""How many rounds a search plays at most for several faults together, and in each of several algorithms. Single faults,
in addition to those that act earlier, get half of it more. These are counts, so that results are the same on all
machines."""
FIRST_PATHS = 3
"""The number of paths on which a search begins. Others are added where they refute what explains these."""
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

    @property
    def path(self) -> Path:
        """The path of the probe."""
        return self.probe.path if isinstance(self.probe, Spread) else self.probe

    @property
    def hidden(self) -> bool:
        """Whether it is unknown which records the function used. A part s is drawn, or batches of B, and it asked for
        no mean of gradients, or for single ones of all records."""
        v, most = self.probe.v, max(len(own.y) for own in self.path.world.records)
        drawn = float(v.get("s", 1.0)) < 1.0
        if 0 < v.get("B", 0) < most:
            drawn = not any(reported["asked"] for reported in self.choices or ())
        return drawn and bool(self.choices) and not any(reported["batches"] for reported in self.choices or ())

    @cached_property
    def first(self) -> FirstRound:
        """The first round of a path, to be played by candidates."""
        assert isinstance(self.probe, Path)
        return FirstRound(self.probe, self.choices, self.value[0])


@dataclass(frozen=True)
class Candidate:
    """A round that might be the function's: its faults and its reading."""

    reading: Reading
    faults: tuple[Fault, ...]
    player: Player


def explains(player: Player, seen: Iterable[ObservedDifference]) -> bool:
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
    unaccounted=True,
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


class Search:
    """The search for the suspects with the fewest faults, one number of faults after the other.

    It begins on a few paths. Where a suspect fails on another path, that path is added and the search begins again. So
    it comes to the suspects that explain all paths, and most candidates are played on a few of them only. paths: may
    be extended between calls.
    """

    def __init__(self, reference: Reference, paths: Sequence[ObservedDifference], rounds: int = ROUNDS) -> None:
        self.reference, self.paths, self._left = reference, list(paths), _Left(rounds, -rounds // 2)
        step = max(1, (len(paths) - 1) // max(1, FIRST_PATHS - 1))
        self.few = self.paths[::step][:FIRST_PATHS]
        self._made: dict[bool, list[_Search]] = {}

    def go_on(self, paths: Sequence[ObservedDifference]) -> None:
        """Play as many rounds as a search may, on these paths; from the beginning if it had ended since no
        rounds were left."""
        self.paths = list(paths)
        if self._left.rounds <= 0:
            self._made.clear()
        self._left = _Left(ROUNDS, -ROUNDS // 2)
        for one in itertools.chain(*self._made.values()):
            one.left = self._left

    @cached_property
    def turns(self) -> tuple[bool, ...]:
        """Whether sets may have general faults, whose numbers are those that were observed, in each turn of the
        search: first not, unless clients take steps of their own."""
        if _own_steps(self.paths):
            return (True,)
        shown = any(fault.general for one in self.searches(True) for fault in itertools.chain(*one.kinds))
        return (False, True) if shown else (False,)

    @property
    def passes(self) -> list[tuple[bool, bool]]:
        """What is tried one after the other: in each turn, also sets with one fault more than the fewest that explain
        the local steps, or first rounds."""
        return list(itertools.product(self.turns, (False, True)))

    def searches(self, general: bool) -> list[_Search]:
        """The searches on few paths, one for each reading."""
        if general not in self._made:
            faults = [one for one in self.reference.faults() if general or not one.general]
            readings = self.reference.readings
            self._made[general] = [_Search(self.reference, one, faults, self.few, self._left) for one in readings]
        return self._made[general]

    def found(self, general: bool, more: bool, size: int) -> list[Candidate]:
        """The suspects with at most this number of faults that explain all paths: those with the fewest."""
        while True:
            found = list[Candidate]()
            for fewer in range(size + 1):
                found = found or [suspect for one in self.searches(general) for suspect in one.whole(fewer, more)]
            known = {id(one) for one in self.few}
            for one in self.paths:
                if id(one) not in known and not all(explains(suspect.player, [one]) for suspect in found):
                    self.few = [*self.few, one]
                    self._made.clear()
                    break
            else:
                return found

    def progress(self, general: bool, most: int) -> tuple[int, int]:
        """How far sets with at most this number of faults explain first rounds: the number of levels (first local
        steps, all local steps, first rounds), and minus the fewest faults that these take."""
        best = (0, 0)
        for one in self.searches(general):
            one.more = False
            for level, of in enumerate((one.first_steps, one.local, one.first_rounds), 1):
                best = max([best, *((level, -size) for size in range(most + 1) if of(size))])
        return best

    def silent(self) -> list[Fault]:
        """The faults that no path shows."""
        one = self.searches(self.passes[-1][0])[0]
        return [fault for fault in one.silent if self._nowhere(one, fault)]

    def _nowhere(self, one: _Search, fault: Fault) -> bool:
        plain, player = one.player(()), one.player((fault.variants()[0],))
        try:
            return all(
                agree(path.probe, path.probe.outcome(player, path.choices), path.probe.outcome(plain, path.choices))
                for path in self.paths
            )
        except FAILURES:
            return False


def find(reference: Reference, seen: Sequence[ObservedDifference], earlier: Search | None = None) -> SearchResult:
    """The suspects with the fewest faults that agree with the function. earlier: a search on some of these paths, which
    goes on."""
    paths = [one for one in seen if isinstance(one.probe, Path)]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    if earlier is not None and {id(one) for one in earlier.paths} <= {id(one) for one in paths}:
        search = earlier
        search.go_on(paths)
    else:
        search = Search(reference, paths)
    for general, more in search.passes:
        for size in range(MOST + 1):
            if found := search.found(general, more, size):
                named = [one for one in found if not any(fault.general for fault in one.faults)]
                return _with_noise(reference, named or found, spreads, search.silent)
    return _partly(search)


def _own_steps(paths: Sequence[ObservedDifference]) -> bool:
    """Whether clients draw batches, or take different numbers of local steps."""
    for one in paths:
        start, clients = one.first.path.world.start, one.first.path.world.clients()
        resting = {i for i, client in enumerate(clients) if not client.gradient(start).any()}
        for choices in one.choices or ():
            steps = {many for i, many in choices["steps"].items() if many > 1 or i not in resting}
            if choices["batches"] or len(steps) > 1:
                return True
    return False


def _with_noise(
    reference: Reference,
    silent: Sequence[Candidate],
    spreads: Sequence[ObservedDifference],
    unseen: Callable[[], Sequence[Fault]],
) -> SearchResult:
    """The suspects that also explain the noise, alone or with a fault that concerns it. unseen: faults that paths
    without noise do not show."""
    if whole := tuple(suspect for suspect in silent if explains(suspect.player, spreads)):
        return SearchResult(whole, tuple(silent))
    of_noise = [x for fault in reference.faults() for x in fault.variants() if fault.role == "noise"]
    of_noise += [fault for fault in unseen() if fault.role != "noise"]
    of_noise += [AGAIN] if reference.unit else []
    more = [
        candidate(reference, one.reading, (*one.faults, fault))
        for one in silent
        for fault in of_noise
        if compatible((*one.faults, fault))
    ]
    found = [one for one in more if explains(one.player, spreads)]
    return SearchResult(tuple(found or _by_settings(reference, more, spreads)), tuple(silent))


def _by_settings(
    reference: Reference, more: Sequence[Candidate], spreads: Sequence[ObservedDifference]
) -> list[Candidate]:
    """The suspects with two faults of the noise, each of which explains some settings alone: the values of some
    hyper-parameters hide one of them."""
    settings = {id(one.probe.v): [other for other in spreads if other.probe.v is one.probe.v] for one in spreads}
    if len(settings) < 2:
        return []
    shown = [(one, {key for key, own in settings.items() if explains(one.player, own)}) for one in more]
    pairs = (
        (one, (*one.faults, other.faults[-1]))
        for (one, here), (other, there) in itertools.combinations([pair for pair in shown if pair[1]], 2)
        if one.reading is other.reading and one.faults[:-1] == other.faults[:-1] and here | there == settings.keys()
    )
    # AGAIN repeats whole rounds, so that it hides what other faults do in later ones
    both = [candidate(reference, one.reading, few) for one, few in pairs if AGAIN not in few and compatible(few)]
    return [one for one in both if explains(one.player, spreads)]


def _partly(search: Search) -> SearchResult:
    """The suspects with the fewest faults that explain the first round of all paths, and how many rounds they explain;
    or those that explain only the local steps."""
    every = [(one, more) for general, more in search.passes for one in search.searches(general)]
    suspects = _fewest(every, _Search.first_rounds)
    found = [(leading(one.player, search.paths), one) for one in suspects]
    if most := max((far for far, _ in found), default=0):
        return SearchResult(partly=tuple(one for far, one in found if far == most), rounds=most)
    local = _fewest([(one, more) for one, more in every if one.seen], _Search.local)
    return SearchResult(local=tuple(one for one in local if all(_same_steps(one.player, x) for x in search.paths)))


def _fewest(
    searches: Sequence[tuple[_Search, bool]], of: Callable[[_Search, int], list[tuple[Fault, ...]]]
) -> list[Candidate]:
    """The suspects with the fewest faults that explain a part of all rounds."""
    found = list[Candidate]()
    for size in range(MOST + 1):
        for one, more in searches if not found else ():
            one.more = more
            found += [candidate(one.reference, one.reading, faults) for faults in of(one, size)]
    return found


def _same_steps(player: Player, one: ObservedDifference) -> bool:
    """Whether the local steps of the first round are the function's."""
    return same_points(one.first.path.world.start, one.first.points, one.first.both(player)[1])


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
    None where it cannot be a small one; rounds: the number of rounds that it plays."""

    agrees: Callable[[Player, int], bool]
    off: Callable[[Player, int], Array | None]
    rounds: int = 1


@dataclass
class _Left:
    """How many rounds a search may still play; below 0, until ``end``, only for single faults."""

    rounds: int
    end: int


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
        left: _Left,
    ) -> None:
        self.reference, self.reading, self.paths, self.left = reference, reading, paths, left
        self.firsts = [one.first for one in paths]
        self.seen = any(first.points for first in self.firsts)
        """Whether the points of the function are known: not where it reads the records itself."""
        self._faults = faults
        self.silent: list[Fault] = []
        """The faults that these paths do not show."""
        self.more = False
        """Whether a set may have one fault more than the fewest that explain the local steps, or first rounds."""
        self._known: dict[tuple[str, int, bool], list[tuple[Fault, ...]]] = {}
        self._least = 0
        """The number of rounds that a search for several faults together leaves."""
        self._fewest: dict[tuple[str, int], int] = {}
        """How many faults extend a set at least, by what they explain and the set."""

    def player(self, faults: Sequence[Fault]) -> Player:
        """The round with these faults."""
        return candidate(self.reference, self.reading, faults).player

    @cached_property
    def kinds(self) -> list[list[Fault]]:
        """The faults that act first on the first local step, on later ones, on the first round, and later."""
        kinds: list[list[Fault]] = [[] for _ in (FIRST_STEP, LOCAL_STEPS, ROUND, LATER)]
        self.silent = []
        plain = self.player(())
        own = [first.both(plain) for first in self.firsts]
        whole = [one.probe.outcome(plain, one.choices) for one in self.paths]
        for fault in self._faults:
            if fault.parts.keys() <= NOISE:
                continue
            try:
                kind = self._kind(self.player((fault.variants()[0],)), own, whole)
            except FAILURES:
                continue
            (self.silent if kind is None else kinds[kind]).append(fault)
        return kinds

    def _kind(self, player: Player, own: Sequence[Any], whole: Sequence[Array]) -> int | None:
        kind = None
        for first, one, (w, points), path in zip(self.firsts, self.paths, own, whole):
            moved, asked = first.both(player)
            if self.seen and not same_points(
                first.path.world.start, *first_local_steps(first.path.world.start, asked, points)
            ):
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
        key = (of, size, self.more)
        if key not in self._known:
            found = self._known[key] = list[tuple[Fault, ...]]()
            for early in range(size + 1):
                more, known = size - early, dict[Any, list[tuple[Fault, ...]]]()
                sets = [(one, self._fewest.get((of, id(one)), more)) for one in before(early)]
                sets = [(one, least) for one, least in sets if more == least or (self.more and 0 < least == more - 1)]
                groups = [self._first_ends(one) if kind == ROUND and more else id(one) for one, _ in sets]
                for at, (faults, _) in enumerate(sets):
                    others = len({*groups[at:]} - known.keys())  # which have their share of the rounds
                    self._least = self.left.rounds - self.left.rounds // max(others, 1)
                    if groups[at] in known:
                        few = [one for one in known[groups[at]] if self._agrees((*faults, *one), level(faults))]
                    else:
                        few = known[groups[at]] = self._matching(faults, self.kinds[kind], more, level(faults))
                    found += [(*faults, *one) for one in few]
                    if few:
                        self._fewest.setdefault((of, id(faults)), more)
        return self._known[key]

    def _first_ends(self, faults: tuple[Fault, ...]) -> tuple[bytes, ...]:
        """w after all first rounds: the same for faults that only differ later, such as momentum that is kept."""
        player = self.player(faults)
        return tuple(first.both(player)[0].tobytes() for first in self.firsts)

    def first_steps(self, size: int) -> list[tuple[Fault, ...]]:
        """The sets of this size that explain the first local step of all first rounds."""
        if not self.seen:
            return nothing(size)
        return self._extended("first step", size, nothing, FIRST_STEP, lambda _: self._local_steps(first_local_steps))

    def local(self, size: int) -> list[tuple[Fault, ...]]:
        """The sets of this size that explain the local steps of all first rounds."""
        if not self.seen:
            return nothing(size)
        every = self._local_steps(lambda start, own, seen: (own, seen))
        return self._extended("local steps", size, self.first_steps, LOCAL_STEPS, lambda _: every)

    def first_rounds(self, size: int) -> list[tuple[Fault, ...]]:
        """The sets of this size that explain the first round of all paths."""
        return self._extended("first round", size, self.local, ROUND, self._first_round)

    def whole(self, size: int, more: bool) -> list[Candidate]:
        """The sets of this size that explain all rounds of all paths. more: whether they may have one fault more than
        the fewest that explain the local steps, or first rounds."""
        self.more = more
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
                first.play(self.player(local), ends[k])
        return _Level(agrees, off)

    @property
    def _all_rounds(self) -> _Level:
        def off(player: Player, k: int) -> Array:
            one = self.paths[k]
            return np.asarray(one.probe.outcome(player, one.choices) - one.value).ravel()

        return _Level(lambda player, k: explains(player, [self.paths[k]]), off, len(self.paths[0].value))

    def _matching(
        self, given: tuple[Fault, ...], faults: Sequence[Fault], size: int, level: _Level
    ) -> list[tuple[Fault, ...]]:
        """The sets of this size that agree with the function together with the given faults. Free numbers are fitted
        where no usual number agrees."""
        fixed, families = ([one for one in faults if (one.sized is None) == plain] for plain in (True, False))
        known = [one for fault in faults for one in fault.variants()] if size == 1 else fixed
        least = max(self._least, 0) if size > 1 else self.left.end  # single faults are sought some time longer
        found = [more for more in self._sets(known, size, least) if self._agrees((*given, *more), level)]
        for free in range(1, min(size, FREE) + 1) if not found else ():
            for own in self._sets(families, free, least):
                for more in self._sets(fixed, size - free, least):
                    fitted = self._fitted((*given, *more), own, level) if compatible((*given, *more, *own)) else None
                    found += [] if fitted is None else [(*more, *fitted)]
            if found:
                break
        return found

    def _sets(self, faults: Sequence[Fault], size: int, least: int) -> Iterator[tuple[Fault, ...]]:
        """The sets of this size, as long as more than the least number of rounds is left. Those of the first faults
        come first: an algorithm's own ones stand before those of all averages."""
        for k in range(len(faults)) if size else ():
            for few in itertools.combinations(faults[:k], size - 1):
                if self.left.rounds <= least:
                    return
                yield (*few, faults[k])
        if not size and self.left.rounds > least:
            yield ()

    def _agrees(self, faults: tuple[Fault, ...], level: _Level) -> bool:
        if not compatible(faults):
            return False
        player = self.player(faults)
        self.left.rounds -= level.rounds
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
            player = self.player((*given, *of(numbers)))
            self.left.rounds -= level.rounds
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
                if not np.isfinite(slopes).all():  # LAPACK would print of it
                    return None
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
