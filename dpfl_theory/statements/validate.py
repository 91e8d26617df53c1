"""Validation of a statement before it is checked: its words, its symbols, its formula, its checks.

Authors of statements make mistakes: a relation that no method compares by, a symbol that is used and not declared, an
unknown verdict. `faults` finds them all together, each in one sentence that names the symbol or word, the fix, and the
line.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any

from dpfl_theory.core import Check, Erratum, Expected, Hypothesis, Remark, Sides, Source, Statement, Symbol, methods
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.core.methods import UNITS
from dpfl_theory.core.notation import DOMAINS, Notation
from dpfl_theory.core.statement import KINDS, RELATIONS
from dpfl_theory.errors import InputError, format_error, unknown_name
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.source_location import Lines

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
        if isinstance(value, Notation):  # what is read of it shows with the sides
            continue
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
        if words := one_of(what, value, choices):
            yield words + (lines.line_of(value) or here)
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
            if isinstance(error, InputError):
                yield str(error)
            elif "truth value of Relational" in str(error):
                yield "a hypothesis joins relations by 'and', 'or' or a chain: give a tuple, (0 < s.rho, s.rho < 1)"
            else:
                yield f"a hypothesis cannot be read: {format_error(error)}"
    elif not callable(hypothesis.tested_by) or not accepts_arguments(hypothesis.tested_by, 2):
        yield f"the test of the hypothesis {hypothesis.words!r} must take (problem, values)"


def _of(hypothesis: Hypothesis, lines: Lines) -> str:
    """The location of a hypothesis."""
    return lines.of_function(hypothesis.function) or lines.line_of(hypothesis.words)


def of_symbols(statement: Statement, lines: Lines) -> Iterator[str]:
    """Faults of its symbols: names, units, domains, observables."""
    names = [symbol.name for symbol in statement.quantities]
    for name, count in Counter(names).items():
        if count > 1:
            yield f"the symbol {name!r} is declared {count} times: give each its own name{lines.line_of(name)}"
    for symbol in statement.quantities:
        here = lines.line_of(symbol.name)
        if not isinstance(symbol.name, str) or not symbol.name.isidentifier():
            yield f"the symbol {symbol.name!r} is not a valid name: write letters, digits and _, as in Python{here}"
        if not _is_unit(symbol.unit):
            yield f"the unit of {symbol.name} is {symbol.unit!r}: give the exponents of F and X, as (1, -2){here}"
        if isinstance(symbol, Symbol) and (words := one_of(f"the domain of {symbol.name}", symbol.domain, DOMAINS)):
            yield words + (lines.line_of(symbol.domain) or here)
        if isinstance(symbol, Expected):
            yield from _of_expectation(symbol, here)


def _is_unit(unit: object) -> bool:
    return (
        isinstance(unit, (tuple, list)) and len(unit) == 2 and all(isinstance(e, (int, float, Fraction)) for e in unit)
    )


def _of_expectation(symbol: Expected, here: str) -> Iterator[str]:
    from dpfl_theory.simulation.observables import catalogue

    known = catalogue()
    if not symbol.parts:
        yield f"the expectation {symbol.name} has no parts: name an observable, as (('suboptimality', 1),){here}"
    parts: Any = symbol.parts
    for part in parts:
        if not isinstance(part, (tuple, list)) or len(part) != 2 or not isinstance(part[1], (int, float)):
            yield f"the expectation {symbol.name} has the part {part!r}: give (observable, coefficient){here}"
            continue
        observable = part[0]
        if observable not in known:
            yield f"{symbol.name}: {unknown_name('observable', observable, known)}{here}"
        elif tuple(known[observable].unit) != tuple(symbol.unit):
            yield (
                f"the unit of {symbol.name} is {tuple(symbol.unit)}, that of its observable {observable!r} is "
                f"{tuple(known[observable].unit)}: give that{here}"
            )


def of_formula(statement: Statement, lines: Lines) -> Iterator[str]:
    """Faults of its sides and its prescription, built from its symbols."""
    symbols = set(symbols_of(statement).values())
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
                if foreign := sorted(map(str, term.free_symbols - symbols)):
                    declared = f"declare it, or take it from the symbols that {what} is given"
                    yield (
                        f"{what}, {name!r}: {', '.join(foreign)} is not its symbol: {declared}{lines.line_of(*foreign)}"
                    )
                if not term.is_number or term.is_finite is not False:
                    used |= term.free_symbols
                    continue
                yield f"{what}, {name!r} is {term}, which is not a number{lines.of_function(function)}"
        except Exception as error:
            message = error.args[0] if isinstance(error, KeyError) and error.args else format_error(error)
            yield f"{what}: {message}{lines.of_error(error, function)}"
            return
    if statement.sides is None:
        return
    for symbol in statement.expectations:
        if symbol.name not in {symbol.name for symbol in used}:
            words = "is on neither side: use it, or leave it out"
            yield f"the expectation {symbol.name!r} {words}{lines.line_of(symbol.name)}"


def _terms(statement: Statement) -> dict[str, Any]:
    """The terms of both sides by name. Raises TypeError and ValueError where these are not sides."""
    sides = sides_of(statement)
    if not isinstance(sides, Sides):
        raise TypeError(f"it returns {type(sides).__name__}: return Sides(lhs={{name: term}}, rhs={{name: term}})")
    for what, terms in (("lhs", sides.lhs), ("rhs", sides.rhs)):
        if not isinstance(terms, Mapping) or not terms:
            raise ValueError(f"{what} is {terms!r}: give at least one named term, {{'name': term}}")
    return {f"{what}, {name}": term for what in ("lhs", "rhs") for name, term in getattr(sides, what).items()}


OF_CHECKS = (*VERDICTS, "inconclusive", "not-applicable")
LARGEST_INSTANCE = 100_000
"""The most characters of an instance as JSON."""


def of_checks(statement: Statement, lines: Lines) -> Iterator[str]:
    """Faults of its checks, and of its recorded verdict compared with theirs."""
    for (method, name), count in Counter((c.method, c.name) for c in statement.checks).items():
        if count > 1:
            yield f"{count} checks by {method} are called {name!r}: give each its own name{lines.line_of(name)}"
    verdicts = {c.expected for c in statement.checks} | ({"violated"} if not statement.homogeneous else set())
    if statement.expected == "violated" and "violated" not in verdicts:
        words = "and none of its checks expects that: record it with the check that refutes it, as expected='violated'"
        yield f"its expected verdict is 'violated', {words}{lines.line_of('violated', statement.id, statement.title)}"
    for check in statement.checks:
        for fault in _of_check(statement, check):
            yield f"check {check.name!r}: {fault}{lines.line_of(check.name) or lines.of_function(check.build)}"


def _of_check(statement: Statement, check: Check) -> Iterator[str]:
    if check.method not in methods.known():
        yield str(unknown_name("method", check.method, methods.known()))
        return
    if methods.get(check.method).simulates and statement.sides is None and not check.part:
        yield "a run is compared with the statement's sides, and it has no sides: give sides"
    if fault := not_compared(statement, check):
        yield fault
    if words := one_of("its expected verdict", check.expected, OF_CHECKS):
        yield words
    if not callable(check.build) or not accepts_arguments(check.build, 2):
        yield "its build must take (statement, instance)"
    if not is_printable_line(check.name):
        yield "its name is shown in evidence: write a line of text"
    if statement.sides is not None and (check.method, check.name) == ("algebra", UNITS):
        yield "this is the name of the check of units, which every formula gets: give it another name"
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
        yield f"its instance is not plain data, and evidence stores it as JSON: {error}"
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


def faults(statement: Statement, lines: Lines, known: Collection[str] = ()) -> list[str]:
    """The faults of a statement, a sentence each. known: ids that its proof may name in addition to its own."""
    found = [*of_kinds(statement, lines)]
    if not found:
        found = [*of_words(statement, lines, known), *of_symbols(statement, lines)]
    if not found:  # a formula is built from valid symbols
        found = [*of_formula(statement, lines), *of_checks(statement, lines)]
    return found


def faults_of_file(statements: Sequence[Statement], file: Path, catalogue: Mapping[str, Statement]) -> list[str]:
    """The faults of the statements of a user's file, a sentence each, including conflicts of their ids with each other
    and with the catalogue's."""
    lines = Lines(file.read_text(encoding="utf-8", errors="replace"), file)
    papers = {s.paper for s in catalogue.values()}
    own = Counter(s.id for s in statements)
    found = []
    for id_, count in own.items():
        if count > 1:
            found.append(f"the id {id_!r} is given to {count} statements: give each its own id{lines.line_of(id_)}")
        paper = next((p for p in papers if f"{id_}.".startswith(f"{p}.")), None) if isinstance(id_, str) else None
        if paper is not None and id_ not in catalogue:
            words = f"starts with {paper!r}, a paper of the catalogue, among whose statements it would be searched"
            found.append(f"the id {id_!r} {words}: choose another{lines.line_of(id_)}")
        if id_ in catalogue:
            found.append(f"the id {id_!r} belongs to a statement of the catalogue: choose another{lines.line_of(id_)}")
    for statement in statements:
        of = f"{statement.id}: " if len(own) > 1 else ""
        if statement.paper in papers:
            words = f"source.paper is {statement.paper!r}, a paper of the catalogue, among whose statements this would"
            found.append(f"{of}{words} be shown: choose another{lines.line_of(statement.paper)}")
        found += [f"{of}{fault}" for fault in faults(statement, lines, {*own, *catalogue})]
    return found
