"""Hypotheses on an instance: the first one that it does not meet, for every method."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.errors import format_error

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["BuildError", "complete", "numbers", "unmet"]


class BuildError(ValueError):
    """The reason why a check cannot be run, and the function to correct, where that is not the check's ``build``."""

    def __init__(self, text: str, function: Callable[..., Any] | None = None) -> None:
        super().__init__(text)
        self.function = function


def numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The symbols among these values that are numbers, not quantities of a performance estimation problem."""
    return {name: v for name, v in values.items() if type(v).__module__.split(".")[0] != "PEPit"}


@functools.lru_cache(1024)
def _first_terms(statement: Statement) -> Mapping[str, str]:
    """Each symbol of the sides, and the first term that has it."""
    sides = sides_of(statement)
    terms = [(f"{what}, {name}", term) for what in ("lhs", "rhs") for name, term in getattr(sides, what).items()]
    return {str(x): term for term, value in reversed(terms) for x in getattr(value, "free_symbols", ())}


def complete(statement: Statement, values: Mapping[str, Any], expectations: bool = True) -> None:
    """Raises ValueError where a symbol of the sides has no value, with the term and a similar name if there is one.

    expectations: whether these need values, too, and do not come from runs.
    """
    known = {name.removesuffix("^2") for name in values}
    found = {} if expectations else {e.name for e in statement.expectations}
    for name, term in _first_terms(statement).items():
        if name in known or name in found:
            continue
        near = difflib.get_close_matches(name, known - set(statement.units), n=1)
        instead = f"; is {near[0]!r} a misspelling of it?" if near else ""
        raise ValueError(f"the symbol {name!r}, which the term {term!r} has, is given no value{instead}")


def unmet(statement: Statement, values: Mapping[str, Any], problem: Problem | None = None) -> tuple[str, str] | None:
    """The first hypothesis that these values of the symbols (and the problem, if there is one) do not meet, and how it
    fails; None where all are met.

    Raises ValueError where a hypothesis reads a symbol that has no value. A hypothesis that reads a quantity of a
    performance estimation problem is not tested here: the problem has it as a constraint.
    """
    known = numbers(values)
    for hypothesis in statement.hypotheses:
        try:
            failure = hypothesis.test(problem, known)
        except KeyError as error:
            name = error.args[0]
            if name in values or f"{name}^2" in values:
                continue
            where = ", ".join(f"{k} = {v}" for k, v in values.items())
            fault = f"the point {where} does not name {name}, which the hypothesis {hypothesis.text!r} reads"
            raise BuildError(f"{statement.id}: {fault}", hypothesis.function) from None
        except Exception as error:
            fault = f"the hypothesis {hypothesis.text!r} cannot be tested: {format_error(error)}"
            raise BuildError(fault, hypothesis.function) from error
        if failure is None:
            continue
        if not isinstance(failure, str) or not failure:
            fault = (
                f"returned {failure!r}: return None where it is met, and otherwise a sentence that says why it is not"
            )
            raise BuildError(f"the test of the hypothesis {hypothesis.text!r} {fault}", hypothesis.function)
        return hypothesis.text, failure
    return None
