"""A validation script: its definitions, its place, and its settings."""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpfl_theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpfl_theory.runtime.cached_calls import Reuse

PROFILES = ("standard", "full", "paper")
"""The amount of computation: enough runs for every verdict; all; as many points and runs as the paper has."""

T = TypeVar("T")


def _silent(share: float) -> None:
    """A progress callback that does nothing."""


@dataclass(frozen=True)
class Context:
    """The settings of a validation: one of `PROFILES`, seed of all randomness, device, the user's data file for a
    script that takes one; the callback for the share of the work that is done, and the store."""

    profile: str = "standard"
    seed: int = 0
    device: str = "auto"
    data: str | None = None
    progress: Callable[[float], None] = _silent
    reuse: Reuse | None = None

    def pick(self, *, full: T, paper: T, standard: T | None = None) -> T:
        """The value for this profile; that for ``full`` if ``standard`` has no own value.

        >>> Context(profile="paper").pick(full=3, paper=64), Context().pick(full=3, paper=64)
        (64, 3)
        """
        if self.profile == "paper":
            return paper
        return full if self.profile == "full" or standard is None else standard

    def part(self, index: int, of: int) -> Callable[[float], None]:
        """The progress callback of part ``index`` (from 0) of ``of`` equal parts."""
        return lambda share: self.progress((index + share) / of)

    def each(self, calls: Sequence[functools.partial[Any]], about: Sequence[str]) -> list[Any]:
        """The results of these calls, JSON data. It is for long work whose parts are stored as they end, and computed
        by several processes if there are several.

        calls: of functions of a module, with arguments that can be pickled and have a canonical form; their results
        depend only on these. about: the name of each call for people. Work that does not need an earlier result belongs
        in one list: a script is run again from its start when the whole list is computed.

        >>> Context().each([functools.partial(max, 1, 2), functools.partial(max, 3, 4)], ["one", "two"])
        [2, 4]
        """
        from dpfl_theory.runtime.cached_calls import MissingCalls, Reuse

        def run(pieces: Sequence[Callable[[], Any]], _: Sequence[int]) -> list[Any]:
            found = []
            for i, piece in enumerate(pieces):
                found.append(piece())
                self.progress((i + 1) / len(pieces))
            return found

        try:
            return (self.reuse or Reuse()).each(calls, about, run)
        except MissingCalls:
            self.progress(1.0)  # the share that is done when others have made these calls
            raise


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
    """The kind of data file that the script takes; None when it takes none."""
    shares: str | None = None
    """The name of the runs that it shares with other scripts; None when it has its own."""
    folder: Path | None = None
    """The folder of scripts that it was found in; None means the folder returned by `home`."""

    def about(self, profile: str) -> float | None:
        """The seconds that the script declares for one core; those of full for a profile without its own."""
        return self.budget.get(profile, self.budget.get("full"))


def folder() -> Path:
    """The package's own folder of scripts: inside it where it was installed, next to it in a checkout. A folder of the
    current directory is never used unless requested, since its files are executed."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "validations", package.parent / "validations"):
        if place.is_dir():
            return place
    raise InputError("this installation has no validation scripts: install the package again, or name a `folder`")


def available(place: Path | None = None) -> dict[str, Path]:
    """The scripts of a folder and its subfolders by name, which is the file's name without ``.py``; names that start
    with ``_`` are helpers. Raises InputError for two scripts of one name."""
    inside = folder() if place is None else place
    found: dict[str, Path] = {}
    for path in sorted((*inside.glob("*.py"), *inside.glob("[!_.]*/*.py")), key=lambda path: path.stem):
        if path.stem.startswith("_"):
            continue
        if path.stem in found:
            raise InputError(f"{str(found[path.stem])!r} and {str(path)!r} are both called {path.stem!r}: rename one")
        found[path.stem] = path
    return found


def known_to_python(place: Path) -> str:
    """The name under which a folder's modules import each other, registered in Python: ``dpfl_theory.validations`` for
    the package's own folder, otherwise one that no other folder has."""
    own = place.resolve()
    digest = hashlib.sha256(str(own).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    name = "dpfl_theory.validations" if own == folder() else f"dpfl_theory_validations_{digest}"
    known = sys.modules.get(name)
    if known is None or str(own) not in known.__path__:
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(own)]
        sys.modules[name] = importlib.util.module_from_spec(spec)
    return name


def load(path: Path, place: Path | None = None) -> Script:
    """The script in this file of a folder of scripts. Raises InputError when it cannot be imported or lacks a required
    definition.

    ``place`` is the folder; None means the package's own if the file is in it, otherwise the file's folder."""
    if not path.is_file():
        raise InputError(f"validation script {str(path)!r} does not exist: give the path of a Python file")
    if path.suffix != ".py":
        raise InputError(f"validation script {str(path)!r} is not a Python file: its name must end in .py")
    inside = home(path) if place is None else place
    parts = path.resolve().relative_to(inside.resolve()).with_suffix("").parts
    name = ".".join((known_to_python(inside), *parts))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(
            f"validation script {str(path)!r} cannot be imported: {type(error).__name__}: {error}{_remedy(error, path)}"
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
        inside,
    )


def place_of(given: str | None) -> Path | None:
    """A folder of scripts named by the user; None if no folder was named. Raises InputError when it does not exist."""
    if given is not None and not Path(given).is_dir():
        raise InputError(f"the folder of scripts {given!r} does not exist: give a folder with validation scripts")
    return None if given is None else Path(given)


def home(path: Path) -> Path:
    """The folder of scripts that a script's file belongs to: the package's own, or the folder that contains it."""
    own = folder()
    return own if path.resolve().is_relative_to(own) else path.parent


def _remedy(error: Exception, path: Path) -> str:
    """The remedy for an import of a module in the script's folder."""
    lacks = error.name if isinstance(error, ModuleNotFoundError) else None
    beside = lacks is not None and path.with_name(f"{lacks}.py").is_file()
    return f"; it is next to the script: write `from . import {lacks}`" if beside else ""


def profile_of(full: bool, paper: bool) -> str:
    """The profile that these options choose. Raises InputError for both.

    >>> profile_of(False, False), profile_of(False, True)
    ('standard', 'paper')
    """
    if full and paper:
        raise InputError("`full` and `paper` are two profiles: leave one out; `paper` computes more")
    return PROFILES[2 * paper or full]


def command(name: str, context: Context) -> str:
    """The command that repeats a validation; it has the name of a data file, not the folder.

    >>> command("hou2023_figure12", Context(data="somewhere/my data.txt"))
    "dpfl-theory validate hou2023_figure12 --data 'my data.txt' --seed 0"
    """
    data = "" if context.data is None else f" --data {shlex.quote(Path(context.data).name)}"
    size = "" if context.profile == PROFILES[0] else f" --{context.profile}"
    return f"dpfl-theory validate {name}{size}{data} --seed {context.seed}"
