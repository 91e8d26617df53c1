"""Worst cases of one user: gradients that are any vectors, a gradient step, and the records that a step draws.

The values of a user's gradients do not matter: in the first display they cancel, and a sample is taken at one point,
where smooth functions may have any gradients. So gradients are arbitrary vectors here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Performance, Statement, WorstCase
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import local_path
from dpfl_theory.semantics.performance import FunctionClass, declared

__all__ = ["AnyGradients", "error_of_a_sample", "gradient_step"]


class AnyGradients(FunctionClass):
    """One user whose gradients are any vectors; these and the errors' lengths may depend on all errors before."""

    def __init__(self, problem: Any, variance: Any) -> None:
        super().__init__(problem, [None], variance)
        self._drawn: dict[tuple[Any, ...], Vector] = {}

    def gradient(self, client: int, x: Vector) -> Vector:
        from PEPit import Point

        self.resolved(x)
        return self._drawn.setdefault(self.resolved_multiples(x), Vector(Point()))

    def size_of(self, name: Hashable) -> Any:
        return super().size_of((name, *self._fallen.items()))


def gradient_step(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """||T(x) - T(y)||^2 <= ||x - y||^2 for T = id - eta_l grad F_i over all convex smooth functions."""
    from PEPit import PEP

    eta, problem = float(Fraction(str(instance["eta_l nu"]))), PEP()
    world = FunctionClass(problem, declared(problem, "convex", 1))
    x, y = (Vector(problem.set_initial_point()) for _ in range(2))
    ends = [local_path(TwoSidedFedAvg(eta_l=eta, Q=1), world, v)[-1] for v in (x, y)]
    what = "the distance of two points after a gradient step"
    return Performance(problem, world.square(ends[0] - ends[1]), world.square(x - y), what)


def error_of_a_sample(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Lemma C.1, part 2: the mean of sR of R vectors (the records' gradients at one point), plus noise in the
    directions +xi and -xi with xi^2 <= Sigma_g^2/2; varsigma^2 is at least the vectors' variance."""
    from PEPit import PEP, Expression, Point

    R, drawn = int(instance["R"]), int(instance["sR"])
    problem, spread, noise = PEP(), Expression(), Expression()
    xi = Point()
    problem.add_constraint(2 * xi**2 <= noise)
    found = [Point() for _ in range(R)]
    mean = sum(found[1:], found[0]) / R
    squares = [(g - mean) ** 2 for g in found]
    problem.add_constraint(sum(squares[1:], squares[0]) / R <= spread)
    samples = list(combinations(found, drawn))
    left = 0.0 * noise
    for chosen in samples:
        error = sum(chosen[1:], chosen[0]) / drawn - mean
        for sign in (1, -1):
            left = left + (error + sign * xi) ** 2 / (2 * len(samples))
    symbols = {"R": R, "s": Fraction(drawn, R), "varsigma^2": spread, "Sigma^2": noise, "error": left}
    return WorstCase(problem, symbols, f"the error of {drawn} of {R} records")
