"""What a check may know about the run it belongs to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """seed: of all randomness; alpha: this check's share of the suite's false-alarm budget; device: ``auto``, ``cpu``
    or ``cuda``; deadline: value of time.monotonic() after which no further work is started (None: no cap); progress:
    called with the share of this check that is done."""

    seed: int = 0
    alpha: float = 1e-6
    device: str = "auto"
    deadline: float | None = None
    progress: Callable[[float], None] | None = None

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline
