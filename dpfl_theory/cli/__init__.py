"""The command line. Each module of this package holds one group of commands as a typer application named ``app``.

A module is imported to find its commands, so what is heavy is imported inside the commands.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from dpfl_theory import __version__
from dpfl_theory.console import emit, run_app

__all__ = ["application", "main"]


def _version(wanted: bool) -> None:
    if wanted:
        emit(f"dpfl-theory {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Theorems of differentially private federated learning as executable statements.

    Data goes to stdout, progress to stderr. Exit codes: 0 every verdict is the recorded one; 1 some verdict is not, or
    a run failed; 2 the command cannot be used like that; 3 undecided within the budget; 5 the machine lacks something;
    70 internal error.
    """


@cache
def application() -> Any:
    """The whole command line, put together from the modules of this package (once: that takes a twentieth of a
    second)."""
    app = typer.Typer(
        callback=_root,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            app.add_typer(importlib.import_module(f"{__name__}.{module.name}").app)
    return get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    return run_app(application(), arguments)
