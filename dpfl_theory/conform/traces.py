"""What a round shows besides its result: the points at which each client takes gradients, and its random choices.

Two rounds that agree in these points agree in their local steps, whatever the server does with the messages. So the
local steps and the server's step are compared separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.conform.probes import DOUBLE, PATH, Memory, Path, chosen
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.world import Call, Client
from dpfl_theory.problems.base import Array

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


def observed_choices(player: Player, path: Path) -> list[dict[str, Any]]:
    """A function's choices in the rounds of a path (`probes.chosen`), with the points at which clients take
    gradients and the numbers of their local steps."""
    found = chosen(player, path)
    log: list[Call] = []
    on = replace(path.world, log=log)
    w, state, clients, rng = on.start, None, on.clients(), RecordingGenerator(on.seed).use_means()
    for k, cohort in enumerate(path.who):
        log.clear()
        w, state = player(w, state, clients, cohort, rng, {**path.v, "number": k})
        points, batches = points_of(log), found[k]["batches"]
        found[k] |= {
            "points": points,
            "steps": {i: max(len(own), len(batches.get(i, ()))) for i, own in points.items()},
        }
    if float(path.v.get("p", 1.0)) < 1.0 and all(choices["moved"] for choices in found):
        log.clear()
        player(w, state, clients, path.who[-1], rng, {**path.v, "number": len(path.who)})
        after = [*(choices["points"] for choices in found[1:]), points_of(log)]
        for choices, points in zip(found, after):
            choices["moved"] = _together(points)
    return found


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
