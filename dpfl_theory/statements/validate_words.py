"""Validation of a statement's fields and words: their types, its id, its names, its hypotheses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from types import UnionType
from typing import Any

from dpfl_theory.core import Check, Erratum, Expected, Hypothesis, Remark, Source, Statement, Symbol
from dpfl_theory.core.statement import KINDS, RELATIONS
from dpfl_theory.errors import InputError, format_error, unknown_name
from dpfl_theory.statements.source_location import Lines

__all__ = ["VERDICTS", "accepts_arguments", "is_printable_line", "of_kinds", "of_words", "one_of"]

VERDICTS = ("holds", "violated")
_ID = re.compile(r"[\w-]+(\.[\w-]+)*")


def one_of(label: str, value: object, known: Collection[str]) -> str | None:
    """Why a value is not one of the known ones; None where it is one."""
    if isinstance(value, str) and value in known:
        return None
    return f"{label} is {value!r}: choose one of {', '.join(known)}"


def is_printable_line(text: object) -> bool:
    """Whether it is a line of printable text."""
    return isinstance(text, str) and bool(text.strip()) and text.isprintable()


def accepts_arguments(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with this number of arguments."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a built-in function without a signature
        return True
    return True


_KINDS: dict[str, type] = {
    "symbols": Symbol,
    "expectations": Expected,
    "hypotheses": Hypothesis,
    "checks": Check,
    "uses": str,
}


_WANTED: dict[str, type | UnionType] = {
    "homogeneous": bool,
    "universal": bool,
    "reading": str,
    "reading_of": str,
    "typos": tuple,
    "erratum": Erratum | None,
    "remark": Remark | None,
}
_A: dict[type | UnionType, str] = {
    bool: "True or False",
    str: "text",
    tuple: "a tuple of sentences",
    Erratum | None: "an Erratum, or leave it out",
    Remark | None: "a Remark, or leave it out",
}


def of_kinds(statement: Statement, lines: Lines) -> Iterator[str]:
    """Faults of the values of its fields."""
    here = lines.line_of(statement.id, statement.title)
    source: Any = statement.source
    if not isinstance(source, Source):
        yield f"its source is {source!r}: give a Source(paper, where){here}"
    for name, kind in _KINDS.items():
        value, several = getattr(statement, name), f"its {name}"
        what = "ids" if kind is str else f"{kind.__name__} objects"
        if not isinstance(value, (tuple, list)):
            yield f"{several} are {value!r}: give a tuple of {what}{here}"
            continue
        for one in value:
            if not isinstance(one, kind):
                yield f"{several} have {one!r} among them: give a tuple of {what} only{here}"
    for name, wanted in _WANTED.items():
        if not isinstance(value := getattr(statement, name), wanted):
            yield f"its {name} is {value!r}: give {_A[wanted]}{here}"
    for name in ("sides", "prescription"):
        if (function := getattr(statement, name)) is not None and not callable(function):
            yield f"its {name} is {function!r}: give a function of the symbols{here}"


def of_words(statement: Statement, lines: Lines, known: Collection[str]) -> Iterator[str]:
    """Faults of its id, its words, its recorded verdict and its hypotheses; ``known``: ids that its proof may name."""
    here = lines.line_of(statement.id, statement.title)
    if not isinstance(statement.id, str) or not _ID.fullmatch(statement.id):
        yield f"the id {statement.id!r} is not valid: write letters, digits, - and _, with dots between{here}"
    for what, value in (("title", statement.title), ("text", statement.text), ("source.paper", statement.paper)):
        if not is_printable_line(value):
            yield f"its {what} is {value!r}: write the text for the report, in one line{here}"
    for what, value, choices in (
        ("its kind", statement.kind, KINDS),
        ("its relation", statement.relation, RELATIONS),
        ("its expected verdict", statement.expected, VERDICTS),
    ):
        if told_ := one_of(what, value, choices):
            yield told_ + (lines.line_of(value) or here)
    for id_ in statement.uses:
        if id_ not in known:
            yield f"uses: {unknown_name('statement', id_, known)}{lines.line_of(id_)}"
    for hypothesis in statement.hypotheses:
        yield from (f"{fault}{_of(hypothesis, lines)}" for fault in _faults(hypothesis))


def _faults(hypothesis: Hypothesis) -> Iterator[str]:
    """What is wrong with a hypothesis: its words, its test, or what its function gives."""
    if hypothesis.words and not is_printable_line(hypothesis.words):
        yield f"the text of a hypothesis is {hypothesis.words!r}: write the condition"
    if hypothesis.tested_by is None:
        try:
            _ = hypothesis.relations
        except Exception as error:
            yield str(error) if isinstance(error, InputError) else f"a hypothesis cannot be read: {format_error(error)}"
    elif not callable(hypothesis.tested_by) or not accepts_arguments(hypothesis.tested_by, 2):
        yield f"the test of the hypothesis {hypothesis.words!r} must take (problem, values)"


def _of(hypothesis: Hypothesis, lines: Lines) -> str:
    """The location of a hypothesis."""
    return lines.of_function(hypothesis.function) or lines.line_of(hypothesis.words)
