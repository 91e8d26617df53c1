"""Exact moments: quadratics on the line, in fractions. Points are affine in the errors, so that none is ever drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.semantics.base import EVEN, Vector, World

__all__ = ["Quadratics", "RationalWorld"]


class RationalWorld(World):
    """Vectors of one dimension, as fractions.

    variances: the second moment of an error by the first part of its name, or a function of the whole name. A message
    is bounded after its errors were resolved. Each is then a multiple of a number whose square is its second moment,
    which must be the square of a fraction. The multiples are 1 and -1 unless ``shape`` says otherwise.
    """

    one = Fraction(1)

    def __init__(
        self,
        clients: int,
        variances: Mapping[str, Any] | Callable[[Hashable], Any] | None = None,
        shape: Sequence[tuple[Fraction, Any]] = EVEN,
    ) -> None:
        super().__init__(clients, shape)
        self._variances = {} if variances is None else variances

    @property
    def zero(self) -> Vector:
        return Vector(Fraction(0))

    def inner(self, u: Fraction, v: Fraction) -> Fraction:
        return u * v

    def variance(self, name: Any) -> Fraction:
        found = self._variances(name) if callable(self._variances) else self._variances[name[0]]
        return Fraction(found)

    def size_of(self, name: Any) -> Fraction:
        square = self.variance(name)
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        if root * root != square:
            raise ValueError(f"the second moment {square} of {name} is not the square of a fraction: take one that is")
        return root

    def length(self, v: Vector) -> Fraction:
        return Fraction(abs(v.known))


class Quadratics(RationalWorld):
    """f_i(x) = a_i x^2/2 - b_i x, that is grad f_i(x) = a_i x - b_i, with fractions a_i and b_i.

    >>> from dpfl_theory.semantics.base import expected
    >>> world = Quadratics([1, 3], [0, 1], {"error": Fraction(1, 4)})
    >>> def slope():
    ...     g = world.gradient(world.cohort(1)[0], Vector(Fraction(2))) + world.error("error")
    ...     return {"slope": g.known, "square": world.square(g)}
    >>> expected(world, slope)
    {'slope': Fraction(7, 2), 'square': Fraction(59, 4)}
    """

    def __init__(
        self,
        curvatures: Sequence[Any],
        offsets: Sequence[Any],
        variances: Mapping[str, Any] | Callable[[Hashable], Any] | None = None,
        shape: Sequence[tuple[Fraction, Any]] = EVEN,
    ) -> None:
        super().__init__(len(curvatures), variances, shape)
        self.curvatures = tuple(map(Fraction, curvatures))
        self.offsets = tuple(map(Fraction, offsets))

    @property
    def minimiser(self) -> Vector:
        """The point where the mean of the clients' gradients is zero."""
        return Vector(sum(self.offsets, Fraction(0)) / sum(self.curvatures, Fraction(0)))

    def suboptimality(self, x: Vector) -> Fraction:
        """E f(x) - f*, of the mean f of the clients' functions; no error is resolved for it."""
        curvature = sum(self.curvatures, Fraction(0)) / self.clients
        return curvature / 2 * Fraction(self.square(x - self.minimiser))

    def proximal(self, x: Vector, step: Any) -> Vector:
        mean_curvature = sum(self.curvatures, Fraction(0)) / self.clients
        mean_offset = sum(self.offsets, Fraction(0)) / self.clients
        return (x + Vector(Fraction(step) * mean_offset)) / (1 + Fraction(step) * mean_curvature)

    def gradient(self, client: int, x: Vector) -> Vector:
        return self.curvatures[client] * x - Vector(self.offsets[client])
