"""The examples of the documentation: each command and each piece of Python is run, and its output is inserted."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["ROOT", "Ran", "commands", "python"]

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Ran:
    """An example that was run: its text and its output."""

    shown: str
    printed: str


def commands(
    text: str, code: int = 0, shows: str = "", folder: Path | None = None, place: Path | None = None
) -> list[Ran]:
    """Run each command, a line that starts with ``$ dpfl-theory``; a backslash at its end continues it.

    folder: where the files named after ``--output`` are written; without it, where the commands run.
    place: where the commands run; without it, the repository's folder.

    Raises InputError where a command has another exit code, or where the output of all lacks ``shows``.
    """
    found = []
    for line in text.replace("\\\n", "\0").splitlines():
        shown = line.replace("\0", "\\\n")
        if not line.startswith("$ dpfl-theory "):
            raise InputError(f"{shown!r} is not a command: start with '$ dpfl-theory '")
        words = shlex.split(line.replace("\0", " ").removeprefix("$ dpfl-theory "))
        if folder is not None:
            words = [str(folder / w) if before == "--output" else w for before, w in zip(["", *words], words)]
        printed = _command(words, code, place)
        found.append(Ran(shown, printed.replace(f"{folder}/", "") if folder else printed))
    _told(found, shows, text)
    return found


def python(text: str, shows: str = "") -> Ran:
    """Run Python. Raises InputError where its output lacks ``shows``, and its own exceptions."""
    with _silently() as out:
        exec(compile(text, "<documentation>", "exec"), {"__name__": "documentation"})
    ran = Ran(text.rstrip("\n"), out.getvalue())
    _told([ran], shows, text)
    return ran


def _command(arguments: list[str], code: int, place: Path | None) -> str:
    from dpfl_theory.cli import main

    with _silently(place) as out:
        ended = main(arguments)
    if ended != code:
        command = shlex.join(["dpfl-theory", *arguments])
        raise InputError(
            f"{command} ended with exit code {ended}, and the text says {code}: it printed\n{out.getvalue()}"
        )
    return out.getvalue()


def _told(ran: list[Ran], shows: str, text: str) -> None:
    message = " ".join(" ".join(r.printed for r in ran).split())
    if not message:
        raise InputError(f"nothing was printed by\n{text}")
    if shows not in message:
        raise InputError(f"the text promises {shows!r}, which is not in what was printed by\n{text}\nnamely\n{message}")


@contextlib.contextmanager
def _silently(place: Path | None = None) -> Iterator[io.StringIO]:
    """Run in a folder (the repository's by default), without a store and without progress; capture the output."""
    environment, before = dict(os.environ), Path.cwd()
    os.environ.update(DPFL_THEORY_STORE="off", DPFL_THEORY_HINTS="off", COLUMNS="120")
    os.chdir(place or ROOT)
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            yield out
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
