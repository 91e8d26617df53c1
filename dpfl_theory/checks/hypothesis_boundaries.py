"""How near the instances of a statement's checks are to the boundaries of its hypotheses.

If a bound holds at some instances, others that its hypotheses allow remain untested. A hypothesis that is too weak is
refuted only near its boundary. Where a build gives the symbols of its instance (an `Iteration`'s does), each chosen
symbol is changed until a hypothesis is no longer met.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.core import Check, Statement, methods

__all__ = ["REACHED", "Edge", "edges", "untested_text"]

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
