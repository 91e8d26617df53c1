"""Record-level algorithms (noble2022): local steps clip each record's gradient and add noise; one record is protected.

Client i uses floor(s R_i) of its R_i records in a local step and adds noise of standard deviation 2C sigma_g/(s R_i).
One record makes a difference of at most 2C/(s R_i). If clients differ in size, the others' noise hides the records of
the smallest client, R of them, least. A share s is a whole number of its records over R. So no client's records are
used more often than those of the smallest client, and the certificate for these holds for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.algorithms import RecordGradient, Scaffold, TwoSidedFedAvg
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import CertifiedInterval, Mechanism, get
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.sparse import lengths
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned, Values, least_multiplier, rounds_up_to

__all__ = ["TUNED"]

LOCAL_STEPS = (1, 4, 16)
SHARES = (1 / 4, 1 / 2, 1.0)
"""The shares that are tried where a client takes one step. Noise over share only falls as the share grows, and
computation is not in the budget. So several steps are taken on all records."""


class _RecordLevel(Tuned):
    """Common parts of record-level algorithms: K local steps on a share s of the records, and the requirements on their
    noise."""

    protects = "record"
    relations = ("replace",)
    samplings: ClassVar[tuple[str, ...]] = ("fixed",)
    noise = "sigma_g"
    threshold = "C"
    described = "dp-fedavg-record"
    """The name of its mechanism."""
    noise_of_others = True
    """Whether the other clients' noise counts for one local step, for a third party."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        if not isinstance(problem, LinearModel):
            raise InputError(f"problem {problem.name!r} has no records: {self.name} needs a linear model")
        if self.cohort < 1:
            raise InputError(f"`cohort` is {budget.cohort:g}: {self.name} needs a client in each round")
        self.data = problem.data
        self.sizes = np.sort(np.diff(self.data.offsets))
        self.certifiable()

    @cached_property
    def slope(self) -> float:
        """The mean length of a record's gradient at the start, 0 [F/X]."""
        data = self.data
        loss = LOSS[data.loss]
        logits = np.zeros((len(data.y), data.classes) if loss.classwise else len(data.y))
        steep = np.linalg.norm(loss.slope(logits, data.y, data.threshold).reshape(len(data.y), -1), axis=1)
        found = float(np.mean(steep * lengths(data.x)))
        return found if found > 0.0 else 1.0

    @property
    def cohort(self) -> int:
        """floor(lM), the clients in a round."""
        size = self.budget.cohort
        return self.problem.n if size is None else min(self.problem.n, math.floor(size))

    @property
    def _cohort(self) -> Cohort:
        return Cohort() if self.cohort == self.problem.n else Cohort(self.draws().scheme, self.cohort)

    def local_steps(self, values: Values) -> int:
        """K."""
        return int(values["local_steps"])

    def share(self, values: Values) -> float:
        """s."""
        return values.get("share", 1.0)

    def mechanism(self, values: Values) -> Mechanism:
        """The mechanism of clients with R records each; `_alike` converts its noise multiplier for clients of different
        sizes."""
        # If only one record of one client is sent, noise by a client's size would reveal the client.
        alone = self.cohort == 1 and self.sizes[0] < self.sizes[-1]
        kind: Any = get(self.described)
        return kind(  # type: ignore[no-any-return]
            users=self.problem.n,
            records=int(self.sizes[0]),
            user_rate=self.cohort / self.problem.n,
            record_rate=self.share(values),
            local_steps=self.local_steps(values),
            view="server" if alone else self.budget.view,
            rounds=int(values["rounds"]),
        )

    def _hidden(self, values: Values) -> bool:
        return self.noise_of_others and self.budget.view == "third-party" and self.local_steps(values) == 1

    def _alike(self, values: Values) -> float:
        """The ratio of sigma_g to the noise multiplier of clients that all have R records.

        Others' noise has variance (R/R_j)^2 in units of the smallest client's, and a cohort may consist of the largest.
        """
        if not self._hidden(values):
            return 1.0
        others = self.sizes[1:][::-1][: self.cohort - 1]
        return math.sqrt(self.cohort / (1.0 + float(np.sum((self.sizes[0] / others) ** 2))))

    def multiplier(self, values: Values) -> float:
        if self.cohort < self.problem.n:
            return super().multiplier(values)
        # With all clients in every round a record is in this many local steps: one calibration serves all algorithms.
        hidden = self._hidden(values)
        steps = int(values["rounds"]) * self.local_steps(values)
        kind: Any = get("dp-fedavg-record")
        single = kind(
            users=1,
            records=int(self.sizes[0]),
            user_rate=1.0,
            record_rate=self.share(values),
            local_steps=1,
            view="server",
            rounds=steps,
        )
        found = least_multiplier(single, self.budget.epsilon, self.budget.delta)
        return found / math.sqrt(self.cohort) if hidden else found

    def spent(self, values: Values, noise_multiplier: float) -> CertifiedInterval:
        found = super().spent(values, noise_multiplier)
        if self.cohort < self.problem.n and self.sizes[0] < self.sizes[-1]:
            return CertifiedInterval(
                0.0, found.estimate, found.high
            )  # the mechanism's attacks are on clients of equal size
        return found

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        return {
            **self.steps(values),
            "C": values["clip"] * self.slope,
            "K": self.local_steps(values),
            "s": self.share(values),
            "rounds": int(values["rounds"]),
            "sigma_g": noise_multiplier * self._alike(values),
        }

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {
            "local_steps": h["K"],
            "rounds": h["rounds"],
            "local_step": h["eta_l"] * self.smoothness,
            "global_step": h["eta_g"],
            "clip": h["C"] / self.slope,
            **({} if h["s"] == 1.0 else {"share": h["s"]}),
        }

    def steps(self, values: Values) -> dict[str, float]:
        """The step sizes."""
        return {"eta_l": values["local_step"] / self.smoothness, "eta_g": values["global_step"]}

    def free(self) -> Sequence[Axis]:
        return (
            Axis("local_steps", LOCAL_STEPS, between=False, shared=True),
            Axis("rounds", rounds_up_to(self.most_rounds), between=False),
            Axis("local_step", (1e-3, 2.0)),
            Axis("global_step", (0.1, 10.0)),
            Axis("clip", (3e-3, 3.0)),
        )

    def gradient(self, replicates: Mapping[str, Any]) -> RecordGradient:
        """The private gradient of a local step."""
        return RecordGradient(float(replicates["s"]), replicates["C"], replicates["sigma_g"])


