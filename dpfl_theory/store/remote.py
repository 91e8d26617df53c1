"""Remote stores: results of a cluster's workers travel back with their pieces of work, and the coordinator stores them.

No worker opens the file: SQLite's write-ahead log does not work across machines.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from dpfl_theory.store.entries import Entry

__all__ = ["Parcel", "collect_parcels", "parcels"]

_PARCELS: ContextVar[list[Parcel] | None] = ContextVar("_PARCELS", default=None)


@dataclass(frozen=True)
class Parcel:
    """An entry for the store in a file, and the source files that must be unchanged for it."""

    store: Path
    entry: Entry
    watched: Mapping[Path, str]


def parcels() -> list[Parcel] | None:
    """The parcels that this process sends; None where the store is here."""
    return _PARCELS.get()


@contextlib.contextmanager
def collect_parcels() -> Iterator[list[Parcel]]:
    """Inside, all stores are remote: they appear empty, and each result put into a slot is added to this list.

    >>> with collect_parcels() as sent:
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
