"""Results that are made where the store is not, on a worker of a cluster: each travels back with the piece of work that
made it, and the process that has the store puts it in.

No worker opens the file: SQLite's write-ahead log does not work across machines.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from dpfl_theory.store.entries import Entry

__all__ = ["Parcel", "away", "parcels"]

_PARCELS: ContextVar[list[Parcel] | None] = ContextVar("_PARCELS", default=None)


@dataclass(frozen=True)
class Parcel:
    """An entry on its way to the store in a file, and the source files that must be as they were for it."""

    store: Path
    entry: Entry
    watched: Mapping[Path, str]


def parcels() -> list[Parcel] | None:
    """What is on its way from here; None where the store is here."""
    return _PARCELS.get()


@contextlib.contextmanager
def away() -> Iterator[list[Parcel]]:
    """Where stores are elsewhere: nothing is in them, and what is put into a slot is in this list.

    >>> with away() as sent:
    ...     parcels() is sent
    True
    >>> parcels() is None
    True
    """
    sent: list[Parcel] = []
    token = _PARCELS.set(sent)
    try:
        yield sent
    finally:
        _PARCELS.reset(token)
