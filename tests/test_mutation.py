"""The runner of mutants: changed code really is in place, wherever it was imported, and nothing else changes."""

from __future__ import annotations

import ast
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.mutation.plant import plant
from benchmarks.mutation.targets import NOT_YET, TARGETS

SOURCE = '''
"""A module with everything that code is kept in."""
from __future__ import annotations
import functools, contextlib
from dataclasses import dataclass
from typing import ClassVar

LIMIT = 10.5

def twice(x, by=2):
    return by * x

@functools.cache
def remembered(x):
    return x + 1

@contextlib.contextmanager
def managed():
    yield 3

@dataclass(frozen=True)
class Shape:
    side: float = 4.0
    kind: ClassVar[str] = "square"

    @property
    def area(self):
        return self.side**2

    @staticmethod
    def name():
        return "shape"

    @classmethod
    def made(cls):
        return cls(1.0)

    def above(self):
        return self.area > LIMIT

def __getattr__(name):
    if name == "former":
        return 7
    raise AttributeError(name)

TABLE = {"twice": twice}
KINDS = (Shape,)
'''


@pytest.fixture
def module(tmp_path: Path) -> Iterator[types.ModuleType]:
    made = types.ModuleType("planted_here")
    made.__file__ = str(tmp_path / "planted_here.py")
    sys.modules["planted_here"] = made
    exec(compile(SOURCE, made.__file__, "exec"), made.__dict__)
    user = types.ModuleType("planted_user")
    exec("from planted_here import *", user.__dict__)
    sys.modules["planted_user"] = user
    yield made
    del sys.modules["planted_here"], sys.modules["planted_user"]


def test_the_module_itself_changes_nothing(module: types.ModuleType) -> None:
    user, shape = sys.modules["planted_user"], module.Shape()
    plant("planted_here", SOURCE)
    assert user.twice(3) == 6
    assert user.Shape is module.Shape is module.KINDS[0]
    assert shape.area == 16.0
    assert shape == module.Shape(4.0)
    assert module.TABLE["twice"] is module.twice is user.twice


@pytest.mark.parametrize(
    ("old", "new", "expression", "before", "after"),
    [
        ("return by * x", "return by + x", "twice(3)", 6, 5),
        ("by=2", "by=3", "twice(3)", 6, 9),
        ("return by * x", "return by + x", "TABLE['twice'](3)", 6, 5),
        ("x + 1", "x + 2", "remembered(1)", 2, 3),
        ("yield 3", "yield 4", "managed().__enter__()", 3, 4),
        ("self.side**2", "self.side**3", "Shape(2.0).area", 4.0, 8.0),
        ("side: float = 4.0", "side: float = 5.0", "Shape().side", 4.0, 5.0),
        ('"square"', '"circle"', "Shape.kind", "square", "circle"),
        ('"shape"', '"form"', "Shape.name()", "shape", "form"),
        ("cls(1.0)", "cls(2.0)", "Shape.made().side", 1.0, 2.0),
        ("LIMIT = 10.5", "LIMIT = 20.5", "Shape().above()", True, False),
        ("LIMIT = 10.5", "LIMIT = 20.5", "LIMIT", 10.5, 20.5),
        ("> LIMIT", "< LIMIT", "KINDS[0]().above()", True, False),
    ],
)
def test_a_change_is_in_place_where_the_module_was_imported(
    module: types.ModuleType, old: str, new: str, expression: str, before: object, after: object
) -> None:
    user = sys.modules["planted_user"]
    for space in (module, user):
        assert eval(expression, space.__dict__) == before
    assert SOURCE.count(old) == 1
    plant("planted_here", SOURCE.replace(old, new))
    for space in (module, user):
        assert eval(expression, space.__dict__) == after


def test_a_change_of_what_a_module_answers_for_names_that_it_lacks_is_in_place(module: types.ModuleType) -> None:
    """Python calls the module's ``__getattr__`` for these; its other names with two underscores stay."""
    assert module.former == 7
    plant("planted_here", SOURCE.replace("return 7", "return 8").replace("A module with", "Another with"))
    assert module.former == 8
    assert module.__name__ == "planted_here"
    assert module.__doc__ is not None
    assert module.__doc__.startswith("A module with")


