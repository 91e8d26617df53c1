"""One description of an algorithm, checked by every method: for all functions of a class, exactly, and by runs.

The author writes one round, with an `Oracle`, and declares which symbols of the statement are constants of the problem.
The statement bounds its expectations (`Expected`), which name an observable and when it is taken. From only these a
performance estimation problem, exact values on quadratics, and simulated runs are made; the sides are the statement's
own.

Instances give the symbols in units in which L = 1 and ||x_0 - x*|| = 1. Runs use problems with constants of their own:
these are taken, and the other symbols of an instance are converted to the problem's units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Statement, Symbols, checks
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration_plan import OF_INSTANCES, Plan

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["CONSTANTS", "FUNCTIONS", "METHODS", "OF_INSTANCES", "Iteration"]

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

    >>> step = Iteration(lambda o, x, s: x - s.eta * o.gradient(x), {"L": "smoothness", "D": "start-distance"})
    >>> [c.method for c in step.checks({"two steps": {"K": 2, "eta": 1}})]
    ['worst-case', 'exact', 'monte-carlo']
    """

    round: Callable[[Oracle, Any, Symbols], Any]
    constants: Mapping[str, str] = field(default_factory=dict)
    functions: str = "convex"
    start: Callable[[Oracle, Symbols], Any] | None = None
    point: Callable[[Any], Vector] | None = None
    average: str = ""
    rounds: str = "K"

    def __post_init__(self) -> None:
        from dpfl_theory.semantics.replicates import AVERAGES

        for name, role in self.constants.items():
            if role not in CONSTANTS:
                raise unknown_name(f"constant for the symbol {name},", role, CONSTANTS)
        if self.functions not in FUNCTIONS:
            raise unknown_name("class of functions", self.functions, FUNCTIONS)
        if self.average not in AVERAGES:
            raise InputError(f"average is {self.average!r}: give 'before' or 'after', or leave it out for the last one")

    def checks(
        self,
        instances: Mapping[str, Mapping[str, Any]],
        by: Sequence[str] = METHODS,
        expected: str | Mapping[str, str] = "holds",
    ) -> tuple[Check, ...]:
        """A check of each instance by each of these methods.

        An instance gives every symbol that is chosen: a whole number, a float, or a fraction as text ("1/8"). It also
        gives the symbols that are the constants L, mu, n and d; each is 1 if it is missing. For runs it may name the
        ``problem``, as ``{"name": "huber", "clients": 4}``, and the number of ``replicates``.
        """
        return tuple(c for m in by for c in checks(m, self.build(m), instances, expected))

    def build(self, method: str) -> Callable[[Statement, Mapping[str, Any]], Any]:
        """The function that makes the run of a statement and an instance by this method."""
        if method not in METHODS:
            raise unknown_name("method of an iteration", method, METHODS)
        return _Build(self, method)

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
