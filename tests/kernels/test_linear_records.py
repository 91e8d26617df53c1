"""Sums of clipped gradients of single records, which are never formed, against the sum of those that are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.compare import ENGINES
from oracles.record_gradient import gradient_of_record, record_sum

from dpfl_theory.kernels import linear_array
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.kernels.linear import LOSSES, LinearData
from dpfl_theory.problems.linear_model import LinearModel, linear_data

SIZES = [4, 1, 6]
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def data_of(loss: str, ridge: float, seed: int = 0, features: int = 3) -> LinearData:
    """Three clients with records that have very different lengths, one of them zero."""
    rng = np.random.default_rng(seed)
    N = sum(SIZES)
    labels = {"softmax": rng.integers(0, 3, N), "logistic": rng.choice([-1.0, 1.0], N)}
    x = rng.standard_normal((N, features)) * 10.0 ** rng.uniform(-1, 1, (N, 1))
    x[7] = 0.0
    parts = np.split(np.arange(N), np.cumsum(SIZES)[:-1])
    classes = 3 if loss == "softmax" else 1
    y = labels.get(loss, rng.standard_normal(N))
    return linear_data(x, y, parts, loss, threshold=0.4, ridge=ridge, classes=classes)


def expected_sums(data: LinearData, w: np.ndarray, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
    sums, used = np.zeros(w.shape), np.zeros(clients.shape)
    for a, s in np.ndindex(*clients.shape):
        subset = None if chosen is None else [int(j) for j in chosen[a, s] if j >= 0]
        C = threshold if threshold is None or isinstance(threshold, str) else float(threshold[s])
        sums[a, s], used[a, s] = record_sum(data, int(clients[a, s]), w[a, s], subset, C)
    return sums, used


def subsets_of(clients: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Record numbers of different counts, not in order, padded with -1."""
    chosen = np.full((*clients.shape, 5), -1)
    for a, s in np.ndindex(*clients.shape):
        size = SIZES[clients[a, s]]
        own = rng.permutation(size)[: rng.integers(1, min(size, 5) + 1)]
        chosen[a, s, : len(own)] = own
    return chosen


def disagreements(engine: Any, data: LinearData, w: np.ndarray, clients: Any, chosen: Any, threshold: Any) -> list[str]:
    """How sums and thresholds differ from those of the gradients formed."""
    sums, used = engine.linear_record_sums(data, w, clients, chosen, threshold)
    expected, bounds = expected_sums(data, w, clients, chosen, threshold)
    if sums.shape != expected.shape or used.shape != bounds.shape:
        return [f"shapes {sums.shape} and {used.shape}, not {expected.shape} and {bounds.shape}"]
    error = float(np.max(np.abs(sums - expected)))
    wrong = [f"sums differ by {error}"] if not error <= 1e-12 * max(1.0, float(np.max(np.abs(expected)))) else []
    return wrong if np.allclose(used, bounds, rtol=1e-12, atol=1e-12) else [*wrong, f"thresholds {used}, not {bounds}"]


