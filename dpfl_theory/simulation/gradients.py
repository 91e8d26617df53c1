"""Gradient oracles: the gradient estimates of a client's local steps.

FullGradient         g_i = grad f_i(x)
NoisyGradient        g_i = grad f_i(x) + N(0, s^2 I): a stochastic gradient whose variance is known, d s^2;
RecordGradient       the mean over a random subset of the client's records, each record's gradient clipped on its
                     own, plus Gaussian noise: noble2022 Algorithms 1 and 2, lines 8 to 13 and 7 to 11
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import GRADIENT, NOISE
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Problem, no_records
from dpfl_theory.simulation.base import Context
from dpfl_theory.simulation.hyperparameters import PerReplicate, fits_replicates, noisy, positive, to_json

MEDIAN = "median"
"""The clipping threshold of noble2022 D.1: the median length of the current gradients. It depends on the data."""


@dataclass(frozen=True)
class Batches:
    """sizes, counts (n,): each client's records, and how many of them a step uses; size, count: these numbers where all
    clients have the same, else None."""

    sizes: Any
    counts: Any
    size: int | None
    count: int | None


def batches(problem: Problem, share: float) -> Batches:
    """The batches of a share of each client's records. Raises InputError where a client would have an empty one."""
    data = getattr(problem, "data", None)
    if data is None:
        raise no_records(problem, "a gradient of records")
    return _batches(data, share)


def whole_part(share: float, records: Any) -> Any:
    """floor(sR), where s R is a whole number up to rounding.

    >>> whole_part(0.29, np.array([100, 99])).tolist()  # 0.29 * 100 is 28.999999999999996
    [29, 28]
    """
    return np.floor(share * records * (1.0 + 1e-12)).astype(np.int64)


@lru_cache(maxsize=8)  # asked in every local step
def _batches(data: LinearData, share: float) -> Batches:
    sizes = data.records
    counts = whole_part(share, sizes)
    if counts.min() < 1:
        least = int(sizes.min())
        need = f"a client has {least} records, so give at least 1/{least}"
        raise InputError(f"the share of records is {share:g}: {need}")
    size, count = (int(own[0]) if (own == own[0]).all() else None for own in (sizes, counts))
    return Batches(sizes, counts, size, count)


class Gradient(ABC):
    """A (stochastic) gradient oracle of the clients' objectives."""

    private: bool = False
    """Whether the oracle itself adds noise for privacy."""

    @abstractmethod
    def evaluate(self, context: Context, w: Any, clients: Any, k: int, step: int) -> Any:
        """g_i(w) of clients i = clients[a, s], None for all n, at their own parameters w (A, S, d) in local step
        ``step`` of round k: (A, S, d) [F/X]."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The oracle's name and parameters as plain JSON data."""

    def validate(self, problem: Problem, replicates: int) -> None:
        """Raise InputError when the oracle does not fit the problem or the number of replicates."""
        for name, value in vars(self).items():
            if not isinstance(value, str):
                fits_replicates(name, value, replicates)


@dataclass(frozen=True)
class FullGradient(Gradient):
    """The gradient of the client's objective, without error."""

    def evaluate(self, context: Context, w: Any, clients: Any, k: int, step: int) -> Any:
        return context.gradients(w, clients)

    def describe(self) -> dict[str, Any]:
        return {"gradient": "full"}


@dataclass(frozen=True)
class NoisyGradient(Gradient):
    """The full gradient plus N(0, deviation^2 I): unbiased, with variance sigma_l^2 = d deviation^2 [F^2/X^2].

    >>> NoisyGradient(0.1).describe()
    {'gradient': 'noisy', 'deviation': 0.1}
    """

    deviation: PerReplicate

    def __post_init__(self) -> None:
        positive("the deviation of the stochastic gradient", self.deviation, zero=True)

    def evaluate(self, context: Context, w: Any, clients: Any, k: int, step: int) -> Any:
        error = context.normals(k, GRADIENT, clients, step)
        return context.gradients(w, clients) + context.per_replicate(self.deviation)[:, None] * error

    def describe(self) -> dict[str, Any]:
        return {"gradient": "noisy", "deviation": to_json(self.deviation)}


@dataclass(frozen=True)
class RecordGradient(Gradient):
    """noble2022's private stochastic gradient of a client with R records, in the paper's notation

        H = (1/(sR)) sum_{j in S} g_j / max(1, ||g_j||/C) + (2C/(sR)) N(0, sigma_g^2 I),   |S| = floor(sR),

    S a uniform subset without replacement, g_j the gradient of one record. The gradients g_j are never formed.

    share: s in (0, 1].  threshold: C [F/X]; None for no clipping (then there can be no noise); or ``"median"``, the
    heuristic of D.1: the median of the current lengths ||g_j||. **It depends on the data, and no privacy theorem covers
    it**; ``describe`` says so.  noise_multiplier: sigma_g >= 0.

    >>> RecordGradient(share=0.2, threshold=1.0, noise_multiplier=60.0).describe()["share"]
    0.2
    """

    share: float = 1.0
    threshold: PerReplicate | str | None = None
    noise_multiplier: PerReplicate = 0.0

    def __post_init__(self) -> None:
        number = isinstance(self.share, (int, float, np.number)) and not isinstance(self.share, bool)
        if not number or not 0 < self.share <= 1:
            raise InputError(f"the share of records is {self.share!r}: it must lie in (0, 1]")
        positive("the noise multiplier", self.noise_multiplier, zero=True)
        if isinstance(self.threshold, str):
            if self.threshold != MEDIAN:
                raise InputError(f"the threshold is {self.threshold!r}: give a positive number, None or {MEDIAN!r}")
        elif self.threshold is not None:
            positive("the threshold C", self.threshold)
        elif noisy(self.noise_multiplier):
            raise InputError("noise is calibrated to the threshold C: give a threshold, or a noise multiplier of 0")

    @property
    def private(self) -> bool:  # type: ignore[override]
        """Whether noise is added and the threshold does not depend on the data."""
        return noisy(self.noise_multiplier) and not isinstance(self.threshold, str)

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        batches(problem, self.share)

    def evaluate(self, context: Context, w: Any, clients: Any, k: int, step: int) -> Any:
        engine, kernels = context.engine, context.kernels
        clients = context.everyone if clients is None else clients
        chosen, own = None, batches(context.problem, self.share)
        if self.share < 1.0:
            chosen = engine.subsets(context.replicates, k, clients, own.sizes, own.counts, step)
        fixed = self.threshold is not None and not isinstance(self.threshold, str)
        limit = context.per_replicate(self.threshold) if fixed else self.threshold
        sums, used = kernels.record_sums(w, clients, chosen, limit)  # type: ignore[attr-defined]
        size: Any = kernels.records[clients][:, :, None] if own.size is None else own.size  # type: ignore[attr-defined]
        expected = self.share * size
        if noisy(self.noise_multiplier):
            spread = 2.0 * used * context.per_replicate(self.noise_multiplier)
            sums = sums + spread[:, :, None] * context.normals(k, NOISE, clients, step)
        return sums / expected

    def describe(self) -> dict[str, Any]:
        described = {
            "gradient": "records",
            "share": to_json(self.share),
            # not "threshold": an algorithm that bounds its messages has its own threshold
            "record_threshold": self.threshold if isinstance(self.threshold, str) else to_json(self.threshold),
            "noise_multiplier": to_json(self.noise_multiplier),
        }
        if isinstance(self.threshold, str):
            described["privacy"] = "the median of the lengths depends on the data: no privacy theorem covers it"
        return described
