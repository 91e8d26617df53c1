"""The algorithms without clipping and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dpfl_theory.algorithms import FedAvg, ScaffNew, Scaffold, TwoSidedFedAvg
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.problems.base import Problem
from dpfl_theory.schemas.models import Count, Positive, Share, described_field
from dpfl_theory.sweep.algorithms.base import Among, Hyper, Privacy, as_plain

__all__ = ["ALGORITHMS"]


class PlainFedAvg(Among):
    """FedAvg with full gradients."""

    source: ClassVar[str] = "das2022 Algorithm 2"
    shared: ClassVar[tuple[str, ...]] = ("E",)

    name: Literal["fedavg"]
    eta: Positive | None = described_field("local step [X^2/F]; 1/L without it", None)
    beta: Positive | None = described_field("global step [X^2/F]; eta without it", None)
    E: Count = described_field("local steps", 1)

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        eta = self.eta or 1.0 / problem.constants.L_max
        return as_plain({"eta": eta, "beta": self.beta or eta, "E": self.E})

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Algorithm:
        return FedAvg(replicates["eta"], int(replicates["E"]), replicates["beta"], cohort=self.drawn("poisson"))


class PlainTwoSided(Among):
    """FedAvg with two step sizes."""

    source: ClassVar[str] = "zhang2021 Algorithm 1"
    shared: ClassVar[tuple[str, ...]] = ("Q",)

    name: Literal["fedavg-two-sided"]
    eta_l: Positive | None = described_field("local step [X^2/F]; 1/L without it", None)
    eta_g: Positive = described_field("global step", 1.0)
    Q: Count = described_field("local steps", 1)

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        return as_plain({"eta_l": self.eta_l or 1.0 / problem.constants.L_max, "eta_g": self.eta_g, "Q": self.Q})

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Algorithm:
        return TwoSidedFedAvg(
            replicates["eta_l"], replicates["eta_g"], int(replicates["Q"]), cohort=self.drawn("fixed")
        )


class PlainScaffNew(Hyper):
    """ScaffNew; a round is an iteration."""

    source: ClassVar[str] = "hou2023 Algorithm 2 without clipping and noise"
    shared: ClassVar[tuple[str, ...]] = ("p",)

    name: Literal["scaffnew"]
    eta: Positive | None = described_field("step [X^2/F]; 1/L without it", None)
    p: Share = described_field("probability of a communication", 1.0)

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        return as_plain({"eta": self.eta or 1.0 / problem.constants.L_max, "p": self.p})

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Algorithm:
        return ScaffNew(replicates["eta"], float(replicates["p"]))


class PlainScaffold(Among):
    """SCAFFOLD with full gradients."""

    source: ClassVar[str] = "noble2022 Algorithm 1 with full gradients"
    shared: ClassVar[tuple[str, ...]] = ("K",)

    name: Literal["scaffold"]
    eta_l: Positive | None = described_field("local step [X^2/F]; 1/L without it", None)
    eta_g: Positive = described_field("global step", 1.0)
    K: Count = described_field("local steps", 1)

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        return as_plain({"eta_l": self.eta_l or 1.0 / problem.constants.L_max, "eta_g": self.eta_g, "K": self.K})

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Algorithm:
        return Scaffold(replicates["eta_l"], replicates["eta_g"], int(replicates["K"]), self.drawn("fixed"))


ALGORITHMS = (PlainFedAvg, PlainTwoSided, PlainScaffNew, PlainScaffold)
