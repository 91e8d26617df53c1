"""Records over i.i.d. and non-i.i.d. clients, and the data of zhang2021 Figure 1 on their local updates."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.base import Array
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import LinearModel, from_dataset, linear_data
from dpfl_theory.problems.partition import iid, label_shards, similarity
from dpfl_theory.problems.preparation import standardised
from dpfl_theory.problems.synthetic import synthetic_classes
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables import Observable

from .. import _records as records

CLIENTS = 40
KEYS = ("digits", "synthetic")
SHOWN = 16
"""The round whose updates are shown."""
PARTITIONS = {
    "iid": "i.i.d.",
    "mixed": "half i.i.d., half sorted",
    "shards5": "5 shards each",
    "shards2": "2 shards each",
    "shards1": "1 shard each",
}


@dataclass(frozen=True, eq=False)
class Draw:
    """One random draw of a measurement's data: the records, those that are held out, and, by ``seed``, the split of the
    others over clients."""

    key: str
    pool: Dataset
    test: LinearData
    seed: int

    def problem(self, partition: str) -> LinearModel:
        """The pool over clients."""
        labels = self.pool.y
        if partition == "iid":
            parts = iid(len(labels), CLIENTS, self.seed)
        elif partition == "mixed":
            parts = similarity(labels, CLIENTS, 50.0, self.seed)
        else:
            parts = label_shards(labels, CLIENTS, int(partition.removeprefix("shards")), self.seed)
        return from_dataset(self.pool, parts, "softmax", name=f"{self.key}, {PARTITIONS[partition]}")


@functools.cache
def _digits() -> Dataset:
    """The digits' 20 principal components."""
    return load("digits", standardise=False, bias=False, features=20)


def draws(seed: int, number: int) -> dict[str, Draw]:
    """Draw ``number`` (below 1000): digits, and new synthetic records with the same numbers of features and classes; a
    fifth of each is held out."""
    own = 1000 * seed + number
    x, y, _ = synthetic_classes(1, 20, 2000, 10, 0.0, 0.1, own)
    return {
        "digits": _draw("digits", _digits(), own),
        "synthetic": _draw("synthetic", Dataset("synthetic", x, y, 10), own),
    }


def _draw(key: str, found: Dataset, seed: int) -> Draw:
    held = round(0.2 * len(found.y))
    test, train = records.parted(len(found.y), [held, len(found.y) - held], [seed, 3])
    x = standardised(found.x, train, unit=True)
    pool = Dataset(found.name, x[train], found.y[train], found.classes)
    return Draw(key, pool, linear_data(x, found.y, [test], "softmax", classes=found.classes), seed)


class Updates:
    """Keeps the data of Figure 1: lengths and angles of the local updates in round SHOWN, and those of their average.

    lengths, angles: (cohort, replicates);  average: (2, replicates), length and angle; angles in degrees.
    """

    def __init__(self) -> None:
        self.before: Any = None
        self.lengths: Array
        self.angles: Array
        self.average: Array

    def observable(self) -> Observable:
        """The mean length of the local updates of a round [X]; as a by-product the rest is kept."""

        def evaluate(h: Round) -> Any:
            sent, xp = h.messages, h.context.engine.xp
            lengths = xp.sqrt((sent * sent).sum(axis=2))
            if h.k == SHOWN - 1:
                self.before = h.signal
            if h.k == SHOWN:
                host = h.context.engine.to_host
                self.lengths, self.angles = np.asarray(host(lengths)), self._angles(h, sent)
                mean = h.signal[None]
                self.average = np.stack(
                    [np.asarray(host(xp.sqrt((mean * mean).sum(axis=2))))[0], self._angles(h, mean)[0]]
                )
            return lengths.mean(axis=0)

        return Observable(
            "update-length",
            (0, 1),
            r"\frac{1}{|P_t|}\sum_i \|\Delta x_i^t\|",
            "mean length of the local updates",
            evaluate,
        )

    def _angles(self, h: Round, vectors: Any) -> Array:
        """Angles in degrees of vectors (A, replicates, d) to the last global update."""
        xp = h.context.engine.xp
        inner = (vectors * self.before[None]).sum(axis=2)
        lengths = xp.sqrt((vectors * vectors).sum(axis=2) * (self.before * self.before).sum(axis=1)[None])
        cosine = xp.clip(inner / xp.where(lengths > 0.0, lengths, 1.0), -1.0, 1.0)
        return np.asarray(np.degrees(np.arccos(np.asarray(h.context.engine.to_host(cosine)))))
