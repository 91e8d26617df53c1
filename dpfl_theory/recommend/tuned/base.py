"""What a search may choose in an algorithm, and the certified noise that each choice needs.

A point has one coordinate in [0, 1] for each axis. Scales come from the problem: 1/L for steps, the clients' mean
gradient length at the start for thresholds, the distance that this gradient could go for normalised steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Limits, Mechanism, calibrate, epsilon_spent
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.recommend.constants_from_data import slope_at_start

__all__ = ["Axis", "Budget", "Tuned", "least_multiplier", "rounds_up_to", "spread"]

Values = Mapping[str, float]


@dataclass(frozen=True)
class Axis:
    """A free hyper-parameter by its values, which lie evenly on a logarithmic scale if only two ends are given.

    values: those that may be taken, in ascending order; between: whether everything between the first and the last may
    be taken too. shared: whether all lanes of one run have the same.

    >>> round(Axis("step", (0.01, 1.0)).at(0.5), 9), Axis("steps", (1, 5, 20), between=False).at(0.5)
    (0.1, 5)
    """

    name: str
    values: tuple[float, ...]
    between: bool = True
    shared: bool = False

    def at(self, u: float) -> float:
        """The value at a coordinate in [0, 1]."""
        if not self.between:
            return self.values[min(len(self.values) - 1, int(u * len(self.values)))]
        low, high = math.log(self.values[0]), math.log(self.values[-1])
        return math.exp(low + min(1.0, max(0.0, u)) * (high - low))

    def where(self, value: float) -> float:
        """The coordinate of a value, that of the nearest one where it cannot be taken."""
        value = min(max(value, self.values[0]), self.values[-1])
        if not self.between:
            nearest = min(range(len(self.values)), key=lambda k: abs(math.log(self.values[k] / value)))
            return (nearest + 0.5) / len(self.values)
        low, high = math.log(self.values[0]), math.log(self.values[-1])
        return 0.5 if high == low else (math.log(value) - low) / (high - low)


def rounds_up_to(most: int) -> tuple[int, ...]:
    """Numbers of rounds, each some 1.4 times the one before, and the largest one.

    >>> rounds_up_to(10)
    (1, 2, 3, 4, 6, 8, 10)
    """
    found = {max(1, round(2 ** (k / 2))) for k in range(2 * most.bit_length() + 2)}
    return tuple(sorted({k for k in found if k < most} | {most}))


def spread(low: float, high: float, count: int) -> tuple[float, ...]:
    """Numbers from low to high, evenly on a logarithmic scale.

    >>> [round(x, 3) for x in spread(0.01, 1.0, 3)]
    [0.01, 0.1, 1.0]
    """
    return tuple(float(x) for x in np.geomspace(low, high, count))


@dataclass(frozen=True)
class Budget:
    """What all algorithms are given alike.

    epsilon, delta: of the whole run; relation, view: the neighbouring relation and who looks
    (`dpfl_theory.privacy.mechanisms`), without a relation zero-out for clients and replace for records; rounds: how
    many vectors a client may send at most; cohort: clients in a round on average, all without it; sampling: how they
    are drawn, ``poisson``, ``fixed`` or ``with-replacement``, each algorithm's own way where it is not given.
    """

    epsilon: float
    delta: float
    rounds: int = 500
    relation: str | None = None
    view: str = "third-party"
    cohort: float | None = None
    sampling: str | None = None


class Tuned(ABC):
    """An algorithm on a problem, within a budget, with its hyper-parameters left open.

    ``values`` of a point are plain numbers under the names of the axes (relative to the problem's scales);
    ``hyperparameters`` are the absolute ones under the algorithm's own names.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    protects: ClassVar[str] = "client"
    """The unit of privacy: "client" or "record"."""
    noise: ClassVar[str] = "sigma"
    """The hyper-parameter that is the noise."""
    relations: ClassVar[tuple[str, ...]] = ("zero-out", "replace")
    """The neighbouring relations that its accounting knows, the usual one first."""
    samplings: ClassVar[tuple[str, ...]] = ()
    """How it may draw cohorts, its own way first; none where all clients take part."""
    vectors: ClassVar[int] = 1
    """How many vectors a client sends in a communication round."""
    threshold: ClassVar[str | None] = None
    """The hyper-parameter beyond which messages are clipped, None where they are bounded in another way."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        if budget.rounds < self.vectors:
            raise InputError(f"`rounds` is {budget.rounds}: {self.name} sends {self.vectors} vectors in a round")
        self.problem = problem
        self.budget = budget

    def content(self) -> dict[str, Any]:
        """What it is made of, for the keys of a store."""
        return {"algorithm": self.name, "problem": self.problem, "budget": self.budget}

    @property
    def usual_relation(self) -> str:
        """The relation where none is asked for."""
        return self.relations[0]

    @cached_property
    def slope(self) -> float:
        """The clients' mean gradient length at the start, 0 [F/X]."""
        return slope_at_start(self.problem) or 1.0

    @cached_property
    def smoothness(self) -> float:
        """L, the largest of the clients' smoothness constants [F/X^2]."""
        return self.problem.constants.L_max

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """What is free."""
        return tuple(self.free())

    @property
    def relation(self) -> str:
        """The neighbouring relation of what is protected."""
        return self.budget.relation or self.usual_relation

    @property
    def participation(self) -> str:
        """How clients are drawn in a round."""
        return self.draws().scheme

    def draws(self) -> Cohort:
        """How clients are drawn for the budget's cohort; InputError for a way that the algorithm does not have."""
        size, sampling, n = self.budget.cohort, self.budget.sampling, self.problem.n
        if size is None or size >= n:
            if sampling not in (None, "full"):
                raise InputError(f"`sampling` is {sampling} and all clients take part: give `cohort` less than {n} too")
            return Cohort()
        kind = sampling or (self.samplings[0] if self.samplings else "full")
        if kind not in self.samplings:
            having = f"it has {' and '.join(self.samplings)}" if self.samplings else "all clients take part in a round"
            told = f"`cohort` is {size:g} of {n}" + ("" if sampling is None else f" and `sampling` {sampling}")
            raise InputError(f"{told}: no accountant certifies {self.name} for that, {having}")
        return Cohort(kind, size)

    def certifiable(self) -> None:
        """Raise InputError where no accountant certifies the algorithm for the relation, the view and the sampling."""
        if self.relation not in self.relations:
            raise InputError(
                f"`relation` is {self.relation}: no accountant certifies {self.name} for that, it has "
                f"{' and '.join(self.relations)}"
            )
        self.draws()
        least = {"rounds": 1, "local_steps": 1, "probability": 1.0, "share": 1.0}
        try:
            self.mechanism(least).with_(noise_multiplier=1.0).event()
        except InputError as error:
            told = str(error)
            raise InputError(told if self.name in told else f"{self.name} is not certified: {told}") from error

    @property
    def most_rounds(self) -> int:
        """Communication rounds that the budget of vectors allows."""
        return self.budget.rounds // self.vectors

    @abstractmethod
    def free(self) -> Sequence[Axis]:
        """The axes; ``rounds`` is one of them."""

    @abstractmethod
    def mechanism(self, values: Values) -> Mechanism:
        """What a run with these values releases, its noise multiplier left open."""

    @abstractmethod
    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        """The algorithm's own hyper-parameters, noise included."""

    @abstractmethod
    def placed(self, hyperparameters: Values) -> dict[str, float]:
        """The values of the axes that these hyper-parameters have, whether the axes reach that far or not."""

    @abstractmethod
    def algorithm(self, lanes: Mapping[str, Any]) -> Algorithm:
        """The algorithm with hyper-parameters by lane; those that are shared are numbers."""

    def iterations(self, values: Values) -> int:
        """How many rounds of the simulation a run has."""
        return int(values["rounds"])

    def values(self, point: Sequence[float] | Array) -> dict[str, float]:
        """The values at a point."""
        return {axis.name: axis.at(u) for axis, u in zip(self.axes, point, strict=True)}

    def point(self, values: Values) -> Array:
        """The point of these values, or of the nearest ones that may be taken."""
        return np.array([axis.where(values[axis.name]) for axis in self.axes])

    def multiplier(self, values: Values) -> float:
        """The least noise multiplier that is certified for the budget."""
        return least_multiplier(self.mechanism(values), self.budget.epsilon, self.budget.delta)

    def spent(self, values: Values, noise_multiplier: float) -> Limits:
        """The limits of the epsilon of a run with this noise multiplier, at the budget's delta."""
        return epsilon_spent(self.mechanism(values).with_(noise_multiplier=noise_multiplier), self.budget.delta)

    def certified(self, values: Values) -> dict[str, float]:
        """The hyper-parameters with the least noise that is certified for the budget."""
        return self.hyperparameters(values, self.multiplier(values))


@cache
def least_multiplier(run: Mechanism, epsilon: float, delta: float) -> float:
    """The least noise multiplier that is certified for (epsilon, delta)."""
    return calibrate(run, epsilon=epsilon, delta=delta)
