"""FedAvg with model clipping, which zhang2021 Claim 2.1 shows to miss the optimum.

A client clips the model that it sends, not the difference (zhang2021 Section 2.1, item 1). In round t:

    for i in P_t:  x_{i,0} = x_t;  Q times  x_{i,q+1} = x_{i,q} - eta_l g_i(x_{i,q})
    x_{t+1} = (1/|P_t|) sum_{i in P_t} (x_{i,Q} min(1, c/||x_{i,Q}||) + z_i),   z_i ~ N(0, sigma^2 I)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from dpfl_theory.algorithms.base import Context, Memoryless, Round
from dpfl_theory.algorithms.bounding import Clip
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.fedavg_two_stepsizes import average, local_models
from dpfl_theory.algorithms.gradients import FullGradient, Gradient
from dpfl_theory.algorithms.hyperparameters import (
    PerReplicate,
    StepSize,
    positive,
    positive_steps,
    require_integer,
    step_at,
    to_json,
)
from dpfl_theory.core.parameter import Meaning
from dpfl_theory.problems.base import Problem

__all__ = ["ModelClippedFedAvg"]


@dataclass(frozen=True)
class ModelClippedFedAvg(Memoryless):
    """zhang2021 Section 2.1: FedAvg whose clients clip the models they send to length c.

    The server does not move when no client takes part.

    >>> ModelClippedFedAvg(0.1, threshold=1.0).describe()["threshold"]
    1.0
    """

    local_step: Annotated[StepSize, Meaning("eta_l", "X^2/F")]
    threshold: Annotated[PerReplicate, Meaning("c, from the origin of the parameters", "X")]
    local_steps: Annotated[int, Meaning("Q")] = 1
    sigma: Annotated[PerReplicate, Meaning("standard deviation per coordinate of each client's noise", "X")] = 0.0
    cohort: Annotated[Cohort, Meaning("the client sampling")] = field(default_factory=Cohort)
    gradient: Annotated[Gradient, Meaning("the gradient of a local step")] = field(default_factory=FullGradient)

    def __post_init__(self) -> None:
        positive_steps("the local step size", self.local_step)
        positive("the threshold c", self.threshold)
        require_integer("the number of local steps", self.local_steps)
        positive("sigma", self.sigma, zero=True)

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.cohort.check(problem.n)
        self.gradient.validate(problem, replicates)

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        x = state
        eta = context.per_replicate(step_at(self.local_step, k))
        members, counts = self.cohort.members(context, k)
        sent = x[None] + local_models(context, x, eta, self.local_steps, self.gradient, members, k)
        sent = Clip(self.threshold)(context, sent)
        signal, noise = average(context, sent, counts, self.sigma, k)
        somebody = counts.sum(axis=0) > 0.0
        round_ = Round(context, k, x, members=members, messages=sent, signal=signal, noise=noise)
        return context.engine.xp.where(somebody[:, None], signal + noise, x), round_

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "ModelClippedFedAvg",
            "local_step": to_json(self.local_step),
            "local_steps": int(self.local_steps),
            "threshold": to_json(self.threshold),
            "sigma": to_json(self.sigma),
            "cohort": self.cohort.describe(),
            **self.gradient.describe(),
        }
