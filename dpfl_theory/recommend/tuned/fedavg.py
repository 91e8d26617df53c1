"""DP-FedAvg with clipped or normalised updates (das2022), and with clipped differences and two steps (zhang2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dpfl_theory.algorithms import FedAvg, TwoSidedFedAvg
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.bounding import Clip, Normalise
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Mechanism, get
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned, Values, rounds_up_to

__all__ = ["TUNED"]

LOCAL_STEPS = (1, 2, 4, 8, 16)


class _FedAvg(Tuned):
    """Common parts of the forms of DP-FedAvg: E local steps, a local and a global step, a threshold, T rounds."""

    relations: ClassVar[tuple[str, ...]] = ("zero-out", "replace", "add-remove")
    samplings = ("poisson", "fixed", "with-replacement")

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self.certifiable()

    def free(self) -> Sequence[Axis]:
        return (
            Axis("local_steps", LOCAL_STEPS, between=False, shared=True),
            Axis("rounds", rounds_up_to(self.most_rounds), between=False),
            Axis("local_step", (1e-3, 2.0)),
            Axis("global_step", (0.1, 30.0)),
            Axis("clip", (1e-3, 3.0)),
        )

    @property
    def _cohort(self) -> Cohort:
        drawn = self.draws()
        if drawn.scheme in ("fixed", "with-replacement") and drawn.size != int(drawn.size or 0):
            raise InputError(f"`cohort` is {drawn.size:g}: {self.name} needs a whole number of clients in a round")
        return drawn

    @property
    def _central(self) -> bool:
        """Whether the server adds the noise to the average: if it is trusted and the number of messages varies."""
        varies = self._cohort.scheme == "poisson" or self.relation == "add-remove"
        return varies and self.budget.view == "third-party"

    def mechanism(self, values: Values) -> Mechanism:
        cohort = self._cohort
        kind: Any = get("dp-fedavg")
        return kind(  # type: ignore[no-any-return]
            clients=self.problem.n,
            cohort=None if cohort.scheme == "full" else cohort.size,
            sampling=cohort.scheme,
            noise="average" if self._central else "per-client",
            relation=self.relation,
            view=self.budget.view,
            rounds=int(values["rounds"]),
        )

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        steps = values["local_steps"]
        eta = values["local_step"] / self.smoothness
        C = values["clip"] * steps * self.slope
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(C)
        return {
            "eta": eta,
            "beta": values["global_step"] * eta,
            "C": C,
            "E": int(steps),
            "rounds": int(values["rounds"]),
            **noise,
        }

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {
            "local_steps": h["E"],
            "rounds": h["rounds"],
            "local_step": h["eta"] * self.smoothness,
            "global_step": h["beta"] / h["eta"],
            "clip": h["C"] / (h["E"] * self.slope),
        }


class DPFedAvg(_FedAvg):
    """das2022 Algorithm 1, option (i)."""

    name = "dp-fedavg"
    title = "DP-FedAvg with clipping"
    source = "das2022 Algorithm 1 (i)"
    threshold: ClassVar[str | None] = "C"

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return FedAvg(
            replicates["eta"],
            int(replicates["E"]),
            replicates["beta"],
            self.bounding(replicates["C"]),
            self._cohort,
            replicates["sigma"],
            "average" if self._central else "per-client",
        )

    def bounding(self, C: Any) -> Any:
        """The client's bound on its update."""
        return Clip(C)


class DPNormFedAvg(DPFedAvg):
    """das2022 Algorithm 1, option (ii)."""

    name = "dp-normfedavg"
    title = "DP-FedAvg with normalisation"
    source = "das2022 Algorithm 1 (ii)"
    threshold = None

    def bounding(self, C: Any) -> Any:
        return Normalise(C)


class TwoSided(_FedAvg):
    """zhang2021 Algorithm 3: the difference is clipped, in the parameters' unit, and averaged over the participants."""

    name = "dp-fedavg-two-sided"
    title = "DP-FedAvg with two step sizes"
    source = "zhang2021 Algorithm 3"
    threshold = "c"
    relations = ("zero-out", "replace")
    samplings = ("fixed", "poisson", "with-replacement")

    @property
    def _central(self) -> bool:
        return False  # the average is over the participants: each of them adds noise

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        steps = values["local_steps"]
        eta = values["local_step"] / self.smoothness
        c = values["clip"] * steps * eta * self.slope
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(c)
        return {
            "eta_l": eta,
            "eta_g": values["global_step"],
            "c": c,
            "Q": int(steps),
            "rounds": int(values["rounds"]),
            "sigma": noise["sigma_of_one_message"],
        }

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {
            "local_steps": h["Q"],
            "rounds": h["rounds"],
            "local_step": h["eta_l"] * self.smoothness,
            "global_step": h["eta_g"],
            "clip": h["c"] / (h["Q"] * h["eta_l"] * self.slope),
        }

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return TwoSidedFedAvg(
            replicates["eta_l"],
            replicates["eta_g"],
            int(replicates["Q"]),
            replicates["c"],
            replicates["sigma"],
            self._cohort,
        )


TUNED = (DPFedAvg, DPNormFedAvg, TwoSided)
