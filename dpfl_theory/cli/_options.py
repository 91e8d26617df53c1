"""Options that several commands share, and tables as text."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfl_theory.errors import InputError
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
    "number",
    "opened",
    "parse_jobs",
    "parse_limit",
    "table",
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


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows as aligned columns, with the first row as the heading; columns listed in ``right`` are flush right.

    >>> print(table([("id", "ratio"), ("a.b", "0.5"), ("c", "0.25")], right=[1]))
    id   ratio
    a.b    0.5
    c     0.25
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths)))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def number(value: float | None) -> str:
    """A number to four significant digits; ``-`` for None.

    >>> number(0.123456), number(12), number(None)
    ('0.1235', '12', '-')
    """
    return "-" if value is None else f"{value:.4g}"
