"""The GPU engine against the CPU engine; run with `pytest --device cuda tests/kernels/test_cuda.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles.compare import CPU, PROBLEMS, disagreements, problem_of, starting_points
from short_forms import bound_of, fedavg, scaffold, two_sided

from dpfl_theory import kernels
from dpfl_theory.algorithms.error_feedback import InformedNormEC
from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew
from dpfl_theory.kernels.cuda import CudaEngine, unavailable_reason
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.simulation import (
    Cohort,
    NoisyGradient,
    RecordGradient,
    Simulation,
    WeightedAverage,
    simulate,
)

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def gpu(request: pytest.FixtureRequest) -> Any:
    """The GPU engine; with --device cuda its absence is an error."""
    reason = unavailable_reason()
    if reason is not None and request.config.getoption("--device") != "cuda":
        pytest.skip(reason)
    return CudaEngine()


def close(engine: Any, found: Any, expected: np.ndarray, relative: float = 1e-12) -> None:
    assert found.shape == expected.shape
    assert found.dtype == np.float64
    error = float(np.max(np.abs(engine.to_host(found) - expected), initial=0.0))
    assert error <= relative * max(1.0, float(np.max(np.abs(expected), initial=0.0)))


@pytest.mark.parametrize(
    "replicates", [Replicates(0, 0, 1), Replicates(2**64 - 1, 2**32 - 300, 300), Replicates(7, 5, 33)]
)
@pytest.mark.parametrize(("clients", "d"), [(1, 1), (3, 2), (7, 201)])
def test_noise(gpu: Any, replicates: Replicates, clients: int, d: int) -> None:
    for round_, stream, step in ((0, 0, 0), (2**32 - 1, 3, 2**32 - 1)):
        close(
            gpu,
            gpu.normal(replicates, round_, clients, d, stream, step),
            CPU.normal(replicates, round_, clients, d, stream, step),
        )
        uniform = gpu.to_host(gpu.uniform(replicates, round_, clients, stream, step))
        assert np.array_equal(uniform, CPU.uniform(replicates, round_, clients, stream, step))


@pytest.mark.parametrize(
    "replicates", [Replicates(0, 0, 1), Replicates(2**64 - 1, 2**32 - 300, 300), Replicates(7, 5, 33)]
)
def test_normals_and_subsets_of_chosen_clients(gpu: Any, replicates: Replicates) -> None:
    """Subsets agree to the last record; some clients have fewer records than are asked for, one is asked for none."""
    rng = np.random.default_rng(4)
    clients = rng.integers(0, 6, (4, replicates.count))
    sizes, counts = np.array([5, 1, 40, 7, 3, 12]), np.array([2, 1, 17, 0, 9, 6])
    there = gpu.xp.asarray(clients)
    for round_, step in ((0, 0), (2**32 - 1, 2**32 - 1)):
        close(
            gpu,
            gpu.normal_of(replicates, round_, there, 7, 4, step),
            CPU.normal_of(replicates, round_, clients, 7, 4, step),
        )
        found = gpu.to_host(gpu.subsets(replicates, round_, there, sizes, counts, step))
        assert np.array_equal(found, CPU.subsets(replicates, round_, clients, sizes, counts, step))


@pytest.mark.parametrize("threshold", [None, "median", 0.6], ids=str)
@pytest.mark.parametrize("name", ["huber", "logistic", "softmax"])
def test_sums_of_records(gpu: Any, name: str, threshold: Any) -> None:
    problem = problem_of(name)
    assert isinstance(problem, LinearModel)
    rng = np.random.default_rng(5)
    clients, w = rng.integers(0, 6, (4, 3)), rng.standard_normal((4, 3, problem.d))
    limits = np.array([0.1, 0.5, 2.0]) if isinstance(threshold, float) else threshold
    chosen = CPU.subsets(Replicates(1, 0, 3), 0, clients, np.diff(problem.data.offsets), np.full(6, 3))
    cpu, cuda = problem.kernels(CPU), problem.kernels(gpu)
    on_gpu = limits if limits is None or isinstance(limits, str) else gpu.asarray(limits)
    for subset in (None, chosen):
        there = None if subset is None else gpu.xp.asarray(subset)
        found = cuda.record_sums(gpu.asarray(w), gpu.xp.asarray(clients), there, on_gpu)
        for a, b in zip(found, cpu.record_sums(w, clients, subset, limits)):
            assert np.array_equal(np.isfinite(gpu.to_host(a)), np.isfinite(b))
            close(gpu, gpu.xp.nan_to_num(a, posinf=0.0), np.nan_to_num(b, posinf=0.0))


NEW = {
    "two-sided": two_sided(0.3, 1.2, 2, 1.0, 0.1, Cohort("poisson", 2), NoisyGradient(0.1)),
    "records": two_sided(0.3, 1.2, 2, cohort=Cohort("fixed", 2), gradient=RecordGradient(0.5, 0.7, 0.3)),
    "median": two_sided(0.3, 1.2, 2, gradient=RecordGradient(0.5, "median", 0.3)),
    "norm-ec": Simulation(InformedNormEC(gamma=0.1, alpha=0.1, beta=0.2, sigma=0.1, memory=0.5)),
    "scaffold": scaffold(0.3, 1.2, 2, Cohort("fixed", 2), RecordGradient(0.5, 0.7, 0.3), 2, True),
    "average": WeightedAverage(Simulation(ScaffNew(eta=0.3, p=0.5), gradient=NoisyGradient(0.1)), 0.9),
}


@pytest.mark.parametrize("name", ["huber", "logistic", "softmax"])
@pytest.mark.parametrize("algorithm", NEW.values(), ids=NEW)
def test_a_whole_run_of_the_others(gpu: Any, algorithm: Any, name: str) -> None:
    problem = problem_of(name)
    cpu, cuda = (simulate(algorithm, problem, 20, 5, 3, device=engine) for engine in (CPU, gpu))
    assert np.max(np.abs(cuda.final - cpu.final)) <= 1e-9 * float(np.max(np.abs(cpu.final)))
    assert np.allclose(cuda["suboptimality"].mean, cpu["suboptimality"].mean, rtol=1e-9, atol=1e-12)
    assert disagreements(algorithm, problem, engine=gpu) == []


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 4), (9, 17, 255), (4, 2, 256), (3, 2, 1000)])
def test_combinations(gpu: Any, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    n, replicates, _ = shape
    updates = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, (n, replicates, 1))
    updates[rng.random((n, replicates)) < 0.2] = 0.0
    weights, threshold = rng.standard_normal((replicates, n)), 10.0 ** rng.uniform(-2, 2, replicates)
    there = [gpu.asarray(x) for x in (updates, weights, threshold)]
    close(gpu, gpu.combine(*there[:2]), CPU.combine(updates, weights))
    for normalise in (False, True):
        total, norms = gpu.bounded_combine(*there, normalise)
        expected, lengths = CPU.bounded_combine(updates, weights, threshold, normalise)
        close(gpu, total, expected)
        close(gpu, norms, lengths)


def test_a_view_is_combined_like_its_copy(gpu: Any) -> None:
    updates = np.random.default_rng(2).standard_normal((3, 4, 10))
    weights, threshold = np.ones((4, 3)), np.ones(4)
    view = gpu.asarray(updates)[:, ::2, ::-1]
    found, _ = gpu.bounded_combine(view, gpu.asarray(weights[::2]), gpu.asarray(threshold[::2]), False)
    close(gpu, found, CPU.bounded_combine(updates[:, ::2, ::-1].copy(), weights[::2], threshold[::2], False)[0])


def test_segments(gpu: Any) -> None:
    """Equal segments, ragged ones and one without a column."""
    rng = np.random.default_rng(3)
    for sizes in ([2, 2, 2], [3, 0, 1, 5]):
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        R, n = int(offsets[-1]), len(sizes)
        y, factors, rows = rng.standard_normal((6, R)), rng.standard_normal((2, R)), np.array([0, 1, 1, 0, 1, 0])
        scale, eigenvalues = rng.standard_normal((6, n)), rng.uniform(0.0, 2.0, R)
        xp = gpu.xp
        z, norms = gpu.segment_update(gpu.asarray(y), gpu.asarray(factors), xp.asarray(rows), xp.asarray(offsets))
        expected = CPU.segment_update(y, factors, rows, offsets)
        close(gpu, z, expected[0])
        close(gpu, norms, expected[1])
        scaled = gpu.segment_scale(gpu.asarray(y), gpu.asarray(scale), xp.asarray(offsets))
        close(gpu, scaled, CPU.segment_scale(y, scale, offsets))
        energy = gpu.segment_energy(gpu.asarray(y), gpu.asarray(eigenvalues), xp.asarray(offsets))
        close(gpu, energy, CPU.segment_energy(y, eigenvalues, offsets))


@pytest.mark.parametrize("scheme", [Cohort(), Cohort("fixed", 2), Cohort("poisson", 2.5)], ids=lambda c: c.scheme)
@pytest.mark.parametrize("bounding", ["clip", "normalise"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_whole_run_of_fedavg(gpu: Any, name: str, bounding: str, scheme: Cohort) -> None:
    """Quadratics, Huber, logistic and softmax: 40 rounds with noise, streamed observables included."""
    problem = problem_of(name)
    algorithm = fedavg(0.4 / problem.constants.L_max, 3, None, bound_of(bounding, 0.5), scheme, 0.2)
    observe = ["suboptimality", "distance-squared", "unclipped-share", "weighted-excess", "snr", "cohort-size"]
    start = starting_points(problem, 5)
    cpu, cuda = (
        simulate(algorithm, problem, 40, 5, 3, observe, start=start, device=engine) for engine in (CPU, gpu)
    )  # fmt: skip
    scale = float(np.max(np.abs(cpu.final)))
    assert np.max(np.abs(cuda.final - cpu.final)) <= 1e-9 * scale
    for key in observe:
        assert np.allclose(cuda[key].mean, cpu[key].mean, rtol=1e-9, atol=1e-12), key
    assert cuda.configuration["device"].startswith("cuda")
    assert disagreements(algorithm, problem, engine=gpu) == []


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_whole_run_of_scaffnew(gpu: Any, name: str) -> None:
    problem = problem_of(name)
    algorithm = Simulation(DPScaffNew(eta=0.5 / problem.constants.L_max, p=0.4, C=1.0, sigma=0.1))
    cpu, cuda = (
        simulate(algorithm, problem, 40, 5, 3, ["scaffnew-lyapunov"], device=engine) for engine in (CPU, gpu)
    )  # fmt: skip
    assert np.max(np.abs(cuda.final - cpu.final)) <= 1e-9 * float(np.max(np.abs(cpu.final)))
    assert np.allclose(cuda["scaffnew-lyapunov"].mean, cpu["scaffnew-lyapunov"].mean, rtol=1e-9)
    assert disagreements(algorithm, problem, engine=gpu) == []


def test_auto_takes_the_gpu(gpu: Any) -> None:
    assert kernels.select("auto").name == kernels.select("cuda").name == gpu.name == "cuda"
