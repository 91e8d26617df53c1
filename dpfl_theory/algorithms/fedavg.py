"""FedAvg, and its private forms with clipped or normalised updates, as das2022 prints them.

das2022 Algorithms 1 and 2, with the clients S of a round:
    y = w;  E times  y = y - eta grad f_i(y);  u_i = (w - y)/eta;  g_i = u_i | u_i min(1, C/||u_i||) | C u_i/||u_i||;
    w = w - beta (1/r) sum_{i in S} (g_i + N(0, r sigma^2 I)).
Algorithm 2, without bound and noise, draws exactly r clients and has beta = eta. Algorithm 1 draws each client with
probability r/n.
"""

from __future__ import annotations

from typing import Any

from dpfl_theory.algorithms.averaging import SERVER_NOISE, Averaging, over_cohort
from dpfl_theory.algorithms.faults import average_fault, clip_fault, known
from dpfl_theory.algorithms.faults.averaging import AVERAGING, BOTH_STEPS, CLIPPING, LOCAL, by_records, unbounded
from dpfl_theory.algorithms.faults.carried import CARRIED, LEARNED
from dpfl_theory.algorithms.faults.noise import NOISE
from dpfl_theory.core.algorithm import Reading, Setting
from dpfl_theory.core.parameter import INVERSE_SMOOTHNESS, Parameter, Range, Scale

__all__ = ["DPFedAvg", "DPNormFedAvg", "FedAvg"]

NORMALISING = (
    clip_fault(
        "clipped in place of normalised",
        "short updates are not changed: every update should be scaled to the length C",
        bound=lambda a, o, u, updates: o.clip(u, a.threshold),
    ),
    clip_fault(
        "normalised to length 1",
        "updates are scaled to length 1, not to C",
        bound=lambda a, o, u, updates: o.stretch(u, 1.0),
    ),
)
IN_DIFFERENCES = "to which the threshold and the noise of this algorithm do not apply: divide by the local step size"
MCMAHAN = (
    "the function averages the clients' ends or differences, as McMahan et al. 2017 do. The algorithm averages "
    "(w - y)/eta"
)
"""The difference between the FedAvg of most libraries and that of das2022."""
STEPS: tuple[tuple[str, dict[str, Any]], ...] = (("eta beta", {}), ("eta", {"move": lambda a, o, w, step: w - step}))
"""The global steps with which averages of differences are this algorithm."""


def difference(a: Any, o: Any, w: Any, y: Any) -> Any:
    """w - y."""
    return w - y


LIBRARIES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("the difference in place of the update", "", "; compare it with fedavg-two-sided if you mean differences", {}),
    (
        "the difference in place of the update",
        ", and divides by r where your function divides by the number of clients that take part",
        " where all cohorts have r members; compare it with fedavg-two-sided if you mean differences",
        {"divisor": over_cohort},
    ),
    (
        "FedAvg of McMahan et al. 2017, weighted by numbers of records",
        ", and gives all clients the same weight where your function weights them by their shares of the records",
        " and other weights; compare it with fedavg-mcmahan",
        {"weight": by_records, "divisor": lambda a, o, members: 1.0},
    ),
)
AS_LIBRARIES = tuple(
    average_fault(
        name, f"{MCMAHAN}{words}. Both agree for the global step {step}{others}", update=difference, **weights, **parts
    )
    for name, words, others, weights in LIBRARIES
    for step, parts in STEPS
)
CLIPPED_DIFFERENCES = tuple(
    clip_fault(
        "the difference is clipped, not divided by the local step size",
        "w - y is clipped to C, not (w - y)/eta: many libraries call this DP-FedAvg (after McMahan et al. 2018). It "
        f"is this algorithm with the threshold C/eta and the global step {step}, with the same noise multiplier. If "
        "you mean it, compare it with dp-fedavg-two-sided, whose threshold and noise are those of a difference; with "
        "`sampling` poisson where clients are drawn independently",
        update=difference,
        **parts,
    )
    for step, parts in STEPS
)
DIFFERENCES = (
    *CLIPPED_DIFFERENCES,
    clip_fault(
        "the difference is clipped in place of the update",
        f"w - y is clipped to C and then divided by eta, {IN_DIFFERENCES} before clipping",
        private=True,
        update=difference,
        bound=lambda a, o, u, updates: o.clip(u, a.threshold) / a.local_step,
    ),
    clip_fault(
        "clip of the parameters in place of the update",
        "the client's parameters are clipped, and the update is made from the clipped ones: clip the update",
        seen="disco, pull request 317",
        private=True,
        update=lambda a, o, w, y: (w - o.clip(y, a.threshold)) / a.local_step,
        bound=unbounded,
    ),
)

FAULTS = (*AS_LIBRARIES, *(one for one in AVERAGING if one.name != BOTH_STEPS), *LOCAL, *CARRIED)
"""Without a bound."""
CLIPPED = (*CLIPPING, *NOISE, *DIFFERENCES, *AVERAGING, *LOCAL, *CARRIED, *LEARNED)
_INAPPLICABLE = {"normalised in place of clipped", *(one.name for one in CLIPPED_DIFFERENCES)}
NORMALISED = (*NORMALISING, *(one for one in CLIPPED if one.name not in _INAPPLICABLE))


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
