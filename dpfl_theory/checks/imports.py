"""The closure of a module's imports, read from the text of the files without running them.

Imports inside functions count, those for type checking do not. Three habits of this package are understood:

* A package that only re-exports (``from package import Name`` in front of small modules) leads to the module that the
  name comes from, not to all of them.
* A package may be imported only because one of its modules is. It then counts with its own text and its imports at
  module level. The imports in its functions matter to modules that import the package itself.
* A catalogue found by scan imports by computed names: ``import_module(f"{__name__}.{...}")`` counts as everything below
  that package. A module that can make a problem by the name of its family therefore depends on every family.

An import that cannot be determined counts as the whole package: too much rather than too little.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["Imports"]

_COMPUTED = ("import_module", "__import__", "spec_from_file_location", "walk_packages")
"""Calls that import what an import statement does not name."""

_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that hold statements."""


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

    def _next(self, path: Path, whole: bool, computed: bool) -> Iterator[tuple[Path, bool]]:
        """The targets of a module's imports: files, and whether each is imported itself (or is only on the way)."""
        module = self._module(path)
        yield from ((parent, False) for parent in self._parents(module.name))
        if whole or module.reexports is None:
            for node in module.nodes if whole else module.first:
                yield from self._targets(module, node)
        if whole and computed:
            for call in module.computed:
                yield from ((found, True) for found in self._computed(module, call))

    def _targets(self, module: _Module, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[Path, bool]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                # without "as" the outermost package is bound, and everything on the way is reachable through it
                parts = alias.name.split(".")
                names = [alias.name] if alias.asname else [".".join(parts[: i + 1]) for i in range(len(parts))]
                for name in names:
                    yield from self._named(name)
        else:
            source = module.absolute(node)
            for alias in node.names:
                yield from self._member(source, alias.name)

    def _member(
        self, source: str, name: str, passed: frozenset[tuple[str, str]] = frozenset()
    ) -> Iterator[tuple[Path, bool]]:
        """The targets of ``from source import name``; passed: the re-exports on the way, which may form a cycle (a
        package that re-exports its own compiled module)."""
        submodule = self._find(f"{source}.{name}")
        if submodule is not None:
            yield submodule, True
            yield from ((parent, False) for parent in self._parents(f"{source}.{name}"))
            return
        path = self._find(source)
        origin = None if path is None else (self._module(path).reexports or {}).get(name)
        if path is not None and origin is not None and origin not in passed:
            yield path, False
            yield from self._member(*origin, passed | {origin})
        else:
            yield from self._named(source)

    def _named(self, name: str) -> Iterator[tuple[Path, bool]]:
        found = self._find(name)
        if found is not None:
            yield found, True
        yield from ((parent, False) for parent in self._parents(name))

    def _parents(self, name: str) -> Iterator[Path]:
        """The packages on the way to a module, whether or not the module itself is still there."""
        parts = name.split(".")
        for i in range(1, len(parts)):
            found = self._find(".".join(parts[:i]))
            if found is not None:
                yield found

    def _computed(self, module: _Module, call: ast.Call) -> Iterable[Path]:
        """The modules that an import by a computed name may mean."""
        name = call.args[0] if call.args and _called(call) == "import_module" else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("."):
            return (found,) if (found := self._find(name.value)) else ()
        if isinstance(name, ast.JoinedStr):
            first = name.values[0]
            prefix = None
            if isinstance(first, ast.Constant):
                prefix = str(first.value).rpartition(".")[0]
            elif isinstance(first, ast.FormattedValue) and isinstance(first.value, ast.Name):
                prefix = module.name if first.value.id == "__name__" else None
            elif isinstance(first, ast.FormattedValue) and ast.unparse(first.value).endswith(".__name__"):
                prefix = module.bound(ast.unparse(first.value).removesuffix(".__name__"))
            found = self._find(prefix) if prefix else None
            if found is not None and found.name == "__init__.py":
                return self.below(found.parent)
        return self.below(self.package)

    def _find(self, name: str) -> Path | None:
        if name not in self._places:
            parts = name.split(".")
            places = [root.joinpath(*parts) for root in self.roots if name and not self._strange(root, parts[0])]
            files = (path for place in places for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"))
            self._places[name] = next((path for path in files if path.is_file()), None)
        return self._places[name]

    def _strange(self, root: Path, first: str) -> bool:
        """Whether a top-level name in this folder belongs to a library: where the package is installed, the libraries
        are next to it. Results depend on their versions, and not on their files."""
        return root == self.package.parent and self._installed and first != self.package.name

    def _module(self, path: Path) -> _Module:
        if path not in self._read:
            root = next((r for r in self.roots if path.is_relative_to(r)), path.parent)
            parts = path.relative_to(root).with_suffix("").parts
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            try:
                now = path.stat()
                self._read[path] = _parsed(path, name, package, (now.st_mtime_ns, now.st_size))
            except (OSError, SyntaxError, ValueError) as error:
                message = f"{str(path)!r} cannot be read as Python ({error}): correct it, then ask what changed"
                raise InputError(message) from error
        return self._read[path]


@functools.lru_cache(maxsize=4096)
def _parsed(path: Path, name: str, package: bool, _: tuple[int, int]) -> _Module:
    """A file as read, once for all graphs as long as it has the same time and size."""
    text = path.read_text(encoding="utf-8", errors="replace")  # Python ignores such bytes in comments
    return _Module(name, package, text, ast.parse(text))


class _Module:
    """One file as read, without its syntax tree, of which little is needed.

    * name: dotted; package: whether it is a package's own file;
    * nodes: all its imports; first: those of them that run when the file is imported, outside functions;
    * computed: the calls that import by a computed name;
    * reexports: name -> (module, name there) of a package's file that holds nothing but imports; None for any other
      file.

    Imports that are only for type checking do not count.
    """

    def __init__(self, name: str, package: bool, text: str, tree: ast.Module) -> None:
        self.name, self.package, self.text = name, package, text
        running = _running(tree, any(called in text for called in _COMPUTED))
        functions = [n for n in running if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        lines = [(f.lineno, f.end_lineno or f.lineno) for f in functions]
        self.nodes = tuple(n for n in running if isinstance(n, (ast.Import, ast.ImportFrom)))
        self.first = tuple(n for n in self.nodes if not any(a <= n.lineno <= b for a, b in lines))
        self.computed = tuple(n for n in running if isinstance(n, ast.Call) and _called(n) in _COMPUTED)
        self.reexports = self._reexports(tree) if package else None

    def _reexports(self, tree: ast.Module) -> dict[str, tuple[str, str]] | None:
        found: dict[str, tuple[str, str]] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                found |= {a.asname or a.name: (self.absolute(node), a.name) for a in node.names}
            elif not (_is_docstring(node) or _is_list_of_names(node)):
                return None
        return None if "*" in found else found

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that an import is from, by its full name."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - node.level + self.package]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def bound(self, name: str) -> str | None:
        """The full name of the object that an import binds to a name here."""
        for node in self.nodes:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return alias.name if isinstance(node, ast.Import) else f"{self.absolute(node)}.{alias.name}"
        return None


def _called(call: ast.Call) -> str:
    """The last name of the called function."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _running(tree: ast.Module, calls: bool) -> list[ast.AST]:
    """Everything in a file except code that is only for type checking: all nodes where calls matter, otherwise
    statements, of which there are far fewer."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ast.If) and _for_typing(node.test):
            waiting += node.orelse
        elif calls:
            waiting += ast.iter_child_nodes(node)
        else:
            waiting += (child for part in _PARTS for child in getattr(node, part, ()))
    return found


def _for_typing(test: ast.expr) -> bool:
    """Whether a condition is TYPE_CHECKING."""
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING" and isinstance(test.value, ast.Name) and test.value.id == "typing"
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_list_of_names(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]
