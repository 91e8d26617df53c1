"""Validation of a statement's symbols and of its formula, which is built for this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Expected, Sides, Statement, Symbol
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.core.statement import DOMAINS
from dpfl_theory.errors import format_error, unknown_name
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.source_location import Lines
from dpfl_theory.statements.validate_words import one_of

__all__ = ["of_formula", "of_symbols"]


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
        if isinstance(symbol, Symbol) and (told_ := one_of(f"the domain of {symbol.name}", symbol.domain, DOMAINS)):
            yield told_ + (lines.line_of(symbol.domain) or here)
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
            told_ = "is on neither side: use it, or leave it out"
            yield f"the expectation {symbol.name!r} {told_}{lines.line_of(symbol.name)}"


def _terms(statement: Statement) -> dict[str, Any]:
    """The terms of both sides by name. Raises TypeError and ValueError where these are not sides."""
    sides = sides_of(statement)
    if not isinstance(sides, Sides):
        raise TypeError(f"it returns {type(sides).__name__}: return Sides(lhs={{name: term}}, rhs={{name: term}})")
    for what, terms in (("lhs", sides.lhs), ("rhs", sides.rhs)):
        if not isinstance(terms, Mapping) or not terms:
            raise ValueError(f"{what} is {terms!r}: give at least one named term, {{'name': term}}")
    return {f"{what}, {name}": term for what in ("lhs", "rhs") for name, term in getattr(sides, what).items()}
