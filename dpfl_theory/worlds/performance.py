"""Performance estimation: all functions of a class in any dimension, as points and gradients of a PEPit problem.

An error that a later gradient looks at is a vector of the problem with both signs; one that nothing looks at only adds
its second moment. Gradients at one point are one vector, whichever way the choices fell that led there. A message is
bounded where its length was told as a number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from dpfl_theory.worlds.base import Vector, World

__all__ = ["FunctionClass", "declared"]


class FunctionClass(World):
    """Clients whose functions were declared in a PEPit problem.

    variance: the second moment of all errors, a number or a PEPit expression; or a function of an error's name.
    """

    def __init__(self, problem: Any, functions: Sequence[Any], variance: Any | Callable[[Hashable], Any] = 0.0) -> None:
        super().__init__(len(functions))
        self.problem, self.functions = problem, functions
        self._variance = variance
        self._sizes: dict[Hashable, Any] = {}
        self._lengths: list[tuple[Any, Any]] = []

    @property
    def zero(self) -> Vector:
        from PEPit import Point

        return Vector(Point(is_leaf=False, decomposition_dict={}))

    def gradient(self, client: int, x: Vector) -> Vector:
        return Vector(self.functions[client].gradient(self.resolved(x).known))

    def value(self, client: int, x: Vector) -> Any:
        """f_i(x)."""
        return self.functions[client](self.resolved(x).known)

    def inner(self, u: Any, v: Any) -> Any:
        return u * v

    def variance(self, name: Hashable) -> Any:
        return self._variance(name) if callable(self._variance) else self._variance

    def size_of(self, name: Hashable) -> Any:
        from PEPit import Point

        if name not in self._sizes:
            self._sizes[name] = Point()
            self.problem.add_constraint(self._sizes[name] ** 2 <= self.variance(name))
        return self._sizes[name]

    def tell(self, v: Vector, length: Any) -> None:
        """Give a vector's length as a number: a norm is no linear form. A constraint of the problem, or the unit in
        which its sides are compared, must make it true."""
        self._lengths.append((v.known.decomposition_dict, length))

    def length(self, v: Vector) -> Any:
        for coordinates, length in self._lengths:
            if coordinates == v.known.decomposition_dict:
                return length
        raise NotImplementedError("a bounded message is no linear form: tell its length as a number")


def declared(problem: Any, kind: str, count: int, mu: float = 0.0, L: float = 1.0) -> list[Any]:
    """L-smooth functions of a class: ``convex``, ``strongly convex`` with mu, or ``non-convex``."""
    from PEPit.functions import SmoothConvexFunction, SmoothFunction, SmoothStronglyConvexFunction

    known: dict[str, tuple[Any, dict[str, float]]] = {
        "convex": (SmoothConvexFunction, {}),
        "non-convex": (SmoothFunction, {}),
        "strongly convex": (SmoothStronglyConvexFunction, {"mu": mu}),
    }
    chosen, more = known[kind]
    return [problem.declare_function(chosen, L=L, **more) for _ in range(count)]
