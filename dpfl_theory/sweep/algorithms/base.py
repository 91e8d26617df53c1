"""What a configuration says of an algorithm: its name and hyper-parameters, under the letters of its paper."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.problems.base import Problem
from dpfl_theory.schemas.models import Model, NonNegative, Positive, Probability, told

__all__ = ["Among", "Certified", "Hyper", "Privacy", "Symbols"]

Symbols = Mapping[str, float]
"""Hyper-parameters by letter."""


class Privacy(Model):
    """The privacy budget, and what the certified epsilon speaks of."""

    epsilon: Positive | None = told("noise is the least that is certified for this epsilon; none without it", None)
    delta: Probability = told("delta of the certified epsilon", 1e-5)
    relation: Literal["zero-out", "replace", "add-remove"] | None = told(
        "neighbouring relation; zero-out for clients and replace for records without it", None
    )
    view: Literal["third-party", "server"] = told("who looks: at the averages, or at every message", "third-party")


@dataclass(frozen=True)
class Certified:
    """The certified upper limit of a run's epsilon (None where none is finite, or there is no noise), and what is said
    of it."""

    epsilon: float | None
    text: str


class Hyper(Model):
    """An algorithm's hyper-parameters; those that are not given are the usual ones of the problem at hand."""

    shared: ClassVar[tuple[str, ...]] = ()
    """The letters that all lanes of one run share."""
    noise: ClassVar[str | None] = None
    """The letter of the noise, None where the algorithm adds none."""
    source: ClassVar[str]

    name: str

    @property
    def among(self) -> bool:
        """Whether the clients of a round are drawn."""
        return False

    def silent(self, privacy: Privacy) -> bool:
        """Whether no noise is added."""
        return self.noise is None or (not getattr(self, self.noise) and privacy.epsilon is None)

    @abstractmethod
    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        """All hyper-parameters, with the noise."""

    @abstractmethod
    def build(self, problem: Problem, rounds: int, privacy: Privacy, lanes: Mapping[str, Any]) -> Algorithm:
        """The algorithm with these letters, one number for each lane where they are not shared."""

    def certified(self, problem: Problem, rounds: int, privacy: Privacy, letters: Symbols) -> Certified:
        """The epsilon of a run with these letters."""
        return Certified(None, "no noise is added")


class Among(Hyper):
    """An algorithm that may draw the clients of a round."""

    cohort: Positive | None = told("clients in a round on average; all without it", None)
    sampling: Literal["poisson", "fixed", "with-replacement"] | None = told(
        "how they are drawn; each algorithm's own way without it", None
    )

    @property
    def among(self) -> bool:
        return self.cohort is not None

    def drawn(self, scheme: str) -> Cohort:
        """The cohort, drawn by this scheme unless another one is given."""
        return Cohort() if self.cohort is None else Cohort(self.sampling or scheme, self.cohort)


def given(model: Hyper, letters: tuple[str, ...]) -> dict[str, float]:
    """The letters that have a value."""
    return {name: value for name in letters if (value := getattr(model, name)) is not None}


def as_plain(letters: Symbols) -> dict[str, float]:
    """Python's numbers."""
    return {n: int(v) if isinstance(v, (int, np.integer)) else float(v) for n, v in letters.items()}


Noise = NonNegative | None
