"""What a round shows besides its result: the points at which each client takes gradients, and its random choices.

Two rounds that agree in these points agree in their local steps, whatever the server does with the messages. So the
local steps and the server's step are compared separately.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.conform.probes import DOUBLE, PATH, Memory, Path
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.world import Call, Client, Records, World
from dpfl_theory.problems.base import Array

Batch = tuple[int, ...]
Points = Mapping[int, Array]
"""The points (m, d) at which each client takes gradients, in order; a point that follows itself counts once."""


def points_of(log: Sequence[Call]) -> Points:
    """The points of a round's calls."""
    found: dict[int, list[Array]] = {}
    for call in log:
        if call.batch == ():  # nothing was asked
            continue
        own = found.setdefault(call.client, [])
        if not own or not np.array_equal(own[-1], call.w):
            own.append(call.w)
    return {i: np.array(own) for i, own in found.items()}


def same_points(start: Array, seen: Points, expected: Points) -> bool:
    """Whether the clients take their gradients at the same points, up to rounding."""
    if seen.keys() != expected.keys() or any(len(seen[i]) != len(expected[i]) for i in seen):
        return False
    for i, own in seen.items():
        off = np.abs(own - expected[i]).max(initial=0.0)
        scale = np.abs(expected[i] - start).max(initial=0.0)
        if not off <= PATH * scale + DOUBLE * np.abs(own).max(initial=0.0):
            return False
    return True


def first_local_steps(start: Array, one: Points, other: Points) -> tuple[Points, Points]:
    """The points before and after the first local step of clients that start at w (d,) in both rounds, as far as both
    have these. Where a client starts depends on the steps of others, if it does not start at w."""
    both = {
        i: 2 if min(len(one[i]), len(other[i])) > 1 else 1
        for i in one.keys() & other.keys()
        if np.array_equal(one[i][0], start) and np.array_equal(other[i][0], start)
    }
    return {i: one[i][:many] for i, many in both.items()}, {i: other[i][:many] for i, many in both.items()}


def chosen(player: Player, path: Path) -> list[dict[str, Any]]:
    """A player's random choices in the rounds of a path: whether a coin lets w move, and each client's batches of
    records; with the points at which clients take gradients, the numbers of their local steps, and whether the player
    asks for mean gradients."""
    found, rng = list[dict[str, Any]](), RecordingGenerator(path.world.seed).use_means()
    log = _Log(rng)
    on = replace(path.world, log=log)
    w, state, clients, single = on.start, None, on.clients(), True
    for k, cohort in enumerate(path.who):
        log.clear()
        log.numbers.clear()
        after, state = player(w, state, clients, cohort, rng, {**path.v, "number": k})
        still = any(np.array_equal(after, one) for one in (w, w.astype(np.float32)))
        moved = path.v.get("p", 1.0) == 1.0 or not still  # without a coin every round communicates
        points, batches = points_of(log), _batches(on, log)
        asked = any(not call.apart for call in log)
        steps = _steps(log, points, batches)
        found.append({"moved": moved, "batches": batches, "points": points, "steps": steps, "asked": asked})
        w, single = after, single and _is_single(log)
    if single:
        _count_records_once(on, found)
    if float(path.v.get("p", 1.0)) < 1.0 and all(choices["moved"] for choices in found):
        log.clear()
        player(w, state, clients, path.who[-1], rng, {**path.v, "number": len(path.who)})
        after_each = [*(choices["points"] for choices in found[1:]), points_of(log)]
        for choices, points in zip(found, after_each):
            choices["moved"] = _together(points)
    return found


def _steps(log: Sequence[Call], points: Points, batches: Mapping[int, Sequence[Any]]) -> dict[int, int]:
    """The number of each client's local steps. One that stays where it starts takes a step with each call, where the
    others ask once at each point."""
    calls = Counter(call.client for call in log if call.batch != ())
    moving = [i for i, own in points.items() if len(own) > 1]
    once = bool(moving) and all(calls[i] == len(points[i]) for i in moving)
    resting = {i for i, own in points.items() if len(own) == 1} if once else set[int]()
    return {i: max(calls[i] if i in resting else len(own), len(batches.get(i, ()))) for i, own in points.items()}


class _Log(list[Call]):
    """Calls, with the count of noise numbers drawn before each."""

    def __init__(self, rng: RecordingGenerator) -> None:
        super().__init__()
        self.rng, self.numbers = rng, list[int]()

    def append(self, call: Call) -> None:
        super().append(call)
        self.numbers.append(self.rng.numbers)


def _is_single(log: _Log) -> bool:
    """Whether each call is for one record."""
    return all(call.batch is not None and len(call.batch) == 1 for call in log)


