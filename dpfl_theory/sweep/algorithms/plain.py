"""The algorithms without clipping and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dpfl_theory.algorithms import Scaffold
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.problems.base import Problem
from dpfl_theory.schemas.models import Count, Positive, described_field
from dpfl_theory.sweep.algorithms.base import Among, Privacy, as_plain

__all__ = ["ALGORITHMS"]


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


ALGORITHMS = (PlainScaffold,)
