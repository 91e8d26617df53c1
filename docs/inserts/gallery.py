"""The theorems of ``examples``: formula, methods, the faults that the tests plant in them, and the file."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from docs.inserts import rendered
from dpfl_theory.errors import InputError
from dpfl_theory.report import formulas
from dpfl_theory.statements import load_file

__all__ = ["insert", "planted"]

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "test_examples.py"


def planted(tests: Path = TESTS) -> dict[str, list[tuple[str, str, set[str]]]]:
    """The faults that the tests plant, by file: what is replaced, by what, and the methods that must refute it.

    The tests' file is read and not run. Raises InputError where it has no such table.
    """
    for node in ast.parse(tests.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["FAULTS"]:
            found: dict[str, list[tuple[str, str, set[str]]]] = ast.literal_eval(node.value)
            return found
    raise InputError(f"{tests.name} has no table FAULTS, from which the gallery takes the planted faults")


def insert() -> str:
    """A section for each theorem."""
    faults = planted()
    theorems: list[dict[str, Any]] = []
    for file in sorted((ROOT / "examples").glob("*.py")):
        source = file.read_text(encoding="utf-8")
        for statement in load_file(file):
            theorems.append(
                {
                    "id": statement.id,
                    "name": file.stem,
                    "statement": statement,
                    "lines": formulas.lines(statement),
                    "formula_of": "theorem",
                    "methods": list(dict.fromkeys(check.method for check in statement.checks)),
                    "faults": faults.get(file.name, ()),
                    "source": source,
                }
            )
    return rendered("gallery.html.j2", theorems=theorems)
