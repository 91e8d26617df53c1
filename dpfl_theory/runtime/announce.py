"""A message that exactly one of several processes prints: those that a command started, and their copies."""

from __future__ import annotations

import mmap
from typing import Protocol


class FirstTurn(Protocol):
    """A lock that the first process to print takes, and never releases."""

    def acquire(self, block: bool = True) -> bool:
        """Take the lock; returns whether that was possible."""
        ...


_said = mmap.mmap(-1, 1)
"""Not 0 where it was printed in this process, or in one that is a copy of it."""
_turns: list[FirstTurn] = []


def share(turn: FirstTurn) -> None:
    """Of all processes that share this lock, only the first one prints."""
    _turns.append(turn)


def claim_announcement() -> bool:
    """Whether this process may print, which is then its last time.

    >>> _said[0] = 0
    >>> claim_announcement(), claim_announcement()
    (True, False)
    """
    if _said[0] or not all(turn.acquire(block=False) for turn in _turns):
        return False
    _said[0] = 1
    return True
