"""One description of an algorithm, checked by every method: for all functions of a class, exactly, and by runs.

The author writes what happens in a round, with an `Oracle`, and says which letters of the statement are constants of
the problem. What the statement bounds are its expectations (`Expected`), which name an observable and when it is taken.
From these alone a performance estimation problem, exact values on quadratics, and simulated runs are made; the sides
are the statement's own.

Instances give the letters in units in which L = 1 and ||x_0 - x*|| = 1. Runs go over problems with constants of their
own: these are taken, and the other letters of an instance are brought to the problem's units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.formula import Symbols
from dpfl_theory.statements.iteration_plan import OF_INSTANCES, Plan
from dpfl_theory.statements.model import Check, Statement, checks

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["CONSTANTS", "FUNCTIONS", "METHODS", "OF_INSTANCES", "Iteration"]

METHODS = ("worst-case", "exact", "monte-carlo")
FUNCTIONS = ("convex", "strongly convex")
CONSTANTS = {
    "smoothness": "L of every f_i; without it worst cases are over functions that need not be smooth",
    "strong-convexity": "mu of every f_i",
    "clients": "n, how many there are",
    "dimension": "d, the number of parameters",
    "start-distance": "||x_0 - x*||",
    "start-suboptimality": "f(x_0) - f*",
    "gradient-spread": "the root of (1/n) sum_i ||grad f_i(x*)||^2",
}
"""What a letter may be of the problem."""


@dataclass(frozen=True, eq=False)
class Iteration:
    """An algorithm, described once.

    round(o, x, s): the state after a round from the state x before it; ``o`` is an `Oracle`, ``s`` has the letters, as
        ``s.eta``. A state is a vector, or a tuple, list or dataclass of vectors.
    constants: what letters are of the problem, by name, as ``dpfl-theory list constants`` has them
        (`dpfl_theory.statements.iteration.CONSTANTS`).
    functions: the class, ``convex`` or ``strongly convex`` (with mu), whose members are L-smooth where L is a constant.
    start(o, s): the state before the first round; the starting point ``o.start`` by default.
    point(state): the point of a state that is looked at; by default its first vector.
    average: look at the mean of these points instead: ``before`` of x_0, ..., x_{K-1}, ``after`` of x_1, ..., x_K.
    rounds: the letter that is the number of rounds.

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
        from dpfl_theory.semantics.lanes import AVERAGES

        for name, role in self.constants.items():
            if role not in CONSTANTS:
                raise unknown_name(f"constant for the letter {name},", role, CONSTANTS)
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

        An instance gives every letter that is chosen: a whole number, a float, or a fraction as text ("1/8"), and the
        letters that are the constants L, mu, n and d, 1 where it does not. For runs it may name the ``problem``, as
        ``{"name": "huber", "clients": 4}``, and the number of ``lanes``.
        """
        for method in by:
            if method not in METHODS:
                raise unknown_name("method of an iteration", method, METHODS)
        return tuple(c for m in by for c in checks(m, _Build(self, m), instances, expected))

    def letter(self, role: str) -> str | None:
        """The letter that is this constant of the problem."""
        return next((name for name, what in self.constants.items() if what == role), None)


@dataclass(frozen=True, eq=False)
class _Build:
    """What makes the run of an instance by one method."""

    iteration: Iteration
    method: str
    problem: Problem | None = None

    @property
    def __code__(self) -> CodeType:
        """The author's own function, whose file and line are told where it fails."""
        return self.iteration.round.__code__

    def letters(self, statement: Statement, instance: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The letters that are known of an instance, and those among them that it chooses from a range."""
        numbers = Plan(self.iteration, statement, instance).numbers
        whole = {s.name for s in statement.symbols if s.domain == "integer"}
        return numbers, tuple(name for name in numbers if name in instance and name not in whole)

    def on(self, problem: Problem) -> _Build:
        """The same on this problem."""
        return _Build(self.iteration, self.method, problem)

    def __call__(self, statement: Statement, instance: Mapping[str, Any]) -> Any:
        plan = Plan(self.iteration, statement, instance)
        if self.method == "worst-case":
            from dpfl_theory.statements.iteration_worst_case import worst_case

            return worst_case(plan)
        if self.method == "exact":
            from dpfl_theory.statements.iteration_exact import exact

            return list(exact(plan))
        from dpfl_theory.statements.iteration_runs import experiment

        return experiment(plan, self.problem)
