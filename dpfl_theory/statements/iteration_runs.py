"""An iteration as a run: on the problem that an instance names, with the constants of that problem."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Experiment, Symbols
from dpfl_theory.errors import InputError
from dpfl_theory.statements.iteration_plan import Plan

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["experiment"]

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
        return problems.make(given.pop("name"), **given)
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
