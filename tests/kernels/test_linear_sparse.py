"""Kernels for CSR records against those for the same records as an array, and faults planted into the former."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracles.compare import ENGINES
from oracles.sparse import FAULTS, LOSSES, SIZES, faulty, pair

from dpfl_theory.errors import InputError
from dpfl_theory.kernels import linear_sparse, select
from dpfl_theory.kernels.cuda import CudaEngine
from dpfl_theory.kernels.engine import ONLY_DENSE
from dpfl_theory.kernels.linear import LinearData, linear_local_phase

KINDS = ("local phase", "gradients", "values", "record sums")


def results(data: LinearData) -> Iterator[tuple[str, Any]]:
    """What each kernel makes of the records, at points that depend on sizes alone."""
    engine, rng = ENGINES["cpu"], np.random.default_rng(4)
    replicates, n = 19, data.clients
    w, own = rng.standard_normal((replicates, data.parameters)), rng.standard_normal((n, replicates, data.parameters))
    yield "local phase", engine.linear_local_phase(data, w, rng.uniform(0.01, 0.2, replicates), 4)
    yield "gradients", engine.linear_gradients(data, own)
    yield "values", engine.linear_values(data, w)
    clients, at = rng.integers(0, n, (4, 3)), rng.standard_normal((4, 3, data.parameters))
    some = np.full((4, 3, 3), -1)
    for a, s in np.ndindex(4, 3):
        taken = rng.permutation(SIZES[clients[a, s]])[:3]
        some[a, s, : len(taken)] = taken
    for chosen, threshold in itertools.product((None, some), (None, "median", np.array([0.1, 1.0, 3.0]))):
        for found in engine.linear_record_sums(data, at, clients, chosen, threshold):
            yield "record sums", found


def differing(dense: LinearData, thin: LinearData) -> set[str]:
    """The kernels that do not make the same of both."""
    pairs = zip(results(dense), results(thin))
    return {kind for (kind, a), (_, b) in pairs if not np.allclose(a, b, rtol=1e-12, atol=1e-13)}


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
def test_kernels_make_the_same_of_sparse_records(loss: str, ridge: float) -> None:
    dense, thin = pair(loss, ridge)
    assert thin.sparse
    assert not dense.sparse
    assert differing(dense.data, thin.data) == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_in_the_records_are_noticed_in_every_kernel(fault: str) -> None:
    dense, thin = pair("logistic", 0.3)
    assert differing(dense.data, faulty(thin, fault).data) == set(KINDS)


@pytest.mark.parametrize("place", ["places", "starts", "own"])
def test_a_fault_in_the_clients_own_columns_is_noticed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dense, thin = pair("logistic", 0.3)
    right = linear_sparse.layout(thin.data)
    wrong = {
        "places": lambda: {"places": np.zeros_like(right.places)},
        "starts": lambda: {"starts": right.starts - right.starts[0] - (np.arange(len(right.starts)) > SIZES[0])},
        "own": lambda: {"columns": np.sort(np.roll(right.columns, 1))},
    }[place]()
    monkeypatch.setattr(linear_sparse, "layout", lambda data: right._replace(**wrong))
    assert differing(dense.data, thin.data) == {"local phase", "gradients", "values"}


def test_only_the_cohort_is_run() -> None:
    dense, thin = pair("softmax", 0.3)
    rng = np.random.default_rng(1)
    w, step = rng.standard_normal((5, thin.d)), np.full(5, 0.1)
    cohort = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    found, expected = linear_local_phase(thin.data, w, step, 3, cohort), linear_local_phase(dense.data, w, step, 3)
    inside = (cohort != 0.0).T[:, :, None]
    np.testing.assert_allclose(found, np.where(inside, expected, 0.0), rtol=1e-12, atol=1e-13)


def test_blocks_of_replicates_do_not_matter() -> None:
    """With one client of many columns the replicates go in several blocks."""
    dense, thin = pair("logistic", 0.1, features=9000, sizes=(3, 2))
    w, step = np.random.default_rng(2).standard_normal((21, 9000)), np.full(21, 0.1)
    assert 8 == max(8, 131072 // (3 * len(linear_sparse.layout(thin.data).columns) // 2)) < 21
    np.testing.assert_allclose(
        linear_local_phase(thin.data, w, step, 2), linear_local_phase(dense.data, w, step, 2), rtol=1e-11, atol=1e-12
    )


def test_the_gpu_refuses_sparse_records_and_auto_takes_the_cpu() -> None:
    with pytest.raises(InputError, match="sparse records run only on the CPU"):
        select("cuda", sparse=True)
    assert select("auto", sparse=True).name == "cpu"
    _, thin = pair("logistic")
    with pytest.raises(InputError) as caught:
        CudaEngine.asarray(object.__new__(CudaEngine), thin.data.x)
    assert str(caught.value) == ONLY_DENSE
