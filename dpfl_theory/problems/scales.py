"""The scales of a problem, in which hyper-parameters are measured."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.problems.base import Problem, no_records


def slope_at_start(problem: Problem) -> float:
    """The mean of the clients' ||grad f_i(0)|| [F/X]."""
    zero = np.zeros(problem.d)
    return float(np.mean([np.linalg.norm(problem.client_gradient(i, zero)) for i in range(problem.n)]))


class Scales:
    """The scales of a problem at the start, 0.

    >>> from dpfl_theory.problems import make
    >>> Scales(make("quadratic", clients=2, dimension=2, seed=1)).L > 0
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @cached_property
    def L(self) -> float:
        """The largest of the clients' smoothness constants [F/X^2]."""
        return self.problem.constants.L_max

    @cached_property
    def slope(self) -> float:
        """The clients' mean gradient length [F/X]; 1 where it is 0."""
        return slope_at_start(self.problem) or 1.0

    @cached_property
    def distance(self) -> float:
        """The distance that the parameters may have to cover [X]: ||w*|| if known, at least ten times slope over L."""
        w = self.problem.constants.w_star
        far = 10.0 * self.slope / self.L
        return far if w is None else max(far, float((w @ w) ** 0.5))

    @cached_property
    def record_slope(self) -> float:
        """The mean length of a record's gradient [F/X], of a linear model; 1 where it is 0."""
        from dpfl_theory.problems.losses import LOSS
        from dpfl_theory.problems.sparse import lengths

        data: Any = getattr(self.problem, "data", None)
        if data is None:
            raise no_records(self.problem, "the length of a record's gradient")
        loss = LOSS[data.loss]
        logits = np.zeros((len(data.y), data.classes) if loss.classwise else len(data.y))
        steep = np.linalg.norm(loss.slope(logits, data.y, data.threshold).reshape(len(data.y), -1), axis=1)
        return float(np.mean(steep * lengths(data.x))) or 1.0
