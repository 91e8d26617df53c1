"""FedAvg and its private forms: clipped (DP-FedAvg) and normalised (DP-NormFedAvg) client updates.

das2022 Algorithm 1, options (i) and (ii), and Algorithm 2. In round k, with clients S_k sampled:

    for i in S_k:  w_{i,0} = w_k;  E times  w_{i,t+1} = w_{i,t} - eta_k grad f_i(w_{i,t})
                   u_i = (w_k - w_{i,E})/eta_k
                   g_i = u_i | u_i min(1, C/||u_i||) | C u_i/||u_i||          (none | clip | normalise)
    w_{k+1} = w_k - beta_k (1/r) sum_{i in S_k} (g_i + zeta_i),   zeta_i ~ N(0, r sigma^2 I)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpfl_theory.algorithms.base import Context, Memoryless, Round
from dpfl_theory.algorithms.bounding import Bounding, Unbounded, require
from dpfl_theory.algorithms.cohort import Cohort
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
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.streams import SERVER_NOISE
from dpfl_theory.problems.base import Problem

__all__ = ["PLACEMENTS", "FedAvg"]

PLACEMENTS = ("per-client", "average")


@dataclass(frozen=True)
class FedAvg(Memoryless):
    """FedAvg with full local gradients, optionally clipped or normalised updates and Gaussian noise.

    local_step: eta_k [X^2/F], a number, one for each replicate, a `Schedule`, or `Tabulated` rounds.
    global_step: beta_k [X^2/F], likewise; None means beta_k = eta_k (unbounded and without noise: Algorithm 2).
    local_steps: E >= 1.
    bounding: the operator on a client's update, `Clip` (option (i)), `Normalise` (option (ii); a zero update normalises
        to zero) or another operator, C in [F/X]; by default none.
    cohort: the client sampling; sums over the cohort are divided by r.
    sigma: standard deviation per coordinate [F/X] of the noise on the average when exactly r clients take part.
    noise: ``per-client`` as printed (each client adds N(0, r sigma^2 I): a cohort of s clients gives the average the
        variance s sigma^2/r, and an empty one gives none), or ``average`` (N(0, sigma^2 I) for any cohort).

    >>> from dpfl_theory.algorithms.bounding import Clip
    >>> FedAvg(local_step=0.1, local_steps=5, bounding=Clip(1.0), sigma=0.5).describe()["bounding"]
    'clip'
    """

    local_step: StepSize
    local_steps: int = 1
    global_step: StepSize | None = None
    bounding: Bounding = field(default_factory=Unbounded)
    cohort: Cohort = field(default_factory=Cohort)
    sigma: PerReplicate = 0.0
    noise: str = "per-client"

    def __post_init__(self) -> None:
        positive_steps("the local step size", self.local_step)
        if self.global_step is not None:
            positive_steps("the global step size", self.global_step)
        require_integer("the number of local steps", self.local_steps)
        positive("sigma", self.sigma, zero=True)
        require(self.bounding)
        if self.noise not in PLACEMENTS:
            raise InputError(f"noise placement {self.noise!r} is unknown: choose one of {', '.join(PLACEMENTS)}")

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.bounding.validate(replicates)
        self.cohort.check(problem.n)

    def _steps(self, context: Context, k: int) -> tuple[Any, Any]:
        eta = context.per_replicate(step_at(self.local_step, k))
        return eta, eta if self.global_step is None else context.per_replicate(step_at(self.global_step, k))

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        xp = context.engine.xp
        w, r = state, self.cohort.divisor(context.problem.n)
        eta, beta = self._steps(context, k)
        cohort = self.cohort.sample(context, k)
        phase = context.kernels.local_phase(w, eta, self.local_steps)
        signal = self.bounding.combined(context, phase, cohort / r)
        noise = xp.zeros_like(w)
        if noisy(self.sigma):
            deviation = context.per_replicate(self.sigma)
            if self.noise == "per-client":
                deviation = deviation * xp.sqrt(cohort.sum(axis=1) / r)
            noise = deviation[:, None] * context.engine.normal(context.replicates, k, 1, w.shape[1], SERVER_NOISE)[0]
        round_ = Round(
            context,
            k,
            w,
            phase=phase,
            local_step=eta,
            local_steps=self.local_steps,
            cohort=cohort,
            threshold=self.bounding.level(context),
            signal=signal,
            noise=noise,
        )
        return w - beta[:, None] * (signal + noise), round_

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "FedAvg",
            "local_step": to_json(self.local_step),
            "global_step": to_json(self.local_step if self.global_step is None else self.global_step),
            "local_steps": int(self.local_steps),
            "threshold": None,
            **self.bounding.describe(),
            "cohort": self.cohort.describe(),
            "sigma": to_json(self.sigma),
            "noise": self.noise,
        }
