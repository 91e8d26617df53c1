"""Places that noise is drawn from: used once, used again, and the same in every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory.conform.rng_reuse import NoiseWatcher

Round = Callable[[int, Any, Callable[[str], Any]], Any]
"""(seed of the generator that it is given, state, draws noise from a place) -> state."""


def run(round_: Round, rounds: int = 2, rng: Any = None) -> tuple[list[list[Any]], list[str]]:
    """The draws of a round in each round of a run, and the findings. The library itself draws zeros."""
    watched, found = NoiseWatcher(), []
    rng = np.random.Generator(np.random.Philox(3)) if rng is None else rng
    state = None
    for _ in range(rounds):
        drawn: list[Any] = []

        def draw(place: str, drawn: list[Any] = drawn) -> Any:
            drawn.append(watched.normal(place.encode(), rng, np.zeros(2), lambda: rng.standard_normal(2)))
            return drawn[-1]

        watched.round(rng, state, lambda seed, state, draw=draw: round_(seed, state, draw))  # type: ignore[misc]
        drawn.clear()
        state = round_(int(rng.integers(2**40)), state, draw)
        found.append(drawn)
    return found, [finding.name for finding in watched.findings()]


def fresh(seed: int, state: Any, draw: Any) -> Any:
    draw(f"{seed} first")
    draw(f"{seed} second")
    return 1


def of_a_number(seed: int, state: Any, draw: Any) -> Any:
    draw("seed 0")
    draw(f"{seed}")
    return 1


def of_the_round(seed: int, state: Any, draw: Any) -> Any:
    count = state or 0
    draw(f"round {count}")
    return count + 1


def twice(seed: int, state: Any, draw: Any) -> Any:
    draw(f"{seed}")
    draw(f"{seed}")
    return 1


def kept(seed: int, state: Any, draw: Any) -> Any:
    state = seed if state is None else state
    draw(f"{state}")
    return state


def chained(seed: int, state: Any, draw: Any) -> Any:
    state = (seed, 0) if state is None else (state[0], state[1] + 1)
    draw(f"{state}")
    return state


@pytest.mark.parametrize(
    ("round_", "message", "zeros", "alike"),
    [
        (fresh, [], [], []),
        (chained, [], [], []),
        (of_a_number, ["noise from a fixed seed"], [(0, 0), (1, 0)], []),
        (of_the_round, ["noise from a fixed seed"], [(0, 0), (1, 0)], []),
        (twice, ["the same noise twice in a round"], [], [((0, 0), (0, 1)), ((1, 0), (1, 1))]),
        (kept, ["noise re-used"], [], [((0, 0), (1, 0))]),
    ],
)
def test_places(round_: Round, message: list[str], zeros: list[Any], alike: list[Any]) -> None:
    """Noise of a place that never changes stays the library's, here zeros; all other noise is recorded, and the same
    where a place is the same."""
    drawn, names = run(round_)
    assert names == message
    every = {(i, j): x for i, row in enumerate(drawn) for j, x in enumerate(row)}
    assert {at for at, x in every.items() if not x.any()} == set(zeros)
    same = {(a, b) for a in every for b in every if a < b and a not in zeros and np.array_equal(every[a], every[b])}
    assert same == set(alike)


def test_rounds_are_played_beside_no_longer_than_needed() -> None:
    """A round that makes no places of itself costs two rounds more in all."""
    calls = []

    def counted(seed: int, state: Any, draw: Any) -> Any:
        calls.append(seed)
        return fresh(seed, state, draw)

    run(counted, rounds=5)
    assert len(calls) == 5 + 2


def test_a_round_that_fails_beside_is_really_played() -> None:
    def failing(seed: int, state: Any, draw: Any) -> Any:
        if seed < 2**32:
            raise RuntimeError("beside")
        return fresh(seed, state, draw)

    drawn, names = run(failing)
    assert not names
    assert all(x.any() for row in drawn for x in row)
