"""Selects the statements to check again after a change: those that depend on a file that differs from a git revision.

Git lists the files that differ. A statement depends on the closure of the imports (`dpfl_theory.runtime.imports`) of
the module that defines it, of the methods that check it, and of the runner. The selection may contain too many
statements, never too few:

* a deleted file counts as a change of its package;
* a data file counts as a change of everything in its folder and below, and of all files that mention its name;
* other versions of the libraries count as a change of everything.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dpfl_theory
from dpfl_theory import statements as catalogue
from dpfl_theory.core import Statement, methods
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.imports import Imports

_OPTION = "`changed_since`"
_VERSIONS = ("constraints.txt", "pyproject.toml")
"""Files next to the package that name the versions of the libraries with which the verdicts are computed."""

_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Variables that a git hook sets for the checkout it runs in, which need not be this one."""


@dataclass(frozen=True)
class Change:
    """The files that differ from a revision in the checkout of a package: ``package``, the package's folder, and
    ``files``."""

    package: Path
    files: tuple[Path, ...]

    def concerns(self, statements: Sequence[Statement], file: Path | None = None) -> tuple[Statement, ...]:
        """Those of the statements that depend on a changed file, in their order.

        file: where statements outside the catalogue were loaded from. They are always chosen when git does not know
        that file, since its earlier content is unknown.
        """
        own = None if file is None else file.resolve()
        graph = Imports(self.package, () if own is None else (own.parent, Path.cwd()))
        unknown = own is not None and own not in self.files and not _git(self.package, "ls-files", "-z", "--", str(own))
        runner = graph.closure([graph.module(f"{self.package.name}.checks.runner")], computed=False)
        touched = self.affected_modules(graph)
        chosen = []
        for statement in statements:
            name = catalogue.module_of(statement.id)
            source = graph.module(name) if name is not None else own
            if source is None:
                raise InputError(f"{statement.id} is not in the catalogue: name the file that it is from")
            runners = (graph.module(methods.get(m).runner) for m in statement.methods)
            rests = {*runner, *graph.closure([source, *runners])}
            if (name is None and unknown) or touched & rests or self._mentioned(graph, rests):
                chosen.append(statement)
        return tuple(chosen)

    def affected_modules(self, graph: Imports) -> frozenset[Path]:
        """The modules that were changed, and those that a changed file concerns without being imported."""
        touched: set[Path] = set()
        for path in self.files:
            inside = path.is_relative_to(graph.package)
            near = next((p for p in path.parents if (p / "__init__.py").is_file()), graph.package)
            if path in [graph.package.parent / name for name in _VERSIONS]:
                touched |= set(graph.below(graph.package))
            elif path.suffix == ".py" and path.is_file():
                touched.add(path)
            elif path.suffix == ".py" and inside:
                touched.add(near / "__init__.py")
            elif inside:
                touched |= {m for m in graph.below(graph.package) if path.name in graph.text(m)}
                touched |= set(graph.below(near))
        return frozenset(touched)

    def _mentioned(self, graph: Imports, modules: Iterable[Path]) -> bool:
        """Whether one of the user's modules mentions a changed file that it cannot import."""
        names = {
            path.name if path.suffix != ".py" else path.stem
            for path in self.files
            if not path.is_relative_to(graph.package) and not (path.suffix == ".py" and path.is_file())
        }
        users = [graph.text(m) for m in modules if not m.is_relative_to(graph.package)]
        return any(name in text for name in names for text in users)


def change_since(revision: str, package: Path | None = None) -> Change:
    """The files that differ from a git revision in the checkout of the package (this one by default). They differ in
    the work tree or by a commit since; new and deleted files count, files that git ignores do not.

    Raises InputError when there is no git, no checkout or no such revision.
    """
    if revision.startswith("-"):
        raise InputError(f"{_OPTION} {revision!r} starts with a dash: name a revision, such as HEAD~1 or main")
    folder = (Path(dpfl_theory.__file__).parent if package is None else package).resolve()
    if not _git(folder, "ls-files", "-z", "--", "__init__.py"):
        wrong = f"{str(folder)!r} is not in a git checkout: run it where the package was cloned"
        raise InputError(f"{wrong}, or leave {_OPTION} out")
    top = Path(_git(folder, "rev-parse", "--show-toplevel", needed=True).removesuffix("\n")).resolve()
    commit = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        wrong = f"{_OPTION} {revision!r} is not a revision of {str(top)!r}"
        raise InputError(f"{wrong}: name a commit, branch or tag that was fetched")
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative")
    differing = _git(top, "diff", *options, "--end-of-options", commit.strip(), "--", needed=True)
    new = _git(top, "ls-files", "-z", "--others", "--exclude-standard", needed=True)
    return Change(folder, tuple(sorted({top / name for name in f"{differing}\0{new}".split("\0") if name})))


def _git(folder: Path, *arguments: str, needed: bool = False) -> str:
    """Git's output in a folder. Where it fails, the output is empty, or InputError is raised if it is needed."""
    surroundings = {k: v for k, v in os.environ.items() if k not in _ELSEWHERE} | {"GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=surroundings)
    except OSError as error:
        message = f"{_OPTION} needs git, which cannot be run ({error.strerror}): install git, or leave {_OPTION} out"
        raise InputError(message) from error
    if done.returncode and needed:
        wrong = f"git {arguments[0]} fails in {str(folder)!r}: make sure that git works there"
        raise InputError(f"{wrong}, or leave {_OPTION} out")
    return "" if done.returncode else os.fsdecode(done.stdout)
