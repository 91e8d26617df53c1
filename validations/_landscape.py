"""The problems of the landscape of recommendations, and the runs on each: searches, grids and the papers' rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.scales import slope_at_start
from dpfl_theory.recommend.constants_from_data import gap_at_start
from dpfl_theory.recommend.data import DataSource
from dpfl_theory.recommend.rule_answers import rules
from dpfl_theory.recommend.rule_runs import RULED, reached, starts
from dpfl_theory.recommend.search import Plan, Trial, confirmed, measure, search
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned

DELTA = 1e-5
CLIENTS = 40


@dataclass(frozen=True)
class Case:
    """A problem with its builder; the name is its label in the figure."""

    name: str
    make: Callable[[], Problem]


def _data(name: str, ridge: float, features: int | None) -> Problem:
    return DataSource(name, ridge=ridge, features=features).problem(CLIENTS)


def _synthetic() -> Problem:
    parameters = {"clients": 20, "records": 100, "features": 10, "classes": 3}
    return make("softmax-noble2022", **parameters)


CASES = {
    "breast-cancer": Case("breast cancer, ridge 0.01", partial(_data, "breast-cancer", 0.01, None)),
    "breast-cancer-plain": Case("breast cancer, 4 features", partial(_data, "breast-cancer", 0.0, 4)),
    "digits": Case("digits, 8 features, ridge 0.01", partial(_data, "digits", 0.01, 8)),
    "noble2022": Case("noble2022 synthetic", _synthetic),
    "appendix-f": Case("das2022 Appendix F", partial(make, "appendix-f")),
}


def own(data: str) -> Case:
    """The user's file, as a case: mushrooms in LIBSVM format, for example."""
    return Case("the file, ridge 0.01", partial(_data, data, 0.01, None))


@cache
def _made(case: Case) -> tuple[Problem, float, float]:
    """The problem, its suboptimality at 0, and the clients' mean gradient length there."""
    problem = case.make()
    return problem, gap_at_start(problem), slope_at_start(problem)


def start(case: Case) -> float:
    """The suboptimality at 0, where all runs start."""
    return _made(case)[1]


def algorithms() -> list[str]:
    """The algorithms that protect a client's data."""
    return [name for name, kind in tuned().items() if kind.protects == "client"]


def with_rules() -> list[str]:
    """Those of them that a paper has a rule for."""
    return [name for name in algorithms() if name in RULED]


def _coordinates(one: Tuned, count: int) -> list[list[float]]:
    """The coordinates of each axis: all of its values, or ``count`` evenly spaced ones with both ends."""
    return [
        list(np.linspace(0.0, 1.0, count))
        if axis.between
        else [(k + 0.5) / len(axis.values) for k in range(len(axis.values))]
        for axis in one.axes
    ]


def size(one: Tuned, count: int) -> int:
    """The number of combinations, with ``count`` values on each continuous axis."""
    return math.prod(map(len, _coordinates(one, count)))


def grid(one: Tuned, seed: int, count: int, plan: Plan) -> Trial:
    """The best combination, found and measured as a search's: `Plan.replicates` runs of each, more runs of the best,
    and fresh runs of the chosen one."""
    points = [np.array(point) for point in product(*_coordinates(one, count))]
    results = measure(one, [one.values(p) for p in points], plan.replicates, seed + 1)
    ranked = sorted(zip([f.mean for f in results], range(len(points))), key=lambda t: t)
    return confirmed(one, [(mean, points[i]) for mean, i in ranked], seed, plan)


def count_for(case: Case, name: str, budget: Budget, plan: Plan, share: float = 0.1) -> int:
    """The least number of values on an axis with which the search makes at most this share of the grid's runs."""
    one, count = tuned()[name](_made(case)[0], budget), 4
    while plan.runs > share * plan.replicates * size(one, count):
        count += 1
    return count


def found(
    case: Case, name: str, epsilon: float, rounds: int, plan: Plan, seed: int, replicates: int, compared: bool
) -> dict[str, Any]:
    """The results of the search for an algorithm and, where compared, of the grid, each measured with fresh seeds.

    replicates: runs of a rule that the search starts from.
    """
    budget = Budget(epsilon, DELTA, rounds=rounds)
    one = tuned()[name](_made(case)[0], budget)
    lines = ruled(case, name, epsilon, rounds, seed, replicates) if name in RULED else []
    ours = search(one, seed, plan, starts(one, lines))
    cell: dict[str, Any] = {"case": case.name, "algorithm": name, "epsilon": epsilon, "best": _said(ours), "grid": None}
    if not compared:
        return {**cell, "runs": {"best": plan.runs}}
    count = count_for(case, name, budget, plan)
    best = grid(one, seed + 5000, count, plan)
    return {**cell, "grid": _said(best), "runs": {"best": plan.runs, "grid": plan.replicates * size(one, count)}}


def _said(trial: Trial) -> dict[str, Any]:
    return {"mean": trial.mean, "error": trial.error, "hyperparameters": trial.hyperparameters}


@cache  # a search starts from results that the figure shows as well
def ruled(case: Case, name: str, epsilon: float, rounds: int, seed: int, replicates: int) -> list[dict[str, Any]]:
    """The suboptimality that each rule's recommendation for an algorithm reaches, in this number of runs."""
    one = tuned()[name](_made(case)[0], Budget(epsilon, DELTA, rounds=rounds))
    at = {"case": case.name, "algorithm": name, "epsilon": epsilon}
    return [{**at, **reached(one, rule, replicates, seed, longer=True)} for rule in rules()]


def jobs(
    cases: Sequence[Case],
    names: Sequence[str],
    epsilons: Sequence[float],
    rounds: int,
    plan: Plan,
    seed: int,
    replicates: int,
    compared: Sequence[float],
) -> list[partial[Any]]:
    """Every search, at the budgets ``compared`` with its grid, and every rule, as work that can be sent to another
    process."""
    searches = [
        partial(found, c, n, e, rounds, plan, seed, replicates, e in compared)
        for c in cases
        for e in epsilons
        for n in names
    ]
    rules = [partial(ruled, c, n, e, rounds, seed, replicates) for c in cases for e in epsilons for n in with_rules()]
    return [*searches, *rules]


def ratio(cell: Mapping[str, Any]) -> tuple[float, float]:
    """Our suboptimality over the grid's, and its standard error."""
    ours, best = cell["best"], cell["grid"]
    if not (math.isfinite(ours["mean"]) and best["mean"] > 0.0):
        return math.inf, 0.0
    found = ours["mean"] / best["mean"]
    return found, found * math.hypot(ours["error"] / ours["mean"], best["error"] / best["mean"])
