"""The forecast of a run, with slowed clocks and pieces whose recorded cost is wrong."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import pytest

from dpfl_theory.runtime.forecast import Forecast


def forecasts(
    recorded: list[float], true: list[float], jobs: int, slow: float
) -> tuple[list[tuple[float, float]], float]:
    """Simulate a run of these pieces: pairs (time, forecast seconds left), once a second, and the time of its end.

    Each piece takes its true seconds times the factor by which the clock is slowed.
    """
    now = [0.0]
    forecast = Forecast(jobs, recorded.__getitem__, lambda: now[0], settling_seconds=15.0)
    running: list[tuple[float, int]] = []
    queue = list(range(len(true)))
    found: list[tuple[float, float]] = []
    tick = 0.0
    while queue or running:
        while queue and len(running) < jobs:
            piece = queue.pop(0)
            heapq.heappush(running, (now[0] + slow * true[piece], piece))
        while tick < running[0][0]:
            now[0] = max(now[0], tick)
            left = forecast.remaining_seconds(sorted(p for _, p in running) + queue)
            if left is not None:
                found.append((now[0], left))
            tick += 1.0
        now[0], piece = heapq.heappop(running)
        forecast.ended(piece)
    return found, now[0]


def worst(found: list[tuple[float, float]], end: float, after: float) -> tuple[float, float]:
    """The smallest and the largest ratio of the forecast to the truth, after this share of the run."""
    ratios = [left / (end - at) for at, left in found if after * end <= at <= 0.9 * end]
    return min(ratios), max(ratios)


PIECES = [8.0, 6.0, 5.0, *[2.0] * 20, *[0.5] * 60]


@pytest.mark.parametrize("slow", [0.5, 1.0, 7.0, 25.0])
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_recorded_seconds_need_not_be_this_machines(slow: float, jobs: int) -> None:
    found, end = forecasts(PIECES, PIECES, jobs, 4.0 * slow)
    low, high = worst(found, end, 0.3)
    assert 0.7 < low <= high < 1.4


def test_load_that_begins_in_the_middle_is_noticed() -> None:
    """Pieces of the second half take five times as long: the forecast is wrong before, and right after the change."""
    true = [cost * (1.0 if i < 40 else 5.0) for i, cost in enumerate(PIECES)]
    found, end = forecasts(PIECES, true, 2, 4.0)
    assert worst(found, end, 0.7)[0] > 0.4


def test_a_last_piece_that_does_not_end_is_not_about_to_end() -> None:
    """One piece takes a hundred times its recorded time. A forecast only from shares would stay at some seconds."""
    recorded = [1.0] * 40
    found, end = forecasts(recorded, [1.0] * 39 + [100.0], 2, 2.0)
    late = [(at, left) for at, left in found if at > 0.5 * end]
    assert all(left > 0.4 * at for at, left in late)

    def by_share(at: float) -> float:
        return at * 1.0 / 39.0

    assert by_share(late[-1][0]) < 0.1 * late[-1][1], "what the share alone says is not so"


def test_one_process_at_the_end_is_not_two() -> None:
    """The longest piece starts last: while it runs, the other core is idle."""
    pieces = [1.0] * 40 + [30.0]
    found, end = forecasts(pieces, pieces, 2, 1.0)
    assert worst(found, end, 0.4)[0] > 0.7


def test_nothing_is_said_before_anything_was_measured() -> None:
    def clock() -> Callable[[], float]:
        times = iter([0.0, 100.0])
        return lambda: next(times)

    assert Forecast(2, lambda _: 1.0, clock()).remaining_seconds([0, 1]) is None
