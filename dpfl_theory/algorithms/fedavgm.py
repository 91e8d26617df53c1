"""FedAvgM: FedAvg with momentum at the server.

Hsu et al. 2019, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification", Section
4.2. Clients send the differences y_k - w after the local steps, and have the weights p_k = n_k/m of the cohort S:
    Delta = sum_{k in S} p_k (y_k - w);   v = beta v + Delta;   w = w + eta_g v.
In the paper eta_g = 1. With Nesterov's steps w = w + eta_g (Delta + beta v). With beta = 0 it is `fedavg-mcmahan`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dpfl_theory.algorithms.faults import known, step_fault
from dpfl_theory.algorithms.faults.mcmahan import COHORT, TRAINING, WEIGHTED, without
from dpfl_theory.algorithms.mcmahan import McMahanFedAvg
from dpfl_theory.core.algorithm import Reading
from dpfl_theory.core.parameter import Parameter, Range

__all__ = ["FedAvgM"]


MOMENTUM = (
    step_fault(
        "server momentum as a moving average",
        "the server keeps v = beta v + (1 - beta) Delta, so that its steps are 1 - beta times as long: add Delta whole",
        seen="APPFL, issue 129",
        velocity=lambda a, o, v, delta: a.decay * v + (1 - a.decay) * delta,
    ),
    step_fault(
        "1 - beta times the step, without momentum",
        "w moves by 1 - beta times the step of FedAvg in each round. One cause is that the parameters w and w' before "
        "and after that step are averaged, beta w + (1 - beta) w', another a moving average that starts again in each "
        "round: keep v = beta v + Delta, and move along v",
        velocity=lambda a, o, v, delta: (1 - a.decay) * delta,
    ),
    step_fault(
        "the server's momentum is not kept",
        "v starts at 0 in every round, so that this is FedAvg: keep it as the state",
        velocity=lambda a, o, v, delta: delta,
    ),
    step_fault(
        "the server's momentum is added to a step already taken",
        "w moves along Delta + v, so that the average counts twice: move along v alone",
        ahead=lambda a, o, delta, v: delta + v,
    ),
    step_fault(
        "the server's momentum without the last average",
        "w moves along beta times the momentum of the rounds before, and not along this round's average",
        ahead=lambda a, o, delta, v: v - delta,
    ),
    step_fault(
        "the server's momentum has the wrong sign",
        "the server keeps v = Delta - beta v: add beta v",
        velocity=lambda a, o, v, delta: delta - a.decay * v,
    ),
)
"""Mistakes in the momentum."""


class FedAvgM(McMahanFedAvg):
    """FedAvg with momentum at the server; the state is v."""

    name = "fedavgm"
    title = "FedAvgM"
    source = "Hsu et al. 2019 Section 4.2"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("heavy-ball momentum, as printed"),
        Reading("Nesterov's steps", {"ahead": lambda a, o, delta, v: delta + a.decay * v}),
    )

    decay = Parameter(
        *("beta", "server momentum"),
        kind="fraction",
        aliases=("momentum", "server_momentum", "beta1"),
        default=0.9,
        search=Range((0.0, 0.5, 0.9, 0.99), between=False),
        trials=(0.9, 0.6),
    )

    def initial(self, o: Any, w: Any) -> Any:
        return o.zero

    def velocity(self, o: Any, v: Any, delta: Any) -> Any:
        """v after a round with this average."""
        return self.decay * v + delta

    def ahead(self, o: Any, delta: Any, v: Any) -> Any:
        """What the server moves along."""
        return v

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        v = self.velocity(o, state, step)
        return self.move(o, w, self.ahead(o, step, v)), v

    faults = known(*MOMENTUM, *WEIGHTED, *without(COHORT, "server momentum"), *TRAINING)
