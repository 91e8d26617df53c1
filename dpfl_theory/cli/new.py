"""`new`: files to start from: a theorem, a paper, a workflow that checks theorems, copies of the examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory import __version__
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import print_message

app = typer.Typer()
group = typer.Typer(no_args_is_help=True, help="Write a file to start from.")
app.add_typer(group, name="new")

HERE = Path("dpfl_theory") / "statements"
"""Where papers are, in a checkout."""
PLACE = ".github/workflows/theorems.yml"
OWN = f"dpfl-theory=={__version__}"


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
    _unused(target, "choose another name, or --output")
    text = text.replace(file, target.name)
    write(writable(target), text)
    print_message(f"{target}: check it with 'dpfl-theory check --file {target}'")
    return 0


@group.command()
def paper(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The paper's id: first author and year, as in ours2026.")],
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
    _unused(target, "choose another name, or --output")
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


def workflow(package: str = OWN) -> str:
    """The text of the workflow for GitHub Actions; ``package`` is the requirement from which pip installs this
    package."""
    if not re.fullmatch(r"[^\s\"$`\\-][^\n\r\"$`\\]*", package):
        raise InputError(
            f"pip cannot install the package {package!r}: give a wheel's path, or 'dpfl-theory @ git+https://...'"
        )
    text = (Path(__file__).parents[1] / "templates" / "ci.yml").read_text(encoding="utf-8")
    return text.replace("@PACKAGE@", package)


@group.command()
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
    _unused(target, "choose another name with --output, or remove it")
    write(writable(target), workflow(package))
    print_message(f"{target}: commit it; it runs the tests that 'pytest' finds in this repository")
    if package == OWN:
        print_message(
            f"{OWN} is on no package index yet: commit its wheel in the folder wheels, or say with --package where pip "
            "finds it; 'python -m pip wheel --no-deps --wheel-dir wheels FOLDER' makes the wheel from a checkout"
        )
    return 0


def _examples_folder() -> Path:
    """The folder of the examples: inside the package where it was installed, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "examples", package.parent / "examples"):
        if place.is_dir():
            return place
    raise InputError("this installation has no examples: install the package again")


@group.command()
def examples(
    output: Annotated[str, typer.Option(metavar="DIR", help="A new folder for them.")] = "examples",
) -> int:
    """Copy the package's examples: theorems, configurations of runs and sweeps."""
    source, target = _examples_folder(), writable(output, folder=True)
    _unused(target, "name a new folder with --output")
    files = sorted(p for p in source.rglob("*") if p.is_file() and p.suffix in (".py", ".toml"))
    for file in files:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, file.read_bytes())
    print_message(f"{target}: {len(files)} files; the first lines of each state its purpose")
    return 0


def _unused(target: Path, remedy: str) -> None:
    """Raises InputError where something is at this path."""
    if target.exists() or target.is_symlink():
        raise InputError(f"{str(target)!r} exists already: {remedy}")
