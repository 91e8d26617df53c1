"""Validates what a user's ``build`` returns: the kind that its method reads, and a number for every symbol in its
domain.

The catalogue's statements share their builds, which give more symbols than each has; tests validate those.
"""

from __future__ import annotations

import contextlib
import math
import numbers as kinds
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.checks.hypotheses import BuildError, complete, numbers, unmet
from dpfl_theory.core import Check, Statement, Symbol, methods
from dpfl_theory.core import check_inputs as claims

_DOMAINS: dict[str, Callable[[Any], bool]] = {
    "positive": lambda x: bool(x > 0),
    "nonnegative": lambda x: bool(x >= 0),
    "integer": lambda x: bool(x == int(x)),
    "probability": lambda x: bool(0 <= x <= 1),
    "real": lambda x: True,
}


def guarded(statement: Statement, check: Check) -> Check:
    """The check with a ``build`` that raises `BuildError` where the returned value cannot be used."""

    def build(of: Statement, instance: Mapping[str, Any]) -> Any:
        built = check.build(of, instance)
        if not isinstance(built, (list, tuple, Iterator)):
            _fit(statement, check, built)
            return built
        several = list(built)
        for one in several:
            _fit(statement, check, one)
        return several

    return replace(check, build=build)


class _Read(dict[str, Any]):
    """Values of symbols, and which of them were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As a dictionary's."""
        self.names.add(name)
        return super().get(name, default)


def _fit(statement: Statement, check: Check, built: Any) -> None:
    known = methods.get(check.method).builds
    if not isinstance(built, tuple(getattr(claims, name) for name in known)):
        what = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]
        raise BuildError(f"its build returns {_shown(built)}: return {what} of dpfl_theory.core")
    if isinstance(built, claims.Outcome):
        _outcome(built)
    if isinstance(built, claims.Experiment):
        for name in ("rounds", "replicates"):
            value = getattr(built, name)
            if isinstance(value, bool) or not isinstance(value, kinds.Integral) or int(value) < 1:
                raise BuildError(f"{name} is {_shown(value)}: give a whole number of at least 1")
    if isinstance(built, (claims.Values, claims.WorstCase, claims.Experiment)):
        values = built.symbol_values if isinstance(built, claims.Values) else built.values
        problem = built.problem if isinstance(built, claims.Experiment) else None
        _symbols(statement, check, values, problem)


def _outcome(built: claims.Outcome) -> None:
    if built.true is not None and type(built.true).__name__ not in ("bool", "bool_"):
        raise BuildError(f"its Outcome has true = {_shown(built.true)}: give True, False or None")
    if not isinstance(built.reason, str) or not built.reason.strip():
        raise BuildError(f"its Outcome has the reason {_shown(built.reason)}: give a sentence")
    if not isinstance(built.notes, Mapping):
        raise BuildError(f"its Outcome has the notes {_shown(built.notes)}: give a mapping of names to plain data")


def _symbols(statement: Statement, check: Check, values: Any, problem: Any) -> None:
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise BuildError(f"the values of its symbols are {_shown(values)}: give a mapping of their names to numbers")
    for name, value in values.items():
        if (fault := _no_number(value)) is not None:
            raise BuildError(f"the symbol {name!r} is given {_shown(value)}, which is {fault}")
    if statement.sides is not None and not check.part:
        complete(statement, values, expectations=not methods.get(check.method).simulates)
    missing = unmet(statement, values, problem)
    read = _Read(numbers(values))
    for hypothesis in statement.hypotheses:
        with contextlib.suppress(Exception):  # a quantity of a performance estimation problem is missing
            hypothesis.test(problem, read)
    spare = sorted({name.removesuffix(claims.SQUARE) for name in values} - set(statement.units) - read.names)
    if spare and not check.part:
        names = ", ".join(map(repr, spare))
        raise BuildError(
            f"its build gives a value to {names}, which is not a symbol of the statement: declare it, or leave it out"
        )
    if missing is None and (fault := next(_outside(statement.symbols, numbers(values)), None)):
        raise BuildError(fault)


def _no_number(value: Any) -> str | None:
    """The reason why a value is not a number that sides can be evaluated at."""
    module = type(value).__module__.split(".")[0]
    if module in ("PEPit", "sympy", "mpmath"):
        finite = module != "sympy" or value.is_finite is not False
        return None if finite else "not finite: give a finite number"
    if isinstance(value, bool) or not isinstance(value, kinds.Real):
        return f"a {type(value).__name__}: give a number"
    return None if isinstance(value, kinds.Rational) or math.isfinite(value) else "not finite: give a finite number"


def _outside(symbols: Iterable[Symbol], values: Mapping[str, Any]) -> Iterator[str]:
    """The symbols whose value is outside their domain. (Formulas are simplified as if none was.)"""
    for symbol in symbols:
        value = values.get(symbol.name)
        if value is not None and not _DOMAINS[symbol.domain](value):
            yield (
                f"the symbol {symbol.name!r} is given {_shown(value)}, and its domain is {symbol.domain}: correct the "
                "value, or declare another domain"
            )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
