"""Options that several commands share, and what they mean."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfl_theory import statements
from dpfl_theory.core import Statement
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.runtime.console import FULL, PAPER, emit, parse_budget

if TYPE_CHECKING:
    from dpfl_theory.runtime.cache import Store

__all__ = [
    "Device",
    "Folder",
    "Format",
    "Fresh",
    "Full",
    "Jobs",
    "Kept",
    "Output",
    "Paper",
    "Scheduler",
    "Schema",
    "Seed",
    "give_schema",
    "one_statement",
    "opened",
    "parse_jobs",
    "parse_limit",
]

OWN_LIMIT = "10m"
"""The default time limit of a check of a user's file."""
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where the kernels run.")]
Folder = Annotated[
    str | None, typer.Option("--folder", metavar="DIR", help="Your own validation scripts, instead of the package's.")
]
Format = Annotated[str, typer.Option("--format", metavar="text|json", help="Format of stdout.")]
Jobs = Annotated[
    str | None, typer.Option(metavar="N", help="Number of worker processes [default: one per core for long runs].")
]
Output = Annotated[str, typer.Option(metavar="DIR", help="Folder for evidence, figures and the page.")]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Run the work on this Dask cluster."),
]
Full = Annotated[bool, typer.Option("--full", help=FULL)]
Paper = Annotated[bool, typer.Option("--paper", help=PAPER)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute everything again and cache it.")]
Kept = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="PATH|off", help="The evidence store; DPFL_THEORY_STORE, or .dpfl-theory/evidence.sqlite."
    ),
]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the documents and exit.")]
Seed = Annotated[str, typer.Option(metavar="N", help="Seed of all randomness.")]


def opened(store: str | None) -> contextlib.AbstractContextManager[Store | None]:
    """The store that a command uses, opened; None for none."""
    from dpfl_theory.runtime.cache import Store, place

    path = place(store)
    return contextlib.nullcontext() if path is None else Store(path)


def give_schema(schema: Callable[[], dict[str, Any]]) -> int:
    """Print a JSON schema; return the exit code."""
    emit(json.dumps(schema(), indent=1, ensure_ascii=False))
    return 0


def parse_jobs(text: str | None) -> int | None:
    """Parse a number of processes; None where none was given.

    >>> parse_jobs("2")
    2
    """
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,4}", text) or int(text) < 1:
        raise InputError(f"the number of jobs {text!r} is not a whole number from 1 to 9999: write it like --jobs 2")
    return int(text)


def parse_limit(text: str | None, file: str | None) -> float | None:
    """Parse the time limit of a run [s]; the default for checks of a user's file is `OWN_LIMIT`.

    >>> parse_limit("2m", None), parse_limit(None, None), parse_limit(None, "mine.py")
    (120.0, None, 600.0)
    """
    return parse_budget(text if text is not None or file is None else OWN_LIMIT, "limit")


def one_statement(id_: str | None, file: str | None, *limits: float | None) -> Statement:
    """The catalogue's statement with this id or, with a file, the file's; its only one needs no id.

    limits: time limits of the file's import [s]. Raises InputError where no statement or several match.
    """
    if file is None:
        if id_ is None:
            raise InputError("no statement is named: give an ID, as 'dpfl-theory list' shows it, or --file")
        return statements.get(id_)
    own = {s.id: s for s in statements.load_file(file, *limits)}
    if id_ is None and len(own) > 1:
        raise InputError(f"{file!r} has {len(own)} statements: name one of {', '.join(own)}")
    if id_ is not None and id_ not in own:
        raise unknown_name("statement", id_, own)
    return own[id_] if id_ is not None else next(iter(own.values()))
