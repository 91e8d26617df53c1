"""FedAvg, and its private forms with clipped or normalised updates, as das2022 prints them.

das2022 Algorithms 1 and 2, with the clients S of a round:
    y = w;  E times  y = y - eta grad f_i(y);  u_i = (w - y)/eta;  g_i = u_i | u_i min(1, C/||u_i||) | C u_i/||u_i||;
    w = w - beta (1/r) sum_{i in S} (g_i + N(0, r sigma^2 I)).
Algorithm 2, without bound and noise, draws exactly r clients and has beta = eta. Algorithm 1 draws each client with
probability r/n.
"""

from __future__ import annotations

from typing import Any

from dpfl_theory.algorithms.averaging import SERVER_NOISE, Averaging
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.fedavg import CLIPPED, FAULTS, NORMALISED
from dpfl_theory.core.algorithm import Reading, Setting
from dpfl_theory.core.parameter import INVERSE_SMOOTHNESS, Parameter, Range, Scale

__all__ = ["DPFedAvg", "DPNormFedAvg", "FedAvg"]


class FedAvg(Averaging):
    """FedAvg with full gradients: updates in the unit of gradients."""

    name = "fedavg"
    title = "FedAvg"
    source = "das2022 Algorithm 2"
    samplings = ("fixed", "poisson", "with-replacement")
    sign = -1

    local_step = Parameter(
        *("eta", "local step", "X^2/F"),
        aliases=("local_step", "lr", "learning_rate", "eta_l"),
        scale=INVERSE_SMOOTHNESS,
        search=Range((1e-3, 2.0)),
        trials=(0.1, 0.25),
    )
    global_step = Parameter(
        *("beta", "global step", "X^2/F"),
        aliases=("global_step", "server_lr", "eta_g"),
        scale=Scale("eta", lambda a, problem: a.local_step, by_problem=False),
        search=Range((0.1, 30.0)),
        trials=(lambda a: a.local_step, lambda a: 1.5 * a.local_step),
    )
    local_steps = Parameter(
        *("E", "local steps"),
        kind="count",
        aliases=("local_steps", "epochs", "K", "Q"),
        search=Range((1, 2, 4, 8, 16), between=False),
        trials=(3, 1),
        shared=True,
    )

    def update(self, o: Any, w: Any, y: Any) -> Any:
        return (w - y) / self.local_step

    faults = known(*FAULTS)


def server_noise(a: Any, o: Any, members: Any) -> Any:
    """N(0, sigma^2 I) on the average, for any cohort."""
    return o.gaussian(a.deviation(o))


class DPFedAvg(FedAvg):
    """DP-FedAvg with clipped updates."""

    name = "dp-fedavg"
    title = "DP-FedAvg with clipping"
    source = "das2022 Algorithm 1 (i)"
    protects = "client"
    samplings = ("poisson", "fixed", "with-replacement")
    relations = ("zero-out", "replace", "add-remove")
    readings = (
        Reading("each client adds noise"),
        Reading(SERVER_NOISE, {"noise": server_noise}, once=True),
    )

    threshold = Parameter(
        *("C", "threshold of an update", "F/X"),
        aliases=("threshold", "clip", "clip_norm", "max_norm", "c", "level"),
        scale=Scale("E times the clients' mean gradient norm at the start", lambda a, p: a.local_steps * p.slope),
        search=Range((1e-3, 3.0)),
        trials=(0.8, 1.7),
    )
    sigma = Parameter("sigma", "noise of the average", "F/X", kind="nonnegative", default=None)

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return o.clip(u, self.threshold)

    def server_adds_noise(self, setting: Setting) -> bool:
        varies = setting.sampling == "poisson" or setting.relation == "add-remove"  # the number of messages
        return varies and setting.view == "third-party"

    def noise(self, o: Any, members: Any) -> Any:
        return o.sum_of_noises(members, self.deviation(o) * o.expected**0.5) / o.expected

    def noise_unit(self, o: Any) -> float:
        return float(self.threshold / o.expected)

    def sensitivity(self, o: Any) -> float:
        return float(self.global_step * self.threshold / o.expected)

    faults = known(*CLIPPED)


class DPNormFedAvg(DPFedAvg):
    """DP-FedAvg with normalised updates."""

    name = "dp-normfedavg"
    title = "DP-FedAvg with normalisation"
    source = "das2022 Algorithm 1 (ii)"
    clips = False

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return o.stretch(u, self.threshold)

    faults = known(*NORMALISED)
