"""What must be true of a statement before anything is checked: its words, its letters, its formula, its checks.

Whoever writes a statement makes slips: a relation that no method compares by, a letter that is used and not declared, a
verdict that there is not. `faults` finds them all at once, each in one sentence that names the letter or word, what
to do about it, and the line.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any

from dpfl_theory import methods
from dpfl_theory.errors import told, unknown_name
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.excluding import never_excludes
from dpfl_theory.statements.formula import letters_of, prescription_of, sides_of
from dpfl_theory.statements.model import (
    DOMAINS,
    KINDS,
    RELATIONS,
    UNITS,
    Assumption,
    Check,
    Erratum,
    Expected,
    Remark,
    Sides,
    Source,
    Statement,
    Symbol,
    by_construction,
)

__all__ = ["Lines", "faults", "faults_of_file", "line_of", "not_compared"]

VERDICTS = ("holds", "violated")
OF_CHECKS = (*VERDICTS, "inconclusive", "not-applicable")
LARGEST_INSTANCE = 100_000
"""Characters of an instance as JSON."""
_ID = re.compile(r"[\w-]+(\.[\w-]+)*")


def line_of(error: BaseException, file: Path) -> str:
    """Where in a file an error arose, as `` (mine.py, line 3)``; nothing where it did not, or says so itself."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if _same(frame.filename, file)]
    return f" ({file.name}, line {lines[-1]})" if lines and str(error) else ""


def _same(name: str, file: Path) -> bool:
    """Whether a code object's file is this one: what was imported has an absolute name, however it was given."""
    return os.path.abspath(name) == os.path.abspath(file)


