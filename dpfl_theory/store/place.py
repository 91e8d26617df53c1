"""Where the store of a command is."""

from __future__ import annotations

import os
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["DEFAULT", "OFF", "VARIABLE", "place", "prepare"]

DEFAULT = Path(".dpfl-theory", "evidence.sqlite")
"""In the working directory."""
VARIABLE = "DPFL_THEORY_STORE"
OFF = "off"
"""In place of a path: no store."""


def place(given: str | None = None) -> Path | None:
    """The store's path: the one that is given, that of the environment variable DPFL_THEORY_STORE, or the default; None
    for ``off``. Raises InputError for what can be no file.

    >>> place("off") is None, str(place("mine.sqlite"))
    (True, 'mine.sqlite')
    """
    text = given if given is not None else os.environ.get(VARIABLE, "") or str(DEFAULT)
    if text == OFF:
        return None
    path = Path(text)
    if not text or "\0" in text or path.is_dir() or (path.exists() and not path.is_file()):
        raise InputError(f"the store {text!r} is no file: give the path of one, or {OFF!r} for none")
    return path


def prepare(path: Path) -> None:
    """Make the folder of a store. What is made here keeps itself out of git."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    if made:
        (path.parent / ".gitignore").write_text("*\n")
