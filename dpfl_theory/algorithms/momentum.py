"""Server momentum on top of any algorithm whose state is the server's vector (das2022 Appendix H uses 0.8).

    v_{k+1} = m v_k + (w_k - w'_{k+1}),   w_{k+1} = w_k - v_{k+1},   v_0 = 0

where w'_{k+1} is the result of the algorithm itself for w_k. With m = 0 it is the algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpfl_theory.algorithms.base import Algorithm, Context, Memoryless, Round
from dpfl_theory.algorithms.hyperparameters import PerReplicate, positive, to_json
from dpfl_theory.core.parameter import Meaning
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem

__all__ = ["ServerMomentum"]


@dataclass(frozen=True)
class ServerMomentum(Algorithm):
    """Heavy-ball momentum at the server. It uses only released vectors, so it costs no privacy.

    >>> from dpfl_theory.algorithms import FedAvg
    >>> ServerMomentum(FedAvg(0.1), 0.8).describe()["momentum"]
    0.8
    """

    algorithm: Annotated[Memoryless, Meaning("an algorithm whose state is the server's vector")]
    momentum: Annotated[PerReplicate, Meaning("m in [0, 1)")] = 0.8

    def __post_init__(self) -> None:
        inner: Algorithm = self.algorithm
        if not isinstance(inner, Memoryless):
            name = type(inner).__name__
            raise InputError(
                f"{name} keeps a state in addition to the server's vector: momentum works on FedAvg and the like"
            )
        positive("the momentum", self.momentum, zero=True)
        if np.max(self.momentum) >= 1.0:
            raise InputError(f"the momentum is {self.momentum}: it must lie below 1, or the sum of the steps diverges")

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.algorithm.validate(problem, replicates)

    def initial_state(self, context: Context) -> Any:
        w = self.algorithm.initial_state(context)
        return w, context.engine.xp.zeros_like(w)

    def server(self, state: Any) -> Any:
        return state[0]

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        w, velocity = state
        proposed, round_ = self.algorithm.round(context, w, k)
        velocity = context.per_replicate(self.momentum)[:, None] * velocity + (w - proposed)
        return (w - velocity, velocity), round_

    def describe(self) -> dict[str, Any]:
        return {"algorithm": "ServerMomentum", "of": self.algorithm.describe(), "momentum": to_json(self.momentum)}
