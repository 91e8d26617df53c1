"""Checks of an `Iteration`: in fractions, as a worst-case problem, and by runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Experiment, Symbols, Values, WorstCase
from dpfl_theory.errors import InputError, InstanceError
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.oracle import Length, Oracle
from dpfl_theory.statements.iteration_plan import Plan
from dpfl_theory.statements.symbolic import root

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

MOST_WAYS = 100_000
"""The largest number of outcomes of cohorts and coins: each of some twenty quadratics takes minutes with that many."""


def exact(plan: Plan) -> Iterator[Values]:
    """Quadratics from ||x_0 - x*|| = 1: flat and steep ones, of clients that agree and that do not."""
    from dpfl_theory.semantics.rational import Quadratics

    d = plan.constant("dimension", Fraction(1)) or Fraction(1)
    for curvatures, gradients in _quadratics(plan):
        # f_i(x) = a_i x^2/2 - b_i x with b_i that add up to zero: the minimiser is the origin.
        variances: dict[Hashable, Any] = {}
        world = Quadratics(curvatures, gradients, variances.__getitem__)
        star, start = world.minimiser, world.minimiser + Vector(Fraction(1))
        oracle, s = Oracle(world, start, d, variances), Symbols(plan.numbers, plan.statement.id)
        values = plan.expectations(world, star, partial(plan.points, oracle, s), MOST_WAYS, min)
        roles = {
            "start-distance": Fraction(1),
            "start-suboptimality": world.suboptimality(start),
            "gradient-spread": root(average([g * g for g in gradients])),
        }
        values |= {name: roles[role] for name, role in plan.iteration.constants.items() if role in roles}
        described = {"curvatures": curvatures, "gradients at x*": gradients} if len(curvatures) > 1 else {}
        yield Values({**plan.numbers, **values}, {**plan.numbers, **(described or {"curvature": curvatures[0]})})


def _quadratics(plan: Plan) -> Iterator[tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]:
    """Curvatures a_i between mu and L, and gradients b_i at the minimiser."""
    n, L = int(plan.constant("clients", Fraction(1)) or 1), plan.constant("smoothness", Fraction(1)) or Fraction(1)
    mu = plan.constant("strong-convexity", Fraction(0)) or Fraction(0)
    least = mu or L / 4096
    steep = [L / 4**i for i in range(7) if L / 4**i > least]
    flat = [*steep, least]
    nothing = (Fraction(0),) * n
    for a in flat:
        yield (a,) * n, nothing
    if n > 1:
        signs = tuple(Fraction((-1) ** i) for i in range(n - n % 2)) + (Fraction(0),) * (n % 2)
        mixed = [tuple(L if i % 2 else low for i in range(n)) for low in dict.fromkeys((max(L / 8, least), least))]
        yield from ((own, nothing) for own in mixed)
        for spread in (L, 64 * L):  # the second is nearly a start at the minimiser
            for curvatures in (*((a,) * n for a in (L, L / 4, least)), *mixed):
                yield curvatures, tuple(spread * sign for sign in signs)


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

    def at_most(several: list[Any]) -> Any:
        found = Expression()
        for value in several:
            problem.add_constraint(found <= value)
        return found

    values |= plan.expectations(world, star, partial(plan.points, oracle, s), MOST_VECTORS, at_most)
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


_REPLICATES = 512
_RANDOM_WITHIN = 40
"""The rounds that are searched for a draw: a run that draws at all draws in one of them."""


def experiment(plan: Plan, own: Problem | None = None) -> Experiment:
    """Runs from the origin, on the problem that the instance names, or on this one."""
    import numpy as np

    from dpfl_theory.semantics.replicates import Iterated, first_vector
    from dpfl_theory.simulation.observables import Reach

    problem = _problem(plan) if own is None else own
    c = problem.constants
    if c.w_star is None:
        raise InputError(f"the infimum of {problem.name!r} is not attained: take one with a minimiser, add a ridge")
    start = np.zeros(problem.d)
    distance = float(np.linalg.norm(c.w_star))
    excess = problem.value(start) - problem.value(c.w_star)
    given = plan.constant("smoothness", Fraction(1)) or Fraction(1)
    X, F = distance or 1.0, c.L_max / float(given) * (distance or 1.0) ** 2
    spread = float(np.sqrt(np.mean(np.sum(problem.gradients_at_star**2, axis=1))))
    roles = {
        "smoothness": c.L_max,
        "strong-convexity": c.mu_min,
        "clients": problem.n,
        "dimension": problem.d,
        "start-distance": distance,
        "start-suboptimality": excess,
        "gradient-spread": spread,
    }
    values = {name: float(v) * F ** plan.units[name][0] * X ** plan.units[name][1] for name, v in plan.numbers.items()}
    values |= {name: float(roles[role]) for name, role in plan.iteration.constants.items()}
    prescribed = plan.prescribed(
        {n: v for n, v in values.items() if n in plan.instance or n in plan.iteration.constants}
    )
    values |= {name: float(v) for name, v in prescribed.items()}
    s = Symbols(values, plan.statement.id)
    iteration = plan.iteration
    algorithm = Iterated(
        lambda oracle: plan.initial_state(oracle, s),
        lambda oracle, state: iteration.round(oracle, state, s),
        iteration.point or first_vector,
        iteration.average,
        getattr(iteration.round, "__name__", "iteration"),
        values,
    )
    random = _draws(algorithm, problem, min(plan.rounds, _RANDOM_WITHIN))
    replicates = plan.instance.get("replicates", _REPLICATES)
    reach = Reach.anywhere(problem)
    return Experiment(problem, algorithm, plan.rounds, start, values, replicates, reach, random=random)


def _problem(plan: Plan) -> Problem:
    from dpfl_theory import problems

    given = dict(plan.instance.get("problem", {}))
    if "name" in given:
        try:
            return problems.make(given.pop("name"), **given)
        except InputError as error:
            raise InstanceError(f"its problem: {error}") from error
    clients = int(plan.constant("clients", Fraction(1)) or 1)
    d = plan.constant("dimension", None)
    sizes = {"clients": clients, "dimension": 10 if d is None else int(d), **given}
    mu, L = plan.constant("strong-convexity", None), plan.constant("smoothness", Fraction(1)) or Fraction(1)
    if mu:
        condition = float(L / mu)
        return problems.make("quadratic", **{"condition": condition, "smoothness": float(L), "seed": 1, **sizes})
    return problems.make("huber", **{"seed": 1, **sizes})


def _draws(algorithm: Any, problem: Problem, rounds: int) -> bool:
    """Whether a run draws anything in its first rounds."""
    import numpy as np

    from dpfl_theory.kernels import select
    from dpfl_theory.kernels.engine import Replicates
    from dpfl_theory.simulation.base import Context

    engine = select("cpu")
    context = Context(
        engine, problem, problem.kernels(engine), Replicates(0, 0, 1), slice(0, 1), np.zeros((1, problem.d))
    )
    state = algorithm.initial_state(context).inner
    for k in range(rounds):
        state, drawn = algorithm.played(context, state, k)
        if drawn:
            return True
    return False
