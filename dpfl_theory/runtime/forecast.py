"""Forecast of the time left in a run, from this run's own timings: recorded seconds only compare pieces of work.

Under load, or on a slow machine, each piece takes longer than recorded by about the same factor. That factor is
measured over the second half of the time so far. It is the ratio of the seconds that cores spent on finished pieces to
the recorded seconds of these. A late piece is expected to take as long again as it is late.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Sequence

SETTLED_SECONDS = 15.0
"""After this time the speed of this machine is known well enough."""


class Forecast:
    """The measurements of one run so far.

    jobs: how many pieces run at the same time. cost: the recorded seconds of a piece, by its number, at any scale.

    >>> now = [0.0]
    >>> forecast = Forecast(1, {0: 1.0, 1: 2.0}.__getitem__, lambda: now[0])
    >>> forecast.remaining_seconds([0, 1]) is None
    True
    >>> now[0] = 30.0  # the first piece took thirty times its cost
    >>> forecast.ended(0)
    >>> forecast.remaining_seconds([1])
    60.0
    """

    def __init__(
        self,
        jobs: int,
        cost: Callable[[int], float],
        clock: Callable[[], float] = time.monotonic,
        settling_seconds: float = SETTLED_SECONDS,
    ) -> None:
        self.jobs, self.cost, self.clock, self.settled = max(1, jobs), cost, clock, settling_seconds
        self.begun = clock()
        self.done = 0.0
        """The recorded seconds of the finished pieces."""
        self._since: dict[int, float] = {}
        """When each running piece was first seen to run."""
        self._history: list[tuple[float, float, float]] = [(0.0, 0.0, 0.0)]
        """Seconds since the start, seconds spent on finished pieces, and the recorded seconds of these."""

    def ended(self, piece: int) -> None:
        """Note that a piece has finished."""
        self.done += self.cost(piece)
        self._since.pop(piece, None)

    def remaining_seconds(self, pieces: Sequence[int], pending: float = 0.0) -> float | None:
        """The estimated seconds left; None where too little has been measured.

        pieces: the unfinished ones, in the order in which they start. pending: the recorded seconds of pieces that are
        not known yet.
        """
        now = self.clock()
        running = pieces[: self.jobs]
        self._since = {piece: self._since.get(piece, now) for piece in running}
        elapsed = now - self.begun
        spent = self.jobs * elapsed - sum(now - since for since in self._since.values())
        if elapsed < self.settled or self.done <= 0.0 or spent <= 0.0:
            return None
        self._history.append((elapsed, spent, self.done))
        _, before, ended = self._history[bisect.bisect(self._history, (0.5 * elapsed, 0.0, 0.0)) - 1]
        recent = spent > before and self.done > ended
        slowness = (spent - before) / (self.done - ended) if recent else spent / self.done
        late = [abs(slowness * self.cost(piece) - (now - self._since[piece])) for piece in running]
        queued = slowness * (pending + sum(self.cost(piece) for piece in pieces[self.jobs :]))
        return max([*late, (sum(late) + queued) / self.jobs])
