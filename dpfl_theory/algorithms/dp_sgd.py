"""DP-SGD over clients with any bounding operator: shulgin2025 equation (2).

    x_{k+1} = x_k - gamma ((1/B) sum_{i in B_k} Psi(grad f_i(x_k)) + z_k),   z_k ~ N(0, sigma^2 I)

With clipping this is das2022 Algorithm 1 (option (i), E = 1) with noise on the average; with smoothed normalisation it
is the baseline of alpha-NormEC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from dpfl_theory.algorithms.base import Context, Memoryless, Round
from dpfl_theory.algorithms.bounding import Bounding, Unbounded
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.gradients import FullGradient, Gradient
from dpfl_theory.algorithms.hyperparameters import (
    PerReplicate,
    StepSize,
    noisy,
    positive,
    positive_steps,
    step_at,
    to_json,
)
from dpfl_theory.core.parameter import Meaning
from dpfl_theory.kernels.streams import SERVER_NOISE
from dpfl_theory.problems.base import Problem

__all__ = ["DPSGD"]


@dataclass(frozen=True)
class DPSGD(Memoryless):
    """shulgin2025 (2): every sampled client sends Psi of its gradient, and the server adds noise to the average.

    Sums are divided by the expected size B of B_k.

    >>> from dpfl_theory.algorithms.bounding import SmoothedNormalise
    >>> DPSGD(0.1, SmoothedNormalise(0.5)).describe()["bounding"]
    'smoothed-normalise'
    """

    step: Annotated[StepSize, Meaning("gamma", "X^2/F for clipping, X for smoothed normalisation")]
    bounding: Annotated[Bounding, Meaning("Psi")] = field(default_factory=Unbounded)
    sigma: Annotated[PerReplicate, Meaning("standard deviation per coordinate of z_k, in the unit of Psi")] = 0.0
    cohort: Annotated[Cohort, Meaning("how B_k is sampled")] = field(default_factory=Cohort)
    gradient: Annotated[Gradient, Meaning("the gradient of a client")] = field(default_factory=FullGradient)

    def __post_init__(self) -> None:
        positive_steps("the step size", self.step)
        positive("sigma", self.sigma, zero=True)

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.bounding.validate(replicates)
        self.cohort.check(problem.n)
        self.gradient.validate(problem, replicates)

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        engine, n = context.engine, context.problem.n
        xp = engine.xp
        x = state
        members, counts = self.cohort.members(context, k)
        everywhere = xp.broadcast_to(x[None], (len(counts), *x.shape))
        sent = self.bounding(context, self.gradient.evaluate(context, everywhere, members, k, 0))
        signal = engine.combine(sent, xp.ascontiguousarray(counts.T) / self.cohort.divisor(n))
        noise = xp.zeros_like(x)
        if noisy(self.sigma):
            noise = (
                context.per_replicate(self.sigma)[:, None]
                * engine.normal(context.replicates, k, 1, x.shape[1], SERVER_NOISE)[0]
            )
        gamma = context.per_replicate(step_at(self.step, k))
        round_ = Round(context, k, x, members=members, messages=sent, signal=signal, noise=noise)
        return x - gamma[:, None] * (signal + noise), round_

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "DPSGD",
            "step": to_json(self.step),
            **self.bounding.describe(),
            "sigma": to_json(self.sigma),
            "cohort": self.cohort.describe(),
            **self.gradient.describe(),
        }
