"""An iteration over all functions of its class, from any starting point: the performance estimation problem."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Symbols, WorstCase
from dpfl_theory.errors import InputError
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.oracle import Length, Oracle
from dpfl_theory.statements.iteration_plan import Plan

__all__ = ["MOST_VECTORS", "worst_case"]

MOST_VECTORS = 1000
"""The largest number of outcomes of cohorts, coins and errors. Each has its own vectors: no solver would finish with
more."""


def worst_case(plan: Plan) -> WorstCase:
    """All functions of the class, from any starting point."""
    from PEPit import PEP, Expression, Point

    from dpfl_theory.semantics.performance import FunctionClass

    problem = PEP()
    variances: dict[Hashable, Any] = {}
    exactly = plan.statement.relation != "<="
    world = FunctionClass(problem, _functions(plan, problem), variances.__getitem__, exactly=exactly)
    star = world.minimiser_at_origin()
    values: dict[str, Any] = dict(plan.numbers)
    known: dict[str, Any] = {name: float(v) for name, v in plan.numbers.items()}
    for name in _lengths(plan):
        length = Point()
        values.pop(name)
        values[f"{name}^2"] = length**2
        known[name] = Length(name, length**2)
    start = Vector(problem.set_initial_point())
    oracle = Oracle(world, start, float(plan.constant("dimension", Fraction(1)) or 1), variances)
    s = Symbols(known, plan.statement.id)
    values |= plan.expectations(world, star, partial(plan.points, oracle, s), MOST_VECTORS)
    for e in plan.statement.expectations:
        if e.when == "least":
            least = Expression()
            for value in values[e.name]:
                problem.add_constraint(least <= value)
            values[e.name] = least
    world.restart([])
    for name, role in plan.iteration.constants.items():
        if role == "start-distance":
            values[f"{name}^2"] = world.square(start - star)
        elif role == "start-suboptimality":
            values[name] = world.suboptimality(start)
        elif role == "gradient-spread":
            values[f"{name}^2"] = average([world.square(world.gradient(i, star)) for i in oracle.clients])
    errors = ", with errors that are a vector or its opposite" if world.has_nonlinear_use else ""
    least = tuple(e.name for e in plan.statement.expectations if e.when == "least")
    return WorstCase(problem, values, f"{plan.statement.id}{errors}", capped=least)


def _lengths(plan: Plan) -> list[str]:
    """The symbols of the instance that are lengths in units in which L is a number: known by their squares."""
    found = []
    for name in plan.numbers:
        degree = 2 * plan.units[name][0] + plan.units[name][1]
        if degree == 1:
            found.append(name)
        elif degree != 0:
            raise InputError(f"{name} has a unit of degree {degree} in X: worst cases take lengths and numbers")
    return found


def _functions(plan: Plan, problem: Any) -> list[Any]:
    from PEPit.functions import ConvexFunction, StronglyConvexFunction

    from dpfl_theory.semantics.performance import declared

    count, mu = (
        int(plan.constant("clients", Fraction(1)) or 1),
        float(plan.constant("strong-convexity", Fraction(0)) or 0),
    )
    smooth = plan.constant("smoothness", None)
    strongly = plan.iteration.functions == "strongly convex"
    if smooth is not None:
        return declared(problem, plan.iteration.functions, count, mu, float(smooth))
    if strongly:
        return [problem.declare_function(StronglyConvexFunction, mu=mu) for _ in range(count)]
    return [problem.declare_function(ConvexFunction) for _ in range(count)]
