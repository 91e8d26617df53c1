"""`new`: files to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory.cli._new_ci import ci
from dpfl_theory.cli._new_examples import examples
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import print_message

app = typer.Typer()
group = typer.Typer(no_args_is_help=True, help="Write a file to start from.")
app.add_typer(group, name="new")
group.command()(ci)
group.command()(examples)


@group.callback()
def new() -> None:
    """Write a file to start from."""


@group.command()
def theorem(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the theorem, such as sharper-rate.")],
    output: Annotated[
        str | None, typer.Option(metavar="FILE.py", help="The file [default: NAME.py in this folder].")
    ] = None,
) -> int:
    """Write a commented statement file that you can check at once and change."""
    from dpfl_theory.templates import theorem as template

    file, text = template(name)
    target = Path(output) if output is not None else Path(file)
    if target.suffix != ".py":
        raise InputError(f"the file {str(target)!r} is not a Python file: its name must end in .py")
    if target.exists() or target.is_symlink():
        raise InputError(f"{str(target)!r} exists already: choose another name, or --output")
    text = text.replace(file, target.name)
    write(writable(target), text)
    print_message(f"{target}: check it with 'dpfl-theory check --file {target}'")
    return 0
