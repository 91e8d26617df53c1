"""Partitions of records over clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfl_theory.errors import InputError
from dpfl_theory.problems.partition import PARTITIONS, iid, label_shards, natural_groups, partition, similarity


def assert_partition(parts: Sequence[np.ndarray], records: int) -> None:
    assert sorted(np.concatenate(parts).tolist()) == list(range(records))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(records=st.integers(1, 60), clients=st.integers(1, 60), seed=st.integers(0, 9), name=st.sampled_from(PARTITIONS))
def test_every_record_goes_to_exactly_one_client(records: int, clients: int, seed: int, name: str) -> None:
    labels = np.arange(records) % 3
    shards = 2
    if clients * (shards if name == "shards" else 1) > records:
        with pytest.raises(InputError, match="more than"):
            partition(name, labels, clients, seed, shards_per_client=shards)
        return
    parts = partition(name, labels, clients, seed, shards_per_client=shards)
    assert len(parts) == clients
    assert_partition(parts, records)
    sizes = [len(own) for own in parts]
    assert max(sizes) - min(sizes) <= (shards if name == "shards" else 1)
    again = partition(name, labels, clients, seed, shards_per_client=shards)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again))


def test_label_shards_limit_the_classes_of_a_client() -> None:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(10), 60))
    parts = label_shards(labels, clients=20, shards_per_client=5, seed=1)
    assert_partition(parts, 600)
    assert {len(own) for own in parts} == {30}
    classes = [len(np.unique(labels[own])) for own in parts]
    assert max(classes) <= 5
    # 60 records of a class make ten shards of six, so no shard mixes two classes.
    for own in parts:
        _, counts = np.unique(labels[own], return_counts=True)
        assert np.all(counts % 6 == 0)


def test_shards_are_dealt_uniformly() -> None:
    labels = np.repeat([0, 1], 50)
    together = [
        len(np.unique(labels[label_shards(labels, clients=2, shards_per_client=1, seed=seed)[0]])) for seed in range(20)
    ]
    assert together == [1] * 20
    first = np.mean([labels[label_shards(labels, 2, 1, seed)[0]][0] for seed in range(400)])
    assert abs(first - 0.5) < 0.1  # four standard deviations of a fair coin over 400 seeds


def test_similarity_goes_from_sorted_to_iid() -> None:
    labels = np.repeat(np.arange(5), 40)
    pure = [len(np.unique(labels[own])) for own in similarity(labels, 5, 0)]
    mixed = [len(np.unique(labels[own])) for own in similarity(labels, 5, 100)]
    assert pure == [1] * 5
    assert mixed == [5] * 5
    assert {len(own) for own in similarity(labels, 5, 33.3)} == {40}


def test_natural_groups_are_clients() -> None:
    parts = natural_groups([3, 1, 3, 2])
    assert [own.tolist() for own in parts] == [[1], [3], [0, 2]]


BAD: list[tuple[Any, str]] = [
    (lambda: iid(10, 11), "11 clients are more than the 10 records"),
    (lambda: iid(10, 0), "clients is 0"),
    (lambda: iid(10, -2), "clients is -2"),
    (lambda: iid(10, 2.5), "clients is 2.5"),
    (lambda: iid(10, True), "clients is True"),
    (lambda: iid(10, 2, seed=-1), "seed is -1"),
    (lambda: label_shards([0, 1, 0, 1], 2, 3), "6 shards are more than the 4 records"),
    (lambda: label_shards([0, 1], 1, 0), "shards_per_client is 0"),
    (lambda: similarity([0, 1], 1, 101), "a number between 0 and 1"),
    (lambda: similarity([0, 1], 1, float("nan")), "a number between 0 and 1"),
    (lambda: similarity([0, 1], 1, "many"), "a number between 0 and 1"),
    (lambda: partition("dirichlet", [0, 1], 2), "partition is 'dirichlet': choose one of iid, shards, similarity"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_bad_partitions_are_named(call: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
