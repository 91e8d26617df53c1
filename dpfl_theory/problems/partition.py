"""How records are split over clients: lists of index arrays, one for each client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError
from dpfl_theory.problems.validation import choice, count, fraction

Indices = NDArray[np.int64]

PARTITIONS = ("iid", "shards", "similarity")
"""The partitions that ``partition`` knows by name."""


def _enough(records: int, parts: int, label: str) -> None:
    if parts > records:
        raise InputError(f"{parts} {label} are more than the {records} records: request at most {records}")


def iid(records: int, clients: int, seed: int = 0) -> list[Indices]:
    """All records in random order, cut into equal parts (sizes differ by at most one).

    >>> [len(own) for own in iid(7, 3)]
    [3, 2, 2]
    """
    records, clients = count("records", records), count("clients", clients)
    _enough(records, clients, "clients")
    order = np.random.default_rng(count("seed", seed, 0)).permutation(records)
    return [np.sort(part) for part in np.array_split(order, clients)]


def label_shards(labels: Any, clients: int, shards_per_client: int = 5, seed: int = 0) -> list[Indices]:
    """Label-sorted shards (das2022 Appendix H, with 5 shards for each client).

    Records are sorted by label and divided into ``shards_per_client * clients`` equal shards; each client gets
    ``shards_per_client`` of them, uniformly at random without replacement. Where the records do not divide evenly the
    shards' sizes differ by at most one. A shard that crosses a class boundary has two classes. (The paper chooses n so
    that neither happens.)

    >>> parts = label_shards([0, 0, 1, 1, 2, 2], clients=3, shards_per_client=1, seed=0)
    >>> sorted(part.tolist() for part in parts)
    [[0, 1], [2, 3], [4, 5]]
    """
    labels = np.asarray(labels)
    clients, each = count("clients", clients), count("shards_per_client", shards_per_client)
    _enough(len(labels), clients * each, "shards")
    shards = np.array_split(np.argsort(labels, kind="stable"), clients * each)
    order = np.random.default_rng(count("seed", seed, 0)).permutation(len(shards))
    return [np.sort(np.concatenate([shards[k] for k in own])) for own in np.array_split(order, clients)]


def similarity(labels: Any, clients: int, percent: float, seed: int = 0) -> list[Indices]:
    """gamma-percent similarity: each client's records are ``percent`` % i.i.d., the rest sorted by label.

    >>> [part.tolist() for part in similarity([0, 0, 1, 1], clients=2, percent=0)]
    [[0, 1], [2, 3]]
    """
    labels = np.asarray(labels)
    clients = count("clients", clients)
    _enough(len(labels), clients, "clients")
    share = fraction("percent / 100", percent / 100 if isinstance(percent, (int, float)) else percent)
    order = np.random.default_rng(count("seed", seed, 0)).permutation(len(labels))
    cut = round(share * len(labels))
    mixed, rest = order[:cut], np.sort(order[cut:])
    # The two cuts put their larger parts at opposite ends, so that sizes differ by at most one.
    first = np.array_split(mixed, clients)[::-1]
    second = np.array_split(rest[np.argsort(labels[rest], kind="stable")], clients)
    return [np.sort(np.concatenate([a, b])) for a, b in zip(first, second)]


def natural_groups(groups: Sequence[Any]) -> list[Indices]:
    """One client for each distinct group, in sorted order.

    >>> [part.tolist() for part in natural_groups(["b", "a", "b"])]
    [[1], [0, 2]]
    """
    _, number = np.unique(np.asarray(groups), return_inverse=True)
    return [np.flatnonzero(number == k) for k in range(number.max() + 1)]


def partition(
    name: str, labels: Any, clients: int, seed: int = 0, shards_per_client: int = 5, percent: float = 10.0
) -> list[Indices]:
    """The partition called ``name``, one of ``PARTITIONS``.

    >>> [len(own) for own in partition("iid", [0, 1, 0, 1], clients=2)]
    [2, 2]
    """
    choice("partition", name, PARTITIONS)
    if name == "iid":
        return iid(len(labels), clients, seed)
    if name == "shards":
        return label_shards(labels, clients, shards_per_client, seed)
    return similarity(labels, clients, percent, seed)
