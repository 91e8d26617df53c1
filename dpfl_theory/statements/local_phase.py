"""A client's gradient steps for performance estimation, and grids of instances for the steps of proofs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import local_path
from dpfl_theory.semantics.performance import FunctionClass

CLASSES = ("convex", "non-convex")


class LocalPhase:
    """Gradient steps from w_k on one function of a class, whose minimum is 0 and attained at the origin.

    points[t], gradients[t]: PEPit points; value(t): an expression. Placing a minimiser at the origin
    and the minimum at 0 loses nothing (shifts change neither class nor method) and makes the problem better
    conditioned.
    """

    def __init__(self, convexity: str, smoothness: float, step: float, steps: int, assume_fact1: bool = True) -> None:
        from PEPit import PEP, Expression, Point
        from PEPit.functions import SmoothConvexFunction, SmoothFunction

        kind = {"convex": SmoothConvexFunction, "non-convex": SmoothFunction}[convexity]
        self.problem = PEP()
        self.function = self.problem.declare_function(kind, L=smoothness)
        zero = [Point(is_leaf=False, decomposition_dict={}) for _ in range(2)]
        self.minimum = Expression(is_leaf=False, decomposition_dict={})
        self.function.add_point((zero[0], zero[1], self.minimum))
        self.gradients: list[Any] = []
        # Interpolation with the minimiser bounds only convex functions from below. For smooth functions with a minimum
        # the interpolation conditions together with ||g||^2 <= 2L(f - f*) at every point are necessary and sufficient
        # (Drori, Shamir 2020, Theorem 7).
        self._add_fact1 = assume_fact1 and convexity == "non-convex"
        self._smoothness = smoothness
        start = Vector(self.problem.set_initial_point())
        world = FunctionClass(self.problem, [self.function])
        algorithm = FedAvg(eta=step, E=steps).replaced(gradient=lambda a, o, i, y, *_: self._slope(y))
        self.points = [y.known for y in local_path(algorithm, world, start)]

    def _slope(self, y: Vector) -> Vector:
        g = self.function.gradient(y.known)
        self.gradients.append(g)
        if self._add_fact1:
            self.problem.add_constraint(g**2 / (2 * self._smoothness) <= self.function(y.known))
        return Vector(g)

    def gradient(self, t: int) -> Any:
        """The gradient at points[t], sampled at the first request."""
        if t == len(self.gradients):
            self._slope(Vector(self.points[t]))
        return self.gradients[t]

    def value(self, t: int) -> Any:
        """f(points[t]) - min f."""
        return self.function(self.points[t])


def number(instance: Mapping[str, Any], name: str) -> float:
    return float(Fraction(str(instance[name])))


def step_size(instance: Mapping[str, Any]) -> tuple[float, float]:
    """(L, eta) of an instance that gives L and the product eta L."""
    smoothness = number(instance, "L")
    return smoothness, number(instance, "eta L") / smoothness


def grid(**axes: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """All combinations of the axes' values, named by them."""
    instances = [dict(zip(axes, values)) for values in product(*axes.values())]
    return {", ".join(f"{k} = {v}" if k != "class" else str(v) for k, v in i.items() if k != "L"): i for i in instances}
