"""The place of one result in a store, as sent to the process that computes the result."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpfl_theory.runtime.cache import Entry, Store
from dpfl_theory.runtime.keys import canonical, key

T = TypeVar("T")


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


@dataclass(frozen=True)
class StoredResult(Generic[T]):
    """The result of a piece of work and, where it could not be stored, the reason."""

    result: T
    trouble: str = ""


@dataclass(frozen=True)
class Slot:
    """The place of one result in a store.

    parts: the dependencies of the result, of which the key is the hash. basis: the names of the modules whose sources
    are hashed there, so that they can be hashed again. watched: the source files, or their folders, and the state of
    each (`state_of`) when it was hashed. A process that starts later imports the files as they are then. Without a
    store there is only the key.
    """

    store: Store | None
    kind: str
    about: str
    parts: Mapping[str, Any]
    basis: Mapping[str, Any] = field(default_factory=dict)
    watched: Mapping[Path, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The result's key."""
        return key(self.kind, self.parts)

    def take(self) -> Any:
        """The stored result; None without a result or without a store."""
        if self.store is None or parcels() is not None:
            return None
        text = self.store.get(self.key)
        try:
            return None if text is None else json.loads(text)["result"]
        except (ValueError, KeyError, TypeError):  # stored by another program
            return None

    def keep(self, result: Any) -> str:
        """Store the result, JSON data and arrays; return why it could not be stored, in a sentence, or an empty text.

        Arrays become lists, and numbers that are not finite are kept unchanged.
        """
        return keep_all([(self, result)])

    def _parcel(self, result: Any) -> Parcel:
        assert self.store is not None
        made = {"basis": self.basis, "parts": canonical(self.parts), "result": result}
        text = json.dumps(made, ensure_ascii=False, default=lambda value: value.tolist())
        return Parcel(self.store.path, Entry(self.key, self.kind, self.about, text, time.time()), self.watched)


def keep_all(results: Sequence[tuple[Slot, Any]]) -> str:
    """Store results that finished together, of slots of one store, as `Slot.keep` does for each."""
    made = [(slot.store, slot._parcel(result)) for slot, result in results if slot.store is not None]
    if (sent := parcels()) is not None:
        sent += [parcel for _, parcel in made]
        return ""
    return unpack([parcel for _, parcel in made], made[0][0]) if made else ""


def unpack(parcels: Sequence[Parcel], store: Store, now: Callable[[Path], str] | None = None) -> str:
    """Put entries into their store; return why that was not possible, in a sentence, or an empty text.

    now: gives the present state of source files, `state_of` by default.
    """
    watched = {(place, state) for parcel in parcels for place, state in parcel.watched.items()}
    if any((now or state_of)(place) != state for place, state in watched):
        return (
            "source files of the results changed while this ran: results since then are not stored, because their "
            "version of the files is unknown"
        )
    store.put_all([parcel.entry for parcel in parcels])
    return store.trouble


def state_of(place: Path) -> str:
    """A hash of names, sizes and times, which changes with this source file, or with any in this folder or below."""
    lines = [] if os.path.isdir(place) else [_stamp(str(place))]
    for folder, inside, files in os.walk(place):
        inside[:] = [name for name in inside if name != "__pycache__" and not name.startswith(".")]
        lines += [_stamp(os.path.join(folder, name)) for name in files if name.endswith(".py")]
    return hashlib.sha256("".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def _stamp(path: str) -> str:
    try:
        now = os.stat(path)
        return f"{path} {now.st_size} {now.st_mtime_ns}\0"
    except OSError:
        return f"{path} cannot be read\0"
