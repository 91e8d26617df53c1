"""`new paper`: the folder of a paper, with symbols, instances, one theorem and its words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import print_message

HERE = Path("dpfl_theory") / "statements"
"""Where papers are, in a checkout."""


def paper(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The paper's id: first author and year, such as li2020.")],
    output: Annotated[
        str | None, typer.Option(metavar="DIR", help=f"A new folder [default: {HERE}/NAME of this checkout].")
    ] = None,
) -> int:
    """Write the folder of a paper for the catalogue: symbols, instances, and a true theorem to change."""
    from dpfl_theory.templates import paper as template

    files = template(name)
    if output is None and not HERE.is_dir():
        raise InputError(f"there is no folder {str(HERE)!r} here: run it in a checkout, or name a folder with --output")
    target = HERE / name if output is None else Path(output)
    if target.exists() or target.is_symlink():
        raise InputError(f"{str(target)!r} exists already: choose another name, or --output")
    for file, text in files.items():
        place = writable(target, folder=True) / file
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, text)
    moved = "" if output is None else f"Put it into {HERE} of a checkout. "
    print_message(
        f"{target}: {len(files)} files. {moved}Change the lines with an arrow, then run 'dpfl-theory check {name}' and "
        f"'make power ID={name}.*'; docs/development/statements.md says what else a paper needs"
    )
    return 0
