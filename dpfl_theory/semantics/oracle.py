"""The operations of a round, with the same names in every world.

A round that is written with an `Oracle` runs on fractions, on all functions of a class and on replicates of
simulations. Vectors are added and multiplied by numbers, and all other operations are here. Errors need no names: they
are numbered in the order in which a round requests them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.semantics.base import Vector, World, average
from dpfl_theory.semantics.operations import BaseOperations
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.semantics.rational import Quadratics

__all__ = ["Length", "OnFunctions", "OnQuadratics", "Oracle"]

State = TypeVar("State")


@dataclass(frozen=True)
class Length:
    """A symbol of which only the square is known, times a number: for example a standard deviation in a worst case.

    >>> (Length("sigma", 4.0) / 2).square
    1.0
    """

    name: str
    square: Any

    def __mul__(self, factor: Any) -> Length:
        if not isinstance(factor, (int, float, Fraction)):
            raise InputError(f"only the square of {self.name} is known here: multiply it only by numbers")
        return Length(self.name, float(factor) ** 2 * self.square)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Length:
        return self.__mul__(1.0 / divisor)


class Oracle(BaseOperations):
    """The operations available to a round. Vectors have unit X, gradients F/X.

    k: the number of the round, from 0. clients: their numbers. start: the starting point. zero: the zero vector.
    """

    def __init__(self, world: World, start: Vector, dimension: Any, variances: MutableMapping[Hashable, Any]) -> None:
        super().__init__(world)
        self.start, self.k = start, 0
        self.clients = range(world.clients)
        self._dimension, self._variances, self._asked = dimension, variances, 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(str(unknown_name("operation of the oracle", name, (n for n in dir(self) if n[0] != "_"))))

    def path(self, start: State, step: Callable[[Oracle, State], State], rounds: int) -> Iterator[State]:
        """The state before each round, and after the last."""
        state = start
        for k in range(rounds):
            self.start_round(k)
            yield state
            state = step(self, state)
        yield state

    def start_round(self, k: Any) -> None:
        """Round k begins."""
        self.k, self._asked = k, 0

    def gradient(self, x: Vector, client: int | None = None) -> Vector:
        """grad f(x) of the mean of all clients' functions, or grad f_i(x) of one client."""
        return self.world.mean_gradient(x) if client is None else self.world.gradient(client, x)

    def noise(self, sigma: Any) -> Vector:
        """A vector of mean zero with standard deviation sigma in each coordinate: N(0, sigma^2 I) in runs."""
        return self._error(self._dimension * _square(sigma))

    def error(self, sigma: Any) -> Vector:
        """A vector e of mean zero with E ||e||^2 = sigma^2, such as the error of a stochastic gradient."""
        return self._error(_square(sigma))

    def _error(self, variance: Any) -> Vector:
        name = ("error", self.k, self._asked)
        self._asked += 1
        self._variances[name] = variance
        return self.world.error(*name)

    def cohort(self, size: int, replacement: bool = False) -> tuple[int, ...]:
        """This many clients, drawn uniformly: different ones, or one after another with replacement."""
        return self.world.cohort(size, replacement)

    def normalise(self, v: Vector, alpha: Any = 0) -> Vector:
        """v/(alpha + ||v||), and zero where v is; InputError in a worst case, as for `clip`."""
        return self._nonlinear(lambda: self.world.normalised(v, alpha))

    def proximal(self, x: Vector, step: Any) -> Vector:
        """argmin_y f(y) + ||y - x||^2/(2 step)."""
        return self.world.proximal(x, step)

    def draw(self, weights: Sequence[Any]) -> int:
        """A client, drawn with these probabilities."""
        return int(self.world.choose(self.clients, weights))

    def number(self, x: Any) -> Any:
        """A fraction in the world's arithmetic: itself in exact moments, a float elsewhere. Other numbers stay."""
        return float(x) if isinstance(x, Fraction) and not isinstance(self.world.one, Fraction) else x

    def average(self, vectors: Sequence[Vector], weights: Sequence[Any] | None = None) -> Vector:
        """Their mean, or their sum with these weights."""
        return average(vectors, None if weights is None else [self.number(w) for w in weights])


class OnQuadratics(Oracle):
    """The operations in fractions, on clients with grad f_i(x) = a_i x - b_i for these a_i and b_i."""

    world: Quadratics

    def __init__(self, curvatures: Sequence[Any], offsets: Sequence[Any], start: Any = 0, d: Any = 1) -> None:
        variances: dict[Hashable, Any] = {}
        world = Quadratics(curvatures, offsets, variances.__getitem__)
        super().__init__(world, Vector(Fraction(start)), d, variances)


class OnFunctions(Oracle):
    """The operations over all functions that were declared in a PEPit problem, one for each client, from any start.
    The minimiser of their mean is the origin, ``zero``."""

    world: FunctionClass

    def __init__(self, problem: Any, functions: Sequence[Any], d: Any = 1.0) -> None:
        variances: dict[Hashable, Any] = {}
        world = FunctionClass(problem, functions, variances.__getitem__)
        world.minimiser_at_origin()
        super().__init__(world, Vector(problem.set_initial_point()), d, variances)


def _square(sigma: Any) -> Any:
    return sigma.square if isinstance(sigma, Length) else sigma * sigma
