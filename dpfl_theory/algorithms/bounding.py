"""Bounding operators: maps that a client applies to a vector so that the length of every message is bounded.

One operator is one class that knows its factor for a vector of given length; algorithms take any of them.

    Unbounded            g
    Clip                 min(1, C/||g||) g                     shulgin2025 (5), das2022 option (i), zhang2021 (3)
    Normalise            C g/||g||, 0 for g = 0                das2022 option (ii)
    SmoothedNormalise    g/(alpha + ||g||), 0 for 0/0          shulgin2025 (6)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpfl_theory.algorithms.base import Context
from dpfl_theory.algorithms.hyperparameters import PerReplicate, fits_replicates, positive, to_json
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems.base import LocalPhase

__all__ = ["Bounding", "Clip", "Normalise", "SmoothedNormalise", "Unbounded", "bounding_of", "require"]


class Bounding(ABC):
    """A map Psi of vectors that shrinks or stretches them: ``Psi(g) = factor(||g||) g``."""

    @abstractmethod
    def factor(self, context: Context, length: Any) -> Any:
        """The factor for vectors of these lengths (..., replicates); 0 for a zero vector, which has no direction."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The operator's name and parameters as plain JSON data."""

    def validate(self, replicates: int) -> None:
        """Raise InputError when a parameter has one number per replicate for another number of replicates."""
        for name, value in vars(self).items():
            fits_replicates(name, value, replicates)

    def __call__(self, context: Context, g: Any) -> Any:
        """Psi(g) for g (..., replicates, d)."""
        xp = context.engine.xp
        return g * self.factor(context, xp.sqrt((g * g).sum(axis=-1)))[..., None]

    def combined(self, context: Context, phase: LocalPhase, weights: Any) -> Any:
        """``sum_i weights[s, i] Psi(u_i[s])`` (replicates, d) of a local phase's updates, weights (replicates, n)."""
        return phase.combine(weights * self.factor(context, phase.norms.T).T)

    def level(self, context: Context) -> Any:
        """The threshold or scaling factor C (replicates,); None for an operator that has none."""
        return None


@dataclass(frozen=True)
class Unbounded(Bounding):
    """No bound: the message is the vector itself."""

    def factor(self, context: Context, length: Any) -> Any:
        return context.engine.xp.ones_like(length)

    def combined(self, context: Context, phase: LocalPhase, weights: Any) -> Any:
        return phase.combine(weights)

    def describe(self) -> dict[str, Any]:
        return {"bounding": "none"}


@dataclass(frozen=True)
class Clip(Bounding):
    """``min(1, C/||g||) g``: no longer than C, a number or one for each replicate, in the unit of g.

    >>> Clip(2.0).describe()
    {'bounding': 'clip', 'threshold': 2.0}
    """

    threshold: PerReplicate

    def __post_init__(self) -> None:
        positive("the threshold C", self.threshold)

    def factor(self, context: Context, length: Any) -> Any:
        xp, C = context.engine.xp, context.per_replicate(self.threshold)
        over = length > C
        return xp.where(over, C / xp.where(over, length, 1.0), 1.0)

    def combined(self, context: Context, phase: LocalPhase, weights: Any) -> Any:
        return phase.bounded_combine(weights, self.level(context), False)

    def level(self, context: Context) -> Any:
        return context.per_replicate(self.threshold)

    def describe(self) -> dict[str, Any]:
        return {"bounding": "clip", "threshold": to_json(self.threshold)}


@dataclass(frozen=True)
class Normalise(Bounding):
    """``C g/||g||``: exactly C long, in the unit of g; zero stays zero.

    >>> Normalise(2.0).describe()
    {'bounding': 'normalise', 'threshold': 2.0}
    """

    threshold: PerReplicate

    def __post_init__(self) -> None:
        positive("the scaling factor C", self.threshold)

    def factor(self, context: Context, length: Any) -> Any:
        xp = context.engine.xp
        there = length > 0.0
        return xp.where(there, context.per_replicate(self.threshold) / xp.where(there, length, 1.0), 0.0)

    def combined(self, context: Context, phase: LocalPhase, weights: Any) -> Any:
        return phase.bounded_combine(weights, self.level(context), True)

    def level(self, context: Context) -> Any:
        return context.per_replicate(self.threshold)

    def describe(self) -> dict[str, Any]:
        return {"bounding": "normalise", "threshold": to_json(self.threshold)}


@dataclass(frozen=True)
class SmoothedNormalise(Bounding):
    """``g/(alpha + ||g||)``: shorter than 1, without unit; alpha >= 0 in the unit of g, and 0/0 = 0.

    >>> SmoothedNormalise(0.5).describe()
    {'bounding': 'smoothed-normalise', 'alpha': 0.5}
    """

    alpha: PerReplicate = 0.0

    def __post_init__(self) -> None:
        positive("alpha", self.alpha, zero=True)

    def factor(self, context: Context, length: Any) -> Any:
        xp = context.engine.xp
        total = context.per_replicate(self.alpha) + length
        return xp.where(total > 0.0, 1.0 / xp.where(total > 0.0, total, 1.0), 0.0)

    def describe(self) -> dict[str, Any]:
        return {"bounding": "smoothed-normalise", "alpha": to_json(self.alpha)}


_NAMES: dict[str, Callable[..., Bounding]] = {
    "none": Unbounded,
    "clip": Clip,
    "normalise": Normalise,
    "smoothed-normalise": SmoothedNormalise,
}


def bounding_of(name: str, *parameter: PerReplicate) -> Bounding:
    """The operator of this name, with its parameter.

    >>> bounding_of("clip", 2.0)
    Clip(threshold=2.0)
    """
    if name not in _NAMES:
        raise unknown_name("bounding operator", name, _NAMES)
    return _NAMES[name](*parameter)


def require(bounding: Any) -> None:
    """Raise InputError for anything but an operator."""
    if not callable(getattr(bounding, "combined", None)):
        raise InputError(f"the bounding operator is {bounding!r}: give Clip(C), Normalise(C) or Unbounded()")
