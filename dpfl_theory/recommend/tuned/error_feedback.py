"""Error feedback with bounded messages (shulgin2025): DP-alpha-NormEC and DP-Clip21, and the method without memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from dpfl_theory.algorithms import EF21
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.bounding import Clip, SmoothedNormalise
from dpfl_theory.privacy import Mechanism, get
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned, Values, rounds_up_to

__all__ = ["TUNED"]


class _ErrorFeedback(Tuned):
    """All clients in every round, one bounded message each."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self.certifiable()

    def mechanism(self, values: Values) -> Mechanism:
        kind: Any = get(self.name)
        return kind(  # type: ignore[no-any-return]
            clients=self.problem.n,
            relation=self.relation,
            view=self.budget.view,
            rounds=int(values["rounds"]),
        )

    @property
    def _rounds(self) -> Axis:
        return Axis("rounds", rounds_up_to(self.most_rounds), between=False)


class DPNormEC(_ErrorFeedback):
    """shulgin2025 Algorithm 1 with server normalisation and zero initial memories."""

    name = "dp-norm-ec"
    title = "DP-alpha-NormEC"
    source = "shulgin2025 Algorithm 1"

    @cached_property
    def _reach(self) -> float:
        """A scale for the distance that the parameters may have to cover [X]: ||w*|| if known, else ten times the slope
        over L."""
        w = self.problem.constants.w_star
        far = 10.0 * self.slope / self.smoothness
        return far if w is None else max(far, float((w @ w) ** 0.5))

    def free(self) -> Sequence[Axis]:
        return (
            self._rounds,
            Axis("step", (1e-4, 1.0)),
            Axis("memory_step", (1e-3, 3.0)),
            Axis("smoothing", (1e-3, 10.0)),
        )

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(1.0)
        return {
            "gamma": values["step"] * self._reach,
            "beta": values["memory_step"] * self.slope,
            "alpha": values["smoothing"] * self.slope,
            "rounds": int(values["rounds"]),
            **noise,
        }

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {
            "rounds": h["rounds"],
            "step": h["gamma"] / self._reach,
            "memory_step": h["beta"] / self.slope,
            "smoothing": h["alpha"] / self.slope,
        }

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return EF21(
            replicates["gamma"], SmoothedNormalise(replicates["alpha"]), replicates["beta"], True, replicates["sigma"]
        )


class DPClip21(_ErrorFeedback):
    """Clip21 with noise: beta = 1, no server normalisation."""

    name = "dp-clip21"
    title = "DP-Clip21"
    source = "shulgin2025 Section 6"
    threshold = "tau"

    def free(self) -> Sequence[Axis]:
        return (self._rounds, Axis("step", (1e-3, 100.0)), Axis("clip", (1e-4, 3.0)))

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        tau = values["clip"] * self.slope
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(tau)
        return {
            "gamma": values["step"] / self.smoothness,
            "tau": tau,
            "rounds": int(values["rounds"]),
            **noise,
        }

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {"rounds": h["rounds"], "step": h["gamma"] * self.smoothness, "clip": h["tau"] / self.slope}

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return EF21(replicates["gamma"], Clip(replicates["tau"]), sigma=replicates["sigma"])


TUNED = (DPNormEC, DPClip21)
