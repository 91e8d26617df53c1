"""Algorithms in a configuration: their names and hyper-parameters, under the symbols of their papers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpfl_theory.problems.base import Problem
from dpfl_theory.schemas.models import Model, Positive, Probability, described_field
from dpfl_theory.simulation.base import Algorithm
from dpfl_theory.simulation.cohort import Cohort

__all__ = ["Among", "Certified", "Hyper", "Privacy", "Symbols"]

Symbols = Mapping[str, float]
"""Hyper-parameters by symbol."""


class Privacy(Model):
    """The privacy budget, and the setting of the certified epsilon."""

    epsilon: Positive | None = described_field(
        "noise is the smallest certified for this epsilon; none without it", None
    )
    delta: Probability = described_field("delta of the certified epsilon", 1e-5)
    relation: Literal["zero-out", "replace", "add-remove"] | None = described_field(
        "neighbouring relation; zero-out for clients and replace for records without it", None
    )
    view: Literal["third-party", "server"] = described_field(
        "the observer: sees the averages, or every message", "third-party"
    )


@dataclass(frozen=True)
class Certified:
    """The certified upper limit of a run's epsilon (None where none is finite, or there is no noise), and its
    description."""

    epsilon: float | None
    text: str


class Hyper(Model):
    """An algorithm's hyper-parameters; missing ones get the usual values of the given problem."""

    shared: ClassVar[tuple[str, ...]] = ()
    """The symbols of the hyper-parameters that all replicates of one run share."""
    noise: ClassVar[str | None] = None
    """The symbol of the noise, None where the algorithm adds none."""
    source: ClassVar[str]
    kind: ClassVar[Any]
    """The description."""

    name: str

    @property
    def among(self) -> bool:
        """Whether the clients of a round are sampled."""
        return False

    def silent(self, privacy: Privacy) -> bool:
        """Whether no noise is added."""
        return self.noise is None or (not getattr(self, self.noise) and privacy.epsilon is None)

    @abstractmethod
    def draws(self, clients: int, dimension: int) -> float:
        """The expected number of normal variates in a round."""

    @abstractmethod
    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        """All hyper-parameters, including the noise."""

    @abstractmethod
    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Algorithm:
        """The algorithm with these hyper-parameters, one number for each replicate where they are not shared."""

    def certified(self, problem: Problem, rounds: int, privacy: Privacy, parameters: Symbols) -> Certified:
        """The epsilon of a run with these hyper-parameters."""
        return Certified(None, "no noise is added")


class Among(Hyper):
    """An algorithm that may sample the clients of a round."""

    cohort: Positive | None = described_field("clients in a round on average; all without it", None)
    sampling: Literal["poisson", "fixed", "with-replacement"] | None = described_field(
        "sampling scheme of the clients; by default the algorithm's own", None
    )

    @property
    def among(self) -> bool:
        return self.cohort is not None

    def drawn(self, scheme: str) -> Cohort:
        """The cohort, sampled by this scheme unless another one is given."""
        return Cohort() if self.cohort is None else Cohort(self.sampling or scheme, self.cohort)


def as_plain(parameters: Symbols) -> dict[str, float]:
    """Convert values to plain Python numbers."""
    return {n: int(v) if isinstance(v, (int, np.integer)) else float(v) for n, v in parameters.items()}
