"""An entry of the store, its checksum, and its line in an exported file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from dpfl_theory.errors import InputError

KINDS = ("check", "validation", "point", "figures", "recommend", "cell")
"""The kinds of results: of a check, a validation's data, a point of them, its figures, a search or confirmation of
`recommend`, a cell of a sweep."""

_HEAD = {"schema": "dpfl-theory/store/1"}


@dataclass(frozen=True)
class Entry:
    """A stored result: ``text``, JSON as Python writes it, under its key.

    ``about`` is its name for people, ``stored`` the time [s since 1970], and ``checksum`` that of all these fields.
    """

    key: str
    kind: str
    about: str
    text: str
    stored: float
    checksum: str = ""

    @property
    def sum(self) -> str:
        """The checksum computed from the fields."""
        message = "\0".join((self.key, self.kind, self.about, repr(self.stored), self.text))
        return hashlib.sha256(message.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def sound(self) -> bool:
        """Whether the entry is unaltered."""
        return self.checksum == self.sum


def to_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of an exported file: one line of JSON for the format, then one for each entry."""
    yield json.dumps(_HEAD)
    for entry in entries:
        yield json.dumps(asdict(entry), ensure_ascii=False)


def from_lines(lines: Iterable[str], name: str) -> Iterator[Entry]:
    """The entries of an exported file. Raises InputError at the first line that is invalid or altered."""
    wanted = {"key": str, "kind": str, "about": str, "text": str, "stored": float, "checksum": str}
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if number == 1:
            if data != _HEAD:
                message = f"{name!r} is neither a store nor an output of `dpfl-theory store export`: give one of these"
                raise InputError(message)
            continue
        well = isinstance(data, dict) and data.keys() == wanted.keys()
        if not well or not all(isinstance(data[field], kind) for field, kind in wanted.items()):
            raise InputError(f"line {number} of {name!r} is not an entry of a store: export it again")
        entry = Entry(**data)
        if not entry.sound:
            raise InputError(
                f"line {number} of {name!r} was altered or cut short (its checksum differs): export it again"
            )
        yield entry
