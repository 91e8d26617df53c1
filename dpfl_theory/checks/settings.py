"""The settings of a check that depend on the run it belongs to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

LEAST_SECONDS = 2.0
"""The minimum time limit of a check, even if the budget ends earlier: starting takes a moment."""


@dataclass(frozen=True)
class Settings:
    """Seed, level, device and time limits of one check.

    * seed: of all randomness; alpha: this check's share of the suite's false-alarm budget;
    * device: ``auto``, ``cpu`` or ``cuda``;
    * deadline: value of time.monotonic() after which no further work is started (None: no cap);
    * progress: called with the share of this check that is done;
    * limit: seconds after which a check is stopped (None: never).

    After the deadline a check may finish work that it has started. If there is a limit, the deadline shortens it.
    """

    seed: int = 0
    alpha: float = 1e-6
    device: str = "auto"
    deadline: float | None = None
    progress: Callable[[float], None] | None = None
    limit: float | None = None

    @property
    def most_seconds(self) -> float | None:
        """The time limit of a check that starts now; None without a limit."""
        if self.limit is None or self.deadline is None:
            return self.limit
        return min(self.limit, max(LEAST_SECONDS, self.deadline - time.monotonic()))

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline
