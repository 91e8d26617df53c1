"""Locations in a source file: of a text, of a function, or of an error."""

from __future__ import annotations

import ast
import inspect
import os
import traceback
from pathlib import Path
from typing import Any


def line_of(error: BaseException, file: Path) -> str:
    """The line of a file in which an error arose, as `` (mine.py, line 3)``; empty if it arose elsewhere, or names the
    line itself."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if _same(frame.filename, file)]
    return f" ({file.name}, line {lines[-1]})" if lines and str(error) else ""


def _same(name: str, file: Path) -> bool:
    """Whether a code object's file is this one: an imported file has an absolute name, however it was given."""
    return os.path.abspath(name) == os.path.abspath(file)


class Lines:
    """Lines of a source file, as ``line N``; empty for another file, or if the line is unknown.

    >>> Lines("a = 1\\nkind = 'theorm'\\n", "mine.py").line_of("theorm")
    ' (mine.py, line 2)'
    """

    def __init__(self, text: str, file: str | Path) -> None:
        self._file = Path(file)
        self._words: dict[Any, int] = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._words[node.value] = min(node.lineno, self._words.get(node.value, node.lineno))

    def _at(self, number: int | None) -> str:
        return "" if number is None else f" ({self._file.name}, line {number})"

    def line_of(self, *words: object) -> str:
        """The location of the first of these words that is in the file as a separate string."""
        return self._at(next((self._words[w] for w in words if isinstance(w, str) and w in self._words), None))

    def of_function(self, function: Any) -> str:
        """The location where a function starts."""
        code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
        own = code is not None and _same(code.co_filename, self._file)
        return self._at(code.co_firstlineno if code is not None and own else None)

    def of_error(self, error: BaseException, function: Any) -> str:
        """The location of the innermost frame of an error in the file, or of the function's start."""
        return line_of(error, self._file) or self.of_function(function)
