"""Counter-based noise: published vectors, addresses, distribution, and the array engine's copy of it.

Statistical tests are seeded; the rate at each assertion is the chance that a sound generator fails it for a random
seed.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutants.planting import mutated
from oracles.compare import ARRAY, CPU, ENGINES
from oracles.philox import cipher
from scipy import stats

from dpfl_theory.kernels import cpu
from dpfl_theory.kernels import engine as addresses
from dpfl_theory.kernels.array import _philox
from dpfl_theory.kernels.engine import COHORT, NOISE, Replicates
from dpfl_theory.kernels.philox import _encipher

ONES = 0xFFFFFFFF
VECTORS = {  # Random123's kat_vectors file: counter, key, output
    "zeros": ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    "ones": ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    "pi": (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
}
word = st.integers(0, 2**32 - 1)
small = st.integers(1, 5)


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("version", ["compiled", "plain", "array"])
def test_known_answers(name: str, version: str) -> None:
    counter, key, expected = VECTORS[name]
    words = [np.uint64(v) for v in (*counter, *key)]
    if version == "array":
        found = _philox(np, [np.array([v]) for v in words[:4]], [np.array([v]) for v in words[4:]])
        assert tuple(int(v[0]) for v in found) == expected
    else:
        made = np.array(words, dtype=np.uint64).reshape(6, 1)
        (_encipher if version == "compiled" else _encipher.py_func)(made, 1)
        assert tuple(made[:4, 0].tolist()) == expected == tuple(cipher(*counter, *key))


@pytest.mark.parametrize("shape", [(1, 300, 1), (3, 100, 3), (2, 2, 511), (1, 3, 514), (1, 2, 1100)])
def test_many_at_a_time_are_those_one_at_a_time(shape: tuple[int, int, int]) -> None:
    """Numbers are made some hundred at a time; where a group ends shows nowhere."""
    n, replicates, d = shape
    whole = CPU.normal(Replicates(5, 9, replicates), 3, n, d, stream=1)
    np.testing.assert_allclose(
        whole, ARRAY.normal(Replicates(5, 9, replicates), 3, n, d, stream=1), rtol=1e-10, atol=1e-13
    )
    for i, s, k in itertools.product({0, n - 1}, {0, 1, replicates - 2, replicates - 1}, {1, 2, 255, 256, d}):
        alone = CPU.normal_of(Replicates(5, 9 + s, 1), 3, np.array([[i]]), min(k, d), stream=1)
        assert np.array_equal(whole[i, s, : min(k, d)], alone[0, 0])
    uniforms = CPU.uniform(Replicates(5, 9, replicates), 3, 7, stream=1)
    for s in range(replicates):
        assert np.array_equal(uniforms[s : s + 1], CPU.uniform(Replicates(5, 9 + s, 1), 3, 7, stream=1))


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 7, 3), (3, 100, 3), (2, 300, 1), (1, 3, 514)])
def test_replicates_that_draw_nothing_have_zeros_and_the_others_their_numbers(
    engine: Any, shape: tuple[int, int, int]
) -> None:
    n, replicates, d = shape
    where = np.random.default_rng(3).random(replicates) < 0.3
    everything = engine.normal(Replicates(5, 9, replicates), 3, n, d, stream=1)
    for chosen in (where, ~where, np.zeros(replicates, dtype=bool), np.ones(replicates, dtype=bool)):
        found = engine.normal(Replicates(5, 9, replicates), 3, n, d, stream=1, where=chosen)
        assert np.array_equal(found, np.where(chosen[:, None], everything, 0.0))


GROUPS = {
    "the first group's names again": (
        "clients, first, replicates, np.int64(0),",
        "clients, 0, replicates, np.int64(0),",
        (1, 300, 1),
    ),
    "the first group's blocks again": (
        "_blocks_of(names, first, each, begin,",
        "_blocks_of(names, first, each, 0,",
        (1, 2, 514),
    ),
    "the next name too early": ("block == begin + blocks", "block == begin + blocks - 1", (1, 3, 5)),
}


REPLICATES = {
    "the first group's replicates again": ("where[(first + j) % len(where)]", "where[j % len(where)]"),
    "numbers in order of drawing": ("out[chosen[j], n] = part[j, n]", "out[j, n] = part[j, n]"),
    "ones for zeros": ("out[j] = 0.0", "out[j] = 1.0"),
    "the other replicates": ("% len(where)] != 0", "% len(where)] == 0"),
}


@pytest.mark.parametrize("fault", REPLICATES)
def test_a_fault_in_the_choice_of_replicates_is_noticed(
    fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.setattr(cpu, "philox", mutated("kernels.philox", *REPLICATES[fault], interpreted=True))
    with pytest.raises((AssertionError, IndexError)):
        test_replicates_that_draw_nothing_have_zeros_and_the_others_their_numbers(CPU, (3, 100, 3))
    record_property("kill", (f"philox: {fault}", "zeros and numbers"))


@pytest.mark.parametrize("fault", GROUPS)
def test_a_fault_in_the_groups_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    old, new, shape = GROUPS[fault]
    monkeypatch.setattr(cpu, "philox", mutated("kernels.philox", old, new, interpreted=True))
    with pytest.raises((AssertionError, IndexError)):
        test_many_at_a_time_are_those_one_at_a_time(shape)
    record_property("kill", (f"philox: {fault}", "one at a time"))


@given(
    seed=st.integers(0, 2**64 - 1), replicate=word, round_=word, step=word, stream=word, i=small, d=st.integers(1, 4)
)
def test_an_entry_is_the_two_philox_calls_of_its_address(
    seed: int, replicate: int, round_: int, step: int, stream: int, i: int, d: int
) -> None:
    """The address scheme, spelled out with the pure-Python cipher: a change would orphan old evidence."""
    name = cipher(replicate, i, step, stream, seed & ONES, seed >> 32)
    w = cipher((d - 1) // 2, round_, name[2], name[3], name[0], name[1])
    u, v = ((((w[j] << 32 | w[j + 1]) >> 11) + 0.5) / 2**53 for j in (0, 2))
    part = math.sin if d % 2 == 0 else math.cos
    normal = CPU.normal(Replicates(seed, replicate, 1), round_, i + 1, d, stream, step)
    assert normal[i, 0, d - 1] == pytest.approx(
        math.sqrt(-2 * math.log(u)) * part(2 * math.pi * v), rel=1e-12, abs=1e-15
    )
    if d <= 2:
        assert CPU.uniform(Replicates(seed, replicate, 1), round_, i + 1, stream, step)[0, i] == u


@given(seed=st.integers(0, 2**64 - 1), first=st.integers(0, 2**32 - 20), cut=small, clients=small, d=small, k=word)
def test_replicates_clients_and_coordinates_do_not_depend_on_the_batch(
    seed: int, first: int, cut: int, clients: int, d: int, k: int
) -> None:
    whole = Replicates(seed, first, cut + 3)
    parts = [Replicates(seed, first, cut), Replicates(seed, first + cut, 3)]
    for engine in ENGINES.values():
        normal = engine.normal(whole, k, clients, d, 2, 9)
        uniform = engine.uniform(whole, k, clients, 2, 9)
        again = np.concatenate([engine.normal(part, k, clients, d, 2, 9) for part in parts], axis=1)
        assert np.array_equal(normal, again)
        assert np.array_equal(uniform, np.concatenate([engine.uniform(part, k, clients, 2, 9) for part in parts]))
        assert np.array_equal(normal, engine.normal(whole, k, clients + 2, d, 2, 9)[:clients])
        assert np.array_equal(uniform, engine.uniform(whole, k, clients + 2, 2, 9)[:, :clients])
        for fewer in range(1, d):
            assert np.array_equal(normal[:, :, :fewer], engine.normal(whole, k, clients, fewer, 2, 9))


@given(
    seed=st.integers(0, 2**64 - 1), first=st.integers(0, 2**32 - 9), k=word, step=word, stream=word, d=st.integers(1, 9)
)
def test_the_array_engine_gives_the_same_numbers(seed: int, first: int, k: int, step: int, stream: int, d: int) -> None:
    replicates = Replicates(seed, first, 8)
    assert np.array_equal(ARRAY.uniform(replicates, k, 3, stream, step), CPU.uniform(replicates, k, 3, stream, step))
    normal = CPU.normal(replicates, k, 3, d, stream, step)
    assert ARRAY.normal(replicates, k, 3, d, stream, step).shape == normal.shape == (3, 8, d)
    assert np.max(np.abs(ARRAY.normal(replicates, k, 3, d, stream, step) - normal)) <= 1e-14


def test_no_two_addresses_share_a_number() -> None:
    """Small values in every place, so that words that are swapped, added or dropped collide; rate 1e-7 (birthdays)."""
    values = []
    for seed, k, step, stream in itertools.product((0, 1, 2, 2**32, 2**32 + 1, 2**33), range(5), range(5), range(5)):
        values.append(CPU.uniform(Replicates(seed, 0, 7), k, 7, stream, step).ravel())
    everything = np.concatenate(values)
    assert len(np.unique(everything)) == len(everything) == 6 * 5 * 5 * 5 * 49


def test_the_streams_are_distinct() -> None:
    numbers = [value for value in vars(addresses).values() if isinstance(value, int)]
    assert len(numbers) == len(set(numbers)) >= 4


def test_uniforms_fill_the_open_interval_evenly() -> None:
    u = CPU.uniform(Replicates(1, 0, 1000), 0, 500, COHORT).ravel()
    assert 0.0 < u.min() < u.max() < 1.0
    assert stats.kstest(u, "uniform").pvalue > 1e-9  # rate 1e-9
    cells = np.bincount((u * 4096).astype(int), minlength=4096)
    low = np.bincount(((u * 2**41) % 4096).astype(int), minlength=4096)  # bits 30 to 41
    for counts in (cells, low):
        p = stats.chisquare(counts).pvalue
        assert 1e-9 < p < 1 - 1e-9  # rate 2e-9 each: too even is wrong, too


def test_normals_have_the_moments_and_the_tails_of_a_normal() -> None:
    z = CPU.normal(Replicates(2, 0, 200), 3, 50, 101, NOISE).ravel()
    N = len(z)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs(np.mean(z**power) - mean) < 6.5 * math.sqrt(variance / N), power  # rate 1e-10 each (normal limit)
    assert stats.kstest(z, "norm").pvalue > 1e-9  # rate 1e-9
    beyond = int(np.sum(np.abs(z) > 4.0))
    assert 1e-9 < stats.binom.cdf(beyond, N, 2 * stats.norm.sf(4.0)) < 1 - 1e-9  # rate 2e-9


def test_neighbouring_addresses_are_uncorrelated() -> None:
    """Values and squares; |correlation| sqrt(N) > 6.5 has rate 1e-10 in each of the 20 cases."""

    def draw(k: int = 0, stream: int = 0, step: int = 0, seed: int = 4) -> np.ndarray:
        return CPU.normal(Replicates(seed, 0, 101), k, 101, 100, stream, step)

    z = draw()
    pairs = {
        "replicate": (z[:, :-1], z[:, 1:]),
        "client": (z[:-1], z[1:]),
        "block": (z[:, :, :-2], z[:, :, 2:]),
        "cosine and sine": (z[:, :, 0::2], z[:, :, 1::2]),
        "replicate and client": (z, z.transpose(1, 0, 2)),
        "round": (z, draw(k=1)),
        "stream": (z, draw(stream=1)),
        "step": (z, draw(step=1)),
        "seed": (z, draw(seed=5)),
        "high seed": (z, draw(seed=4 + 2**32)),
    }
    for name, (a, b) in pairs.items():
        a, b = (a[~np.eye(101, dtype=bool)], b[~np.eye(101, dtype=bool)]) if name == "replicate and client" else (a, b)
        for x, y in ((a.ravel(), b.ravel()), (a.ravel() ** 2 - 1, b.ravel() ** 2 - 1)):
            z_score = np.corrcoef(x, y)[0, 1] * math.sqrt(len(x) / (2 if name == "replicate and client" else 1))
            assert abs(z_score) < 6.5, name
