"""Every engine operation: the CPU engine and the array engine (NumPy in CuPy's place) against plain NumPy."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.compare import ENGINES
from threadpoolctl import threadpool_info

from dpfl_theory import kernels
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.cuda import unavailable_reason
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.kernels.linear import LOSSES
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.runtime import threads

every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
ragged = st.lists(st.integers(0, 4), min_size=1, max_size=6).filter(any)
seeds = st.integers(0, 2**32 - 1)
replicates_ = st.integers(1, 5)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert np.max(np.abs(found - expected), initial=0.0) <= 1e-12 * max(
        1.0, float(np.max(np.abs(expected), initial=0.0))
    )


def offsets_of(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@given(sizes=ragged, replicates=replicates_, seed=seeds)
def test_segments(sizes: list[int], replicates: int, seed: int) -> None:
    """Also clients without a column, as a quadratic of rank 0 has."""
    rng = np.random.default_rng(seed)
    offsets = offsets_of(sizes)
    R, n = int(offsets[-1]), len(sizes)
    y, factors, rows = rng.standard_normal((replicates, R)), rng.standard_normal((3, R)), rng.integers(0, 3, replicates)
    scale, eigenvalues = rng.standard_normal((replicates, n)), rng.uniform(0.0, 2.0, R)
    y[0] = 0.0
    z = np.array([factors[rows[s]] * y[s] for s in range(replicates)])
    parts = [slice(offsets[i], offsets[i + 1]) for i in range(n)]
    norms = np.array([[np.linalg.norm(z[s, part]) for part in parts] for s in range(replicates)])
    scaled = np.concatenate([scale[:, [i]] * z[:, part] for i, part in enumerate(parts)], axis=1)
    energy = np.array([[0.5 * np.sum(eigenvalues[p] * y[s, p] ** 2) for p in parts] for s in range(replicates)])
    for engine in ENGINES.values():
        found, lengths = engine.segment_update(y, factors, rows, offsets)
        same(found, z)
        same(lengths, norms)
        same(engine.segment_scale(z, scale, offsets), scaled)
        same(engine.segment_energy(y, eigenvalues, offsets), energy)


@given(n=st.integers(1, 5), replicates=replicates_, d=st.integers(1, 5), seed=seeds)
def test_combinations(n: int, replicates: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    updates = rng.standard_normal((n, replicates, d)) * 10.0 ** rng.integers(-6, 7, (n, replicates, 1))
    updates[rng.random((n, replicates)) < 0.2] = 0.0
    weights = rng.standard_normal((replicates, n)) * (rng.random((replicates, n)) < 0.8)
    threshold = 10.0 ** rng.uniform(-3, 3, replicates)
    lengths = np.linalg.norm(updates, axis=2).T
    plain, clipped, normalised = (np.zeros((replicates, d)) for _ in range(3))
    for s in range(replicates):
        for i in range(n):
            u, length = updates[i, s], lengths[s, i]
            plain[s] += weights[s, i] * u
            if length > 0.0:
                clipped[s] += weights[s, i] * min(1.0, threshold[s] / length) * u
                normalised[s] += weights[s, i] * threshold[s] / length * u
    for engine in ENGINES.values():
        same(engine.combine(updates, weights), plain)
        for normalise, expected in ((False, clipped), (True, normalised)):
            found, norms = engine.bounded_combine(updates, weights, threshold, normalise)
            same(found, expected)
            same(norms, lengths)


@every_engine
def test_an_update_as_long_as_the_threshold_is_left_alone(engine: Engine) -> None:
    """To the last bit, by both boundings; the next threshold below shortens it."""
    updates, weights = np.array([[[3.0, 4.0]], [[0.0, 0.0]]]), np.array([[1.0, 1.0]])
    for normalise in (False, True):
        total, norms = engine.bounded_combine(updates, weights, np.array([5.0]), normalise)
        assert total.tolist() == [[3.0, 4.0]]
        assert norms.tolist() == [[5.0, 0.0]]
        total, _ = engine.bounded_combine(updates, weights, np.array([2.5]), normalise)
        assert total.tolist() == [[1.5, 2.0]]
    assert engine.bounded_combine(updates, weights, np.array([10.0]), False)[0].tolist() == [[3.0, 4.0]]
    assert engine.bounded_combine(updates, weights, np.array([10.0]), True)[0].tolist() == [[6.0, 8.0]]


@every_engine
@pytest.mark.parametrize("size", [1e-120, 1.0, 1e120])
def test_the_size_of_the_numbers_does_not_matter(engine: Engine, size: float) -> None:
    updates = size * np.array([[[3.0, 4.0]], [[6.0, 8.0]]])
    total, _ = engine.bounded_combine(updates, np.ones((1, 2)), np.array([5.0 * size]), False)
    assert total == pytest.approx(size * np.array([[6.0, 8.0]]), rel=1e-14)


@every_engine
@pytest.mark.parametrize("loss", LOSSES)
def test_linear_models(engine: Engine, loss: str) -> None:
    rng = np.random.default_rng(7)
    sizes, replicates, steps = [3, 1, 5], 4, 3
    classes = 3 if loss == "softmax" else 1
    labels = {"softmax": rng.integers(0, 3, 9), "logistic": rng.choice([-1.0, 1.0], 9)}
    parts = np.split(np.arange(9), np.cumsum(sizes)[:-1])
    data = linear_data(
        rng.standard_normal((9, 2)), labels.get(loss, rng.standard_normal(9)), parts, loss,
        threshold=0.4, ridge=0.2, classes=classes,
    )  # fmt: skip
    model = LinearModel(data)
    d = model.d
    w, own = rng.standard_normal((replicates, d)), rng.standard_normal((3, replicates, d))
    step = rng.uniform(0.01, 0.5, replicates)
    gradients = np.array([[model.client_gradient(i, own[i, s]) for s in range(replicates)] for i in range(3)])
    values = np.array([[model.client_value(i, w[s]) for i in range(3)] for s in range(replicates)])
    updates = np.zeros((3, replicates, d))
    for i in range(3):
        for s in range(replicates):
            at = w[s]
            for _ in range(steps):
                at = at - step[s] * model.client_gradient(i, at)
            updates[i, s] = (w[s] - at) / step[s]
    same(engine.linear_gradients(data, own), gradients)
    same(engine.linear_values(data, w), values)
    same(engine.linear_local_phase(data, w, step, steps), updates)


@every_engine
def test_arrays_cross_the_boundary_as_contiguous_doubles(engine: Engine) -> None:
    there = engine.asarray(np.arange(6, dtype=np.int32).reshape(2, 3).T)
    assert there.dtype == np.float64
    assert there.flags.c_contiguous
    assert np.array_equal(engine.to_host(there), np.arange(6).reshape(2, 3).T)
    assert engine.xp is np
    assert engine.name
    assert engine.description


def test_no_operation_is_untested() -> None:
    """Every abstract operation of the interface is called in this directory's tests."""
    here = "".join(path.read_text() for path in __import__("pathlib").Path(__file__).parent.glob("test_*.py"))
    operations = [name for name, value in vars(Engine).items() if inspect.isfunction(value)]
    assert operations
    assert [name for name in operations if f".{name}(" not in here] == []


