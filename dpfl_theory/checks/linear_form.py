"""Both sides of a statement as linear functions of its expectations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import SidesError, sides_of, symbols_of


@dataclass(frozen=True)
class Linear:
    """A side of a statement at given symbol values: named terms, each a constant and coefficients of observables (of
    columns, see `Expected.column`, where they are not means over rounds)."""

    terms: Mapping[str, tuple[float, Mapping[str, float]]]

    def total(self) -> tuple[float, dict[str, float]]:
        """The sum of the terms: constant, and coefficient of each observable."""
        constant = math.fsum(c for c, _ in self.terms.values())
        coefficients: dict[str, float] = {}
        for _, parts in self.terms.values():
            for name, c in parts.items():
                coefficients[name] = coefficients.get(name, 0.0) + c
        return constant, coefficients

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        """Each term's value when observable ``name`` has mean ``means[name]``."""
        return {
            term: constant + math.fsum(c * means[o] for o, c in parts.items() if c != 0.0)
            for term, (constant, parts) in self.terms.items()
        }


def linearise(statement: Statement, values: Mapping[str, float]) -> tuple[Linear, Linear]:
    """Both sides at these values of the symbols. Raises ValueError when a side is not linear in its expectations, and
    for a least expectation next to another one or on the larger side."""
    if statement.sides is None:
        raise ValueError(f"{statement.id} has no sides: a simulated run cannot be compared with it")
    sides = sides_of(statement)
    symbols = symbols_of(statement)
    expectations = {e.name: e for e in statement.expectations}
    numbers = {symbols[name]: value for name, value in values.items() if name in symbols}
    least = any(e.when == "least" for e in statement.expectations)
    if least and len(expectations) > 1:
        raise ValueError(f"{statement.id}: a least expectation is next to another one")

    def side(terms: Mapping[str, Any], smaller: bool) -> Linear:
        out: dict[str, tuple[float, Mapping[str, float]]] = {}
        for label, expression in terms.items():
            rest, parts = expression, dict[str, float]()
            for name, expectation in expectations.items():
                slope = expression.diff(symbols[name])
                if slope.free_symbols & {symbols[e] for e in expectations}:
                    raise SidesError(
                        f"the term {label!r} is not linear in its expectations: runs estimate means; declare what is "
                        f"squared or multiplied as an Expected of its own"
                    )
                rest = rest.subs(symbols[name], 0)
                factor = _number(slope.subs(numbers), label, values)
                if least and (factor < 0.0 if smaller else factor != 0.0):
                    raise ValueError(f"{statement.id}: its least expectation is on the larger side, or negative")
                for observable, sign in expectation.parts:
                    column = expectation.column(observable)
                    parts[column] = parts.get(column, 0.0) + sign * factor
            out[label] = (_number(rest.subs(numbers), label, values), {o: c for o, c in parts.items() if c != 0.0})
        return Linear(out)

    return side(sides.lhs, True), side(sides.rhs, False)


def _number(value: Any, label: str, values: Mapping[str, float]) -> float:
    """A term's value, or its slope in an expectation. ValueError where the formula has no real value there."""
    try:
        found = float(value)
    except TypeError:  # complex, or a pole
        found = math.nan
    except OverflowError:
        found = math.copysign(math.inf, value)
    if math.isnan(found):
        at = ", ".join(f"{name} = {v:.6g}" for name, v in values.items() if isinstance(v, (int, float)))
        raise ValueError(
            f"the term {label!r} is {value} at {at}, which is not a real number: correct formula or values"
        )
    return found
