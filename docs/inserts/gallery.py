"""The theorems of ``examples``: formula, methods, the faults that the tests plant in them, and the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docs.inserts import plain, table
from dpfl_theory.core import Statement, prose
from dpfl_theory.errors import InputError
from dpfl_theory.report import formulas
from dpfl_theory.statements import load_file

__all__ = ["insert", "planted"]

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "test_examples.py"


def planted(tests: Path = TESTS) -> dict[str, list[tuple[str, str, set[str]]]]:
    """The faults that the tests plant, by file: the text, its replacement, and the methods that must refute it.

    The tests' file is read and not run. Raises InputError where it has no such table.
    """
    for node in ast.parse(tests.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["FAULTS"]:
            found: dict[str, list[tuple[str, str, set[str]]]] = ast.literal_eval(node.value)
            return found
    raise InputError(f"{tests.name} has no table FAULTS, from which the gallery takes the planted faults")


def insert() -> str:
    """A section for each theorem."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    faults = planted()
    for file in sorted((ROOT / "examples").glob("*.py")):
        for statement in load_file(file):
            yield f"({file.stem})=\n### {plain(prose.plain(statement.title))}\n\n{plain(prose.plain(statement.text))}\n"
            yield _formula(statement)
            methods = ", ".join(dict.fromkeys(check.method for check in statement.checks))
            yield f"Checked by {methods}:\n"
            yield f"```console\n$ dpfl-theory check --file examples/{file.name}\n```\n"
            rows = [
                [_code(right), _code(wrong) if wrong else "nothing", ", ".join(sorted(refuting))]
                for right, wrong, refuting in faults.get(file.name, ())
            ]
            if rows:
                yield "The tests plant these faults, one at a time:\n"
                yield table(("original", "fault", "refuted by"), rows)
            yield f"````{{dropdown}} The file {file.name}\n```python\n{file.read_text(encoding='utf-8')}```\n````\n"


def _formula(statement: Statement) -> str:
    """Both sides as MathML, a line for each named term."""
    rows = (f"<tr><td>{line.mathml}</td><td>{escape(line.name)}</td></tr>" for line in formulas.lines(statement))
    return f'<table class="formula">{"".join(rows)}</table>\n'


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`".replace("|", "\\|")
