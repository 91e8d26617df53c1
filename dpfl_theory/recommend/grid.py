"""All combinations of the free hyper-parameters on a grid, each with certified noise."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dpfl_theory.recommend.search import Plan, Trial, confirmed, measure
from dpfl_theory.recommend.tuned.base import Tuned

__all__ = ["grid", "size"]


def _coordinates(tuned: Tuned, count: int) -> list[list[float]]:
    """The coordinates of each axis: all of its values, or ``count`` evenly spaced ones with both ends."""
    return [
        list(np.linspace(0.0, 1.0, count))
        if axis.between
        else [(k + 0.5) / len(axis.values) for k in range(len(axis.values))]
        for axis in tuned.axes
    ]


def size(tuned: Tuned, count: int) -> int:
    """The number of combinations, with ``count`` values on each continuous axis."""
    return math.prod(map(len, _coordinates(tuned, count)))


def grid(tuned: Tuned, seed: int, count: int = 10, plan: Plan | None = None) -> Trial:
    """The best combination, found and measured as `dpfl_theory.recommend.search` does: `Plan.replicates` runs of each,
    more runs of the best, and fresh runs of the chosen one.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.recommend.tuned import Budget, tuned
    >>> problem = make("logistic-synthetic", clients=4, dimension=2, records=10)
    >>> one = tuned()["dp-norm-ec"](problem, Budget(8.0, 1e-5, rounds=4))
    >>> size(one, 3), grid(one, 0, 3, Plan(finalists=2, second=4, best=1, third=8, last=8)).mean < 1.0
    (108, True)
    """
    plan = plan or Plan()
    points = [np.array(point) for point in product(*_coordinates(tuned, count))]
    results = measure(tuned, [tuned.values(p) for p in points], plan.replicates, seed + 1)
    ranked = sorted(zip([f.mean for f in results], range(len(points))), key=lambda t: t)
    return confirmed(tuned, [(mean, points[i]) for mean, i in ranked], seed, plan)