class DPFedAvgRecord(_RecordLevel):
    """noble2022 Algorithm 2."""

    name = "dp-fedavg-record"
    title = "DP-FedAvg with noise at every local step"
    source = "noble2022 Algorithm 2"

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return TwoSidedFedAvg(
            replicates["eta_l"],
            replicates["eta_g"],
            int(replicates["K"]),
            cohort=self._cohort,
            gradient=self.gradient(replicates),
        )


class DPSGDRecord(_RecordLevel):
    """Plain DP-SGD: all clients with one step each, so that the noise of all of them hides a record."""

    name = "dp-sgd-record"
    title = "DP-SGD over all clients' records"
    source = "noble2022 Algorithm 2, K = 1 and l = 1"

    samplings = ()

    @property
    def cohort(self) -> int:
        return self.problem.n

    def free(self) -> Sequence[Axis]:
        fewest = int(self.sizes[0])
        counts = sorted({max(1, round(share * fewest)) for share in SHARES})
        return (
            Axis("share", tuple(count / fewest for count in counts), between=False, shared=True),
            Axis("rounds", rounds_up_to(self.most_rounds), between=False),
            Axis("step", (1e-3, 20.0)),
            Axis("clip", (3e-3, 3.0)),
        )

    def local_steps(self, values: Values) -> int:
        return 1

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        h = hyperparameters
        return {
            "share": h["s"],
            "rounds": h["rounds"],
            "step": h["eta"] * self.smoothness,
            "clip": h["C"] / self.slope,
        }

    def steps(self, values: Values) -> dict[str, float]:
        return {"eta": values["step"] / self.smoothness}

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        return TwoSidedFedAvg(replicates["eta"], gradient=self.gradient(replicates))


class DPScaffold(_RecordLevel):
    """noble2022 Algorithm 1 with initial control variates that are zero or warm; a message is two vectors."""

    name = "dp-scaffold"
    title = "DP-SCAFFOLD"
    source = "noble2022 Algorithm 1"
    described = "dp-scaffold"
    noise_of_others = False
    vectors = 2

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        return {**super().hyperparameters(values, noise_multiplier), **_warm(values)}

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        return {**super().placed(hyperparameters), **_warm(hyperparameters)}

    def algorithm(self, replicates: Mapping[str, Any]) -> Algorithm:
        gradient, warm = self.gradient(replicates), int(replicates.get("warm_start", 0))
        return Scaffold(replicates["eta_l"], replicates["eta_g"], int(replicates["K"]), self._cohort, gradient, warm)


def _warm(given: Values) -> dict[str, float]:
    """The first rounds, which only set control variates, if a rule needs any: they release as much as others."""
    return {name: value for name, value in given.items() if name == "warm_start"}


TUNED = (DPFedAvgRecord, DPSGDRecord, DPScaffold)
