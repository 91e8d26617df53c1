"""Record-level algorithms (noble2022): local steps clip each record's gradient and add noise; one record is protected.

Client i uses b_i = floor(s R_i) of its R_i records in a local step and adds noise of standard deviation 2C sigma_g/b_i.
One record makes a difference of at most 2C/b_i. If clients differ in size, the others' noise hides the records of the
smallest client, R of them, least. A share s is a whole number of its records over R. So no client's records are
used more often than those of the smallest client, and the certificate for these holds for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import CertifiedInterval, Mechanism, get
from dpfl_theory.problems.base import Problem, no_records
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned, Values, least_multiplier
from dpfl_theory.simulation.cohort import Cohort

__all__ = ["RecordLevel"]


class RecordLevel(Tuned):
    """A record-level algorithm: K local steps on a share s of the records, and the requirements on their noise.

    Noise over share only falls as the share grows, and computation is not in the budget. So several steps are taken on
    all records.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        if not isinstance(problem, LinearModel):
            raise no_records(problem, self.name)
        if budget.cohort is not None and budget.cohort < 1:
            raise InputError(f"`cohort` is {budget.cohort:g}: {self.name} needs a client in each round")
        self.sizes = np.sort(np.diff(problem.data.offsets))
        super().__init__(problem, budget)

    @property
    def users(self) -> int:
        """floor(lM), the clients in a round."""
        size = self.budget.cohort
        return self.problem.n if size is None or not self.samplings else min(self.problem.n, math.floor(size))

    @property
    def cohort(self) -> Cohort:
        return Cohort() if self.users == self.problem.n else Cohort(self.draws().scheme, self.users)

    @property
    def noise_of_others(self) -> bool:
        """Whether the other clients' noise counts for one local step, for a third party."""
        return self.vectors == 1

    def local_steps(self, values: Values) -> int:
        """K."""
        return int(self.run(values).local_steps)  # type: ignore[attr-defined]

    def run(self, values: Values) -> Algorithm:
        run = super().run(values)
        run.share = values.get("share", 1.0)  # type: ignore[attr-defined]
        return run

    def free(self) -> Sequence[Axis]:
        fewest = int(self.sizes[0])

        def whole(axis: Axis) -> Axis:
            counts = sorted({max(1, round(share * fewest)) for share in axis.values})
            return Axis(axis.name, tuple(count / fewest for count in counts), between=False, shared=True)

        return tuple(whole(axis) if axis.name == "share" else axis for axis in super().free())

    def mechanism(self, values: Values) -> Mechanism:
        """The mechanism of clients with R records each; `_alike` converts its noise multiplier for clients of different
        sizes."""
        # If only one record of one client is sent, noise by a client's size would reveal the client.
        alone = self.users == 1 and self.sizes[0] < self.sizes[-1]
        view = "server" if alone else self.budget.view
        kind = get(self.name if self.samplings else "dp-fedavg-record")
        return self._released(kind, values, self.problem.n, self.users, self.local_steps(values), view)

    def _released(self, kind: Any, values: Values, users: int, cohort: int, local_steps: int, view: str) -> Mechanism:
        found: Mechanism = kind(
            users=users,
            records=int(self.sizes[0]),
            user_rate=cohort / users,
            record_rate=values.get("share", 1.0),
            local_steps=local_steps,
            view=view,
            rounds=int(values["rounds"]),
        )
        return found

    def _hidden(self, values: Values) -> bool:
        return self.noise_of_others and self.budget.view == "third-party" and self.local_steps(values) == 1

    def _alike(self, values: Values) -> float:
        """The ratio of sigma_g to the noise multiplier of clients that all have R records.

        Others' noise has variance (R/R_j)^2 in units of the smallest client's, and a cohort may consist of the largest.
        """
        if not self._hidden(values):
            return 1.0
        others = self.sizes[1:][::-1][: self.users - 1]
        return math.sqrt(self.users / (1.0 + float(np.sum((self.sizes[0] / others) ** 2))))

    def multiplier(self, values: Values) -> float:
        if self.users < self.problem.n:
            return super().multiplier(values)
        # With all clients in every round a record is in this many local steps: one calibration serves all algorithms.
        steps = {**values, "rounds": int(values["rounds"]) * self.local_steps(values)}
        single = self._released(get("dp-fedavg-record"), steps, 1, 1, 1, "server")
        found = least_multiplier(single, self.budget.epsilon, self.budget.delta)
        return found / math.sqrt(self.users) if self._hidden(values) else found

    def spent(self, values: Values, noise_multiplier: float) -> CertifiedInterval:
        found = super().spent(values, noise_multiplier)
        if self.users < self.problem.n and self.sizes[0] < self.sizes[-1]:
            return CertifiedInterval(
                0.0, found.estimate, found.high
            )  # the mechanism's attacks are on clients of equal size
        return found

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        run: Any = self.run(values)
        own = {p.symbol: getattr(run, name) for name, p in self.searched.items()}
        own |= {"K": self.local_steps(values), "s": run.share, "rounds": int(values["rounds"])}
        return {**own, "sigma_g": noise_multiplier * self._alike(values), **_warm(values)}

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        share = hyperparameters["s"]
        found = {**super().placed(hyperparameters), **_warm(hyperparameters)}
        return found if share == 1.0 and "share" not in self.searched else {**found, "share": share}

    def configured(self, replicates: Mapping[str, Any]) -> Algorithm:
        run = super().configured(replicates)
        run.warm_start = int(replicates.get("warm_start", 0))  # type: ignore[attr-defined]
        return run


def _warm(given: Values) -> dict[str, float]:
    """The first rounds, which only set control variates, if a rule needs any: they release as much as others."""
    return {name: value for name, value in given.items() if name == "warm_start"}
