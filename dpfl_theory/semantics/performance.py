"""Performance estimation: all functions of a class in any dimension, as points and gradients of a PEPit problem.

An error at which a later gradient is evaluated is a vector of the problem with both signs; any other error only adds
its second moment. Gradients at one point are one vector, whichever choices led there. A message is bounded where its
length was declared as a number. Otherwise it is multiplied by a factor that is given for every outcome of its errors:
what holds for all factors holds for those that clipping gives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from dpfl_theory.semantics.base import Vector, World, average


class FunctionClass(World):
    """Clients whose functions were declared in a PEPit problem.

    * variance: the second moment of all errors, a number or a PEPit expression; or a function of an error's name. A
      resolved error has at most this or, where a side may decrease with it, ``exactly`` this.
    * sizes: the vectors that errors are multiples of, where they are the problem's own; the second moment of such an
      error is the square of its vector.
    """

    def __init__(
        self,
        problem: Any,
        functions: Sequence[Any],
        variance: Any | Callable[[Hashable], Any] = 0.0,
        sizes: Mapping[Any, Any] | None = None,
        exactly: bool = False,
    ) -> None:
        super().__init__(len(functions))
        self.problem, self.functions = problem, functions
        self._variance, self._given = variance, dict[Hashable, Any](sizes or {})
        self._exactly = exactly
        self._sizes: dict[Hashable, Any] = dict(self._given)
        self._lengths: list[tuple[Any, Any]] = []
        self._least: Any = None

    @property
    def has_nonlinear_use(self) -> bool:
        """Whether an error took a value because a nonlinear operation resolved it."""
        return len(self._sizes) > len(self._given)

    @property
    def zero(self) -> Vector:
        from PEPit import Point

        return Vector(Point(is_leaf=False, decomposition_dict={}))

    def gradient(self, client: int, x: Vector) -> Vector:
        return Vector(self.functions[client].gradient(self.resolved(x).known))

    def value(self, client: int, x: Vector) -> Any:
        """f_i(x)."""
        return self.functions[client](self.resolved(x).known)

    def mean_value(self, x: Vector) -> Any:
        """f(x), of the mean of the clients' functions."""
        return average([self.value(i, x) for i in range(self.clients)])

    def minimiser_at_origin(self) -> Vector:
        """The origin, where the clients' gradients sum to zero from now on; it has no other gradient yet."""
        from PEPit import Expression

        rest = self.zero
        for i in range(self.clients - 1):
            rest = rest - self.gradient(i, self.zero)
        self.functions[-1].add_point((self.zero.known, rest.known, Expression()))
        return self.zero

    def suboptimality(self, x: Vector) -> Any:
        """f(x) - f*, where the origin was made the minimiser."""
        return self.mean_value(x) - self.mean_value(self.zero)

    def proximal(self, x: Vector, step: Any) -> Vector:
        """The point y with y + step grad f(y) = x, of one function: it is new to the problem, as its gradient is."""
        from PEPit import Expression, Point

        (function,) = self.functions
        slope = Point()
        y = self.resolved(x).known - float(step) * slope
        function.add_point((y, slope, Expression()))
        return Vector(y)

    def excess(self, x: Vector) -> Any:
        """f(x) - f*, for a lower bound f* of f that the problem does not constrain otherwise."""
        from PEPit import Expression

        self._least = Expression() if self._least is None else self._least
        found = self.mean_value(x) - self._least
        self.problem.add_constraint(found >= 0)
        return found

    def inner(self, u: Any, v: Any) -> Any:
        return u * v

    def variance(self, name: Hashable) -> Any:
        if name in self._given:
            return self._given[name] ** 2
        return self._variance(name) if callable(self._variance) else self._variance

    def size_of(self, name: Hashable) -> Any:
        from PEPit import Point

        if name not in self._sizes:
            self._sizes[name] = Point()
            square, most = self._sizes[name] ** 2, self.variance(name)
            self.problem.add_constraint(square == most if self._exactly else square <= most)
        return self._sizes[name]

    def set_length(self, v: Vector, length: Any) -> None:
        """Declare a vector's length as a number: a norm is not a linear form. A constraint of the problem, or the unit
        in which its sides are compared, must make it true."""
        self._lengths.append((v.known.decomposition_dict, length))

    def length(self, v: Vector) -> Any:
        for coordinates, length in self._lengths:
            if coordinates == v.known.decomposition_dict:
                return length
        raise TypeError("a bounded message is not a linear form: declare its length, or pass its factors as threshold")

    def bounded(self, v: Vector, threshold: Any) -> Vector:
        """v times a factor, which threshold gives for the multiples of their sizes that v's errors took. A threshold
        that is a number requires a vector whose length was declared."""
        if not isinstance(threshold, Mapping):
            return super().bounded(v, threshold)
        bounded = self.resolved(v)  # only then do its errors have values
        factor: float = threshold[self.resolved_multiples(v)]
        return bounded * factor


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
