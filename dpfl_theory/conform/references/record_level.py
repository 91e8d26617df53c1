"""DP-SCAFFOLD and DP-FedAvg that protect single records: noble2022 Algorithms 1 and 2.

    H_i(y) = (1/b) sum_{j in B} g_j min(1, C/||g_j||) + (2C/b) N(0, sigma_g^2 I),   B of b = floor(s R) distinct records

in place of grad f_i(y), g_j being the gradient of one record. Replacing a record moves the sum by up to 2C; adding or
leaving out a record moves it by up to C. The batches are those that the function itself drew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.averaging import clipped
from dpfl_theory.conform.base import ETA_G, ETA_L, Fault, Hyperparameter, Reading, Values, faulty, generic
from dpfl_theory.conform.mistakes.control_variates import FAULTS
from dpfl_theory.conform.references.scaffold import K, Scaffold
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["LOTS", "REFERENCES", "DPFedAvgRecord", "DPScaffold", "batch_size"]

C = Hyperparameter(
    "C", "threshold of a record's gradient [F/X]", (0.8, 1.7), also=("threshold", "clip", "clip_norm", "max_norm")
)
S = Hyperparameter("s", "share of the records in a local step", (1.0, 0.5), "share", ("share",))
Z = Hyperparameter(
    "noise_multiplier", "sigma_g, noise multiplier of a local step", (1.3, 0.6), "nonnegative", ("z", "sigma_g")
)

Part = Callable[..., Any]


def batch_size(v: Values, records: int) -> int:
    """floor(s R)."""
    return int(v["s"] * records * (1.0 + 1e-12))


def _each(client: Client, y: Array, v: Values, empty: bool = False) -> Array:
    """The gradients of the next batch's records; of all records where the function chose none. empty: missing batches
    have no records, since the function may skip empty ones. An empty batch moves nothing, so its place does not
    matter."""
    batches = v.get("batches", {}).get(client.number, ())
    taken = v.setdefault("taken", {}) if isinstance(v, dict) else {}
    k = taken.get(client.number, 0)
    taken[client.number] = k + 1
    if empty and "batches" in v and v["s"] < 1.0 and k >= len(batches):
        return client.record_gradients(y, [])
    batch = batches[k % len(batches)] if batches else None
    return client.record_gradients(y, None if batch is None else list(batch))


def _one_by_one(g: Array, v: Values) -> Array:
    lengths = np.sqrt((g * g).sum(axis=1, keepdims=True))
    return np.asarray(g * np.minimum(1.0, v["level"] / np.maximum(lengths, 1e-300)))


def _private(
    bound: Callable[[Array, Values], Array] = _one_by_one,
    mean: Callable[[Array, Values, int], Array] = lambda g, v, records: np.asarray(g.mean(axis=0)),
    deviation: Callable[[Values, int, int], float] = lambda v, b, records: v["unit"] / b * v["noise_multiplier"],
    empty: bool = False,
) -> Part:
    """H_i with these parts; records is R, b the size of the batch;  empty: as in `_each`."""

    def gradient(client: Client, y: Array, v: Values, rng: Any) -> Array:
        each = _each(client, y, v, empty)
        scale = deviation(v, len(each), len(client))
        noise = rng.normal(0.0, scale, len(y)) if scale > 0.0 else 0.0
        return np.asarray(mean(bound(each, v), v, len(client)) + noise)

    return gradient


LOTS = "lots of records that are drawn independently"


def _lots(words: str, sensitivity: Callable[[Values], float]) -> Fault:
    return faulty(
        LOTS,
        "a batch has each record with probability s, so that its size varies, and the sum is divided by s R, with "
        f"noise of {words}: this is Poisson sampling, but the algorithm draws floor(s R) records. Account for it as "
        "Poisson sampling, not by the algorithm's theorem",
        "average",
        gradient=_private(
            empty=True,
            mean=lambda g, v, records: g.sum(axis=0) / (v["s"] * records),
            deviation=lambda v, b, records: sensitivity(v) / (v["s"] * records) * v["noise_multiplier"],
        ),
    )


OWN = (
    _lots("the sensitivity that was declared", lambda v: float(v["unit"])),
    _lots("the sensitivity of adding or leaving out a record, C", lambda v: float(v["level"])),
    faulty(
        "clip of the batch's mean",
        "the mean gradient of a batch is clipped, not each record's: one record can then move it by as much as all "
        "together",
        "clip",
        "",
        True,
        gradient=_private(bound=lambda g, v: clipped(g.mean(axis=0), v["level"])[None, :].repeat(len(g), 0)),
    ),
    faulty("no clipping", "records' gradients are not clipped", "clip", "", True, gradient=_private(lambda g, v: g)),
    faulty(
        "per-coordinate clipping",
        "each coordinate is clipped to [-C, C]: scale a record's whole gradient by min(1, C/||g||)",
        "clip",
        "",
        True,
        gradient=_private(bound=lambda g, v: np.clip(g, -v["level"], v["level"])),
    ),
    faulty(
        "division by all records in place of the batch",
        "the sum over the batch is divided by R: divide it by the batch's size",
        "average",
        gradient=_private(mean=lambda g, v, records: g.sum(axis=0) / records),
    ),
    faulty("no noise", "no noise is added", "noise", "", True, gradient=_private(deviation=lambda v, b, records: 0.0)),
    faulty(
        "half the sensitivity",
        "the noise is calibrated to C/b: replacing a record moves the mean by 2C/b",
        "noise",
        "",
        True,
        gradient=_private(deviation=lambda v, b, records: v["unit"] / 2 / b * v["noise_multiplier"]),
    ),
    faulty(
        "twice the sensitivity",
        "the noise is calibrated to 2C/b: leaving a record out moves the mean by C/b",
        "noise",
        gradient=_private(deviation=lambda v, b, records: v["unit"] * 2 / b * v["noise_multiplier"]),
    ),
    faulty(
        "sigma where the multiplier was meant",
        "the noise of a step has standard deviation sigma_g: it should be sigma_g times the sensitivity",
        "noise",
        "",
        True,
        gradient=_private(deviation=lambda v, b, records: v["noise_multiplier"]),
    ),
    faulty(
        "sensitivity without the clip threshold",
        "the noise does not depend on the threshold C",
        "noise",
        "",
        True,
        gradient=_private(deviation=lambda v, b, records: v["unit"] / v["level"] / b * v["noise_multiplier"]),
    ),
    faulty(
        "noise of the sum on the average",
        "noise that is meant for the sum over the batch is added to its mean",
        "noise",
        gradient=_private(deviation=lambda v, b, records: v["unit"] * v["noise_multiplier"]),
    ),
    faulty(
        "noise without the local step size",
        "the noise is added to the client's parameters, and only the gradient is multiplied by the step eta_l: the "
        "noise is 1/eta_l times the algorithm's, which adds it to the gradient",
        "noise",
        gradient=_private(deviation=lambda v, b, records: v["unit"] / b * v["noise_multiplier"] / v["local_step"]),
    ),
    faulty(
        "noise divided by all records in place of the batch",
        "the noise is calibrated to 2C/R: with b records in a step it should be 2C/b",
        "noise",
        "",
        True,
        gradient=_private(deviation=lambda v, b, records: v["unit"] / records * v["noise_multiplier"]),
    ),
    faulty(
        "batches for steps",
        "a local step is a whole pass over the batches: K counts gradients, not epochs",
        "local",
        "FL-bench, issue 3; FL4Health, pull request 64",
        steps=lambda v: v["local_steps"] * round(1.0 / v["s"]),
    ),
)
"""Mistakes in a record-level gradient."""
UNPROTECTED = tuple(
    faulty(
        "control variates of gradients without noise",
        "c_i^+ is a gradient that is neither clipped nor noisy, and information about it reaches the server through c "
        "and the client's next steps: form it from the noisy local steps, c_i - c + (w - y)/(K eta_l)",
        "control",
        "",
        True,
        control=control,
    )
    for control in (lambda t, v: t.exactly(t.y), lambda t, v: t.exactly(t.w))
)
PRIVATE = _private()


@dataclass(frozen=True)
class DPScaffold(Scaffold):
    """noble2022 Algorithm 1."""

    name: ClassVar[str] = "dp-scaffold"
    source: ClassVar[str] = "noble2022 Algorithm 1"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA_L, ETA_G, K, C, S, Z)
    unit: ClassVar[str] = "record"
    level: ClassVar[str] = "C"
    relation: ClassVar[str] = "replace"
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)

    gradient: Part = PRIVATE

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        v = generic(v, local_step="eta_l", global_step="eta_g", local_steps="K", level="C")
        v["unit"] = v["C"] * v["relation_factor"]
        if v.get("sigma") is not None:
            v["noise_multiplier"] = v["sigma"]
        return v

    def length(self, client: Client, world: World, v: Values) -> float:
        return float(np.median(np.linalg.norm(client.record_gradients(world.start), axis=1)))

    def sensitivity(self, v: Values) -> float | None:
        """The sensitivity for a client with R records, all of which take part: K steps, each moved by 2C/R."""
        if v["s"] < 1.0:
            return None  # the record may not be in any batch
        return float(v["eta_g"] * v["eta_l"] * v["K"] * v["unit"] / v["records"] / v["r"])

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*OWN, *UNPROTECTED, *FAULTS)


@dataclass(frozen=True)
class DPFedAvgRecord(DPScaffold):
    """noble2022 Algorithm 2."""

    name: ClassVar[str] = "dp-fedavg-record"
    source: ClassVar[str] = "noble2022 Algorithm 2"

    correction: Part = lambda own, c: 0.0 * own

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return (*OWN, *(fault for fault in FAULTS if fault.role != "control"))


REFERENCES = (DPScaffold, DPFedAvgRecord)
