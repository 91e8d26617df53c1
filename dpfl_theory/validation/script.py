"""A validation script: what it defines, where scripts are, and how one is run."""

from __future__ import annotations

import contextlib
import importlib.util
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpfl_theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PROFILES", "Context", "Script", "available", "beside", "command", "folder", "load"]

PROFILES = ("quick", "full")

T = TypeVar("T")


def _silent(share: float) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Context:
    """How a validation is to be run: profile ``quick`` or ``full``, seed of all randomness, device, the user's data
    file for a script that takes one, and what to call with the share of the work that is done."""

    profile: str = "quick"
    seed: int = 0
    device: str = "auto"
    data: str | None = None
    progress: Callable[[float], None] = _silent

    def pick(self, *, quick: T, full: T) -> T:
        """The value for this profile.

        >>> Context(profile="full").pick(quick=3, full=64)
        64
        """
        return full if self.profile == "full" else quick

    def part(self, index: int, of: int) -> Callable[[float], None]:
        """The progress callback of part ``index`` (from 0) of ``of`` equal parts."""
        return lambda share: self.progress((index + share) / of)


@dataclass(frozen=True)
class Script:
    """A validation script that was loaded."""

    name: str
    path: Path
    title: str
    caption: str
    source: Mapping[str, str]
    compute: Callable[[Context], Mapping[str, Any]]
    draw: Callable[[Mapping[str, Any]], Mapping[str, Figure]]
    budget: Mapping[str, float] = field(default_factory=dict)
    data: str | None = None
    """What data file the script takes; None when it takes none."""
    shares: str | None = None
    """The name of the runs that it shares with other scripts; None when it has its own."""


def folder() -> Path:
    """The folder of scripts: ``validations`` of the current directory, else the one next to the package."""
    for place in (Path.cwd() / "validations", Path(__file__).resolve().parents[2] / "validations"):
        if place.is_dir():
            return place
    raise InputError("there is no folder 'validations' here: run the command in a checkout of the package")


def available(place: Path | None = None) -> dict[str, Path]:
    """The scripts by name, which is the file's name without ``.py``; names that begin with ``_`` are helpers."""
    scripts = sorted((place or folder()).glob("*.py"))
    return {path.stem: path for path in scripts if not path.stem.startswith("_")}


@contextlib.contextmanager
def beside(path: Path) -> Iterator[None]:
    """Modules beside a script can be imported, as they can when it runs on its own."""
    entry = str(path.resolve().parent)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def load(path: Path) -> Script:
    """The script in this file. Raises InputError when it cannot be imported or lacks what a script must define."""
    if not path.is_file():
        raise InputError(f"validation script {str(path)!r} does not exist: give the path of a Python file")
    spec = importlib.util.spec_from_file_location(f"dpfl_theory_validation_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"validation script {str(path)!r} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module there
    try:
        with beside(path):
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise InputError(
            f"validation script {str(path)!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    needed = ("TITLE", "CAPTION", "SOURCE", "BUDGET_SECONDS", "compute", "draw")
    missing = [name for name in needed if not hasattr(module, name)]
    if missing:
        raise InputError(f"validation script {str(path)!r} does not define {', '.join(missing)}: add what is missing")
    return Script(
        path.stem,
        path,
        module.TITLE,
        module.CAPTION,
        module.SOURCE,
        module.compute,
        module.draw,
        module.BUDGET_SECONDS,
        getattr(module, "DATA", None),
        getattr(module, "SHARED_RUNS", None),
    )


def command(name: str, context: Context) -> str:
    """The command that repeats a validation; of a data file it says the name, not the folder.

    >>> command("hou2023_figure12", Context(data="somewhere/my data.txt"))
    "dpfl-theory validate hou2023_figure12 --data 'my data.txt' --seed 0"
    """
    data = "" if context.data is None else f" --data {shlex.quote(Path(context.data).name)}"
    return f"dpfl-theory validate {name}{context.pick(quick='', full=' --full')}{data} --seed {context.seed}"