def _count_records_once(on: World, found: Sequence[dict[str, Any]]) -> None:
    """Where every record of every batch was asked for equally often, a function asked for each of them again: first
    for its gradient's norm. Records that are drawn with replacement come once and twice. The batches of a client whose
    gradients are all zero are unknown then, and have no effect."""
    moving = []
    for choices in found:
        for i, own in choices["batches"].items():
            every = tuple(range(len(on.records[i].y)))
            if _moves(on.records[i], choices["points"][i][0], every):
                moving.append((choices, i, own))
    counts = {count for *_, own in moving for batch in own for count in Counter(batch).values()}
    if len(counts) != 1 or counts == {1}:
        return
    for choices in found:
        choices["batches"] = {}
    for choices, i, own in moving:
        choices["batches"][i] = [tuple(dict.fromkeys(batch)) for batch in own]


def _batches(on: World, log: _Log) -> dict[int, list[Batch]]:
    """Each client's batches of records. A function may take a batch in parts: successive calls at one point, with no
    noise in between. They are one batch if they ask for single gradients, or if every call is for one record."""
    batches: dict[int, list[tuple[Call, Batch]]] = {}
    single = _is_single(log)
    last: tuple[Call, int] | None = None
    for call, numbers in zip(log, log.numbers):
        if call.batch is None:
            continue
        own = batches.setdefault(call.client, [])
        parts = last is not None and last[1] == numbers and (single or (last[0].apart and call.apart))
        if parts and last is not None and _one_batch(on, last[0], call, own[-1][1] if own else (), single):
            own[-1] = call, own[-1][1] + call.batch
        else:
            own.append((call, call.batch))
        last = call, numbers
    return {i: _asked_once(on.records[i], own) for i, own in batches.items()}


def _asked_once(records: Records, own: Sequence[tuple[Call, Batch]]) -> list[Batch]:
    """The batches of a client, without repeats: a function may ask for single gradients twice at one point, for norms
    first. Where the first call would have moved the point, the second is no new batch."""
    found = [batch for _, batch in own[:1]]
    for (before, one), (now, two) in itertools.pairwise(own):
        same = np.array_equal(before.w, now.w) and sorted(one) == sorted(two)
        again = same and before.apart and now.apart
        if not again or not _moves(records, now.w, two):
            found.append(two)
    return found


def _moves(records: Records, w: Array, batch: Batch) -> bool:
    """Whether any record of a batch has a gradient other than zero at w."""
    x, y = records
    return bool(np.any(x[list(batch)] @ w != y[list(batch)]))


def _one_batch(on: World, one: Call, two: Call, before: Batch, single: bool) -> bool:
    """Whether two successive calls belong to one batch, of which ``before`` was taken: the point is the same, and the
    first part would have moved it. single: whether each call is for one record, which shows the batches also where
    nothing moves."""
    if one.client != two.client or not np.array_equal(one.w, two.w) or two.batch is None:
        return False
    records = on.records[two.client]
    if single:
        return two.batch[0] not in before or _moves(records, two.w, tuple(range(len(records.y))))
    return not {*two.batch} & {*before} and _moves(records, two.w, before)


def _together(points: Points) -> bool:
    """Whether all clients start a round at one point, as after a communication. This shows rounds with a communication
    where w moves in all rounds."""
    starts = [own[0] for own in points.values()]
    return all(np.array_equal(one, starts[0]) for one in starts)


class _Silent:
    """The generator of a round without noise; a real one is made where something else is drawn."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def normal(self, mean: Any = 0.0, deviation: Any = 1.0, size: Any = None) -> Any:
        return float(mean) if size is None else np.full(size, mean, dtype=np.float64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @cached_property
    def _real(self) -> RecordingGenerator:
        return RecordingGenerator(self._seed).use_means()


@dataclass
class FirstRound:
    """The first round of a path, to be played by many candidates. choices: the function's;  w (d,): where the function
    ends."""

    path: Path
    choices: Sequence[Mapping[str, Any]] | None
    w: Array
    _log: list[Call] = field(default_factory=list)
    _memory: Memory = field(default_factory=Memory, repr=False)

    @property
    def points(self) -> Points:
        """Where the function takes gradients."""
        found: Points = self.choices[0]["points"] if self.choices else {}
        return found

    @cached_property
    def _values(self) -> dict[str, Any]:
        return {**self.path.v, "number": 0, **(self.choices[0] if self.choices else {})}

    @cached_property
    def _clients(self) -> list[Client]:
        return replace(self.path.world, log=self._log).quick_clients

    def play(self, player: Player, ends: list[Any] | None = None) -> Array:
        """w (d,) after the round. ends: those of the local steps, in their order, which are read instead of computed;
        an empty list is filled."""
        self._log.clear()
        v = self._values if ends is None else {**self._values, "ends": ends}
        w, _ = player(self.path.world.start, None, self._clients, self.path.who[0], _Silent(self.path.world.seed), v)
        return w

    def both(self, player: Player) -> tuple[Array, Points]:
        """w after the round, and the points at which a candidate takes gradients."""

        def played() -> tuple[Array, Points]:
            return self.play(player), points_of(self._log)

        found: tuple[Array, Points] = self._memory.of(player, None, played)
        return found
