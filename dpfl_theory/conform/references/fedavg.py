"""FedAvg and its private forms as das2022 prints them: updates in the unit of gradients.

das2022 Algorithms 1 and 2: u_i = (w - y_i)/eta after E local steps of size eta; g_i = u_i, u_i min(1, C/||u_i||) or
C u_i/||u_i||; w - beta ((1/r) sum_{i in S} g_i + N(0, sigma^2 I)), where each client adds N(0, r sigma^2 I) as printed,
or the server adds N(0, sigma^2 I).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dpfl_theory.conform.averaging import Averaging, Part, by_records, clipped, gaussian_noise, over_cohort, stretched
from dpfl_theory.conform.base import Fault, Hyperparameter, Reading, Values, calibrated, faulty
from dpfl_theory.conform.mistakes.averages import AVERAGING, BOTH_STEPS, CLIPPING, LOCAL
from dpfl_theory.conform.mistakes.carried import CARRIED, LEARNED
from dpfl_theory.conform.mistakes.noise import NOISE

__all__ = ["REFERENCES", "DPFedAvg", "DPNormFedAvg", "FedAvg"]

ETA = Hyperparameter("eta", "local step [X^2/F]", (0.1, 0.25), also=("local_step", "lr", "learning_rate", "eta_l"))
BETA = Hyperparameter(
    *("beta", "global step [X^2/F]; by default eta", (lambda v: v["eta"], lambda v: 1.5 * v["eta"])),
    also=("global_step", "server_lr", "eta_g"),
)
E = Hyperparameter("E", "local steps", (3, 1), "count", ("local_steps", "epochs", "K", "Q"))
C = Hyperparameter(
    "C", "threshold of an update [F/X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm", "c", "level")
)
Z = Hyperparameter("noise_multiplier", "standard deviation over sensitivity", (1.3, 0.6), "nonnegative", ("z",))

IN_DIFFERENCES = "to which the threshold and the noise of this algorithm do not apply: divide by the local step size"
MCMAHAN = (
    "the clients' ends or differences are averaged, as in FedAvg of McMahan et al. 2017, but the algorithm averages (w "
    "- y)/eta, so that its global step is in units of the local one"
)
"""The difference between the FedAvg of most libraries and that of das2022."""
AS_LIBRARIES = tuple(
    Fault(
        name,
        f"{MCMAHAN}{words}: it is the algorithm with {step} as its global step{others}",
        "local",
        {"update": lambda w, y, v: w - y, **weights, **parts},
    )
    for name, words, others, weights in (
        (
            "the difference in place of the update",
            "",
            "; compare it with fedavg-two-sided if you mean differences",
            {},
        ),
        (
            "the difference in place of the update",
            ", and divides by r where your function divides by the number of clients that take part",
            " where all cohorts have r members; compare it with fedavg-two-sided if you mean differences",
            {"weight": over_cohort},
        ),
        (
            "FedAvg of McMahan et al. 2017, weighted by numbers of records",
            ", and gives all clients the same weight where your function weights them by their shares of the records",
            " and other weights",
            {"weight": by_records},
        ),
    )
    for step, parts in (("eta beta", {}), ("eta", {"move": lambda w, step, v: w - step}))
)
CLIPPED_DIFFERENCES = tuple(
    Fault(
        "the difference is clipped, not divided by the local step size",
        "w - y is clipped to C, not (w - y)/eta: most libraries call this DP-FedAvg (after McMahan et al. 2018). It "
        f"is this algorithm with the threshold C/eta and the global step {step}, with the same noise multiplier. If "
        "you mean it, compare it with the algorithm whose threshold and noise are those of a difference: "
        "dpfl-theory conform MODULE:FUNCTION --as dp-fedavg-two-sided, with sampling poisson where clients are drawn "
        "independently",
        "local",
        {"update": lambda w, y, v: w - y, **parts},
    )
    for step, parts in (("eta beta", {}), ("eta", {"move": lambda w, step, v: w - step}))
)
DIFFERENCES = (
    *CLIPPED_DIFFERENCES,
    faulty(
        "the difference is clipped in place of the update",
        f"w - y is clipped to C and then divided by eta, {IN_DIFFERENCES} before clipping",
        "clip",
        private=True,
        update=lambda w, y, v: w - y,
        bound=lambda u, v, peers: clipped(u, v["level"]) / v["local_step"],
    ),
    faulty(
        "clip of the parameters in place of the update",
        "the client's parameters are clipped, and the update is made from the clipped ones: clip the update",
        "clip",
        seen="disco, pull request 317",
        private=True,
        update=lambda w, y, v: (w - clipped(y, v["level"])) / v["local_step"],
        bound=lambda u, v, peers: u,
    ),
)


def generic(v: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """The hyper-parameters with the names that the parts of all algorithms use."""
    return {**v, **{name: v[parameter] for name, parameter in parameters.items()}}


NOTHING: Part = lambda u, v, peers: u  # noqa: E731
PER_CLIENT = gaussian_noise(lambda v, s: v["deviation"] * (s / v["r"]) ** 0.5)
ON_AVERAGE = gaussian_noise(lambda v, s: v["deviation"])


@dataclass(frozen=True)
class FedAvg(Averaging):
    """das2022 Algorithm 2."""

    name: ClassVar[str] = "fedavg"
    source: ClassVar[str] = "das2022 Algorithm 2"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA, BETA, E)
    scheme: ClassVar[str] = "poisson"

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        return generic(v, local_step="eta", global_step="beta", local_steps="E")

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*AS_LIBRARIES, *(fault for fault in AVERAGING if fault.name != BOTH_STEPS), *LOCAL, *CARRIED)


@dataclass(frozen=True)
class DPFedAvg(FedAvg):
    """das2022 Algorithm 1, option (i)."""

    name: ClassVar[str] = "dp-fedavg"
    source: ClassVar[str] = "das2022 Algorithm 1 (i)"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA, BETA, E, C, Z)
    unit: ClassVar[str] = "client"
    level: ClassVar[str] = "C"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("each client adds noise"),
        Reading("the server adds noise to the average", {"noise": ON_AVERAGE}),
    )

    bound: Part = lambda u, v, peers: clipped(u, v["level"])
    noise: Part = PER_CLIENT

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        v = generic(v, local_step="eta", global_step="beta", local_steps="E", level="C")
        v = calibrated(v, v["C"] / v["r"] * v["relation_factor"])
        return {**v, "deviation": v["sigma"]}

    def sensitivity(self, v: Values) -> float | None:
        return float(v["beta"] * v["C"] / v["r"] * v["relation_factor"])

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*CLIPPING, *NOISE, *DIFFERENCES, *AVERAGING, *LOCAL, *CARRIED, *LEARNED)


@dataclass(frozen=True)
class DPNormFedAvg(DPFedAvg):
    """das2022 Algorithm 1, option (ii)."""

    name: ClassVar[str] = "dp-normfedavg"
    source: ClassVar[str] = "das2022 Algorithm 1 (ii)"

    bound: Part = stretched

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        clips = faulty(
            "clipped in place of normalised",
            "short updates are not changed: every update should be scaled to the length C",
            "clip",
            bound=lambda u, v, peers: clipped(u, v["level"]),
        )
        unit = faulty(
            "normalised to length 1",
            "updates are scaled to length 1, not to C",
            "clip",
            bound=lambda u, v, peers: stretched(u, {"level": 1.0}, peers),
        )
        alike = {"normalised in place of clipped", *(fault.name for fault in CLIPPED_DIFFERENCES)}
        return (clips, unit, *(fault for fault in super().faults() if fault.name not in alike))


REFERENCES = (FedAvg, DPFedAvg, DPNormFedAvg)
