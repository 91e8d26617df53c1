"""The location of a command's store."""

from __future__ import annotations

import os
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["DEFAULT", "OFF", "VARIABLE", "place", "prepare"]

DEFAULT = Path(".dpfl-theory", "evidence.sqlite")
"""The default path, relative to the working directory."""
VARIABLE = "DPFL_THEORY_STORE"
OFF = "off"
"""The word that is given instead of a path to use no store."""


def place(given: str | None = None) -> Path | None:
    """The store's path: the given one, that of the environment variable DPFL_THEORY_STORE, or the default.

    It is None for ``off``. Raises InputError for a path that cannot be a file.

    >>> place("off") is None, str(place("mine.sqlite"))
    (True, 'mine.sqlite')
    """
    text = given if given is not None else os.environ.get(VARIABLE, "") or str(DEFAULT)
    if text == OFF:
        return None
    path = Path(text)
    if not text or "\0" in text or path.is_dir() or (path.exists() and not path.is_file()):
        raise InputError(f"the store {text!r} is not a file: give the path of one, or {OFF!r} for none")
    return path


def prepare(path: Path) -> None:
    """Create the folder of a store. A folder created here is ignored by git."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    if made:
        (path.parent / ".gitignore").write_text("*\n")
