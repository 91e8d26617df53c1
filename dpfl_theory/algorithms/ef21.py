"""The EF21 mechanism with a bounding operator: Clip21 and alpha-NormEC, private or not.

shulgin2025 Algorithm 1 and equations (9) to (11). Every client keeps a memory v_i of its messages and sends Psi of the
remaining difference:

    Delta_i = Psi(grad f_i(x_k) - v_i);  v_i = v_i + beta Delta_i                          (clients, in clean numbers)
    vhat    = vhat + (beta/n) sum_i (Delta_i + z_i),   z_i ~ N(0, sigma^2 I)               (server; vhat_0 = mean v_i)
    x_{k+1} = x_k - gamma vhat,  or  x_k - gamma vhat/||vhat|| with server normalisation   (0/0 = 0)

Clip21: Psi clips to tau and beta = 1. alpha-NormEC: Psi is the smoothed normalisation g/(alpha + ||g||).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpfl_theory.algorithms.base import Algorithm, Context, Round
from dpfl_theory.algorithms.bounding import Bounding, Clip, Normalise, SmoothedNormalise, Unbounded
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
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.streams import SERVER_NOISE
from dpfl_theory.problems.base import Problem

__all__ = ["EF21", "EF21State", "alpha_norm_ec", "clip21"]


@dataclass
class EF21State:
    """x (S, d): the server's vector;  v_i (n, S, d): the clients' memories [F/X];  v (S, d): the server's estimate."""

    x: Any
    v_i: Any
    v: Any


@dataclass(frozen=True)
class EF21(Algorithm):
    """shulgin2025 Algorithm 1 with operator Psi = ``bounding``; all clients take part.

    step: gamma [X with server normalisation, else X^2/F];  bounding: Psi;
    beta: how far a memory moves [F/X for smoothed normalisation, 1 for clipping];
    server_normalisation: whether the server's step has the length gamma;
    sigma: standard deviation per coordinate of z_i, in the unit of Psi: 1 for smoothed normalisation, F/X for clipping;
    memory: v_i starts at ``memory`` times grad f_i(x_0): 0 for zero memories, 1 for R = max_i ||grad f_i(x_0) - v_i|| =
        0 (in the private form, that first exchange is not counted);
    gradient: full by default, as in the paper.

    >>> EF21(0.1, SmoothedNormalise(0.5), beta=0.2, server_normalisation=True).describe()["beta"]
    0.2
    """

    step: StepSize
    bounding: Bounding = field(default_factory=Unbounded)
    beta: PerReplicate = 1.0
    server_normalisation: bool = False
    sigma: PerReplicate = 0.0
    memory: PerReplicate = 0.0
    gradient: Gradient = field(default_factory=FullGradient)

    def __post_init__(self) -> None:
        positive_steps("the step size", self.step)
        positive("beta", self.beta)
        positive("sigma", self.sigma, zero=True)
        positive("the memory's share of the first gradient", self.memory, zero=True)
        if not isinstance(self.server_normalisation, bool):
            raise InputError(f"server normalisation is {self.server_normalisation!r}: give true or false")

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.bounding.validate(replicates)
        self.gradient.validate(problem, replicates)

    def initial_state(self, context: Context) -> EF21State:
        xp, n = context.engine.xp, context.problem.n
        everywhere = xp.repeat(context.start[None], n, axis=0)
        v_i = context.per_replicate(self.memory)[:, None] * context.gradients(everywhere)
        return EF21State(context.start, v_i, v_i.mean(axis=0))

    def server(self, state: EF21State) -> Any:
        return state.x

    def round(self, context: Context, state: EF21State, k: int) -> tuple[EF21State, Round]:
        engine = context.engine
        xp, n = engine.xp, context.problem.n
        x = state.x
        beta = context.per_replicate(self.beta)[:, None]
        everywhere = xp.repeat(x[None], n, axis=0)
        sent = self.bounding(context, self.gradient.evaluate(context, everywhere, None, k, 0) - state.v_i)
        signal = sent.mean(axis=0)
        noise = xp.zeros_like(x)
        if noisy(self.sigma):
            deviation = context.per_replicate(self.sigma)[:, None] / n**0.5
            noise = deviation * engine.normal(context.replicates, k, 1, x.shape[1], SERVER_NOISE)[0]
        v = state.v + beta * (signal + noise)
        direction = Normalise(1.0)(context, v) if self.server_normalisation else v
        gamma = context.per_replicate(step_at(self.step, k))[:, None]
        after = EF21State(x - gamma * direction, state.v_i + beta * sent, v)
        return after, Round(context, k, x, messages=sent, signal=signal, noise=noise, state=state)

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "EF21",
            "step": to_json(self.step),
            **self.bounding.describe(),
            "beta": to_json(self.beta),
            "server_normalisation": self.server_normalisation,
            "sigma": to_json(self.sigma),
            "memory": to_json(self.memory),
            **self.gradient.describe(),
        }


def clip21(step: StepSize, threshold: PerReplicate, **keywords: Any) -> EF21:
    """Clip21: EF21 with clipping to tau = ``threshold`` [F/X] and beta = 1; keywords as for `EF21`.

    >>> clip21(0.1, 2.0).describe()["bounding"]
    'clip'
    """
    return EF21(step, Clip(threshold), **keywords)


def alpha_norm_ec(
    step: StepSize, alpha: PerReplicate, beta: PerReplicate, server_normalisation: bool = True, **keywords: Any
) -> EF21:
    """alpha-NormEC: EF21 with smoothed normalisation; alpha, beta [F/X]; server normalisation as in Algorithm 1.

    >>> alpha_norm_ec(0.1, 0.01, 0.1).describe()["server_normalisation"]
    True
    """
    return EF21(step, SmoothedNormalise(alpha), beta, server_normalisation, **keywords)