def test_what_fails_on_import_is_raised(module: types.ModuleType) -> None:
    with pytest.raises(ZeroDivisionError):
        plant("planted_here", SOURCE.replace("LIMIT = 10.5", "LIMIT = 1 / 0"))


def test_mutants_of_a_function() -> None:
    pytest.importorskip("cosmic_ray")
    from benchmarks.mutation.mutants import mutants

    source = (
        "from math import pi\n__all__ = ['f']\n\n\ndef f(x: int | None = 3) -> str:\n"
        '    """One + two."""\n    if x >= 0.5 and x:\n        return "holds"\n    return max(x - 1, 2)\n'
    )
    found = {m.after for m in mutants(source)}
    assert {"if x > 0.5 and x:", "if x < 0.5 and x:", "if x >= 0.5 or x:", "return max(x + 1, 2)"} <= found
    assert {'return "violated"', "return min(x - 1, 2)"} <= found
    for mutant in mutants(source):
        ast.parse(mutant.source)
        assert mutant.source != source
        assert mutant.function == "f"
        assert "int | None" in mutant.source
        assert "['f']" in mutant.source
    assert len({m.source for m in mutants(source)}) == len(mutants(source))


def test_the_lines_of_statements() -> None:
    pytest.importorskip("cosmic_ray")
    from benchmarks.mutation.run import _statements

    source = (
        "def f(x):\n    if (x and\n        y):\n        return (1 +\n            2)\n    for i in x:\n        pass\n"
    )
    assert set(_statements(ast.parse(source))) == {(2, 3), (4, 5), (6, 6), (7, 7)}


def test_an_equivalent_that_is_no_mutant_is_dead() -> None:
    pytest.importorskip("cosmic_ray")
    from benchmarks.mutation.mutants import mutants
    from benchmarks.mutation.run import dead

    every = mutants("def f(x):\n    return x + 1\n")
    lives, other = ("f", "return x + 1", "return x - 1"), ("f", "return x + 1", "return x * 1")
    assert dead([lives], every) == []
    moved, changed = ("g", *lives[1:]), ("f", "return x + 2", "return x - 2")
    assert dead([moved, lives, changed, other], every) == [moved, changed, other]


def test_modules_and_tests_are_where_they_are_named() -> None:
    """The runner passes over test files that are not there, and results of modules that moved would be lost."""
    root = Path(__file__).parents[1]
    assert [module for module in TARGETS if not (root / (module.replace(".", "/") + ".py")).exists()] == []
    named = {test for tests in TARGETS.values() for test in tests}
    assert [test for test in named if not (root / test.partition("::")[0]).exists()] == []
    functions = [test.split("::") for test in named if "::" in test]
    assert [test for file, test in functions if f"def {test}(" not in (root / file).read_text()] == []
    recorded = json.loads((root / "benchmarks" / "mutation" / "results.json").read_text())
    assert {*recorded} == {*TARGETS} - {*NOT_YET}


def test_each_equivalent_changes_a_line_that_its_function_has() -> None:
    """The original line is still in the module; the run of the mutants shows whether the change is a mutant."""
    folder = Path(__file__).parents[1] / "benchmarks" / "mutation"
    known = json.loads((folder / "equivalent.json").read_text())
    assert len(known) > 10
    for module, entries in known.items():
        source = (folder.parents[1] / (module.replace(".", "/") + ".py")).read_text()
        bodies = _bodies(ast.parse(source), source.splitlines())
        for entry in entries:
            assert entry["before"] in bodies[entry["function"]], (module, entry)
            assert entry["after"]
            assert entry["reason"]


def _bodies(tree: ast.Module, lines: list[str]) -> dict[str, set[str]]:
    """The lines of each function and class, by its qualified name, and those of the module."""
    found = {"<module>": {line.strip() for line in lines}}

    def visit(node: ast.AST, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                name = f"{path}.{child.name}" if path else child.name
                found[name] = {line.strip() for line in lines[child.lineno - 1 : child.end_lineno]}
                visit(child, name)
            else:
                visit(child, path)

    visit(tree, "")
    return found
