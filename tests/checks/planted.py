"""Small worst-case problems with dyadic coefficients: one for each function class, and conditions of both kinds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from PEPit import PEP
from PEPit.functions import (
    ConvexFunction,
    SmoothConvexFunction,
    SmoothFunction,
    SmoothStronglyConvexFunction,
    StronglyConvexFunction,
)

from dpfl_theory.checks import worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Performance, Source, Statement


def _at(kind: Any, **parameters: float) -> tuple[PEP, Any, Any, Any]:
    """A problem, a function of this class, a stationary point of it, and another point."""
    problem = PEP()
    f = problem.declare_function(kind, **parameters)
    return problem, f, f.stationary_point(), problem.set_initial_point()


def convex() -> Performance:
    """A stationary point of a convex function is a minimiser."""
    problem, f, s, x = _at(ConvexFunction)
    return Performance(problem, f(s) + (x - s) ** 2, f(x) + (x - s) ** 2, "a minimiser")


def strongly_convex() -> Performance:
    """mu/2 ||x - x*||^2 <= f(x) - f*, for mu = 1/2."""
    problem, f, s, x = _at(StronglyConvexFunction, mu=0.5)
    return Performance(problem, 0.25 * (x - s) ** 2, f(x) - f(s), "growth")


def smooth() -> Performance:
    """||g||^2 / (2L) <= f(x) - f(x - g/L), for L = 2 and without convexity."""
    problem, f, _, x = _at(SmoothFunction, L=2.0)
    g = f.gradient(x)
    return Performance(problem, 0.25 * g**2, f(x) - f(x - 0.5 * g), "descent")


def smooth_convex() -> Performance:
    """||g||^2 / (2L) <= f(x) - f*, for L = 2."""
    problem, f, s, x = _at(SmoothConvexFunction, L=2.0)
    return Performance(problem, 0.25 * f.gradient(x) ** 2, f(x) - f(s), "gradient domination")


def smooth_strongly_convex() -> Performance:
    """||x - g/L - x*||^2 <= (1 - mu/L)^2 ||x - x*||^2, for L = 2 and mu = 1."""
    problem, f, s, x = _at(SmoothStronglyConvexFunction, L=2.0, mu=1.0)
    return Performance(problem, (x - 0.5 * f.gradient(x) - s) ** 2, 0.25 * (x - s) ** 2, "contraction")


def equality(sign: int = 1) -> Performance:
    """||x|| <= ||y|| where ||x|| = ||y||: one of the two ways to write that has a negative multiplier."""
    problem = PEP()
    x, y = problem.set_initial_point(), problem.set_initial_point()
    problem.add_constraint(sign * (y**2 - x**2) == 0, name="equally long")
    return Performance(problem, x**2, y**2, "equally long")


def inequality() -> Performance:
    """||x||^2 <= ||y||^2 where ||x||^2 <= ||y||^2 / 2 + <x, y> / 2."""
    problem = PEP()
    x, y = problem.set_initial_point(), problem.set_initial_point()
    problem.add_constraint(x**2 <= 0.5 * y**2 + 0.5 * (x * y))
    return Performance(problem, x**2, y**2, "by a condition")


PROBLEMS: dict[str, Callable[[], Performance]] = {
    "convex": convex,
    "strongly convex": strongly_convex,
    "smooth": smooth,
    "smooth convex": smooth_convex,
    "smooth strongly convex": smooth_strongly_convex,
    "equality": equality,
    "other equality": lambda: equality(-1),
    "inequality": inequality,
}
TIGHT = (
    "strongly convex",
    "smooth",
    "smooth convex",
    "smooth strongly convex",
    "equality",
    "other equality",
    "inequality",
)


def checked(build: Callable[[], Performance]) -> Any:
    """The evidence of a worst-case check of this problem."""
    statement = Statement("mine.one", "lemma", "t", Source("mine", "here"), "text")
    return worst_case.run(statement, Check("worst-case", "c", lambda *_: build(), part="a test"), Settings())


@cache
def _certificate(name: str) -> dict[str, Any]:
    found = checked(PROBLEMS[name])
    assert found.notes["proved_exactly"], found.reason
    return {"statement": "mine.one", "check": name, "claim": found.notes["claim"], **found.notes["certificate"]}


def certificate(name: str) -> dict[str, Any]:
    """A certificate of one of the problems, which the test may change."""
    return copy.deepcopy(_certificate(name))


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers are in plain data: fractions in text, and indices."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("statement", "check", "claim", "vectors", "class", "name", "relation"):
                yield from places(value, (*path, key))
    elif isinstance(data, list):
        for k, value in enumerate(data):
            yield from places(value, (*path, k))
    elif isinstance(data, int) or (isinstance(data, str) and data.lstrip("-").replace("/", "").isdigit()):
        yield path


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The data with another value at a place."""
    made = copy.deepcopy(data)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made
