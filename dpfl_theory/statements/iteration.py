"""One description of an algorithm, checked by every method: for all functions of a class, exactly, and by runs.

The author writes one round, with an `Oracle`, declares which symbols of the statement are constants of the problem, and
gives a table of instances with tags (`dpfl_theory.statements.instances`). The statement bounds its expectations
(`Expected`), which name an observable and when it is taken. From only these a performance estimation problem, exact
values on quadratics, and simulated runs are made; the sides are the statement's own. A statement's `battery` has
``ITERATION("tags")``, as it has the `Runs` of a paper.

Instances give the symbols in units in which L = 1 and ||x_0 - x*|| = 1. Runs use problems with constants of their own:
these are taken, and the other symbols of an instance are converted to the problem's units.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import CodeType
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Hypothesis, Statement, Symbols
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.instances import OUTSIDE, Instances, Row, edge, row
from dpfl_theory.statements.iteration_plan import OF_INSTANCES, Plan

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["CONSTANTS", "FUNCTIONS", "METHODS", "OF_INSTANCES", "Instances", "Iteration", "edge", "row"]

METHODS = ("worst-case", "exact", "monte-carlo")
FUNCTIONS = {
    "convex": "every f_i is convex",
    "strongly convex": "every f_i is mu-strongly convex: a symbol is the constant strong-convexity",
}
"""The classes of functions over which worst cases are taken."""
CONSTANTS = {
    "smoothness": "L of every f_i; without it worst cases are over functions that need not be smooth",
    "strong-convexity": "mu of every f_i",
    "clients": "n, the number of clients",
    "dimension": "d, the number of parameters",
    "start-distance": "||x_0 - x*||",
    "start-suboptimality": "f(x_0) - f*",
    "gradient-spread": "the root of (1/n) sum_i ||grad f_i(x*)||^2",
}
"""The constants of the problem that a symbol may be."""


FEW_ROUNDS = 4
"""The largest number of rounds for which worst cases are checked by default: a solver needs seconds for them."""
_NEAR = 1 / 64
"""How far instances just inside and just outside of a hypothesis are from its boundary, relative to it."""


def _at_most(rounds: Any, most: int) -> bool:
    """Whether this is a number, and at most another one."""
    try:
        return Fraction(rounds) <= most
    except (TypeError, ValueError, ZeroDivisionError):
        return False


def _sides_of(
    hypothesis: Hypothesis, numbers: Mapping[str, Any], symbol: str
) -> Iterator[tuple[tuple[str, dict[str, str]], ...]]:
    """For each boundary that a symbol reaches, its value just inside and just outside, as fractions."""
    for pair in hypothesis.near(numbers, symbol, _NEAR) if hypothesis.relation is not None else ():
        texts = [str(Fraction(value).limit_denominator(4096)) for value in pair]
        yield tuple((where, {symbol: text}) for where, text in zip(("inside", "outside"), texts))


@dataclass(frozen=True, eq=False)
class Iteration:
    """An algorithm, described once.

    round(o, x, s): the state after a round from the state x before it; ``o`` is an `Oracle`, ``s`` has the symbols, as
        ``s.eta``. A state is a vector, or a tuple, list or dataclass of vectors.
    constants: the symbols that are constants of the problem, by name, as in ``dpfl-theory list constants``
        (`dpfl_theory.statements.iteration.CONSTANTS`).
    functions: the class, ``convex`` or ``strongly convex`` (with mu), whose members are L-smooth where L is a constant.
    start(o, s): the state before the first round; the starting point ``o.start`` by default.
    point(state): the point of a state that is observed; by default its first vector.
    average: observe the mean of these points instead: ``before`` of x_0, ..., x_{K-1}, ``after`` of x_1, ..., x_K.
    rounds: the symbol that is the number of rounds.
    table: the instances, with tags (see `__call__`, and `build` for what an instance gives).

    >>> from dpfl_theory.statements import get
    >>> table = Instances((row("few", "two steps", {"K": 2}), row("many", "fifty steps", {"K": 50})))
    >>> step = Iteration(lambda o, x, s: x - o.gradient(x) / s.L, {"L": "smoothness"}, table=table)
    >>> [(c.method, c.name) for c in step("few")(get("das2022.fact2"))]
    [('worst-case', 'two steps'), ('exact', 'two steps'), ('monte-carlo', 'two steps')]
    """

    round: Callable[[Oracle, Any, Symbols], Any]
    constants: Mapping[str, str] = field(default_factory=dict)
    functions: str = "convex"
    start: Callable[[Oracle, Symbols], Any] | None = None
    point: Callable[[Any], Vector] | None = None
    average: str = ""
    rounds: str = "K"
    table: Instances = field(default_factory=Instances)

    def __post_init__(self) -> None:
        from dpfl_theory.semantics.replicates import AVERAGES

        for name, role in self.constants.items():
            if role not in CONSTANTS:
                raise unknown_name(f"constant for the symbol {name},", role, CONSTANTS)
        if self.functions not in FUNCTIONS:
            raise unknown_name("class of functions", self.functions, FUNCTIONS)
        table: Any = self.table
        if not isinstance(table, Instances):
            kind = type(table).__name__
            raise InputError(f"the table is a {kind}: write table=Instances((row('tags', 'name', {{'K': 2}}), ...))")
        for one in self.table:
            for tag in one.tags - set(METHODS):
                if near := difflib.get_close_matches(tag, METHODS, n=1, cutoff=0.75):
                    raise InputError(f"the row {one.name!r} has the tag {tag!r}: did you mean {near[0]!r}?")
        if self.average not in AVERAGES:
            raise InputError(f"average is {self.average!r}: give 'before' or 'after', or leave it out for the last one")

    def __call__(
        self,
        holds: str = "",
        *,
        violated: str = "",
        beyond: str = "",
        without: Mapping[str, str] | None = None,
    ) -> Callable[[Statement], Iterator[Check]]:
        """The checks of one statement, for its `battery`.

        holds: tags of the rows that hold, by default of all that are not named otherwise; violated: of those that are
        refuted; beyond: of those outside the hypotheses; without: checks, by name, or methods that are left out, each
        with the reason.

        * Each row is checked exactly; those of at most `FEW_ROUNDS` rounds over all functions of the class, those of
          more by runs. Tags that are methods name other ones. Where no row has so few rounds, copies with one and two
          have; where none has more, all are run.
        * Special cases: the first row with each symbol that may be 0 set to 0, exactly.
        * Edges: the table's rows just outside the statement's hypotheses. A relation between symbols without such a row
          gets two: the first row with one symbol just inside its boundary, and just outside.
        """
        tags: Any = holds
        if not isinstance(tags, str):
            raise InputError("a battery has an iteration without its tags: write battery(ITERATION()), with brackets")

        def checks(statement: Statement) -> Iterator[Check]:
            left_out = dict(without or {})
            planned = list(self._rows(statement, holds, violated, beyond))
            for check in planned:
                name = next((key for key in (check.name, check.method) if key in left_out), None)
                if name is None:
                    yield check
                else:
                    left_out[name] = ""
            if unknown := [name for name, why in left_out.items() if why]:
                known = ", ".join(map(repr, dict.fromkeys(check.name for check in planned)))
                raise InputError(
                    f"{statement.id} has no check {', '.join(map(repr, unknown))} to leave out: choose among {known}"
                )

        return checks

    def build(self, method: str) -> Callable[[Statement, Mapping[str, Any]], Any]:
        """The function that makes the input of this method's check from a statement and an instance.

        An instance gives every symbol that is chosen: a whole number, a float, or a fraction as text ("1/8"). It also
        gives the symbols that are the constants L, mu, n and d; each is 1 if it is missing, except mu. For runs it may
        name the ``problem``, as ``{"name": "huber", "clients": 4}``, and the number of ``replicates``.
        """
        if method not in METHODS:
            raise unknown_name("method of an iteration", method, METHODS)
        return _Build(self, method)

    def _check(self, method: str, name: str, instance: Mapping[str, Any], expected: str = "holds") -> Check:
        return Check(method, name, self.build(method), instance, expected)

    def _rows(self, statement: Statement, holds: str, violated: str, beyond: str) -> Iterator[Check]:
        """The checks of the rows of the table that these tags name, and those that follow from them."""
        named = {tag: v for v, tags in (("violated", violated), (OUTSIDE, beyond)) for tag in tags.split()}
        _ = self.table[f"{holds} {violated} {beyond}"]  # raises where no row has one of these tags
        verdicts = ((one, next((v for tag, v in named.items() if tag in one.tags), "holds")) for one in self.table)
        rows = [
            (one, expected)
            for one, expected in verdicts
            if one.outside is None and (expected != "holds" or not holds or one.tags & set(holds.split()))
        ]
        long = any(not _at_most(one.instance.get(self.rounds), FEW_ROUNDS) for one, _ in rows)
        planned = [
            self._check(method, one.name, one.instance, expected)
            for one, expected in rows
            for method in self._methods(one, long)
        ]
        yield from planned
        edges = self.table.outside(statement.hypotheses)
        yield from (self._check("exact", name, instance, OUTSIDE) for name, instance in edges.items())
        holding = [one for one, expected in rows if expected == "holds"]
        if not holding:
            return
        first = holding[0]
        failures = [self._failure(statement, one) for one in holding]
        if all(failures):
            raise InputError(
                f"no row of the table is within the hypotheses of {statement.id}: {failures[0]} in {first.name!r}; "
                "correct the row, the hypothesis, or name the tag of the rows in beyond"
            )
        if not any(check.method == "worst-case" for check in planned) and not first.tags & set(METHODS):
            for rounds in (1, 2):
                instance = {**first.instance, self.rounds: rounds}
                yield self._check("worst-case", f"{first.name}, {self.rounds} = {rounds}", instance)
        given = {one.outside for one in self.table}
        yield from self._special_cases(statement, first)
        yield from self._edges(statement, first, [h for h in statement.hypotheses if h not in given])

    def _methods(self, row: Row, long: bool) -> tuple[str, ...]:
        """The methods that check a row. long: whether some row has more than a few rounds."""
        chosen = tuple(m for m in METHODS if m in row.tags)
        few = _at_most(row.instance.get(self.rounds), FEW_ROUNDS)
        return chosen or (METHODS[:2] if few and long else METHODS if few else METHODS[1:])

    def _special_cases(self, statement: Statement, first: Row) -> Iterator[Check]:
        for symbol in statement.symbols:
            given = symbol.name in first.instance and first.instance[symbol.name] not in (0, "0")
            if given and symbol.domain in ("nonnegative", "probability") and symbol.name not in self.constants:
                zero = {**first.instance, symbol.name: 0}
                if self._met(statement, zero):
                    yield self._check("exact", f"{symbol.name} = 0", zero)

    def _edges(self, statement: Statement, first: Row, hypotheses: Sequence[Hypothesis]) -> Iterator[Check]:
        try:
            numbers, chosen = _Build(self, "exact").symbols(statement, first.instance)
        except Exception:  # which the row's own checks report
            return
        for hypothesis in hypotheses:
            found = next((pair for symbol in chosen for pair in _sides_of(hypothesis, numbers, symbol)), None)
            for where, value in found or ():
                instance = {**first.instance, **value}
                inside = where == "inside"
                if self._met(statement, instance, but=hypothesis) and self._met(statement, instance) == inside:
                    verdict = "holds" if inside else OUTSIDE
                    yield self._check("exact", f"just {where} {hypothesis.text}", instance, verdict)

    def _failures(
        self, statement: Statement, instance: Mapping[str, Any], but: Hypothesis | None = None
    ) -> Iterator[str]:
        """How an instance fails the hypotheses on its symbols but one. Raises where it cannot be used."""
        numbers, _ = _Build(self, "exact").symbols(statement, instance)
        for hypothesis in statement.hypotheses:
            with contextlib.suppress(KeyError):  # the problem decides it
                if hypothesis is not but and (failure := hypothesis.test(None, numbers)):
                    yield failure

    def _failure(self, statement: Statement, one: Row) -> str | None:
        """How a row fails a hypothesis on its symbols."""
        with contextlib.suppress(Exception):  # which its checks report
            return next(self._failures(statement, one.instance), None)
        return None

    def _met(self, statement: Statement, instance: Mapping[str, Any], but: Hypothesis | None = None) -> bool:
        """Whether an instance can be used, and meets all hypotheses on its symbols but one."""
        with contextlib.suppress(Exception):
            return next(self._failures(statement, instance, but), None) is None
        return False

    def symbol(self, role: str) -> str | None:
        """The symbol that is this constant of the problem."""
        return next((name for name, what in self.constants.items() if what == role), None)


@dataclass(frozen=True, eq=False)
class _Build:
    """The builder of the run of an instance by one method."""

    iteration: Iteration
    method: str
    problem: Problem | None = None

    @property
    def __code__(self) -> CodeType:
        """The author's own function, whose file and line are reported where it fails."""
        return self.iteration.round.__code__

    def symbols(self, statement: Statement, instance: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The symbols that are known for an instance, and those among them that it chooses from a range."""
        numbers = Plan(self.iteration, statement, instance).numbers
        whole = {s.name for s in statement.symbols if s.domain == "integer"}
        return numbers, tuple(name for name in numbers if name in instance and name not in whole)

    def on(self, problem: Problem) -> _Build:
        """The same on this problem."""
        return _Build(self.iteration, self.method, problem)

    def __call__(self, statement: Statement, instance: Mapping[str, Any]) -> Any:
        plan = Plan(self.iteration, statement, instance)
        if self.method == "worst-case":
            from dpfl_theory.statements.iteration_checks import worst_case

            return worst_case(plan)
        if self.method == "exact":
            from dpfl_theory.statements.iteration_checks import exact

            return list(exact(plan))
        from dpfl_theory.statements.iteration_checks import experiment

        return experiment(plan, self.problem)