def all_disagreements(engine: Any, loss: str, seed: int, ridge: float, size: float) -> list[str]:
    """Few clients in many slots, some twice; all records or some; no threshold, the median, one for each replicate."""
    rng = np.random.default_rng(seed)
    data = data_of(loss, ridge, seed)
    clients = rng.integers(0, 3, (4, 3))
    w = size * rng.standard_normal((4, 3, data.parameters))
    typical = np.median([np.linalg.norm(gradient_of_record(data, row, w[0, 0])) for row in range(sum(SIZES))])
    thresholds = (None, "median", typical * np.array([0.1, 1.0, 3.0]))
    return [
        sentence
        for chosen, threshold in itertools.product((None, subsets_of(clients, rng)), thresholds)
        for sentence in disagreements(engine, data, w, clients, chosen, threshold)
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", LOSSES)
@given(seed=st.integers(0, 2**32 - 1), ridge=st.sampled_from([0.0, 0.3, 5.0]), size=st.sampled_from([0.1, 1.0, 30.0]))
@example(seed=600, ridge=0.0, size=30.0)  # most gradients of logistic losses vanish, and so does their median
def test_sums_are_those_of_the_gradients_formed(loss: str, seed: int, ridge: float, size: float) -> None:
    for engine in ENGINES.values():
        assert all_disagreements(engine, loss, seed, ridge, size) == []


def test_the_thresholds_above_clip_some_gradients_and_not_others() -> None:
    for loss in LOSSES:
        data = data_of(loss, 0.0)
        w = np.random.default_rng(1).standard_normal(data.parameters)
        lengths = [np.linalg.norm(gradient_of_record(data, row, w)) for row in range(sum(SIZES))]
        assert 3.0 * min(lengths) < np.median(lengths) < max(lengths) / 3.0


@every_engine
@pytest.mark.parametrize("loss", LOSSES)
def test_single_gradients_are_derivatives_and_their_mean_is_the_clients(engine: Engine, loss: str) -> None:
    """The oracle's own gradients: each is the derivative of a model of one record; sums over all records are R_i times
    the gradient of f_i, from the kernels as from the model."""
    data = data_of(loss, 0.2)
    w = np.random.default_rng(2).standard_normal((3, 2, data.parameters))
    model = LinearModel(data)
    single = LinearModel(
        LinearData(data.x, data.y, np.arange(sum(SIZES) + 1), loss, data.threshold, data.ridge, data.classes)
    )
    for row, at in itertools.product(range(sum(SIZES)), w[0]):
        h = 1e-5
        slopes = [(single.client_value(row, at + h * e) - single.client_value(row, at - h * e)) / (2 * h)
                  for e in np.eye(len(at))]  # fmt: skip
        assert np.allclose(gradient_of_record(data, row, at), slopes, rtol=1e-5, atol=1e-6)
    clients = np.array([[0, 2], [1, 1], [2, 0]])
    sums, used = engine.linear_record_sums(data, w, clients, None, None)
    assert np.all(used == np.inf)
    means = model.kernels(engine).gradients_of(w, clients)
    for a, s in np.ndindex(3, 2):
        gradient = model.client_gradient(int(clients[a, s]), w[a, s])
        assert np.allclose(sums[a, s], SIZES[clients[a, s]] * gradient, rtol=1e-12, atol=1e-12)
        assert np.allclose(means[a, s], gradient, rtol=1e-12, atol=1e-12)


@every_engine
@pytest.mark.parametrize("width", [0, 1, 4])
@pytest.mark.parametrize("threshold", [None, "median", np.array([0.5, 2.0])], ids=["none", "median", "given"])
def test_no_records_add_up_to_nothing(engine: Engine, width: int, threshold: Any) -> None:
    """Not to all records; the median of no lengths is 0, and so is the ridge's share."""
    data = data_of("logistic", 0.7)
    clients, w = np.array([[0, 2]]), np.ones((1, 2, data.parameters))
    chosen = np.full((1, 2, width), -1)
    sums, used = engine.linear_record_sums(data, w, clients, chosen, threshold)
    assert not sums.any()
    expected = {None: [np.inf] * 2, "median": [0.0] * 2}.get(threshold if threshold is None else str(threshold))
    assert used[0].tolist() == ([0.5, 2.0] if expected is None else expected)


@every_engine
def test_a_gradient_as_long_as_the_threshold_is_left_alone(engine: Engine) -> None:
    data = linear_data([[3.0, 4.0], [0.0, 1.0]], [-1.0, 0.0], [np.arange(2)], "squared")
    w, who = np.zeros((1, 1, 2)), np.zeros((1, 1), dtype=np.int64)  # gradients (3, 4) and 0
    for C, expected in ((5.0, [3.0, 4.0]), (2.5, [1.5, 2.0]), (1e300, [3.0, 4.0])):
        assert engine.linear_record_sums(data, w, who, None, np.array([C]))[0][0, 0].tolist() == expected


def test_batches_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    data, clients = data_of("softmax", 0.1), rng.integers(0, 3, (5, 4))
    w, engine = rng.standard_normal((5, 4, data.parameters)), ENGINES["array"]
    whole = engine.linear_record_sums(data, w, clients, None, np.full(4, 0.3))
    monkeypatch.setattr(linear_array, "_LIMIT", 40)
    for a, b in zip(whole, engine.linear_record_sums(data, w, clients, None, np.full(4, 0.3))):
        assert np.allclose(a, b, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("width", [None, 1, 3])
@pytest.mark.parametrize("threshold", [None, "median", "given"])
def test_pairs_that_are_summed_together_are_summed_as_alone(loss: str, width: int | None, threshold: Any) -> None:
    """On the CPU bit for bit, also where pairs have different numbers of records, or none."""
    rng = np.random.default_rng(9)
    data, clients = data_of(loss, 0.1), rng.integers(0, 3, (30, 5))
    w, engine = rng.standard_normal((30, 5, data.parameters)), ENGINES["cpu"]
    chosen = None
    if width is not None:
        chosen = np.full((30, 5, width), -1)
        for a, s in np.ndindex(30, 5):
            records = rng.permutation(SIZES[clients[a, s]])[: rng.integers(0, width + 1)]
            chosen[a, s, : len(records)] = records
    limits = rng.uniform(0.1, 2.0, 5)
    sums, used = engine.linear_record_sums(data, w, clients, chosen, limits if threshold == "given" else threshold)
    for a, s in np.ndindex(30, 5):
        here = slice(a, a + 1), slice(s, s + 1)
        own = limits[s : s + 1] if threshold == "given" else threshold
        alone = engine.linear_record_sums(data, w[here], clients[here], None if chosen is None else chosen[here], own)
        assert np.array_equal(alone[0][0, 0], sums[a, s])
        assert alone[1][0, 0] == used[a, s]
