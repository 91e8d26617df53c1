"""The local steps of one round, with the gradients at the points that noisy steps lead through: what (15) and (19) of
zhang2021's proof speak of, and no server ever sees.

An `Algorithm` so that it can be simulated in many lanes; imported where it is used, since it needs NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpfl_theory.algorithms import Cohort, NoisyGradient
from dpfl_theory.algorithms.base import Context, Memoryless, Round

__all__ = ["LocalGradients"]


@dataclass(frozen=True)
class LocalGradients(Memoryless):
    """From x = x_t: Q steps y_i <- y_i - eta g_i(y_i) of every client, g_i = grad f_i + N(0, deviation^2 I), with S_i
    the sum of grad f_i(y_i) before each of them.

    The round's signal is sqrt(Q) grad f(x) - (1/sqrt(Q)) (1/n) sum_i S_i [F/X], whose mean square is A_1 of (15). After
    the round the state is x* + sqrt(n) eta S_i of one client i, drawn uniformly [X]: the mean square of its distance
    from x* is the sum of the clients' E||eta S_i||^2, the left side of (19) without clipping.

    middle: the signal is the root of (1/n) sum_i sum_q ||grad f_i(y_i) - grad f_i(x)||^2 instead, in its first
    coordinate: the middle line of (15), which is at least A_1.

    step: eta [X^2/F];  steps: Q;  deviation [F/X].

    >>> LocalGradients(0.1, 3, 1.0).describe()["local_steps"]
    3
    """

    step: float
    steps: int
    deviation: float
    middle: bool = False

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        xp, n = context.engine.xp, context.problem.n
        oracle = NoisyGradient(self.deviation)
        start = xp.repeat(state[None], n, axis=0)
        seen, sums = xp.zeros_like(start), xp.zeros_like(start)
        first = context.gradients(start)
        apart = xp.zeros_like(start[0, :, 0])  # (lanes,)
        for q in range(self.steps):
            at = start - self.step * seen
            gradients = context.gradients(at)
            sums = sums + gradients
            apart = apart + ((gradients - first) ** 2).sum(axis=-1).mean(axis=0)
            seen = seen + oracle.at(context, at, None, k, q)
        root = math.sqrt(self.steps)
        signal = root * first.mean(axis=0) - sums.mean(axis=0) / root
        if self.middle:
            signal = xp.zeros_like(signal)
            signal[:, 0] = apart**0.5
        drawn = Cohort("fixed", 1).sample(context, k)  # (lanes, n), a single one in every row
        chosen = (drawn.T[:, :, None] * sums).sum(axis=0)
        star = context.engine.asarray(context.problem.constants.w_star)
        return star + math.sqrt(n) * self.step * chosen, Round(context, k, state, signal=signal)

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "LocalGradients",
            "local_step": self.step,
            "local_steps": self.steps,
            "deviation": self.deviation,
            "middle": self.middle,
        }
