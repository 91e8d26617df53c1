"""The scales of a problem, in which hyper-parameters are measured."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpfl_theory.problems.base import Problem

__all__ = ["Scales", "slope_at_start"]


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
