"""`new examples`: copies of the package's example files, for the user to change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import print_message

__all__ = ["examples", "folder"]


def folder() -> Path:
    """The folder of the examples: inside the package where it was installed, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "examples", package.parent / "examples"):
        if place.is_dir():
            return place
    raise InputError("this installation has no examples: install the package again")


def examples(
    output: Annotated[str, typer.Option(metavar="DIR", help="A new folder for them.")] = "examples",
) -> int:
    """Copy the package's examples: theorems, configurations of runs and sweeps."""
    source, target = folder(), writable(output, folder=True)
    if target.exists():
        raise InputError(f"{str(target)!r} exists already: name a new folder with --output")
    files = sorted(p for p in source.rglob("*") if p.is_file() and p.suffix in (".py", ".toml"))
    for file in files:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, file.read_bytes())
    print_message(f"{target}: {len(files)} files; the first lines of each state its purpose")
    return 0
