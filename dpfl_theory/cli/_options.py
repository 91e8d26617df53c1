"""Options that several commands share, and what they mean."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dpfl_theory import statements
from dpfl_theory.core import Statement
from dpfl_theory.core.parameter import LARGEST
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.numerals import number_of, vanishes
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import as_options, emit, option, parse_budget, print_message

if TYPE_CHECKING:
    from dpfl_theory.runtime.cache import Store

F = TypeVar("F", bound=Callable[..., Any])
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
Full = Annotated[bool, typer.Option("--full", help="All checks and runs [default: as many as decide every verdict].")]
Paper = Annotated[
    bool, typer.Option("--paper", help="As many runs and points as in the papers; some scripts take hours.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute everything again and cache it.")]
Kept = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="PATH|off", help="The evidence store; DPFL_THEORY_STORE, or .dpfl-theory/evidence.sqlite."
    ),
]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the documents and exit.")]
Seed = Annotated[str, typer.Option(metavar="N", help="Seed of all randomness.")]
Target = Annotated[str | None, typer.Option(metavar="FILE", help="Write to this file instead of stdout.")]
UserFile = Annotated[str | None, typer.Option(metavar="FILE.py", help="A file with your own statements.")]


def target_of(output: str | None, *reads: str | Path | None) -> Path | None:
    """The file to write instead of stdout; None for stdout. Raises InputError for one that the command reads."""
    return None if output is None else writable(output, reads=reads)


def deliver(text: str, target: Path | None, message: str) -> None:
    """Write a result to stdout; or to a file, and a message with the file's name to stderr."""
    if target is None:
        emit(text)
    else:
        write(target, text if text.endswith("\n") else text + "\n")
        print_message(f"{message}: {target}")


def opened(store: str | None) -> contextlib.AbstractContextManager[Store | None]:
    """The store that a command uses, opened; None for none."""
    from dpfl_theory.runtime.cache import Store, place

    path = place(store)
    return contextlib.nullcontext() if path is None else Store(path)


def as_json(document: Any) -> str:
    """A document as JSON; its numbers are finite."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def give_schema(schema: Callable[[], dict[str, Any]]) -> int:
    """Print a JSON schema; return the exit code."""
    emit(as_json(schema()))
    return 0


def parse_count(
    text: str | None, label: str = "number of jobs", digits: int = 4, example: str = "--jobs 2"
) -> int | None:
    """Parse a count of at most this many digits; None where none was given.

    >>> parse_count("2")
    2
    """
    if text is None:
        return None
    if not re.fullmatch(rf"[0-9]{{1,{digits}}}", text) or int(text) < 1:
        limits = f"from 1 to {10**digits - 1}"
        raise InputError(f"the {label} {text!r} is not a whole number {limits}: write it like {example}")
    return int(text)


def parse_limit(text: str | None, file: str | None) -> float | None:
    """Parse the time limit of a run [s]; the default for checks of a user's file is `OWN_LIMIT`.

    >>> parse_limit("2m", None), parse_limit(None, None), parse_limit(None, "mine.py")
    (120.0, None, 600.0)
    """
    return parse_budget(text if text is not None or file is None else OWN_LIMIT, "limit")


def number(option: str, text: str, *, whole: bool = False) -> Any:
    """Parse a finite number, as int where it is one, or where ``whole`` is set and it has no fraction.

    >>> number("--rounds", "1e3", whole=True), number("--cohort", "20"), number("--delta", "1e-5")
    (1000, 20, 1e-05)
    >>> number("--sampling-rate", "15/60")
    0.25
    """
    value: int | float
    try:
        value = int(text)
    except ValueError:
        above, slash, below = text.partition("/")
        share, of = number_of(option, above), number_of(option, below) if slash else 1.0
        value = share / of if of else math.nan
        if share and value == 0.0:
            raise vanishes(option, text) from None
    if not abs(value) <= LARGEST:
        raise InputError(f"{option} is {text!r}: give a number")
    return int(value) if whole and float(value).is_integer() else value


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


def add_options(options: Sequence[inspect.Parameter]) -> Callable[[F], F]:
    """Add options to a command, after its first parameter; it gets them as ``**given``."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function, eval_str=True)
        first, *others = (p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD)
        keyword = [p.replace(kind=p.KEYWORD_ONLY) for p in (first, *options, *others)]
        function.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
        return function

    return decorate


def text_option(name: str, metavar: str, help_: str) -> inspect.Parameter:
    """An option whose value is text, for an argument of the library."""
    described = as_options(help_[:1].upper() + help_[1:])
    annotation = Annotated[str | None, typer.Option(option(name), metavar=metavar, help=described)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
