"""The test files that a change concerns: those whose imports reach a changed file, the most specific ones first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dpfl_theory.checks.change_detection import Change
from dpfl_theory.runtime.imports import Imports

__all__ = ["concerned"]


def concerned(files: Iterable[Path], change: Change) -> list[Path]:
    """Those of the test files that import a changed file, at any depth, or were changed themselves.

    A file that reaches fewer modules comes first, because it is more specific. Imports by computed names do not count:
    through the catalogue every test would reach every statement, whose own checks run all the same.
    """
    root = change.package.parent
    graph = Imports(change.package, (root, root / "tests"))
    touched = change.affected_modules(graph)
    reached = {file: frozenset(graph.closure([file], computed=False)) for file in dict.fromkeys(files)}
    return sorted((file for file, rests in reached.items() if touched & rests), key=lambda f: (len(reached[f]), str(f)))
