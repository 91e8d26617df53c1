"""What a text shows is run: commands and Python as they stand there, with what they print."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["Ran", "commands", "python"]


@dataclass(frozen=True)
class Ran:
    """A piece that was run: how it stands in the text, and what it printed."""

    shown: str
    printed: str


def commands(text: str, code: int = 0, shows: str = "") -> list[Ran]:
    """Run each command, a line that begins with ``$ dpfl-theory`` (a backslash at its end goes on with the next one).

    Raises InputError where a command ends with another exit code, or where nothing that they print has ``shows``.
    """
    found = []
    for line in text.replace("\\\n", "\0").splitlines():
        shown = line.replace("\0", "\\\n")
        if not line.startswith("$ dpfl-theory "):
            raise InputError(f"{shown!r} is no command: begin with '$ dpfl-theory '")
        found.append(Ran(shown, _command(shlex.split(line.replace("\0", " ").removeprefix("$ dpfl-theory ")), code)))
    _told(found, shows, text)
    return found


def python(text: str, shows: str = "") -> Ran:
    """Run Python. Raises InputError where it prints nothing that has ``shows``; what it raises is raised."""
    with _silently() as out:
        exec(compile(text, "<documentation>", "exec"), {"__name__": "documentation"})
    ran = Ran(text.rstrip("\n"), out.getvalue())
    _told([ran], shows, text)
    return ran


def _command(arguments: list[str], code: int) -> str:
    from dpfl_theory.cli import main

    with _silently() as out:
        ended = main(arguments)
    if ended != code:
        command = shlex.join(["dpfl-theory", *arguments])
        raise InputError(
            f"{command} ended with exit code {ended}, and the text says {code}: it printed\n{out.getvalue()}"
        )
    return out.getvalue()


def _told(ran: list[Ran], shows: str, text: str) -> None:
    told = " ".join(" ".join(r.printed for r in ran).split())
    if not told:
        raise InputError(f"nothing was printed by\n{text}")
    if shows not in told:
        raise InputError(f"the text promises {shows!r}, which is not in what was printed by\n{text}\nnamely\n{told}")


@contextlib.contextmanager
def _silently() -> Iterator[io.StringIO]:
    """In the repository's folder, without a store and without progress; what is printed is kept."""
    kept, place = dict(os.environ), Path.cwd()
    os.environ.update(DPFL_THEORY_STORE="off", DPFL_THEORY_HINTS="off", COLUMNS="120")
    os.chdir(Path(__file__).parents[1])
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            yield out
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(kept)
