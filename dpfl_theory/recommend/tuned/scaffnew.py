"""DP-ScaffNew (hou2023): control variates, and a coin that decides when all clients send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpfl_theory.algorithms import ScaffNew
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.privacy import Mechanism, get
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned, Values, rounds_up_to

__all__ = ["TUNED"]


class DPScaffNew(Tuned):
    """hou2023 Algorithm 2. ``rounds`` is the expected number of messages; the number T of iterations is this over p.

    Its messages go to everyone, so the noise does not depend on the observer.
    """

    name = "dp-scaffnew"
    title = "DP-ScaffNew"
    source = "hou2023 Algorithm 2"
    threshold = "C"

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self.certifiable()

    def free(self) -> Sequence[Axis]:
        return (
            Axis("probability", (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0), between=False, shared=True),
            Axis("rounds", rounds_up_to(self.most_rounds), between=False),
            Axis("step", (1e-3, 2.0)),
            Axis("clip", (3e-3, 3.0)),
        )

    def iterations(self, values: Values) -> int:
        return round(values["rounds"] / values["probability"])

    def mechanism(self, values: Values) -> Mechanism:
        kind: Any = get(self.name)
        return kind(  # type: ignore[no-any-return]
            communication_probability=values["probability"],
            relation=self.relation,
            rounds=self.iterations(values),
        )

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        eta, p = values["step"] / self.smoothness, values["probability"]
        C = values["clip"] * eta * self.slope / p
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(C)
        return {"eta": eta, "p": p, "C": C, "iterations": self.iterations(values), **noise}

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {
            "probability": h["p"],
            "rounds": h["iterations"] * h["p"],
            "step": h["eta"] * self.smoothness,
            "clip": h["C"] * h["p"] / (h["eta"] * self.slope),
        }

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return ScaffNew(replicates["eta"], float(replicates["p"]), replicates["C"], replicates["sigma"])


TUNED = (DPScaffNew,)
