"""`new ci`: a workflow that checks theorems in the user's own repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory import __version__
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import print_message

__all__ = ["ci", "workflow"]

PLACE = ".github/workflows/theorems.yml"


OWN = f"dpfl-theory=={__version__}"


def workflow(package: str = OWN) -> str:
    """The text of the workflow for GitHub Actions; ``package`` is the requirement from which pip installs this
    package."""
    if not re.fullmatch(r"[^\s\"$`\\-][^\n\r\"$`\\]*", package):
        raise InputError(
            f"pip cannot install the package {package!r}: give a wheel's path, or 'dpfl-theory @ git+https://...'"
        )
    text = (Path(__file__).parents[1] / "templates" / "ci.yml").read_text(encoding="utf-8")
    return text.replace("@PACKAGE@", package)


def ci(
    output: Annotated[
        str, typer.Option(metavar="FILE.yml", help="The file; GitHub looks only in this folder.")
    ] = PLACE,
    package: Annotated[
        str, typer.Option(metavar="WHAT", help="What pip installs: a wheel's path, or 'dpfl-theory @ git+https://...'.")
    ] = OWN,
) -> int:
    """Write a workflow for GitHub Actions: your tests and theorems on Python 3.11 to 3.13, with the report."""
    target = Path(output)
    if target.suffix not in (".yml", ".yaml"):
        raise InputError(f"the file {str(target)!r} is not a workflow: its name must end in .yml")
    if target.exists() or target.is_symlink():
        raise InputError(f"{str(target)!r} exists already: choose another name with --output, or remove it")
    write(writable(target), workflow(package))
    print_message(f"{target}: commit it; it runs the tests that 'pytest' finds in this repository")
    if package == OWN:
        print_message(
            f"{OWN} is on no package index yet: commit its wheel in the folder wheels, or say with --package where pip "
            "finds it; 'python -m pip wheel --no-deps --wheel-dir wheels FOLDER' makes the wheel from a checkout"
        )
    return 0
