"""The command line. Each module of this package has one group of commands as a typer application named ``app``.

A module is imported to find its commands, so heavy imports are inside the commands.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from dpfl_theory import __version__
from dpfl_theory.runtime.console import emit, run_app

__all__ = ["application", "commands_of", "main"]

COMPLETE = "_DPFL_THEORY_COMPLETE"
"""The environment variable by which a shell requests completions."""
SEVERAL = {"reports": ("errata", "report", "reproduce", "validate"), "sweep": ("simulate", "sweep")}
"""The commands of modules with several; another module has one command, with its name."""
TASKS = (
    ("check a published theorem", "dpfl-theory check das2022.theorem3 --method privacy"),
    ("check your own theorem", "dpfl-theory new theorem my-theorem"),
    ("test your implementation", "dpfl-theory conform my_file.py:one_round --as dp-fedavg"),
    (
        "account for privacy",
        "dpfl-theory privacy account --algorithm dp-norm-ec --noise-multiplier 4 --rounds 100 --delta 1e-5",
    ),
    ("choose hyper-parameters", "dpfl-theory recommend --data my.csv --epsilon 3 --delta 1e-5"),
    ("reproduce all results", "dpfl-theory reproduce --output reports"),
)
"""The main tasks of users, with a command for each."""


def _version(wanted: bool) -> None:
    if wanted:
        emit(f"dpfl-theory {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Theorems of differentially private federated learning as executable statements.

    Data goes to stdout, progress to stderr. Exit codes: 0 every verdict is the recorded one; 1 some verdict is not, or
    a run failed; 2 wrong usage; 3 undecided within the budget; 5 the machine lacks something;
    70 internal error.

    \b
    For example:
      dpfl-theory list client sampling
      dpfl-theory check das2022.theorem4b
      dpfl-theory list problems
      dpfl-theory --install-completion
    """
    if context.invoked_subcommand is None:
        emit(_welcome())


def _welcome() -> str:
    """The tasks, with one command each."""
    width = max(len(task) for task, _ in TASKS)
    tasks = "\n".join(f"  {task:<{width}}  {command}" for task, command in TASKS)
    return (
        "Check theorems of differentially private federated learning by machine.\n\n"
        f"{tasks}\n\n"
        "dpfl-theory --help lists all commands, dpfl-theory list all statements."
    )


@cache
def application(wanted: str | None = None) -> Any:
    """The command line, assembled from the modules of this package.

    It has all commands, which takes a fifth of a second once, or only the ``wanted`` one, which takes half the time.
    """
    app = typer.Typer(
        callback=_root,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    modules = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    for name in [m for m in modules if wanted in commands_of(m)] or modules:
        app.add_typer(importlib.import_module(f"{__name__}.{name}").app)
    return get_command(app)


def commands_of(module: str) -> tuple[str, ...]:
    """The commands of a module of this package, without importing it.

    >>> commands_of("store")
    ('store',)
    """
    return SEVERAL.get(module, (module,))


def _command(words: Sequence[str]) -> str | None:
    """The command among these words, if it is the first of them."""
    return words[0] if words and not words[0].startswith("-") else None


def _completed() -> list[str]:
    """The words before the one that a shell wants to complete; empty where no shell requests completions."""
    words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
    return words[1:] if os.environ.get(COMPLETE) else []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    return run_app(application(_command(_completed() or given)), arguments)
