"""Exact moments: quadratics on the line, and vectors, in fractions. Points are affine in the errors: none is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.semantics.base import EVEN, Vector, World


def root(number: Fraction) -> Fraction:
    """The root of the square of a fraction; ValueError for another number.

    >>> root(Fraction(9, 4))
    Fraction(3, 2)
    """
    found = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
    if found**2 != number:
        raise ValueError(f"{number} is not the square of a fraction")
    return found


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
        try:
            return root(square)
        except ValueError as error:
            raise ValueError(f"the second moment of {name}: {error}: take one that is") from error

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


def vector(entries: Iterable[Any]) -> Vector:
    """The vector of these fractions.

    >>> vector(["1/2", 3]) - vector([0, 1])
    Vector(known=array([Fraction(1, 2), Fraction(2, 1)], dtype=object), errors={})
    """
    import numpy as np

    return Vector(np.array([Fraction(x) for x in entries], dtype=object))


class Vectors(RationalWorld):
    """Vectors of several dimensions, with lengths that are fractions; one client with grad f(x) = x.

    >>> world = Vectors(1)
    >>> world.length(vector([3, 4])), tuple(world.normalised(vector([3, 4])).known)
    (Fraction(5, 1), (Fraction(3, 5), Fraction(4, 5)))
    """

    def inner(self, u: Any, v: Any) -> Fraction:
        return Fraction(sum(u * v))

    def length(self, v: Vector) -> Fraction:
        return root(self.square(v))

    def gradient(self, client: int, x: Vector) -> Vector:
        return x
