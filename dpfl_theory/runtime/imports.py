"""The closure of a module's imports, read from the text of the files without running them.

Imports inside functions count, those for type checking do not. An import by a computed name counts as everything below
the package that the name starts with, or as the whole package. A package that only re-exports leads to the module that
a name comes from. A package on the way to a module counts with its own text and its imports at module level.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpfl_theory.errors import InputError

_COMPUTED = ("import_module", "__import__", "spec_from_file_location", "walk_packages")
"""Calls that import what an import statement does not name."""
_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that hold statements."""

Reached = Iterator[tuple[Path, bool]]
"""Files, and whether each is imported itself, or is only a package on the way."""


@dataclass(frozen=True)
class _Module:
    """A file as read. imports: module, name there (empty for the module itself), and whether it is inside a function.
    computed: module, and whether everything below it is meant. reexports: of a package that has nothing but imports, by
    name; None for any other file."""

    name: str
    text: str
    imports: tuple[tuple[str, str, bool], ...]
    computed: tuple[tuple[str, bool], ...]
    reexports: dict[str, tuple[str, str]] | None


class Imports:
    """The import graph of the modules below some folders.

    package: the folder of the package in which names are always looked up; others: folders in which top-level names are
    looked up as well (a user's own file and its neighbours). Raises InputError for a file that is not Python.

    >>> import dpfl_theory.errors
    >>> found = Imports(Path(dpfl_theory.errors.__file__).parent)
    >>> [path.name for path in found.closure([found.module("dpfl_theory.errors")])]
    ['__init__.py', 'errors.py', 'related.py']
    """

    def __init__(self, package: Path, others: Sequence[Path] = ()) -> None:
        self.package = package.resolve()
        self.roots = tuple(dict.fromkeys((self.package.parent, *(o.resolve() for o in others))))
        self._installed = any(self.package.parent.glob("*.dist-info"))
        self._read: dict[Path, _Module] = {}
        self._places: dict[str, Path | None] = {}
        self._leads: dict[tuple[Path, bool, bool], tuple[tuple[Path, bool], ...]] = {}

    def module(self, name: str) -> Path:
        """The file of a module by its dotted name; InputError for an unknown module."""
        found = self._find(name)
        if found is None:
            raise InputError(f"there is no module {name!r} below {', '.join(map(str, self.roots))}: it may have moved")
        return found

    def below(self, folder: Path) -> tuple[Path, ...]:
        """Every module in a folder and below it."""
        return tuple(sorted(folder.rglob("*.py")))

    def text(self, path: Path) -> str:
        """The text of a module."""
        return self._module(path).text

    def closure(self, files: Iterable[Path], computed: bool = True, known: Collection[Path] = ()) -> tuple[Path, ...]:
        """These modules and all their dependencies, sorted. computed: whether computed names count; known: modules
        whose computed names do not."""
        waiting = [(file.resolve(), True) for file in files]
        seen: set[tuple[Path, bool]] = set()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                asked = (*node, computed and node[0] not in known)
                if asked not in self._leads:
                    self._leads[asked] = tuple(self._next(*asked))
                waiting += self._leads[asked]
        return tuple(sorted({path for path, _ in seen}))

    def _next(self, path: Path, itself: bool, computed: bool) -> Reached:
        module = self._module(path)
        yield from self._parents(module.name)
        for source, name, inside in module.imports:
            if itself or not (inside or module.reexports is not None):
                yield from self._member(source, name)
        for name, below in module.computed if itself and computed else ():
            found = self._find(name)
            if not below:
                yield from () if found is None else ((found, True),)
            else:
                whole = self.package if found is None or found.name != "__init__.py" else found.parent
                yield from ((file, True) for file in self.below(whole))

    def _member(self, source: str, name: str, passed: frozenset[tuple[str, str]] = frozenset()) -> Reached:
        """The targets of ``from source import name``, or of ``import source`` without a name; passed: the re-exports on
        the way, which may form a cycle (a package that re-exports its own compiled module)."""
        path = self._find(source)
        origin = None if path is None else (self._module(path).reexports or {}).get(name)
        if name and self._find(f"{source}.{name}") is not None:
            yield from self._member(f"{source}.{name}", "")
        elif path is not None and origin is not None and origin not in passed:
            yield path, False
            yield from self._member(*origin, passed | {origin})
        else:
            yield from () if path is None else ((path, True),)
            yield from self._parents(source)

    def _parents(self, name: str) -> Reached:
        """The packages on the way to a module, whether or not the module itself is still there."""
        parts = name.split(".")
        found = (self._find(".".join(parts[:i])) for i in range(1, len(parts)))
        yield from ((path, False) for path in found if path is not None)

    def _find(self, name: str) -> Path | None:
        if name not in self._places:
            first, *_ = parts = name.split(".")
            # Where the package is installed, the libraries are next to it: results depend on their versions.
            strange = self._installed and first != self.package.name
            places = [r.joinpath(*parts) for r in self.roots if name and not (strange and r == self.package.parent)]
            files = (path for place in places for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"))
            self._places[name] = next((path for path in files if path.is_file()), None)
        return self._places[name]

    def _module(self, path: Path) -> _Module:
        if path not in self._read:
            root = next((r for r in self.roots if path.is_relative_to(r)), path.parent)
            try:
                now = path.stat()
                self._read[path] = _parsed(
                    path, path.relative_to(root).with_suffix("").parts, now.st_mtime_ns, now.st_size
                )
            except (OSError, SyntaxError, ValueError) as error:
                message = f"{str(path)!r} cannot be read as Python ({error}): correct it, then ask what changed"
                raise InputError(message) from error
        return self._read[path]


@functools.lru_cache(maxsize=4096)
def _parsed(path: Path, parts: tuple[str, ...], *_: int) -> _Module:
    """A file as read, once for all graphs as long as it has the same time and size."""
    text = path.read_text(encoding="utf-8", errors="replace")  # Python ignores such bytes in comments
    tree = ast.parse(text)
    package = parts[-1] == "__init__"
    own = parts[:-1] if package else parts
    imports: list[tuple[str, str, bool]] = []
    bound: dict[str, str] = {}
    for node, inside in _running(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # without "as" the outermost package is bound, and everything on the way is reachable through it
                words = alias.name.split(".")
                names = [alias.name] if alias.asname else [".".join(words[: i + 1]) for i in range(len(words))]
                imports += [(name, "", inside) for name in names]
                bound[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            kept = own[: len(own) - node.level + package] if node.level else ()
            source = ".".join([*kept, *([node.module] if node.module else [])])
            imports += [(source, alias.name, inside) for alias in node.names]
            bound |= {alias.asname or alias.name: f"{source}.{alias.name}" for alias in node.names}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if any(word in text for word in _COMPUTED) else []
    computed = [_computed(call, ".".join(own), bound) for call in calls if _called(call) in _COMPUTED]
    return _Module(".".join(own), text, tuple(imports), tuple(computed), _reexports(tree, bound) if package else None)


def _running(body: Iterable[ast.AST], inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """The statements of a file that are not only for type checking, and whether each is inside a function."""
    for node in body:
        yield node, inside
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in (
            getattr(node.test, "id", ""),
            getattr(node.test, "attr", ""),
        )
        inner = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for part in ("orelse",) if typing else _PARTS:
            yield from _running(getattr(node, part, ()), inner)


def _called(call: ast.Call) -> str:
    """The last name of the called function."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _computed(call: ast.Call, own: str, bound: dict[str, str]) -> tuple[str, bool]:
    """The module that a call imports, and whether it may mean everything below that; an empty name is unknown."""
    name = call.args[0] if call.args and _called(call) == "import_module" else None
    if isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("."):
        return name.value, False
    if isinstance(name, ast.JoinedStr):
        first = ast.unparse(name.values[0].value) if isinstance(name.values[0], ast.FormattedValue) else ""
        if isinstance(name.values[0], ast.Constant):
            return str(name.values[0].value).rpartition(".")[0], True
        return own if first == "__name__" else bound.get(first.removesuffix(".__name__"), ""), True
    return "", True


def _reexports(tree: ast.Module, bound: dict[str, str]) -> dict[str, tuple[str, str]] | None:
    """Name -> (module, name there) of a file that holds nothing but imports; None for any other file."""
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        names = isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]
        if not (text or names or isinstance(node, ast.ImportFrom)) or "*" in bound:
            return None
    return {name: (full.rpartition(".")[0], full.rpartition(".")[2]) for name, full in bound.items()}