class Lines:
    """Where in a source file something stands: ``line N``; of another file, or unknown, nothing.

    >>> Lines("a = 1\\nkind = 'theorm'\\n", "mine.py").of("theorm")
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

    def of(self, *words: object) -> str:
        """The first of these words that stands in the file as a text of its own."""
        return self._at(next((self._words[w] for w in words if isinstance(w, str) and w in self._words), None))

    def of_function(self, function: Any) -> str:
        """Where a function begins."""
        code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
        own = code is not None and _same(code.co_filename, self._file)
        return self._at(code.co_firstlineno if code is not None and own else None)

    def of_error(self, error: BaseException, function: Any) -> str:
        """The innermost frame of an error that lies in the file, or where the function begins."""
        return line_of(error, self._file) or self.of_function(function)


def _one_of(what: str, value: object, known: Collection[str]) -> str | None:
    if isinstance(value, str) and value in known:
        return None
    return f"{what} is {value!r}: choose one of {', '.join(known)}"


def faults(statement: Statement, lines: Lines, known: Collection[str] = ()) -> list[str]:
    """What is wrong with a statement, a sentence each. known: ids that its proof may name beside its own."""
    found = [*_of_kinds(statement, lines)]
    if not found:
        found = [*_of_words(statement, lines, known), *_of_letters(statement, lines)]
    if not found:  # a formula is built from letters that are right
        found = [*_of_formula(statement, lines), *_of_checks(statement, lines)]
    return found


_KINDS: dict[str, type] = {
    "symbols": Symbol,
    "expectations": Expected,
    "assumptions": Assumption,
    "checks": Check,
    "uses": str,
}


_WANTED: dict[str, type | UnionType] = {
    "homogeneous": bool,
    "universal": bool,
    "reading": str,
    "reading_of": str,
    "slips": tuple,
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


def _of_kinds(statement: Statement, lines: Lines) -> Iterator[str]:
    here = lines.of(statement.id, statement.title)
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
                yield f"{several} have {one!r} among them: give a tuple of {what} alone{here}"
    for name, wanted in _WANTED.items():
        if not isinstance(value := getattr(statement, name), wanted):
            yield f"its {name} is {value!r}: give {_A[wanted]}{here}"
    for name in ("sides", "prescription"):
        if (function := getattr(statement, name)) is not None and not callable(function):
            yield f"its {name} is {function!r}: give a function of the letters{here}"


def _of_words(statement: Statement, lines: Lines, known: Collection[str]) -> Iterator[str]:
    here = lines.of(statement.id, statement.title)
    if not isinstance(statement.id, str) or not _ID.fullmatch(statement.id):
        yield f"the id {statement.id!r} is none: write letters, digits, - and _, with dots between{here}"
    for what, value in (("title", statement.title), ("text", statement.text), ("source.paper", statement.paper)):
        if not _shown(value):
            yield f"its {what} is {value!r}: write what the report is to show, in one line{here}"
    for what, value, choices in (
        ("its kind", statement.kind, KINDS),
        ("its relation", statement.relation, RELATIONS),
        ("its expected verdict", statement.expected, VERDICTS),
    ):
        if told_ := _one_of(what, value, choices):
            yield told_ + (lines.of(value) or here)
    for id_ in statement.uses:
        if id_ not in known:
            yield f"uses: {unknown_name('statement', id_, known)}{lines.of(id_)}"
    for assumption in statement.assumptions:
        if not callable(assumption.test) or not _takes(assumption.test, 2):
            yield f"the test of the hypothesis {assumption.text!r} must take (problem, values){_of(assumption, lines)}"
        elif assumption.test is not by_construction and never_excludes(assumption.test):
            told_ = (
                "returns None, whatever the values: return a sentence where it is not met, or take by_construction of "
                "dpfl_theory.statements.model for a test where build makes nothing else"
            )
            yield f"the test of the hypothesis {assumption.text!r} {told_}{_of(assumption, lines)}"
        if not _shown(assumption.text):
            yield f"the text of a hypothesis is {assumption.text!r}: write what it says{_of(assumption, lines)}"


def _of(assumption: Assumption, lines: Lines) -> str:
    """Where a hypothesis stands."""
    return lines.of_function(assumption.test) or lines.of(assumption.text)


def _shown(text: object) -> bool:
    """Whether it is a line of text that can be written anywhere."""
    return isinstance(text, str) and bool(text.strip()) and text.isprintable()


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not say
        return True
    return True


def _of_letters(statement: Statement, lines: Lines) -> Iterator[str]:
    names = [letter.name for letter in statement.letters]
    for name, count in Counter(names).items():
        if count > 1:
            yield f"the letter {name!r} is declared {count} times: give each a name of its own{lines.of(name)}"
    for letter in statement.letters:
        here = lines.of(letter.name)
        if not isinstance(letter.name, str) or not letter.name.isidentifier():
            yield f"the letter {letter.name!r} is no name: write letters, digits and _, as in Python{here}"
        if not _is_unit(letter.unit):
            yield f"the unit of {letter.name} is {letter.unit!r}: give the exponents of F and X, as (1, -2){here}"
        if isinstance(letter, Symbol) and (told_ := _one_of(f"the domain of {letter.name}", letter.domain, DOMAINS)):
            yield told_ + (lines.of(letter.domain) or here)
        if isinstance(letter, Expected):
            yield from _of_expectation(letter, here)


def _is_unit(unit: object) -> bool:
    return (
        isinstance(unit, (tuple, list)) and len(unit) == 2 and all(isinstance(e, (int, float, Fraction)) for e in unit)
    )


def _of_expectation(letter: Expected, here: str) -> Iterator[str]:
    from dpfl_theory.algorithms.observables import catalogue

    known = catalogue()
    if not letter.parts:
        yield f"the expectation {letter.name} has no parts: name an observable, as (('suboptimality', 1),){here}"
    parts: Any = letter.parts
    for part in parts:
        if not isinstance(part, (tuple, list)) or len(part) != 2 or not isinstance(part[1], (int, float)):
            yield f"the expectation {letter.name} has the part {part!r}: give (observable, coefficient){here}"
            continue
        observable = part[0]
        if observable not in known:
            yield f"{letter.name}: {unknown_name('observable', observable, known)}{here}"
        elif tuple(known[observable].unit) != tuple(letter.unit):
            yield (
                f"the unit of {letter.name} is {tuple(letter.unit)}, that of its observable {observable!r} is "
                f"{tuple(known[observable].unit)}: give that{here}"
            )


def _of_formula(statement: Statement, lines: Lines) -> Iterator[str]:
    letters = set(letters_of(statement).values())
    used: set[Any] = set()
    for what, function, make in (
        ("sides", statement.sides, _terms),
        ("prescription", statement.prescription, lambda s: dict(prescription_of(s))),
    ):
        if function is None:
            continue
        try:
            for name, value in make(statement).items():
                term = sp.sympify(value)
                if foreign := sorted(map(str, term.free_symbols - letters)):
                    declared = f"declare it, or take it from the letters that {what} is given"
                    yield f"{what}, {name!r}: {', '.join(foreign)} is no letter of it: {declared}{lines.of(*foreign)}"
                if not term.is_number or term.is_finite is not False:
                    used |= term.free_symbols
                    continue
                yield f"{what}, {name!r} is {term}, which is no number{lines.of_function(function)}"
        except Exception as error:
            message = error.args[0] if isinstance(error, KeyError) and error.args else told(error)
            yield f"{what}: {message}{lines.of_error(error, function)}"
            return
    if statement.sides is None:
        return
    for letter in statement.expectations:
        if letter.name not in {symbol.name for symbol in used}:
            told_ = "stands on neither side: use it, or leave it out"
            yield f"the expectation {letter.name!r} {told_}{lines.of(letter.name)}"


def _terms(statement: Statement) -> dict[str, Any]:
    """The terms of both sides by name. Raises TypeError and ValueError where these are no sides."""
    sides = sides_of(statement)
    if not isinstance(sides, Sides):
        raise TypeError(f"it returns {type(sides).__name__}: return Sides(lhs={{name: term}}, rhs={{name: term}})")
    for what, terms in (("lhs", sides.lhs), ("rhs", sides.rhs)):
        if not isinstance(terms, Mapping) or not terms:
            raise ValueError(f"{what} is {terms!r}: give at least one named term, {{'name': term}}")
    return {f"{what}, {name}": term for what in ("lhs", "rhs") for name, term in getattr(sides, what).items()}


def _of_checks(statement: Statement, lines: Lines) -> Iterator[str]:
    for (method, name), count in Counter((c.method, c.name) for c in statement.checks).items():
        if count > 1:
            yield f"{count} checks by {method} are called {name!r}: give each a name of its own{lines.of(name)}"
    verdicts = {c.expected for c in statement.checks} | ({"violated"} if not statement.homogeneous else set())
    if statement.expected == "violated" and "violated" not in verdicts:
        told_ = "and none of its checks expects that: record it with the check that refutes it, as expected='violated'"
        yield f"its expected verdict is 'violated', {told_}{lines.of('violated', statement.id, statement.title)}"
    for check in statement.checks:
        for fault in _of_check(statement, check):
            yield f"check {check.name!r}: {fault}{lines.of(check.name) or lines.of_function(check.build)}"


def _of_check(statement: Statement, check: Check) -> Iterator[str]:
    if check.method not in methods.known():
        yield str(unknown_name("method", check.method, methods.known()))
        return
    if methods.get(check.method).simulates and statement.sides is None and not check.part:
        yield "a run is compared with the statement's sides, and it has none: give sides"
    if fault := not_compared(statement, check):
        yield fault
    if told_ := _one_of("its expected verdict", check.expected, OF_CHECKS):
        yield told_
    if not callable(check.build) or not _takes(check.build, 2):
        yield "its build must take (statement, instance)"
    if not _shown(check.name):
        yield "its name is what evidence calls it: write a line of text"
    if statement.sides is not None and (check.method, check.name) == ("algebra", UNITS):
        yield "this is what the check of units is called, which every formula gets: give it another name"
    part: Any = check.part
    if not isinstance(part, str):
        yield f"its part is {part!r}: say in a sentence which step it decides, or leave it out"
    instance: Any = check.instance
    if not isinstance(instance, Mapping):
        yield f"its instance is {instance!r}: give a mapping of names to plain data"
        return
    try:
        size = len(json.dumps(check.instance))
    except (TypeError, ValueError, RecursionError) as error:
        yield f"its instance is no plain data, for evidence keeps it as JSON: {error}"
        return
    if size > LARGEST_INSTANCE:
        yield (
            f"its instance has {size} characters as JSON, which all evidence would repeat: give at most "
            f"{LARGEST_INSTANCE}, and make large data in build"
        )


def not_compared(statement: Statement, check: Check) -> str | None:
    """Why the check's method cannot compare the statement's sides; None where it can."""
    method = methods.get(check.method)
    if statement.sides is None or check.part or method.compares_by(statement.relation):
        return None
    other = "; exchange the two sides and state <=" if statement.relation == ">=" else ""
    by = " and ".join(method.relations or ())
    return f"{check.method} compares by {by}, and not by {statement.relation}{other}"


def faults_of_file(statements: Sequence[Statement], file: Path, catalogue: Mapping[str, Statement]) -> list[str]:
    """What is wrong with the statements of a user's file, a sentence each: also with their ids beside each other's and
    beside the catalogue's."""
    lines = Lines(file.read_text(encoding="utf-8", errors="replace"), file)
    papers = {s.paper for s in catalogue.values()}
    own = Counter(s.id for s in statements)
    found = []
    for id_, count in own.items():
        if count > 1:
            found.append(f"the id {id_!r} is given to {count} statements: give each an id of its own{lines.of(id_)}")
        paper = next((p for p in papers if f"{id_}.".startswith(f"{p}.")), None) if isinstance(id_, str) else None
        if paper is not None and id_ not in catalogue:
            told_ = f"begins with {paper!r}, a paper of the catalogue, among whose statements it would be looked for"
            found.append(f"the id {id_!r} {told_}: choose another{lines.of(id_)}")
        if id_ in catalogue:
            found.append(f"the id {id_!r} is a statement's of the catalogue: choose another{lines.of(id_)}")
    for statement in statements:
        of = f"{statement.id}: " if len(own) > 1 else ""
        if statement.paper in papers:
            told_ = f"source.paper is {statement.paper!r}, a paper of the catalogue, among whose statements this would"
            found.append(f"{of}{told_} be shown: choose another{lines.of(statement.paper)}")
        found += [f"{of}{fault}" for fault in faults(statement, lines, {*own, *catalogue})]
    return found
