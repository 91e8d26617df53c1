"""A hash of this installation's files: two machines with the same hash run the same code, whatever the version's name
and location."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from dpfl_theory.store.slot import state_of

__all__ = ["changed", "digest", "folders"]

_PACKAGE = Path(__file__).parent
_BUILT = (".pyc", ".nbi", ".nbc")


def folders(package: Path = _PACKAGE) -> list[Path]:
    """The folders of source files: the package, and its validation scripts where they are next to it.

    >>> [place.name for place in folders()][0]
    'dpfl_theory'
    """
    beside = package.parent / "validations"
    return [package, beside] if beside.is_dir() else [package]


@functools.cache
def _seen() -> tuple[str, tuple[str, ...]]:
    """The hash of the files, and the states of the folders when it was computed."""
    states = _states()
    made = hashlib.sha256()
    for root in folders():
        for path in sorted(root.rglob("*")):
            own = path.relative_to(root.parent)
            if path.is_file() and path.suffix not in _BUILT and not any(p.startswith(".") for p in own.parts):
                made.update(f"{own.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return made.hexdigest(), states


def _states() -> tuple[str, ...]:
    return tuple(map(state_of, folders()))


def digest() -> str:
    """The hash of all files, as they were at the first call in this process.

    >>> len(digest())
    64
    """
    return _seen()[0]


def changed() -> bool:
    """Whether a source file has changed since the hash was computed.

    >>> changed()
    False
    """
    return _seen()[1] != _states()
