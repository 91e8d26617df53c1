"""FedOpt: the server takes the average of the clients' differences as a gradient, for an adaptive optimizer.

Reddi et al. 2021, "Adaptive Federated Optimization", Algorithm 2, with the differences y_k - w after the local steps
and the cohort S, by coordinate:
    Delta = (1/|S|) sum_{k in S} (y_k - w);   m = beta_1 m + (1 - beta_1) Delta;
    v = v + Delta^2                                 (FedAdagrad)
    v = v - (1 - beta_2) Delta^2 sign(v - Delta^2)  (FedYogi)
    v = beta_2 v + (1 - beta_2) Delta^2             (FedAdam)
    w = w + eta m/(sqrt(v) + tau);   m = 0 and v = tau^2 before the first round (the paper asks for v >= tau^2).
Versions before August 2021 have m^2 in place of Delta^2, which the authors call a typo (google-research/federated,
issue 41). The experiments weight clients by their records. So there are four readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.faults.fedopt import faults_of
from dpfl_theory.algorithms.mcmahan import BY_RECORDS, EqualFedAvg
from dpfl_theory.core.algorithm import Fault, Reading
from dpfl_theory.core.parameter import Parameter, Range

OF_MOMENTUM = {"squared": lambda a, o, delta, m: m}


class FedAdam(EqualFedAvg):
    """FedAvg with Adam at the server; the state is m and v."""

    name = "fedadam"
    title = "FedAdam"
    source = "Reddi et al. 2021 Algorithm 2"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("squares of the average", weights="equal weights"),
        Reading("squares of the momentum, as the first version prints", OF_MOMENTUM, "equal weights"),
        Reading("squares of the average", BY_RECORDS, "weights by numbers of records"),
        Reading("squares of the momentum", {**OF_MOMENTUM, **BY_RECORDS}, "weights by numbers of records"),
    )

    local_step = replace(EqualFedAvg.local_step, symbol="eta_l")
    global_step = replace(
        EqualFedAvg.global_step,
        symbol="eta",
        unit="X",
        aliases=(*EqualFedAvg.global_step.aliases, "eta_g"),
        default=0.1,
        search=Range((1e-3, 1.0)),
        trials=(0.1, 0.3),
    )
    first_decay = Parameter(
        *("beta_1", "decay of the first moment"),
        kind="fraction",
        aliases=("beta1", "b1", "momentum"),
        default=0.9,
        search=Range((0.0, 0.5, 0.9), between=False),
        trials=(0.9, 0.6),
    )
    second_decay: Any = Parameter(
        *("beta_2", "decay of the second moment"),
        kind="fraction",
        aliases=("beta2", "b2"),
        default=0.99,
        search=Range((0.9, 0.99, 0.999), between=False),
        trials=(0.99, 0.8),
    )
    adaptivity = Parameter(
        *("tau", "degree of adaptivity", "X"),
        aliases=("epsilon", "eps"),
        default=1e-3,
        search=Range((1e-5, 1e-1)),
        trials=(0.05, 0.02),
    )

    def initial(self, o: Any, w: Any) -> Any:
        return o.zero, o.square(o.zero) + self.start(o)

    def start(self, o: Any) -> Any:
        """v before the first round, in all coordinates."""
        return self.adaptivity * self.adaptivity

    def first(self, o: Any, m: Any, delta: Any) -> Any:
        """m after a round with this average."""
        return self.first_decay * m + (1 - self.first_decay) * delta

    def squared(self, o: Any, delta: Any, m: Any) -> Any:
        """The vector whose squares v averages."""
        return delta

    def second(self, o: Any, v: Any, square: Any) -> Any:
        """v after a round with these squares."""
        return self.second_decay * v + (1 - self.second_decay) * square

    def scaled(self, o: Any, delta: Any, m: Any, v: Any) -> Any:
        """What the server moves along."""
        return m / (o.root(v) + self.adaptivity)

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        before, squares = self.initial(o, w) if state is None else state
        m = self.first(o, before, step)
        v = self.second(o, squares, o.square(self.squared(o, step, m)))
        return self.move(o, w, self.scaled(o, step, m, v)), (m, v)

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return faults_of(cls, (FedAdam, FedYogi, FedAdagrad))


class FedYogi(FedAdam):
    """FedAvg with Yogi at the server."""

    name = "fedyogi"
    title = "FedYogi"

    def second(self, o: Any, v: Any, square: Any) -> Any:
        sign = 1.0 * (v > square) - 1.0 * (v < square)
        return v - (1 - self.second_decay) * square * sign


class FedAdagrad(FedAdam):
    """FedAvg with Adagrad at the server; in the paper beta_1 = 0."""

    name = "fedadagrad"
    title = "FedAdagrad"
    second_decay = None
    first_decay = replace(FedAdam.first_decay, default=0.0, trials=(0.0, 0.6))

    def second(self, o: Any, v: Any, square: Any) -> Any:
        return v + square
