"""Hypotheses on an instance: the first one that it does not meet, for every method."""

from __future__ import annotations

import difflib
import functools
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.formula import sides_of
from dpfl_theory.errors import format_error

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem


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
            near = difflib.get_close_matches(str(name), known.keys() - {name}, n=1)
            fault = f"the point {where} does not name {name}, which the hypothesis {hypothesis.text!r} reads"
            fault += f"; is it {near[0]!r}?" if near else ""
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


REACHED = 1.05
"""An instance is at a boundary if changing a symbol by this factor crosses it."""


@dataclass(frozen=True)
class Edge:
    """A hypothesis and the symbol that is nearest to its boundary.

    It has the factor by which the symbol could be larger (or, below 1, smaller) than in the check that is nearest."""

    hypothesis: str
    symbol: str
    factor: float
    by: str

    @property
    def reached(self) -> bool:
        """Whether that check is at the boundary."""
        return max(self.factor, 1.0 / self.factor) <= REACHED

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"hypothesis": self.hypothesis, "letter": self.symbol, "factor": self.factor, "by": self.by}

    def sentence(self) -> str:
        """In words.

        >>> Edge("eta <= 1/L", "eta", 2.0, "exact: two rounds").sentence()
        "'eta <= 1/L' allows eta 2 times larger than in any check"
        """
        size, what = (self.factor, "larger") if self.factor > 1.0 else (1.0 / self.factor, "smaller")
        return f"{self.hypothesis!r} allows {self.symbol} {size:.3g} times {what} than in any check"


def edges(statement: Statement) -> list[Edge]:
    """For each hypothesis with a boundary in a symbol that instances choose: how near they are to it."""
    found = []
    instances = [(c, known) for c in statement.checks if (known := _known(statement, c)) is not None]
    for hypothesis in statement.hypotheses:
        near = [
            Edge(hypothesis.text, symbol, factor, f"{c.method}: {c.name}")
            for c, (numbers, chosen) in instances
            for symbol in chosen
            for factor in hypothesis.crossings(numbers, symbol)
        ]
        if near:
            found.append(min(near, key=lambda edge: max(edge.factor, 1.0 / edge.factor)))
    return found


def untested_text(statement: Statement, near: Sequence[Edge], file: str, count: int) -> str:
    """The gaps between the instances of checks that all hold, in words, and the command that searches there. count: of
    the file's statements."""
    far = [edge.sentence() for edge in near if not edge.reached]
    at = ", nor at the boundaries of its hypotheses" if statement.hypotheses else ""
    at += f" ({'; '.join(far)})" if far else ""
    at = "" if near and not far else at
    named = f" {statement.id}" if count > 1 else ""
    runs = statement.universal and any(methods.get(c.method).simulates for c in statement.checks)
    search = f"dpfl-theory falsify{named} --file {shlex.quote(file)}"
    there = f"'{search}' searches there" if runs else "give it instances there, or runs that can be varied"
    return f"nothing was tried between these instances{at}: {there}"


def _known(statement: Statement, check: Check) -> tuple[Mapping[str, Any], tuple[str, ...]] | None:
    """The symbols of a check's instance as numbers, and those that may be changed; None where that is unknown."""
    symbols_of = getattr(check.build, "symbols", None)
    if symbols_of is None or "stated" in check.instance:
        return None
    try:
        found: tuple[Mapping[str, Any], tuple[str, ...]] = symbols_of(statement, check.instance)
    except Exception:  # which the check itself reports
        return None
    return found
