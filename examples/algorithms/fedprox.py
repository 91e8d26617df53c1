"""DP-FedProx: DP-FedAvg whose local steps have a proximal term. One description is all that a new algorithm needs.

Li et al. 2020, "Federated Optimization in Heterogeneous Networks", with clipped differences and noise:
    y = w;  E times  y = y - eta (grad f_i(y) + mu (y - w));  g_i = (y - w) min(1, C/||y - w||);
    w = w + beta (1/r) sum_{i in S} (g_i + N(0, sigma^2 I)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpfl_theory.algorithms import register
from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.faults.averaging import CLIPPING
from dpfl_theory.algorithms.faults.noise import NOISE
from dpfl_theory.core.algorithm import Fault, fault
from dpfl_theory.core.parameter import Parameter, Range, Scale


@register
class DPFedProx(Averaging):
    """DP-FedProx with clipped differences."""

    name = "dp-fedprox"
    title = "DP-FedProx"
    source = "Li et al. 2020, with clipping and noise"
    protects = "client"
    samplings = ("poisson", "fixed")
    sigma_of = "message"

    local_step = Parameter(
        *("eta", "local step", "X^2/F"),
        aliases=("lr", "learning_rate"),
        scale=Scale("1/L", lambda a, problem: 1.0 / problem.L),
        search=Range((1e-3, 2.0)),
        trials=(0.1, 0.25),
    )
    proximal = Parameter(
        *("mu", "weight of the proximal term", "F/X^2"),
        kind="nonnegative",
        scale=Scale("L", lambda a, problem: problem.L),
        default=0.1,
        search=Range((1e-3, 1.0)),
        trials=(0.3, 0.7),
    )
    local_steps = Parameter(
        *("E", "local steps"),
        kind="count",
        aliases=("local_steps", "epochs"),
        search=Range((1, 2, 4, 8), between=False),
        trials=(3, 1),
        shared=True,
    )
    global_step = Parameter("beta", "global step", search=Range((0.1, 10.0)), trials=(1.0, 1.5))
    threshold = Parameter(
        *("C", "threshold of a difference", "X"),
        aliases=("clip", "clip_norm"),
        scale=Scale("E eta times the mean gradient norm", lambda a, p: a.local_steps * a.local_step * p.slope),
        search=Range((1e-3, 3.0)),
        trials=(0.8, 1.7),
    )
    sigma = Parameter("sigma", "noise of one message", "X", kind="nonnegative", default=None)

    def direction(self, o: Any, i: Any, y: Any, w: Any) -> Any:
        return self.gradient(o, i, y) + self.proximal * (y - w)

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return o.clip(u, self.threshold)

    def noise(self, o: Any, members: Any) -> Any:
        return o.sum_of_noises(members, self.sigma) / o.expected

    def deviation(self, o: Any) -> Any:
        return self.sigma / o.expected**0.5

    def noise_unit(self, o: Any) -> float:
        return float(self.threshold / o.expected**0.5)

    def sensitivity(self, o: Any) -> float:
        return float(self.global_step * self.threshold / o.expected)

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (NO_TERM, *CLIPPING, *NOISE)


NO_TERM = fault(
    "no proximal term",
    "the local steps are those of FedAvg: add mu (y - w) to each gradient",
    "local",
    direction=lambda a, o, i, y, w: a.gradient(o, i, y),
)
