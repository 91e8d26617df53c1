"""What one of several processes says, and no other: those that a command started, and their copies."""

from __future__ import annotations

import mmap
from typing import Protocol

__all__ = ["Turn", "mine", "share"]


class Turn(Protocol):
    """A lock that the first one who may speak takes, and never gives back."""

    def acquire(self, block: bool = True) -> bool:
        """Take it; whether that was possible."""
        ...


_said = mmap.mmap(-1, 1)
"""Not 0 where it was said in this process, or in one that is a copy of it."""
_turns: list[Turn] = []


def share(turn: Turn) -> None:
    """Of all processes that share this lock, the first one to speak is the only one."""
    _turns.append(turn)


def mine() -> bool:
    """Whether this process may speak, which is then its last time.

    >>> _said[0] = 0
    >>> mine(), mine()
    (True, False)
    """
    if _said[0] or not all(turn.acquire(block=False) for turn in _turns):
        return False
    _said[0] = 1
    return True