@every_engine
def test_the_blas_has_one_thread_inside_and_its_own_number_after(engine: Engine) -> None:
    def counts() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = counts()
    with engine.single_blas():
        assert not isinstance(engine, CpuEngine) or set(counts()) == {1}
    assert counts() == before


def test_a_bound_on_threads_is_given_back() -> None:
    engine = CpuEngine()
    before = engine.threads
    assert before == threads.usable_cores()
    with threads.bounded(1):
        assert engine.threads == 1
    assert engine.threads == before


def test_auto_says_what_it_chose() -> None:
    engine = kernels.select("auto")
    assert engine.name == ("cpu" if unavailable_reason() else "cuda")
    assert engine.description.startswith(engine.name)
    assert kernels.select().name == engine.name
    assert kernels.select("cpu").name == "cpu"


@pytest.mark.skipif(unavailable_reason() is None, reason="there is a usable GPU")
def test_cuda_without_a_gpu_is_an_error_that_names_the_remedy() -> None:
    with pytest.raises(EnvironmentFault, match=r"^device 'cuda' cannot be used: .+; choose 'cpu' or 'auto'$") as caught:
        kernels.select("cuda")
    assert str(unavailable_reason()) in str(caught.value)
    assert caught.value.exit_code == 5


def test_an_unknown_device_is_named() -> None:
    with pytest.raises(InputError, match=r"^`device` is 'gpu': choose one of auto, cpu, cuda$"):
        kernels.select("gpu")


def test_importing_the_kernels_does_not_ask_for_cupy() -> None:
    program = """
import sys
import threading
class Refuse:
    def find_spec(self, name, path=None, target=None):
        assert name.split(".")[0] != "cupy", "cupy was asked for"
sys.meta_path.insert(0, Refuse())
import dpfl_theory, dpfl_theory.kernels, dpfl_theory.kernels.cpu, dpfl_theory.kernels.cuda, dpfl_theory.simulation
dpfl_theory.kernels.select("cpu")
try:
    dpfl_theory.kernels.select("cuda")
except AssertionError:
    print("asked only for cuda")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "asked only for cuda", done.stderr


def test_the_blas_keeps_one_thread_while_anybody_is_inside() -> None:
    """Whoever came first may leave first, and from another thread than the one that leaves last."""

    def counts() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threads.single_blas():
        pass  # loads the BLAS
    before = counts()
    inside, leave, seen = threading.Event(), threading.Event(), []

    def first() -> None:
        with threads.single_blas():
            inside.set()
            assert leave.wait(30)

    def second() -> None:
        with threads.single_blas():
            leave.set()
            one.join()
            seen.append(counts())

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    assert inside.wait(30)
    two.start()
    two.join()
    assert seen == [{1}]
    assert counts() == before
