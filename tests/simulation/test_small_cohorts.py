"""Local phases of the clients in a small cohort alone, on linear models: the sums of the full phases."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from mutants.planting import mutated
from oracles.compare import CPU, disagreements, problem_of
from short_forms import bound_of, clip, fedavg

from dpfl_theory.kernels import linear
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.problems import linear_model, make
from dpfl_theory.simulation import Cohort, simulate

NAMES = ("huber", "logistic", "softmax", "unequal")
COHORTS = (Cohort("fixed", 2), Cohort("poisson", 1.5), Cohort("with-replacement", 2))


class Watched(CpuEngine):
    """The share of the clients that each local phase has to run; None where it was all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: list[float | None] = []

    def linear_local_phase(self, data: Any, w: Any, step: Any, steps: int, cohort: Any = None) -> Any:
        self.shares.append(None if cohort is None else np.count_nonzero(cohort) / cohort.size)
        return super().linear_local_phase(data, w, step, steps, cohort)


def kernel_agrees(module: ModuleType) -> bool:
    """Updates of the clients that are run, in replicates of their own and with their own steps, in several blocks."""
    rng = np.random.default_rng(2)
    for name in NAMES:
        data = problem_of(name).data
        w, step = rng.standard_normal((23, data.parameters)), rng.uniform(0.01, 0.3, 23)
        whole = linear.linear_local_phase(data, w, step, 3)
        for share in (0.0, 0.1, 0.6, 1.0):
            cohort = (rng.random((23, data.clients)) < share) * rng.uniform(0.1, 2.0, (23, data.clients))
            found = module.linear_local_phase(data, w, step, 3, cohort)
            expected = np.where(cohort.T[:, :, None] != 0.0, whole, 0.0)
            if not np.allclose(found, expected, rtol=1e-12, atol=1e-13):
                return False
    return True


FAULTS = {
    "steps of the first replicates": ("pace[few] = pace[s]", "pace[few] = pace[few]"),
    "updates go to the first replicates": ("taking[r // classes] * classes", "r // classes * classes"),
    "one class gets them all": ("* classes + r % classes]", "* classes]"),
    "the first client's cohort": ("classes + s, i] !=", "classes + s, 0] !="),
    "the first block's replicates": ("cohort[r0 // classes + s", "cohort[s"),
}


def test_chosen_clients_have_the_updates_that_all_have(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_agrees(linear)
    monkeypatch.setattr(linear, "linear_block", lambda _: 8)
    assert kernel_agrees(linear)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_choice_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    old, new = FAULTS[fault]
    broken = mutated("kernels.linear", old, new, interpreted=True)
    monkeypatch.setattr(broken, "linear_block", lambda _: 8)
    assert not kernel_agrees(broken)
    record_property("kill", (f"small cohorts: {fault}", "full phases"))


@pytest.mark.parametrize("bounding", ["none", "clip", "normalise"])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_reference(name: str, bounding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_model, "MOST_NUMBERS", 0)
    problem, engine = problem_of(name), Watched()
    step = [f / problem.constants.L_max for f in (0.3, 0.1, 0.5)]
    for cohort in COHORTS:
        operator = bound_of(bounding, *([] if bounding == "none" else [[0.1, 0.5, 2.0]]))
        algorithm = fedavg(step, 3, 0.2, operator, cohort, [0.0, 0.1, 0.3])
        assert disagreements(algorithm, problem, engine=engine) == []
    lines = [share for share in engine.shares if share is not None]
    assert len(lines) >= 5
    assert max(lines) < 0.5


def test_whoever_asks_for_all_updates_gets_them() -> None:
    problem = make("logistic-synthetic", clients=40, dimension=50, records=4, ridge=0.1, seed=1)
    engine = Watched()
    rng = np.random.default_rng(3)
    w, step = rng.standard_normal((64, 50)), np.full(64, 0.1)
    weights = np.zeros((64, 40))
    weights[:, :3] = 1.0 / 3.0
    whole = CPU.linear_local_phase(problem.data, w, step, 2)
    phase = problem.kernels(engine).local_phase(w, step, 2)
    np.testing.assert_allclose(phase.combine(weights), CPU.combine(whole, weights), rtol=1e-12)
    limit = np.full(64, 0.2)
    expected, norms = CPU.bounded_combine(whole, weights, limit, True)
    np.testing.assert_allclose(phase.bounded_combine(weights, limit, True), expected, rtol=1e-12)
    np.testing.assert_allclose(phase.lengths, norms, rtol=1e-12)
    assert phase.updates() is phase.updates()
    np.testing.assert_array_equal(phase.updates(), whole)
    phase.combine(weights)  # all updates are there by now
    assert engine.shares == [pytest.approx(3 / 40), pytest.approx(3 / 40), None]


def test_observables_see_all_clients() -> None:
    problem = make("logistic-synthetic", clients=40, dimension=50, records=4, ridge=0.1, seed=1)
    algorithm = fedavg(0.1, 2, bound=clip(0.2), cohort=Cohort("fixed", 3))
    observe = ["update-squared", "smallest-update", "inner-product"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_model, "_SMALL_COHORT", 0.0)
        full = simulate(algorithm, problem, 3, 64, observe=observe, device="cpu")
    engine = Watched()
    few = simulate(algorithm, problem, 3, 64, observe=observe, device=engine)
    assert engine.shares == [pytest.approx(3 / 40), None] * 3
    for name in observe:
        np.testing.assert_allclose(few[name].mean, full[name].mean, rtol=1e-10)


def test_large_cohorts_and_small_problems_run_everybody() -> None:
    """Where a tape may take over, what is done must not depend on who is drawn."""
    for clients, size, replicates in ((40, 20, 64), (40, 40, 64), (6, 1, 5)):
        problem = make("logistic-synthetic", clients=clients, dimension=50, records=4, ridge=0.1, seed=1)
        engine = Watched()
        simulate(fedavg(0.1, cohort=Cohort("fixed", size)), problem, 2, replicates, observe=[], device=engine)
        assert engine.shares == [None, None]
