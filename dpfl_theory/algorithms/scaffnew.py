"""ScaffNew and DP-ScaffNew (hou2023 Algorithm 2): control variates and a communication coin.

One engine round is one iteration t of the paper. The coin decides in each replicate whether it ends a local phase, so
the number of local steps between communications is random:

    xhat_i = x_i - eta (g_i(x_i) - h_i);   theta ~ Bernoulli(p), common to all clients
    theta = 1:  Delta_i = clip(xhat_i - x, C) + N(0, sigma^2 I);  x = x_i = x + (1/N) sum_j Delta_j
                h_i = h_i + (p/eta) ((1/N) sum_j Delta_j - Delta_i)
    theta = 0:  x_i = xhat_i
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfl_theory.algorithms.base import Algorithm, Context, Round
from dpfl_theory.algorithms.bounding import Clip
from dpfl_theory.algorithms.gradients import FullGradient, Gradient
from dpfl_theory.algorithms.hyperparameters import PerReplicate, noisy, positive, to_json
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.streams import COIN, NOISE
from dpfl_theory.problems.base import Problem

__all__ = ["ScaffNew", "ScaffNewState"]


@dataclass
class ScaffNewState:
    """x (S, d): the server's vector; x_i and h_i (n, S, d): the clients' vectors [X] and control variates [F/X];
    communications (S,): the number of communications so far; weight (S,): eta/p [X^2/F], the control variates' weight
    in psi."""

    x: Any
    x_i: Any
    h_i: Any
    communications: Any
    weight: Any


@dataclass(frozen=True)
class ScaffNew(Algorithm):
    """hou2023 Algorithm 2 with zero initial control variates.

    step: eta [X^2/F];  probability: p in (0, 1];  threshold: C [X], None for no clipping;
    sigma: standard deviation per coordinate [X] of the noise each client adds to its message, 0 for ScaffNew;
    gradient: the oracle g_i, the full gradient by default (the paper's assumption (A)).

    >>> ScaffNew(step=0.5, probability=0.25).describe()["probability"]
    0.25
    """

    step: PerReplicate
    probability: float = 1.0
    threshold: PerReplicate | None = None
    sigma: PerReplicate = 0.0
    gradient: Gradient = field(default_factory=FullGradient)

    def __post_init__(self) -> None:
        positive("the step size", self.step)
        positive("sigma", self.sigma, zero=True)
        p = self.probability
        if not isinstance(p, (int, float, np.number)) or not 0.0 < p <= 1.0:
            raise InputError(f"the communication probability is {p!r}: it must lie in (0, 1]")
        if self.threshold is not None:
            positive("the threshold C", self.threshold)

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.gradient.validate(problem, replicates)

    def initial_state(self, context: Context) -> ScaffNewState:
        xp, n = context.engine.xp, context.problem.n
        x = context.start
        clients = xp.repeat(x[None], n, axis=0)
        return ScaffNewState(
            x,
            clients,
            xp.zeros_like(clients),
            xp.zeros(context.replicates.count),
            context.per_replicate(self.step) / self.probability,
        )

    def server(self, state: ScaffNewState) -> Any:
        return state.x

    def round(self, context: Context, state: ScaffNewState, k: int) -> tuple[ScaffNewState, Round]:
        engine = context.engine
        xp, n, d = engine.xp, context.problem.n, context.problem.d
        eta = context.per_replicate(self.step)[None, :, None]
        moved = state.x_i - eta * (self.gradient.evaluate(context, state.x_i, None, k, 0) - state.h_i)
        coin = engine.uniform(context.replicates, k, 1, COIN)[:, 0] < self.probability
        messages = moved - state.x[None]
        if self.threshold is not None:
            messages = Clip(self.threshold)(context, messages)
        sent = messages
        if noisy(self.sigma):
            noise = engine.normal(context.replicates, k, n, d, NOISE, where=coin)
            sent = messages + context.per_replicate(self.sigma)[None, :, None] * noise
        mean = sent.mean(axis=0)
        x = xp.where(coin[:, None], state.x + mean, state.x)
        everyone = coin[None, :, None]
        after = ScaffNewState(
            x=x,
            x_i=xp.where(everyone, x[None], moved),
            h_i=xp.where(everyone, state.h_i + (self.probability / eta) * (mean[None] - sent), state.h_i),
            communications=state.communications + coin,
            weight=state.weight,
        )
        return after, Round(context, k, state.x, messages=messages, state=state)

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "ScaffNew",
            "probability": to_json(self.probability),
            "step": to_json(self.step),
            "threshold": to_json(self.threshold),
            "sigma": to_json(self.sigma),
            **self.gradient.describe(),
        }
