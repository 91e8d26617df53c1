"""Normals of chosen clients and random subsets of records: addresses, distribution, and the array engine's copy.

Statistical tests are seeded; the rate at each assertion is the chance that a sound generator fails it for a random
seed.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutants.planting import mutated
from oracles.compare import CPU, ENGINES
from oracles.philox import cipher
from scipy import stats

from dpfl_theory.kernels import cpu
from dpfl_theory.kernels.engine import RECORDS, Engine, Replicates

ONES = 0xFFFFFFFF
TINY = 1e-9
word = st.integers(0, 2**32 - 1)
seeds = st.integers(0, 2**64 - 1)
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


@functools.lru_cache(maxsize=64)
def by_definition(seed: int, replicate: int, k: int, client: int, step: int, size: int, count: int) -> list[int]:
    """The ``count`` records with the smallest keys: the uniforms of the address's blocks, two records a block."""
    name = cipher(replicate, client, step, RECORDS, seed & ONES, seed >> 32)
    keys = []
    for block in range((size + 1) // 2):
        w = cipher(block, k, name[2], name[3], name[0], name[1])
        keys += [(w[0] << 32 | w[1]) >> 11, (w[2] << 32 | w[3]) >> 11]
    return sorted(sorted(range(size), key=keys.__getitem__)[:count])


def disagreements(engine: Any, seed: int, first: int, k: int, step: int, size: int, count: int) -> list[str]:
    """How subsets differ from the definition; clients of other sizes pad with -1."""
    sizes, counts, clients = np.array([4, size]), np.array([1, count]), np.array([[1, 0], [0, 1]])
    found = engine.subsets(Replicates(seed, first, 2), k, clients, sizes, counts, step)
    if found.shape != (2, 2, max(1, min(size, count))):
        return [f"the shape is {found.shape}"]
    wrong = []
    for (a, s), i in np.ndenumerate(clients):
        expected = by_definition(seed, first + s, k, int(i), step, int(sizes[i]), int(counts[i]))
        if found[a, s].tolist() != expected + [-1] * (found.shape[2] - len(expected)):
            wrong.append(f"client {i}, replicate {s}: {found[a, s]}, not {expected}")
    return wrong


@given(seed=seeds, first=st.integers(0, 2**32 - 3), k=word, step=word, size=st.integers(1, 9), count=st.integers(0, 10))
def test_a_subset_is_that_of_its_address(seed: int, first: int, k: int, step: int, size: int, count: int) -> None:
    """Also none at all, all, and more than there are."""
    for engine in ENGINES.values():
        assert disagreements(engine, seed, first, k, step, size, count) == []


def large_subsets_agree() -> bool:
    """Where keys share buckets, and a few are sorted."""
    cases = ((300, 1), (300, 77), (301, 300), (1000, 200), (1001, 1000), (257, 128), (256, 5), (40, 8))
    return all(disagreements(CPU, 11, 7, 3, 5, size, count) == [] for size, count in cases)


def test_a_large_subset_is_that_of_its_address() -> None:
    assert large_subsets_agree()


FAULTS = {
    "the first in its bucket": ("kth_smallest(spare[:few], k - 1)", "np.min(spare[:few])"),
    "counted among all keys": ("k -= tally[own]", "k -= 0"),
    "a bucket too far": ("while k > tally[own]", "while k >= tally[own]"),
    "the keys of all buckets": ("few += int(keys[j] * buckets) == own", "few += 1"),
    "one record too many": ("places[found] = j", "places[found] = j + 1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_large_subsets_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    monkeypatch.setattr(cpu, "philox", mutated("kernels.philox", *FAULTS[fault], interpreted=True))
    try:
        agree = large_subsets_agree()
    except (IndexError, ValueError):
        agree = False
    assert not agree
    record_property("kill", (f"subsets: {fault}", "by definition"))


@every_engine
def test_nobody_may_be_asked_for(engine: Engine) -> None:
    assert engine.subsets(Replicates(1, 0, 3), 0, np.zeros((2, 3), int), np.array([5]), np.array([0])).shape == (
        2,
        3,
        0,
    )


@given(seed=seeds, first=st.integers(0, 2**31), k=word, step=word, d=st.integers(1, 5), draw=st.integers(0, 99))
def test_slots_and_batches_do_not_matter(seed: int, first: int, k: int, step: int, d: int, draw: int) -> None:
    """What a client gets in a replicate is the same in any place and batch; its normals are those of `normal`."""
    rng = np.random.default_rng(draw)
    n, replicates, slots = 6, 4, 3
    clients = rng.integers(0, n, (slots, replicates))
    sizes, counts = rng.integers(1, 12, n), rng.integers(0, 9, n)
    for engine in ENGINES.values():
        whole = Replicates(seed, first, replicates)
        normal = engine.normal(whole, k, n, d, 4, step)
        chosen = engine.normal_of(whole, k, clients, d, 4, step)
        assert chosen.shape == (slots, replicates, d)
        assert np.array_equal(chosen, normal[clients, np.arange(replicates)])
        subsets = engine.subsets(whole, k, clients, sizes, counts, step)
        order = rng.permutation(slots)
        assert np.array_equal(subsets[order], engine.subsets(whole, k, clients[order], sizes, counts, step))
        for part in (slice(0, 1), slice(1, 4)):
            some = Replicates(seed, first + part.start, part.stop - part.start)
            own = np.ascontiguousarray(clients[:, part])
            assert np.array_equal(subsets[:, part], engine.subsets(some, k, own, sizes, counts, step))
            assert np.array_equal(chosen[:, part], engine.normal_of(some, k, own, d, 4, step))
        assert np.array_equal(subsets, CPU.subsets(whole, k, clients, sizes, counts, step))


def numbers_of_subsets(
    engine: Engine, size: int, count: int, rounds: int, replicates: int = 500, step: int = 0
) -> np.ndarray:
    """Which of the subsets each of two clients got: (rounds, 2, replicates)."""
    place = {subset: j for j, subset in enumerate(itertools.combinations(range(size), count))}
    everyone = np.repeat(np.arange(2)[:, None], replicates, axis=1)
    drawn = [
        engine.subsets(Replicates(9, 3, replicates), k, everyone, np.full(2, size), np.full(2, count), step)
        for k in range(rounds)
    ]
    return np.array(
        [[[place[tuple(subset)] for subset in replicate] for replicate in found.tolist()] for found in drawn]
    )


@every_engine
@pytest.mark.parametrize(("size", "count"), [(5, 2), (4, 3), (7, 1), (6, 3)])
def test_every_subset_is_as_likely(engine: Engine, size: int, count: int) -> None:
    drawn = numbers_of_subsets(engine, size, count, 8).ravel()
    counts = np.bincount(drawn, minlength=math.comb(size, count))
    assert TINY < stats.chisquare(counts).pvalue < 1 - TINY  # rate 2e-9: too even is wrong, too


def test_neighbouring_subsets_are_independent() -> None:
    """Of replicates, clients, rounds and local steps; chi-square of the table of pairs, rate 1e-9 each."""
    here, later = numbers_of_subsets(CPU, 5, 2, 9), numbers_of_subsets(CPU, 5, 2, 9, step=1)
    pairs = {
        "replicate": (here[:, :, :-1:2], here[:, :, 1::2]),
        "client": (here[:, 0], here[:, 1]),
        "round": (here[:-1:2], here[1::2]),
        "step": (here, later),
    }
    for name, (a, b) in pairs.items():
        table = np.zeros((10, 10))
        np.add.at(table, (a.ravel(), b.ravel()), 1)
        assert stats.chi2_contingency(table).pvalue > TINY, name
        assert table.sum() >= 4000
