"""FedAvg with two step sizes, and clipping of the difference that a client sends.

zhang2021 Algorithms 1 and 3: Delta_i = y_i - w after Q local steps of size eta_l, clipped to c, plus N(0, sigma^2 I);
w + eta_g (1/|S|) sum_{i in S} Delta_i. hou2023 Algorithm 1 is this with eta_g = 1 and all clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfl_theory.conform.averaging import Averaging, Part, clipped, gaussian_noise, over_cohort, over_expected
from dpfl_theory.conform.base import Fault, Hyperparameter, Reading, Values, calibrated, faulty
from dpfl_theory.conform.mistakes.averages import AVERAGING, CLIPPING, LOCAL
from dpfl_theory.conform.mistakes.carried import CARRIED, LEARNED
from dpfl_theory.conform.mistakes.noise import NOISE
from dpfl_theory.conform.references.fedavg import Z, generic

__all__ = ["REFERENCES", "DPTwoSided", "TwoSided"]

ETA_L = Hyperparameter("eta_l", "local step [X^2/F]", (0.1, 0.25), also=("local_step", "lr", "learning_rate", "eta"))
ETA_G = Hyperparameter("eta_g", "global step", (1.0, 1.5), also=("global_step", "server_lr", "beta"))
Q = Hyperparameter("Q", "local steps", (3, 1), "count", ("local_steps", "epochs", "K", "E"))
C = Hyperparameter(
    "c", "threshold of a difference [X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm", "C", "level")
)

OWN = (
    faulty(
        "the update in place of the difference",
        "a client sends (y - w)/eta, not y - w: do not divide by the local step size",
        "local",
        update=lambda w, y, v: (y - w) / v["local_step"],
    ),
    faulty(
        "clip of the parameters in place of the difference",
        "the client's parameters are clipped, not their difference: clip y - w",
        "clip",
        seen="disco, pull request 317",
        private=True,
        update=lambda w, y, v: clipped(y, v["level"]) - w,
        bound=lambda u, v, peers: u,
    ),
)


@dataclass(frozen=True)
class TwoSided(Averaging):
    """zhang2021 Algorithm 1."""

    name: ClassVar[str] = "fedavg-two-sided"
    source: ClassVar[str] = "zhang2021 Algorithm 1"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA_L, ETA_G, Q)
    scheme: ClassVar[str] = "fixed"

    update: Part = lambda w, y, v: y - w
    weight: Part = over_cohort
    move: Part = lambda w, step, v: w + v["global_step"] * step

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        return generic(v, local_step="eta_l", global_step="eta_g", local_steps="Q")

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*map(_signed, (*AVERAGING, *LOCAL, *CARRIED)), OWN[0])


def _signed(fault: Fault) -> Fault:
    """The mistake in a round of updates, which have the opposite sign."""
    move, of = fault.parts.get("move"), fault.sized
    if move is None:
        return fault
    parts = {**fault.parts, "move": _mirrored(move)}
    return replace(fault, parts=parts, sized=None if of is None else lambda number: _signed(of(number)))


def _mirrored(move: Part) -> Part:
    """A step of updates as a step of differences, which have the opposite sign."""
    return lambda w, step, v: move(w, -step, v)


OF_ITS_MEMBERS = gaussian_noise(lambda v, s: v["deviation"] * (s / v["r"]) ** 0.5)
"""The standard deviation of |S| noises divided by r."""


@dataclass(frozen=True)
class DPTwoSided(TwoSided):
    """zhang2021 Algorithm 3, hou2023 Algorithm 1. Cohorts have r members there; where they are drawn independently, the
    sum is divided by the expected number r, as the sensitivity c/r needs: 1/|S| would be as large as 1."""

    name: ClassVar[str] = "dp-fedavg-two-sided"
    source: ClassVar[str] = "zhang2021 Algorithm 3"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA_L, ETA_G, Q, C, Z)
    unit: ClassVar[str] = "client"
    level: ClassVar[str] = "c"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("each client adds noise"),
        Reading("the server adds noise to the average", {"noise": gaussian_noise(lambda v, s: v["deviation"])}),
    )

    bound: Part = lambda u, v, peers: clipped(u, v["level"])
    weight: Part = over_expected
    noise: Part = OF_ITS_MEMBERS

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        v = generic(v, local_step="eta_l", global_step="eta_g", local_steps="Q", level="c")
        v = calibrated(v, v["c"] * v["relation_factor"] / v["r"] ** 0.5)
        return {**v, "deviation": v["sigma"] / v["r"] ** 0.5}

    def sensitivity(self, v: Values) -> float | None:
        return float(v["eta_g"] * v["c"] / v["r"] * v["relation_factor"])

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*CLIPPING, *NOISE, *OWN, *super().faults(), *LEARNED)


REFERENCES = (TwoSided, DPTwoSided)
