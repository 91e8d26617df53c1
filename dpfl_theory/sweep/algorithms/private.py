"""The private algorithms, run and accounted for as in `dpfl_theory.recommend.tuned`.

Hyper-parameters that are not given are relative to the problem's scales. Steps are 1/L, and thresholds are the clients'
mean gradient norm at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Mechanism
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.schemas.models import Count, NonNegative, Positive, Share, described_field
from dpfl_theory.sweep.algorithms.base import Among, Certified, Hyper, Privacy, Symbols, as_plain, given

__all__ = ["ALGORITHMS", "Private"]

_USUAL = {
    "local_steps": 1,
    "local_step": 1.0,
    "global_step": 1.0,
    "clip": 1.0,
    "share": 1.0,
    "probability": 1.0,
    "step": 1.0,
    "memory_step": 0.1,
    "smoothing": 0.1,
}
"""The default values of the axes of `Tuned`."""
_RELATIVE = ("global_step", "clip", "memory_step", "smoothing")
"""Axes that are relative to other hyper-parameters: given values of those change their defaults."""


class Private(Hyper):
    """An algorithm with noise, run and accounted for as in `dpfl_theory.recommend.tuned`."""

    noise: ClassVar[str | None] = "sigma"
    parameters: ClassVar[tuple[str, ...]]

    def tuned(self, problem: Problem, rounds: int, privacy: Privacy) -> Tuned:
        """The algorithm on the problem, within the budget."""
        kind = tuned()[self.name]
        budget = Budget(
            1.0 if privacy.epsilon is None else privacy.epsilon,
            privacy.delta,
            rounds=rounds * kind.vectors,
            relation=privacy.relation,
            view=privacy.view,
            cohort=getattr(self, "cohort", None),
            sampling=getattr(self, "sampling", None),
        )
        return _tuned(self.name, problem, budget)

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        one = self.tuned(problem, rounds, privacy)
        own = given(self, self.parameters)
        usual = {axis: value for axis, value in self.usual().items() if axis in {a.name for a in one.axes}}
        shared = {
            self.axis(parameter): getattr(self, parameter) for parameter in self.shared if getattr(self, parameter)
        }
        usual |= {axis: value for axis, value in shared.items() if axis in usual or value != 1.0}
        values = {**usual, "rounds": rounds * usual.get("probability", 1.0)}
        first = {**one.hyperparameters(values, 1.0), **own}
        values |= {axis: v for axis, v in one.placed(first).items() if axis not in _RELATIVE}
        found = {**one.hyperparameters(values, 1.0), **own}
        unit = one.hyperparameters(one.placed(found), 1.0)[one.noise]
        level = getattr(self, self.noise or "")
        if level is None:
            level = 0.0 if privacy.epsilon is None else one.multiplier(one.placed(found)) * unit
        found[one.noise] = level
        return as_plain({name: found[name] for name in (*self.parameters, one.noise)})

    def usual(self) -> dict[str, float]:
        """The default values of the axes."""
        return dict(_USUAL)

    @staticmethod
    def axis(parameter: str) -> str:
        """The axis of a hyper-parameter that replicates share."""
        return {"E": "local_steps", "Q": "local_steps", "K": "local_steps", "p": "probability", "s": "share"}[parameter]

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Algorithm:
        return self.tuned(problem, rounds, privacy).algorithm(replicates)

    def certified(self, problem: Problem, rounds: int, privacy: Privacy, parameters: Symbols) -> Certified:
        one = self.tuned(problem, rounds, privacy)
        if not parameters[one.noise]:
            return Certified(None, "no noise is added")
        own = {**parameters, "rounds": rounds, "iterations": rounds}
        values = one.placed(own)
        level = parameters[one.noise] / one.hyperparameters(values, 1.0)[one.noise]
        less = float(f"{level * (1 - 1e-11):.11g}")  # not more noise than is added; one account serves many cells
        try:
            high = _spent(one, one.mechanism(values), values, less)
        except InputError as error:
            return Certified(None, f"no epsilon is certified: {error}")
        text = f"epsilon at delta = {privacy.delta:g}, for one {one.protects}, {one.relation}, {privacy.view}"
        return Certified(high, text if high is not None else f"no finite {text}")


@lru_cache(maxsize=64)
def _tuned(name: str, problem: Problem, budget: Budget) -> Tuned:
    return tuned()[name](problem, budget)


_ACCOUNTS: dict[Any, float | None] = {}


def _spent(one: Tuned, run: Mechanism, values: Symbols, level: float) -> float | None:
    """The upper limit of `Tuned.spent`, computed once for each mechanism and level."""
    key = (type(one), one.budget.delta, run, level)
    if key not in _ACCOUNTS:
        _ACCOUNTS[key] = one.spent(values, level).high
    return _ACCOUNTS[key]


class DPNormEC(Private):
    """DP-alpha-NormEC, with server normalisation and zero memories."""

    source: ClassVar[str] = "shulgin2025 Algorithm 1"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "beta", "alpha")

    name: Literal["dp-norm-ec"]
    gamma: Positive | None = described_field("step [X]; a hundredth of the initial distance without it", None)
    beta: Positive | None = described_field(
        "memory step [F/X]; a tenth of the mean gradient norm at the start without it", None
    )
    alpha: Positive | None = described_field("smoothing [F/X]; equal to beta without it", None)
    sigma: NonNegative | None = described_field("noise of one message; from privacy.epsilon, else none", None)

    def usual(self) -> dict[str, float]:
        return {**_USUAL, "step": 0.01}


class DPClip21(Private):
    """DP-Clip21."""

    source: ClassVar[str] = "shulgin2025 Section 6"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "tau")

    name: Literal["dp-clip21"]
    gamma: Positive | None = described_field("step [X^2/F]; 1/L without it", None)
    tau: Positive | None = described_field("threshold [F/X]; the mean gradient norm at the start without it", None)
    sigma: NonNegative | None = described_field("noise of one message [F/X]; from privacy.epsilon, else none", None)


class DPFedAvgRecord(Private, Among):
    """DP-FedAvg with noise at every local step, with record-level privacy."""

    source: ClassVar[str] = "noble2022 Algorithm 2"
    noise: ClassVar[str | None] = "sigma_g"
    parameters: ClassVar[tuple[str, ...]] = ("eta_l", "eta_g", "C", "K", "s")
    shared: ClassVar[tuple[str, ...]] = ("K", "s")

    name: Literal["dp-fedavg-record"]
    eta_l: Positive | None = described_field("local step [X^2/F]; 1/L without it", None)
    eta_g: Positive | None = described_field("global step; 1 without it", None)
    C: Positive | None = described_field(
        "threshold of a record [F/X]; the records' mean gradient norm at the start", None
    )
    K: Count = described_field("local steps", 1)
    s: Share = described_field("fraction of the records in a local step", 1.0)
    sigma_g: NonNegative | None = described_field(
        "noise multiplier of a local step; from privacy.epsilon, else none", None
    )


class DPScaffold(DPFedAvgRecord):
    """DP-SCAFFOLD, with record-level privacy."""

    source: ClassVar[str] = "noble2022 Algorithm 1"
    name: Literal["dp-scaffold"]  # type: ignore[assignment]


class DPSGDRecord(Private):
    """DP-SGD over all clients' records."""

    source: ClassVar[str] = "noble2022 Algorithm 2, K = 1 and l = 1"
    noise: ClassVar[str | None] = "sigma_g"
    parameters: ClassVar[tuple[str, ...]] = ("eta", "C", "s")
    shared: ClassVar[tuple[str, ...]] = ("s",)

    name: Literal["dp-sgd-record"]
    eta: Positive | None = described_field("step [X^2/F]; 1/L without it", None)
    C: Positive | None = described_field(
        "threshold of a record [F/X]; the records' mean gradient norm at the start", None
    )
    s: Share = described_field("fraction of the records in a step", 1.0)
    sigma_g: NonNegative | None = described_field("noise multiplier; from privacy.epsilon, else none", None)


ALGORITHMS = (
    DPNormEC,
    DPClip21,
    DPFedAvgRecord,
    DPScaffold,
    DPSGDRecord,
)
