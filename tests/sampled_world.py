"""Plain draws: cohorts, coins and Gaussian errors from NumPy's generator, clients as functions of vectors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.semantics.base import Vector, World

__all__ = ["SampledWorld"]


class SampledWorld(World):
    """gradients: one function of a vector (d,) for each client; variances: of a whole error vector, by the first part
    of its name. Every choice is drawn, so that `base.expected` gives one sample of weight 1."""

    def __init__(
        self, gradients: Sequence[Callable[[Any], Any]], d: int, variances: Mapping[str, float], seed: int
    ) -> None:
        super().__init__(len(gradients))
        self._gradients, self._d, self._variances = gradients, d, variances
        self._random = np.random.default_rng(seed)

    def choose(self, options: Sequence[Any], weights: Sequence[Any] | None = None) -> Any:
        share = None if weights is None else [float(w) for w in weights]
        return options[int(self._random.choice(len(options), p=share))]

    def following(self) -> list[int] | None:
        return None

    @property
    def zero(self) -> Vector:
        return Vector(np.zeros(self._d))

    def error(self, *name: Hashable, run: int = 0) -> Vector:
        deviation = np.sqrt(self.variance(name) / self._d)
        return Vector(deviation * self._random.standard_normal(self._d))

    def gradient(self, client: int, x: Vector) -> Vector:
        return Vector(self._gradients[client](x.known))

    def inner(self, u: Any, v: Any) -> Any:
        return float(u @ v)

    def variance(self, name: Any) -> Any:
        return self._variances[name[0]]

    def size_of(self, name: Hashable) -> Any:
        raise NotImplementedError("errors are drawn at once")

    def length(self, v: Vector) -> float:
        return float(np.linalg.norm(v.known))
