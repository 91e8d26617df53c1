"""Layers of the package: a lower layer never imports a higher one."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import dpfl_theory

ROOT = Path(dpfl_theory.__file__).parent
FLOORS = {
    "core": (
        *("core", "encoding", "errors", "lazy", "notebook", "numerals", "related"),
        *("runtime", "schemas", "store", "verify_certificate"),
    ),
    "engine": ("kernels",),
    "domain": ("algorithms", "precompile", "privacy", "problems", "semantics", "simulation"),
    "checks": ("checks", "statements"),
    "applications": ("audit", "conform", "recommend", "report", "reproduce", "sweep", "templates", "validation"),
    "interfaces": ("__init__", "__main__", "cli", "inventory", "pytest_plugin"),
}
"""The floors of the package, the lowest first: nothing imports a higher floor. No two parts of a folder import each
other."""
LAYERS = tuple(FLOORS.values())
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


@cache
def _run(path: Path) -> tuple[ast.AST, ...]:
    """The Python statements that a file executes, also nested ones, without those only for type checking."""
    found, left = list[ast.AST](), list[ast.AST]([ast.parse(path.read_text())])
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            left += node.orelse
            continue
        found.append(node)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, part, [])
            left += inside if isinstance(inside, list) else []  # parts of an expression are not statements
    return tuple(found)


def _imports(path: Path) -> list[str]:
    """The package's modules, by first part, that a file imports anywhere except for type checking."""
    found = []
    for node in _run(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dpfl_theory."):
            found.append(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "dpfl_theory":
            found += [alias.name for alias in node.names if alias.name in LEVEL]
        elif isinstance(node, ast.Import):
            found += [a.name.split(".")[1] for a in node.names if a.name.startswith("dpfl_theory.")]
    return found


def test_every_module_belongs_to_a_layer() -> None:
    assert {
        p.stem if p.is_file() else p.name for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    } == set(LEVEL)


def test_no_module_imports_a_higher_layer() -> None:
    upward = []
    for path in sorted(ROOT.rglob("*.py")):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        upward += [f"{path.relative_to(ROOT)} imports {name}" for name in _imports(path) if LEVEL[name] > LEVEL[own]]
    assert upward == []


def test_the_scan_sees_an_upward_import(tmp_path: Path) -> None:
    file = tmp_path / "lower.py"
    lines = (
        "from typing import TYPE_CHECKING",
        "if TYPE_CHECKING:",
        "    from dpfl_theory.cli import x",
        "def f():",
        "    from dpfl_theory.checks import y",
    )
    file.write_text("\n".join(lines))
    assert _imports(file) == ["checks"]


@cache
def _graph(root: Path) -> dict[str, set[str]]:
    """Each module below a package's folder -> the modules that it imports anywhere, also within functions."""
    files = {".".join((root.name, *p.relative_to(root).with_suffix("").parts)): p for p in root.rglob("*.py")}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    graph = {}
    for name, path in files.items():
        nodes = [n for n in _run(path) if isinstance(n, ast.ImportFrom) and n.module]
        named = {(f"{n.module}.{a.name}", n.module) for n in nodes for a in n.names}
        graph[name] = {full if full in files else module for full, module in named} & set(files) - {name}
    return graph


def _in_circles(graph: dict[str, set[str]]) -> set[str]:
    """The modules in import cycles: those that remain when modules without imports or importers are removed
    repeatedly."""
    left = dict(graph)
    while True:
        reached = set().union(*left.values()) if left else set()
        kept = {name: to & set(left) for name, to in left.items() if name in reached and to & set(left)}
        if kept == left:
            return set(left)
        left = kept


def test_no_circles() -> None:
    graph = _graph(ROOT)
    assert len(graph) > 300
    assert _in_circles(graph) == set()


def _parts(graph: dict[str, set[str]], package: str) -> dict[str, set[str]]:
    """The parts of a package, modules and folders -> the other parts that they import."""
    inside, found = f"{package}.", dict[str, set[str]]()
    for name, to in graph.items():
        if name.startswith(inside):
            part = name.removeprefix(inside).split(".")[0]
            others = {other.removeprefix(inside).split(".")[0] for other in to if other.startswith(inside)}
            found.setdefault(part, set()).update(others - {part})
    return found


def test_the_parts_of_every_package_have_an_order() -> None:
    """Folders do not import each other, at any depth: each package can be read from its lowest part upwards."""
    graph = _graph(ROOT)
    packages = [name for name in graph if any(other.startswith(f"{name}.") for other in graph)]
    assert len(packages) > 25
    assert {name: found for name in packages if (found := _in_circles(_parts(graph, name)))} == {}


def test_two_folders_that_import_each_other_are_seen() -> None:
    """Though none of their modules do."""
    graph = {"p.a.one": {"p.b.two"}, "p.b.three": {"p.a.four"}, "p.b.two": set[str](), "p.a.four": set[str]()}
    assert _in_circles(graph) == set()
    assert _in_circles(_parts(graph, "p")) == {"a", "b"}


def test_a_repaired_theorem_is_read_in_a_few_files() -> None:
    """The dependencies of DP-FedAvg's theorem of noble2022 in its paper's folder, including itself."""
    graph, paper = _graph(ROOT), "dpfl_theory.statements.noble2022."
    reached, new = set[str](), {f"{paper}theoremC_2"}
    while new:
        reached |= new
        new = {to for name in new for to in graph[name] if to.startswith(paper)} - reached
    assert len(reached) <= 8, sorted(reached)


def test_a_circle_through_a_function_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "round"
    package.mkdir()
    (package / "a.py").write_text("from round import b")
    (package / "b.py").write_text("from round.c import x")
    (package / "c.py").write_text("def f():\n    from round.a import y")
    (package / "d.py").write_text("from round import a")
    assert _in_circles(_graph(package)) == {"round.a", "round.b", "round.c"}


def _defined(init: Path) -> set[str]:
    return {n.name for n in ast.parse(init.read_text()).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def test_no_package_defines_what_one_of_its_modules_would_replace() -> None:
    """Python sets an imported module as an attribute of its package, which replaces a function of that name."""
    clashes = []
    for init in sorted(ROOT.rglob("__init__.py")):
        modules = {p.stem for p in init.parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
        clashes += [f"{init.relative_to(ROOT)}: {name}" for name in sorted(_defined(init) & modules)]
    assert clashes == []


def test_functions_with_the_name_of_a_package_stay_functions_when_it_is_imported() -> None:
    code = (
        "import dpfl_theory.conform, dpfl_theory.recommend.inputs, dpfl_theory.sweep.table, dpfl_theory as d\n"
        "from dpfl_theory.recommend import recommend, rules\n"
        "from dpfl_theory.sweep import Table, sweep\n"
        "from dpfl_theory.conform import Conformance, adapters\n"
        "print(d.conform.__name__, d.recommend is recommend, d.sweep is sweep, *rules())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "conform True True bound-optimal printed"
