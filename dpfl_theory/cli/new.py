"""`new`: files to begin with."""

from __future__ import annotations

import typer

from dpfl_theory.cli._new_ci import ci
from dpfl_theory.cli._new_examples import examples

app = typer.Typer()
group = typer.Typer(no_args_is_help=True, help="Write a file to begin with.")
app.add_typer(group, name="new")
group.command()(ci)
group.command()(examples)


@group.callback()
def new() -> None:
    """Write a file to begin with."""
