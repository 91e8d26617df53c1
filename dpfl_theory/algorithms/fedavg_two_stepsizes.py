"""FedAvg with two step sizes, and clipping of the difference that a client sends.

zhang2021 Algorithm 1 (no clipping), Algorithm 2 (CE-FedAvg, difference clipping) and Algorithm 3 (DP-FedAvg), whose
lines 9 add clipping and noise; hou2023 Algorithm 1 is Algorithm 3 with eta_g = 1 and all clients; noble2022 Algorithm 2
is Algorithm 1 with record gradients, which are clipped and noisy themselves. In round t, with clients P_t:

    for i in P_t:  x_{i,0} = x_t;  Q times  x_{i,q+1} = x_{i,q} - eta_l g_i(x_{i,q})
                   Delta_i = x_{i,Q} - x_t
                   Delta_i = Delta_i min(1, c/||Delta_i||) + z_i,   z_i ~ N(0, sigma^2 I)
    x_{t+1} = x_t + eta_g (1/|P_t|) sum_{i in P_t} Delta_i
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpfl_theory.algorithms.base import Context, Memoryless, Round
from dpfl_theory.algorithms.bounding import Clip
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.gradients import FullGradient, Gradient
from dpfl_theory.algorithms.hyperparameters import (
    PerReplicate,
    StepSize,
    noisy,
    positive,
    positive_steps,
    require_integer,
    step_at,
    to_json,
)
from dpfl_theory.kernels.streams import SERVER_NOISE
from dpfl_theory.problems.base import Problem

__all__ = ["TwoSidedFedAvg", "average", "local_models"]


def local_models(
    context: Context, x: Any, step: Any, steps: int, gradient: Gradient, members: Any, k: int, correction: Any = None
) -> Any:
    """``x_{i,Q} - x`` after Q local steps from x (replicates, d): (A, replicates, d) for members (A, replicates), None
    for all n.

    correction (A, replicates, d): added to every gradient (SCAFFOLD's control variates).
    """
    xp = context.engine.xp
    if members is None and correction is None and isinstance(gradient, FullGradient):
        return -step[:, None] * context.kernels.local_phase(x, step, steps).updates()
    count = context.problem.n if members is None else len(members)
    total = xp.zeros((count, *x.shape))  # the sum of the gradients: no difference of nearby parameters loses digits
    for q in range(steps):
        direction = gradient.evaluate(context, x[None] - step[:, None] * total, members, k, q)
        total += direction if correction is None else direction + correction
    return -step[:, None] * total


def average(context: Context, sent: Any, counts: Any, sigma: PerReplicate, k: int) -> tuple[Any, Any]:
    """The mean of round k's messages (A, replicates, d), and of the noise on them; both are zero if no client takes
    part.

    counts (A, replicates): how often each client takes part. Of s independent noises with standard deviation sigma the
    mean has sigma/sqrt(s); that mean is drawn directly.
    """
    engine = context.engine
    xp = engine.xp
    total = counts.sum(axis=0)
    somebody = total > 0.0
    total = xp.where(somebody, total, 1.0)
    signal = engine.combine(sent, xp.ascontiguousarray((counts / total).T))
    noise = xp.zeros_like(signal)
    if noisy(sigma):
        deviation = context.per_replicate(sigma) * somebody / xp.sqrt(total)
        noise = deviation[:, None] * engine.normal(context.replicates, k, 1, signal.shape[1], SERVER_NOISE)[0]
    return signal, noise


@dataclass(frozen=True)
class TwoSidedFedAvg(Memoryless):
    """zhang2021 Algorithms 1 to 3: FedAvg with local and global step size, difference clipping and noise.

    local_step: eta_l [X^2/F];  global_step: eta_g, without unit: numbers, one for each replicate, a `Schedule`, or
        `Tabulated` rounds.
    local_steps: Q >= 1.
    threshold: c [X], to which the difference x_{i,Q} - x is clipped; None for no clipping.
    sigma: standard deviation per coordinate [X] of the noise that each client adds; a client that is drawn twice (with
        replacement) adds two. The server sees only the average, so only its noise is drawn.
    cohort: the client sampling; averages are over the |P_t| clients that take part, as printed, and the server does not
        move when there are none.
    gradient: the gradient of a local step: `FullGradient`, `NoisyGradient` or `RecordGradient`.

    >>> TwoSidedFedAvg(0.1, 2.0, local_steps=5, threshold=1.0, sigma=0.5).describe()["threshold"]
    1.0
    """

    local_step: StepSize
    global_step: StepSize = 1.0
    local_steps: int = 1
    threshold: PerReplicate | None = None
    sigma: PerReplicate = 0.0
    cohort: Cohort = field(default_factory=Cohort)
    gradient: Gradient = field(default_factory=FullGradient)

    def __post_init__(self) -> None:
        positive_steps("the local step size", self.local_step)
        positive_steps("the global step size", self.global_step)
        require_integer("the number of local steps", self.local_steps)
        positive("sigma", self.sigma, zero=True)
        if self.threshold is not None:
            positive("the threshold c", self.threshold)

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.cohort.check(problem.n)
        self.gradient.validate(problem, replicates)

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        x = state
        eta_l = context.per_replicate(step_at(self.local_step, k))
        eta_g = context.per_replicate(step_at(self.global_step, k))
        members, counts = self.cohort.members(context, k)
        sent = local_models(context, x, eta_l, self.local_steps, self.gradient, members, k)
        if self.threshold is not None:
            sent = Clip(self.threshold)(context, sent)
        signal, noise = average(context, sent, counts, self.sigma, k)
        round_ = Round(
            *(context, k, x),
            members=members,
            messages=sent,
            signal=signal,
            noise=noise,
            difference=signal,
            algorithm=self,
        )
        return x + eta_g[:, None] * (signal + noise), round_

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "TwoSidedFedAvg",
            "local_step": to_json(self.local_step),
            "global_step": to_json(self.global_step),
            "local_steps": int(self.local_steps),
            "threshold": to_json(self.threshold),
            "sigma": to_json(self.sigma),
            "cohort": self.cohort.describe(),
            **self.gradient.describe(),
        }
