"""The numbers in the words of statements, computed from the evidence of a check and by the papers' own functions.

    python -m dpfl_theory.checks.numbers reports/evidence/check.json

compares them with the recorded ones, and fails where a text prints another value. `dpfl_theory.checks.record` records
them. ``evidence(CHECK, FIELD)`` in a text is a value of it: CHECK is ``METHOD: NAME``, and FIELD the way to a value,
like ``ratio``, ``lhs.estimate`` or ``notes.points[0].high``; ``#0`` at its end is the first number within a text.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import math
import re
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.statements.numbers import Number, Value, numbers_in, recorded
from dpfl_theory.statements.words import entries

_FOLDER = Path(catalogue.__file__).parent
Found = Mapping[str, Sequence[Mapping[str, Any]]]
"""Evidence as plain data, by statement."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:/\d+)?(?![\w])")


class NotFound(LookupError):
    """The evidence that an expression asks for is not there."""


def _leaves(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers within plain data, each after the way to it.

    >>> list(_leaves("instance", {"s": ["1/4"], "at": "E = 2, rho = 0.1"}))
    [('instance.s[0]#0', 0.25), ('instance.at#0', 2.0), ('instance.at#1', 0.1)]
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _leaves(f"{name}[{i}]", part)
    elif isinstance(value, str):
        for i, text in enumerate(_NUMBER.findall(value)):
            top, _, bottom = text.partition("/")
            with contextlib.suppress(OverflowError, ZeroDivisionError, ValueError):
                yield f"{name}#{i}", int(top) / int(bottom) if bottom else float(top)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, float(value)


def value_at(found: Found, statement: str, check: str, field: str) -> float:
    """A value of the evidence of a statement's check; NotFound if that is not there.

    >>> value_at({"a.b": [{"method": "exact", "check": "one", "ratio": 1.5}]}, "a.b", "exact: one", "ratio")
    1.5
    """
    for piece in found.get(statement, ()):
        if f"{piece['method']}: {piece['check']}" == check:
            root = re.split(r"[.\[#]", field)[0]
            for way, value in _leaves(root, piece.get(root)):
                if way == field:
                    return value
    raise NotFound(f"{statement} has no evidence {field!r} of the check {check!r}")


@cache
def _printed_by(paper: str, script: str) -> tuple[float, ...]:
    """The numbers that the script of a counterexample prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(_FOLDER / paper / "counterexamples" / script), run_name="__main__")
    return tuple(value for _, value in _leaves("printed", out.getvalue()))


@cache
def _functions(paper: str) -> dict[str, Any]:
    """What expressions may name: functions of `math`, and the paper's own."""
    name = f"dpfl_theory.statements.{paper}._computed"
    own = vars(importlib.import_module(name)) if importlib.util.find_spec(name) else {}
    return {**vars(math), "min": min, "max": max, **own, "__builtins__": {}}


def error_at(found: Found, statement: str, check: str, field: str) -> float | None:
    """The standard error of a ratio or a left side that replicates estimate; None for other values.

    >>> piece = {"method": "monte-carlo", "check": "one", "rhs": 2.0, "notes": {"standard_error": 0.1}}
    >>> error_at({"a.b": [piece]}, "a.b", "monte-carlo: one", "ratio")
    0.05
    """
    if not check.startswith("monte-carlo: ") or field not in ("ratio", "lhs.estimate"):
        return None
    error = value_at(found, statement, check, "notes.standard_error")
    return error / value_at(found, statement, check, "rhs") if field == "ratio" else error


def computed(id_: str, number: Number, found: Found) -> Value:
    """The value of a number in an entry's words, with its standard error where it has one; NotFound if it needs
    evidence that is not there."""
    paper, errors = id_.partition(".")[0], []

    def evidence(check: str, field: str = "ratio", of: str = id_) -> float:
        errors.append(error_at(found, of, check, field))
        return value_at(found, of, check, field)

    names = {
        **_functions(paper),
        "evidence": evidence,
        "script": lambda name, n: _printed_by(paper, name)[n],
        "this": next((s for s in catalogue.all_statements() if s.id == id_), None),  # None: the words of a cause
    }
    value = float(eval(number.expression, names))
    return (value, errors[0]) if errors and errors[0] is not None else value


def numbers_of(paper: str) -> Iterator[tuple[str, Number]]:
    """The numbers in a paper's words, each after the id of its entry; each expression once for an entry."""
    for id_, entry in entries(paper).items():
        if "." in id_:
            texts = (text for s in (entry, *entry.sections) for text in (*s.fields.values(), *s.paragraphs))
            yield from dict.fromkeys((id_, number) for text in texts for number in numbers_in(text))


def moved(found: Found) -> list[str]:
    """A sentence for each number whose recorded value prints another text than the computed one, or is missing."""
    lines = []
    for paper in catalogue.papers():
        for id_, number in numbers_of(paper):
            old = recorded().get(id_, {}).get(number.expression)
            with contextlib.suppress(NotFound):
                new = computed(id_, number, found)
                if old is None or number.shown(old) != number.shown(new):
                    lines.append(f"{id_}: {number.expression} is {new!r}, and {old!r} is recorded")
    return lines


def renewed(found: Found) -> tuple[dict[str, dict[str, Value]], list[str]]:
    """The values of all numbers, by the entry's id, and a sentence for each number that has none.

    Numbers in the words of a statement with evidence are computed. Evidence of all statements renews those of causes,
    too. A value on record stays where its evidence is not there.
    """
    whole = found.keys() >= {s.id for s in catalogue.all_statements()}
    values: dict[str, dict[str, Value]] = {}
    missing = []
    for paper in catalogue.papers():
        for id_, number in numbers_of(paper):
            old = recorded().get(id_, {}).get(number.expression)
            try:
                new = computed(id_, number, found) if whole or id_ in found else old
            except NotFound as error:
                new = old
                if old is None:
                    missing.append(str(error))
            if new is not None:
                values.setdefault(id_, {})[number.expression] = new
    return values, missing


def by_statement(document: Mapping[str, Any]) -> Found:
    """The evidence of a document of checks."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for piece in document["evidence"]:
        found.setdefault(piece["statement"], []).append(piece)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Compares the recorded values with a document; 1 if a number is missing or moved."""
    (path,) = sys.argv[1:] if argv is None else argv
    problems = moved(by_statement(json.loads(Path(path).read_text(encoding="utf-8"))))
    for line in problems:
        print(line, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
