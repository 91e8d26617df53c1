"""A hash of everything that a result depends on: the sources of its modules and of their imports, the data files that
they name, and the versions of the libraries that affect the numbers.

The modules are those that `--changed-since` finds (`dpfl_theory.runtime.imports`), so a result is reused exactly where
`--changed-since` would not have selected it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.imports import Imports
from dpfl_theory.runtime.slots import Slot, parcels, state_of
from dpfl_theory.runtime.versions import libraries

__all__ = ["MEASURED", "CurrentSources", "Sources", "package_changed", "package_digest", "sources", "sources_of"]

_PACKAGE = Path(__file__).parents[1]

MEASURED = ("evidence.jsonl",)
"""Data files that are written from evidence, so that no evidence depends on them."""
_LOADERS = ("validation.script",)
"""Modules that load files given by name: their importers do not depend on all files."""
_BUILT = (".pyc", ".nbi", ".nbc")


class Sources:
    """Hashes of the dependencies of modules; every file is read once.

    package: the package's folder, this one's by default; others: folders in which a user's file finds its modules.
    """

    def __init__(self, package: Path | None = None, others: Sequence[Path] = ()) -> None:
        folder = _PACKAGE if package is None else package
        self.others = tuple(others)
        self.graph = Imports(folder, others)
        self.watched = {place: state_of(place) for place in folders(self.graph.package)}
        self._known = [self.graph.module(f"{self.graph.package.name}.{name}") for name in _LOADERS]
        self._data = {p.name: p for p in sorted(folder.rglob("*.*")) if p.suffix not in (".py", *_BUILT)}
        self._lines: dict[Path, bytes] = {}
        self._named: dict[Path, tuple[Path, ...]] = {}
        self._digests: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    def digest(self, on: Sequence[str], base: Sequence[str] = ()) -> str:
        """The hash of the sources of modules, by dotted name or path, and of all their dependencies. base: modules
        whose imports by computed names do not count, as they find the modules in ``on``."""
        asked = tuple(sorted(on)), tuple(sorted(base))
        if asked not in self._digests:
            files = {*self._closure(asked[0]), *self._closure(asked[1], computed=False)}
            named = {data for file in files for data in self._names(file)}
            lines = sorted(self._line(file) for file in files | named)
            self._digests[asked] = hashlib.sha256(b"".join(lines)).hexdigest()
        return self._digests[asked]

    def slot(
        self,
        store: Store | None,
        kind: str,
        about: str,
        parts: Mapping[str, Any],
        *,
        on: Sequence[str],
        base: Sequence[str] = (),
        packages: Sequence[str] = (),
    ) -> Slot:
        """The place in a store of a result that depends on these parts and modules, and on these libraries in addition
        to the usual ones."""
        rests = {"sources": self.digest(on, base), "versions": libraries(tuple(packages))}
        basis = {"on": list(on), "base": list(base), "packages": list(packages), "folders": list(map(str, self.others))}
        watched: Mapping[Path, str] = self.watched
        if parcels() is not None:  # the hash of this package covers its files, and the coordinator has compared it
            own = folders(self.graph.package)
            watched = {place: state for place, state in watched.items() if place not in own}
        return Slot(store, kind, about, {**parts, **rests}, basis, watched)

    @property
    def unchanged(self) -> bool:
        """Whether all files are as they were when they were hashed."""
        return all(state_of(place) == state for place, state in self.watched.items())

    def _closure(self, names: Iterable[str], computed: bool = True) -> tuple[Path, ...]:
        files = [self.graph.package.parent / n if n.endswith(".py") else self.graph.module(n) for n in names]
        return self.graph.closure(files, computed, self._known)

    def _line(self, file: Path) -> bytes:
        """A file's name below the folder that it is found in, and the hash of its bytes."""
        if file not in self._lines:
            if not any(file.is_relative_to(place) for place in self.watched):
                self.watched[file] = state_of(file)
            root = next((r for r in self.graph.roots if file.is_relative_to(r)), file.parent)
            made = hashlib.sha256(file.read_bytes()).hexdigest()
            self._lines[file] = f"{file.relative_to(root).as_posix()} {made}\n".encode("utf-8", "surrogateescape")
        return self._lines[file]

    def _names(self, file: Path) -> tuple[Path, ...]:
        """The data files that a module names."""
        if file not in self._named:
            text = self.graph.text(file)
            found = [path for name, path in self._data.items() if name not in MEASURED and name in text]
            if not file.is_relative_to(self.graph.package.parent):
                found += _files_in(text, (file.parent, Path.cwd()))
            self._named[file] = tuple(found)
        return self._named[file]


def _files_in(text: str, folders: Sequence[Path]) -> Iterator[Path]:
    """The files that the string constants of a user's module name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) < 256:
            for folder in folders:
                try:
                    path = (folder / node.value).resolve()
                    if path.is_file():
                        yield path
                except (OSError, ValueError):
                    continue


def sources(*others: Path) -> Sources:
    """The sources of this package and of a user's folders, read again when a source file has changed."""
    found = _read(others)
    if not found.unchanged:
        _read.cache_clear()
        found = _read(others)
    return found


def sources_of(path: Path, folder: Path | None = None) -> tuple[Sources, str]:
    """The sources among which a file is found, and its name there: those of this package, or of a user's folder, by
    default the file's."""
    file, known = path.resolve(), sources()
    if file.is_relative_to(known.graph.package.parent) and folder is None:
        return known, file.relative_to(known.graph.package.parent).as_posix()
    return sources((folder or file.parent).resolve()), str(file)


@functools.cache
def _read(others: tuple[Path, ...]) -> Sources:
    return Sources(others=others)


class CurrentSources:
    """The current dependencies of entries of a store, looked up once for all of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Sources] = {}

    def unchanged(self, basis: Mapping[str, Any], parts: Mapping[str, Any]) -> bool:
        """Whether the sources and versions that a `Slot` lists for a result are still the same."""
        folders = tuple(basis["folders"])
        if folders not in self._known:
            self._known[folders] = sources(*map(Path, folders))
        if parts["versions"] != libraries(tuple(basis["packages"])):
            return False
        try:
            return bool(parts["sources"] == self._known[folders].digest(basis["on"], basis["base"]))
        except (InputError, OSError):  # a deleted module
            return False


def folders(package: Path = _PACKAGE) -> list[Path]:
    """The folders of source files: the package, and its validation scripts where they are next to it."""
    beside = package.parent / "validations"
    return [package, beside] if beside.is_dir() else [package]


@functools.cache
def _package() -> tuple[str, list[str]]:
    """The hash of the package's files, and the states of their folders when it was computed."""
    states = list(map(state_of, folders()))
    made = hashlib.sha256()
    for root in folders():
        for path in sorted(root.rglob("*")):
            own = path.relative_to(root.parent)
            if path.is_file() and path.suffix not in _BUILT and not any(p.startswith(".") for p in own.parts):
                made.update(f"{own.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return made.hexdigest(), states


def package_digest() -> str:
    """The hash of this installation's files at the first call in this process: two machines with the same hash run the
    same code, whatever the version's name and location.

    >>> len(package_digest())
    64
    """
    return _package()[0]


def package_changed() -> bool:
    """Whether a source file has changed since that hash was computed.

    >>> package_changed()
    False
    """
    return _package()[1] != list(map(state_of, folders()))
