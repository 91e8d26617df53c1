"""Simulations of descriptions: equal to the references in NumPy, on and off the tape, and on arrays in CuPy's place."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.compare import disagreements

from dpfl_theory import algorithms
from dpfl_theory.algorithms import get
from dpfl_theory.algorithms.averaging import Averaging, over_cohort
from dpfl_theory.conform.operations import Operations
from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.kernels.tape.replay import Player
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.simulation import Cohort, FullGradient, Run, Schedule, Simulation, Tabulated, simulate
from dpfl_theory.simulation.base import Context
from dpfl_theory.simulation.operations import BatchOperations

LOOP = sys.modules[simulate.__module__]
PROBLEMS = {
    "quadratic": make("quadratic", clients=5, dimension=3, seed=1),
    "quadratic of unequal ranks": make("quadratic", clients=4, dimension=3, rank=2, seed=2),
    "logistic": make("logistic-synthetic", clients=5, dimension=3, records=6, ridge=0.1, seed=1),
}
COHORTS = (Cohort(), Cohort("fixed", 2), Cohort("poisson", 1.5), Cohort("with-replacement", 3))
ROUNDS, REPLICATES = 60, 5
EACH = [0.1, 0.15, 0.2, 0.1, 0.05]
AVERAGED = get("dp-fedavg").with_parts(get("dp-fedavg").readings[1].parts)
NORMALISED = get("dp-normfedavg").with_parts(get("dp-normfedavg").readings[1].parts)
TWO_SIDED = get("dp-fedavg-two-sided").with_parts(get("dp-fedavg-two-sided").readings[1].parts)
TRAINED = {"eta_l": 0.1, "eta_g": 1.5, "K": 3}
RECORDS = {**TRAINED, "C": 0.3, "sigma_g": 0.7}
FEDAVG = {"eta": 0.1, "beta": 0.2, "E": 3}
LOCAL = {"eta": 0.1, "E": 2}
MCMAHAN = get("dp-fedavg-mcmahan")
RUNS: dict[str, Algorithm] = {
    "fedavg": get("fedavg")(**FEDAVG),
    "fedavg, schedules": get("fedavg")(eta=Schedule(0.1, 0.99), beta=Tabulated([0.1] * ROUNDS), E=2),
    "fedavg, one for each replicate": get("fedavg")(eta=EACH, beta=np.array(EACH), E=2),
    "dp-fedavg, clipped": get("dp-fedavg")(**FEDAVG, C=0.1, sigma=0.1),
    "dp-fedavg, not clipped": get("dp-fedavg")(**FEDAVG, C=1e3, sigma=0.1),
    "dp-fedavg, one for each replicate": get("dp-fedavg")(eta=EACH, beta=0.2, E=3, C=EACH, sigma=EACH),
    "dp-fedavg, some without noise": get("dp-fedavg")(**FEDAVG, C=0.5, sigma=[0.0, 0.1, 0.0, 0.1, 0.0]),
    "dp-fedavg, noise on the average": AVERAGED(**FEDAVG, C=0.5, sigma=0.1),
    "dp-normfedavg": get("dp-normfedavg")(**FEDAVG, C=0.3, sigma=0.1),
    "dp-normfedavg, noise on the average": NORMALISED(**FEDAVG, C=0.3, sigma=0.1),
    "fedavg-two-sided": get("fedavg-two-sided")(eta_l=0.1, eta_g=1.5, Q=3),
    "dp-fedavg-two-sided, clipped": get("dp-fedavg-two-sided")(eta_l=0.1, eta_g=1.5, Q=3, c=0.05, sigma=0.02),
    "dp-fedavg-two-sided, not clipped": get("dp-fedavg-two-sided")(eta_l=0.1, eta_g=1.5, Q=3, c=1e3, sigma=0.02),
    "dp-fedavg-two-sided, noise on the average": TWO_SIDED(eta_l=EACH, eta_g=1.5, Q=1, c=0.05, sigma=0.02),
    "scaffnew": get("scaffnew")(eta=0.3, p=0.3),
    "scaffnew, one for each replicate": get("scaffnew")(eta=EACH, p=0.3),
    "dp-scaffnew, clipped": get("dp-scaffnew")(eta=0.3, p=0.3, C=0.05, sigma=0.02),
    "dp-scaffnew, not clipped": get("dp-scaffnew")(eta=0.3, p=0.3, C=1e3, sigma=0.02),
    "dp-scaffnew, always": get("dp-scaffnew")(eta=0.3, p=1, C=EACH, sigma=EACH),
    "scaffold": get("scaffold")(**TRAINED),
    "scaffold, schedules": get("scaffold")(eta_l=Schedule(0.1, 0.99), eta_g=1.0, K=2),
    "scaffold, one for each replicate": get("scaffold")(eta_l=EACH, eta_g=EACH, K=2),
    "dp-clip21": get("dp-clip21")(gamma=0.2, tau=0.3, sigma=0.1),
    "dp-clip21, one for each replicate": get("dp-clip21")(gamma=EACH, tau=EACH, sigma=[0.0, 0.1, 0.0, 0.1, 0.0]),
    "dp-norm-ec": get("dp-norm-ec")(gamma=0.02, beta=0.3, alpha=0.5, sigma=0.1),
    "dp-norm-ec, one for each replicate": get("dp-norm-ec")(gamma=EACH, beta=EACH, alpha=EACH, sigma=EACH),
    "dp-scaffold": get("dp-scaffold")(**RECORDS, s=1.0),
    "dp-scaffold, no noise": get("dp-scaffold")(**TRAINED, C=0.3, sigma_g=0.0, s=1.0),
    "dp-scaffold, batches": get("dp-scaffold")(**RECORDS, s=0.5),
    "dp-fedavg-record": get("dp-fedavg-record")(**RECORDS, s=1.0),
    "dp-fedavg-record, no noise": get("dp-fedavg-record")(**TRAINED, C=0.3, sigma_g=0.0, s=1.0),
    "dp-fedavg-record, batches": get("dp-fedavg-record")(eta_l=0.1, eta_g=EACH, K=3, C=EACH, sigma_g=EACH, s=0.5),
    "dp-sgd-record": get("dp-sgd-record")(eta=0.1, C=0.3, sigma_g=0.7, s=1.0),
    "dp-sgd-record, batches": get("dp-sgd-record")(eta=0.1, C=0.3, sigma_g=0.7, s=0.5),
    "dp-fedavg-mcmahan": MCMAHAN(**LOCAL, C=0.05, w_hat=8.0, z=0.5),
    "dp-fedavg-mcmahan, one for each replicate": MCMAHAN(eta=EACH, E=2, C=EACH, w_hat=3.0, z=EACH),
    "dp-fedavg-mcmahan, clipped denominator": MCMAHAN.with_parts(MCMAHAN.readings[4].parts)(**LOCAL, C=0.05, z=0.5),
    "dp-fedavg-adaptive": get("dp-fedavg-adaptive")(**LOCAL, C=0.05, z=0.2, beta=0.5),
    "dp-fedavg-adaptive, one for each replicate": get("dp-fedavg-adaptive")(
        eta=EACH, E=2, C=EACH, z=EACH, sigma_b=0.3, gamma=0.7, eta_C=EACH
    ),
    "dp-ftrl": get("dp-ftrl")(**LOCAL, C=0.05, z=0.7),
    "dp-ftrl, trees of 3 rounds": get("dp-ftrl")(eta=EACH, E=2, C=EACH, z=EACH, restart=3),
    "dp-sgd": get("dp-sgd")(eta=0.5, C=0.3, z=0.7, s=1.0),
    "dp-sgd, lots": get("dp-sgd")(eta=EACH, C=EACH, z=EACH, s=0.3),
    "dp-fedavg-local": get("dp-fedavg-local")(**LOCAL, C=0.05, z=0.3),
    "dp-fedavg-local, divided by the expected number": get("dp-fedavg-local").with_parts(
        get("dp-fedavg-local").readings[1].parts
    )(eta=EACH, E=2, C=EACH, z=EACH),
}


LOCAL = {"eta": 0.1, "E": 3}
ADAPTIVE = {"eta_l": 0.1, "E": 3, "eta": 0.05, "beta_1": 0.7, "tau": 0.1}
WITHOUT_PRIVACY: dict[str, Algorithm] = {
    "fedavg-mcmahan": get("fedavg-mcmahan")(**LOCAL),
    "fedavg-mcmahan, batches": get("fedavg-mcmahan")(eta=EACH, E=2, eta_g=1.5, B=4),
    "fedprox": get("fedprox")(**LOCAL, mu=0.7),
    "fedprox, one for each replicate": get("fedprox")(eta=EACH, mu=EACH, E=2),
    "fedprox, batches": get("fedprox")(**LOCAL, mu=0.7, B=4),
    "fednova": get("fednova")(**LOCAL, rho=0.6),
    "fednova, batches": get("fednova")(eta=0.1, E=2, rho=[0.0, 0.5, 0.9, 0.3, 0.1], B=4),
    "fedavgm": get("fedavgm")(**LOCAL, beta=0.6),
    "fedadam": get("fedadam")(**ADAPTIVE, beta_2=0.9),
    "fedadam, one for each replicate": get("fedadam")(**{**ADAPTIVE, "tau": EACH, "beta_1": EACH}, beta_2=EACH),
    "fedyogi": get("fedyogi")(**ADAPTIVE, beta_2=0.9),
    "fedadagrad": get("fedadagrad")(**ADAPTIVE),
    "feddyn": get("feddyn")(**LOCAL, alpha=0.7),
    "feddyn, one for each replicate": get("feddyn")(eta=EACH, alpha=[0.3, 0.5, 1.0, 2.0, 4.0], E=2),
}
"""Algorithms as people implement them; all clients of some problems have equally many records."""
RUNS |= WITHOUT_PRIVACY


OFF_TAPE = ("dp-fedavg-adaptive", "dp-ftrl")
"""Algorithms whose rounds a tape cannot hold: it has no exponentials, and rounds must not depend on their number."""
SILENT = {
    "fedavg": RUNS["fedavg"],
    "dp-fedavg": get("dp-fedavg")(**FEDAVG, C=0.5, sigma=0.0),
    "dp-normfedavg": get("dp-normfedavg")(**FEDAVG, C=0.5, sigma=0.0),
    "fedavg-two-sided": RUNS["fedavg-two-sided"],
    "dp-fedavg-two-sided": get("dp-fedavg-two-sided")(eta_l=0.1, eta_g=1.5, Q=3, c=0.05, sigma=0.0),
    "scaffnew": get("scaffnew")(eta=0.3, p=1.0),
    "dp-scaffnew": get("dp-scaffnew")(eta=0.3, p=1.0, C=0.05, sigma=0.0),
    "scaffold": RUNS["scaffold"],
    "dp-clip21": get("dp-clip21")(gamma=0.2, tau=0.3, sigma=0.0),
    "dp-norm-ec": get("dp-norm-ec")(gamma=0.02, beta=0.3, alpha=0.5, sigma=0.0),
    "dp-scaffold": RUNS["dp-scaffold, no noise"],
    "dp-fedavg-record": get("dp-fedavg-record")(**TRAINED, C=0.3, sigma_g=0.0, s=1.0),
    "dp-sgd-record": get("dp-sgd-record")(eta=0.1, C=0.3, sigma_g=0.0, s=1.0),
    **{name: run for name, run in WITHOUT_PRIVACY.items() if name == run.name},
    "dp-fedavg-mcmahan": MCMAHAN(**LOCAL, C=0.05, w_hat=8.0, z=0.0),
    "dp-fedavg-adaptive": get("dp-fedavg-adaptive")(**LOCAL, C=0.05, z=0.0, beta=0.5),
    "dp-fedavg-local": get("dp-fedavg-local")(**LOCAL, C=0.05, z=0.0),
    "dp-sgd": get("dp-sgd")(eta=0.5, C=0.3, z=0.0, s=1.0),
    "dp-ftrl": get("dp-ftrl")(**LOCAL, C=0.05, z=0.0),
}


def with_records(run: Algorithm) -> bool:
    """Whether it draws records."""
    return run.protects == "record" or bool(getattr(run, "batch_size", 0))


def problems_of(run: Algorithm) -> tuple[str, ...]:
    """Problems on which the algorithm runs: gradients of records need records."""
    return ("logistic",) if with_records(run) else tuple(PROBLEMS)


def cohorts_of(run: Algorithm) -> tuple[Cohort, ...]:
    """Cohorts with which a batched simulation runs the algorithm.

    A client that is drawn twice would keep two control variates, and draw its noise and its records twice.
    """
    if not run.samplings:
        return COHORTS[:1]
    twice = not with_records(run) or (run.name == "dp-fedavg-record" and not np.any(run.noise_multiplier))
    return COHORTS if twice and run.name not in ("scaffold", "feddyn") else COHORTS[:3]


BOTH = [pytest.param(name, problem) for name, run in RUNS.items() for problem in problems_of(run)]


def run_of(algorithm: Any, problem: Any, rounds: int = ROUNDS, tape: bool = True, **options: Any) -> Run:
    arguments = {"replicates": REPLICATES, "seed": 3, "series": True, "device": "cpu", "start": np.ones(problem.d)}
    with pytest.MonkeyPatch.context() as patch:
        if not tape:
            patch.setattr(LOOP, "worthwhile", lambda *_: False)
        return simulate(algorithm, problem, rounds, **arguments, **options)


def close(a: Any, b: Any, relative: float = 1e-12) -> bool:
    return bool(np.abs(a - b).max() <= relative * np.abs(b).max())


def reference(run: Algorithm, problem: Any, cohort: Cohort, gradient: Any = None) -> list[str]:
    """How the simulation differs from the rounds in plain NumPy."""
    return disagreements(Simulation(run, cohort, gradient or FullGradient()), problem, replicates=REPLICATES)


@pytest.mark.exhaustive(keep=20)
@pytest.mark.parametrize(("name", "problem"), BOTH)
def test_a_simulation_is_the_rounds_in_numpy(name: str, problem: str) -> None:
    """Also with noise and coins, on the numbers of the same addresses."""
    for cohort in cohorts_of(RUNS[name]):
        assert reference(RUNS[name], PROBLEMS[problem], cohort) == []


def test_every_description_is_run() -> None:
    assert {run.name for run in RUNS.values()} == set(algorithms._own())


def test_simulate_takes_a_description() -> None:
    run, cohort = RUNS["dp-fedavg, clipped"], Cohort("poisson", 1.5)
    problem = PROBLEMS["quadratic"]
    found, same = run_of(run, problem, cohort=cohort), run_of(Simulation(run, cohort), problem)
    assert np.array_equal(found.final, same.final)
    assert found.configuration["algorithm"] == Simulation(run, cohort).describe()
    assert found.configuration["algorithm"]["algorithm"] == run.name


@pytest.mark.parametrize("cohort", COHORTS, ids=lambda cohort: cohort.scheme)
def test_observables_of_the_cohort_are_there(cohort: Cohort) -> None:
    run, problem, names = RUNS["dp-fedavg, clipped"], PROBLEMS["quadratic"], ("cohort-size", "empty-cohort")
    found = run_of(Simulation(run, cohort), problem, observe=names)
    counts = np.array([cohort.sample(context_of(problem, REPLICATES), k).sum(axis=1) for k in range(ROUNDS)])
    assert np.array_equal(found["cohort-size"].every_round, counts)
    assert np.array_equal(found["empty-cohort"].every_round, counts == 0.0)
    with pytest.raises(InputError, match="cohort"):
        run_of(Simulation(RUNS["scaffnew"]), problem, observe=names)


@pytest.mark.exhaustive(keep=20)
@pytest.mark.parametrize(("name", "problem"), BOTH)
def test_rounds_on_a_tape_are_those_without(name: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, and all rounds after the first three are played, except those of changing steps and those with
    records."""
    played, original = [0], Player.play

    def play(self: Player, state: Any, kept: Any, first: int, end: int) -> Any:
        found = original(self, state, kept, first, end)
        played[0] += found[1] - first
        return found

    monkeypatch.setattr(Player, "play", play)
    for cohort in cohorts_of(RUNS[name]):
        played[0] = 0
        one = run_of(Simulation(RUNS[name], cohort), PROBLEMS[problem])
        drawn = with_records(RUNS[name]) and (RUNS[name].protects == "record" or problem == "logistic")
        none = "schedules" in name or drawn or RUNS[name].name in OFF_TAPE
        assert played[0] == (0 if none else ROUNDS - 3)
        other = run_of(Simulation(RUNS[name], cohort), PROBLEMS[problem], tape=False)
        assert np.array_equal(one.final, other.final)
        assert np.array_equal(one["suboptimality"].every_round, other["suboptimality"].every_round)


@pytest.mark.exhaustive(keep=20)
@pytest.mark.parametrize(("name", "problem"), BOTH)
def test_rounds_on_an_array_module_are_those_on_the_cpu(name: str, problem: str) -> None:
    """NumPy in CuPy's place, without compiled kernels."""
    engine = ArrayEngine(np, "arrays", "arrays")
    for cohort in cohorts_of(RUNS[name]):
        batched = Simulation(RUNS[name], cohort)
        found = simulate(batched, PROBLEMS[problem], 10, REPLICATES, 3, device=engine)
        assert close(found.final, simulate(batched, PROBLEMS[problem], 10, REPLICATES, 3, device="cpu").final)


@pytest.mark.parametrize(
    "name", ["dp-fedavg, clipped", "scaffold", "dp-scaffold, batches", "dp-fedavg-record, no noise"]
)
def test_only_a_small_cohort_is_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a larger problem only the cohort's clients take their steps, and the rounds are the same."""
    problem, run = make("logistic-synthetic", clients=40, dimension=20, records=40, ridge=0.1, seed=1), RUNS[name]
    found = simulate(Simulation(run, Cohort("fixed", 4)), problem, 5, 5 * REPLICATES, device="cpu").final
    assert Simulation(run, Cohort("fixed", 4))._few(context_of(problem, 100)) == (name != "dp-fedavg, clipped")
    monkeypatch.setattr(Simulation, "_few", lambda *_: False)
    assert close(simulate(Simulation(run, Cohort("fixed", 4)), problem, 5, 5 * REPLICATES, device="cpu").final, found)


class Decayed(get("fedavg")):  # type: ignore[misc]
    """FedAvg with weight decay in the local steps, which are plain without it."""

    decay = Parameter("nu", "weight decay", "F/X^2", kind="nonnegative", default=0.0)

    def direction(self, o: Any, i: Any, y: Any, w: Any) -> Any:
        return self.gradient(o, i, y) + self.decay * y

    def steps_are_plain(self) -> bool:
        return bool(self.decay == 0.0)


@pytest.mark.parametrize(("given", "few"), [({}, False), ({"nu": 0.0}, False), ({"nu": 0.1}, True)])
def test_whether_steps_are_plain_is_told_by_defaults_too(given: dict[str, float], few: bool) -> None:
    problem = make("logistic-synthetic", clients=40, dimension=20, records=40, ridge=0.1, seed=1)
    assert Simulation(Decayed(**FEDAVG, **given), Cohort("fixed", 4))._few(context_of(problem, 100)) == few
    decayed, plain = (
        simulate(Simulation(run), PROBLEMS["quadratic"], 5, device="cpu").final
        for run in (Decayed(**FEDAVG, **given), get("fedavg")(**FEDAVG))
    )
    assert close(decayed, plain) != few


# Parts of the round that are replaced.


def test_a_reading_of_a_changed_algorithm() -> None:
    class Halved(get("dp-fedavg")):  # type: ignore[misc]
        def bound(self, o: Any, u: Any, updates: Any) -> Any:
            return o.clip(u, self.threshold / 2)

    run = Halved.with_parts(get("dp-fedavg").readings[1].parts)(**FEDAVG, C=0.5, sigma=0.1)
    assert close(
        run_of(run, PROBLEMS["logistic"]).final,
        run_of(AVERAGED(**FEDAVG, C=0.25, sigma=0.1), PROBLEMS["logistic"]).final,
    )


class _Client:
    """A client of `conform`'s rounds."""

    def __init__(self, problem: Any, i: int) -> None:
        self.problem, self.i = problem, i

    def gradient(self, y: Any, records: Any = None) -> Any:
        return self.problem.client_gradient(self.i, y)

    def record_gradients(self, y: Any, records: Any = None) -> Any:
        data, first = self.problem.data, self.problem.data.offsets[self.i]
        own = first + np.asarray(range(len(self)) if records is None else records)
        single = [replace(data, x=data.x[[j]], y=data.y[[j]], offsets=np.array([0, 1])) for j in own]
        return np.array([LinearModel(one, "one record").client_gradient(0, y) for one in single])

    def __len__(self) -> int:
        return int(np.diff(self.problem.data.offsets)[self.i])


def by_numpy(run: Algorithm, problem: Any, rounds: int, cohorts: Any = None, expected: float = 0.0) -> Any:
    """Rounds on NumPy arrays, client by client, as `conform` plays them."""
    clients, w, state = [_Client(problem, i) for i in range(problem.n)], np.ones(problem.d), None
    run = run.with_defaults()
    for k in range(rounds):
        cohort = range(problem.n) if cohorts is None else cohorts[k]
        o = Operations(clients, cohort, None, expected or problem.n, problem.d, True, number=k)  # type: ignore[arg-type]
        w, state = run.round(o, w, state)
    return w


OF_ALL_ENTRIES = ("clipping in the maximum norm",)
"""Faults whose parts reduce an array with NumPy: on the arrays of all clients this is another reduction."""
ONLY_NUMPY = (TypeError, ValueError, InputError, AttributeError)


@pytest.mark.parametrize("name", SILENT)
def test_faults_run_in_batches_as_on_numpy(name: str) -> None:
    """Faults of single clients are refused, and those with NumPy's functions fail or are left out; the others agree."""
    problem, run, same, refused = PROBLEMS["logistic"], SILENT[name], 0, 0
    assert close(run_of(Simulation(run), problem, 4).final[0], by_numpy(run, problem, 4))
    for fault in run.faults():
        for variant in fault.variants():
            if {"noise", "noises"} & variant.parts.keys() or variant.name in OF_ALL_ENTRIES:
                continue
            changed = run.replaced(**variant.parts)
            try:
                expected = by_numpy(changed, problem, 4)
            except ONLY_NUMPY:
                continue
            try:
                found = run_of(Simulation(changed), problem, 4).final[0]
            except ONLY_NUMPY:
                refused += 1
                continue
            assert close(found, expected), variant.name
            same += 1
    assert same >= 15 or (same >= 9 and not refused), (same, refused)


def context_of(problem: Any, S: int) -> Context:
    engine = CpuEngine()
    start = np.ones((S, problem.d))
    return Context(engine, problem, problem.kernels(engine), Replicates(3, 0, S), slice(0, S), start)


@pytest.mark.parametrize(
    ("name", "cohort"),
    [
        pytest.param(name, cohort, id=f"{name}, {cohort.scheme}")
        for name, run in SILENT.items()
        if run.samplings
        for cohort in cohorts_of(run)
    ],
)
def test_rounds_with_cohorts_are_those_on_numpy(name: str, cohort: Cohort) -> None:
    """Also with empty cohorts."""
    problem, run = PROBLEMS["logistic"], SILENT[name]
    context = context_of(problem, 1)
    batched = Simulation(run, cohort)
    state, cohorts = batched.initial_state(context), list[Any]()
    for k in range(20):
        state, round_ = batched.round(context, state, k)
        cohorts.append(np.repeat(np.arange(problem.n), round_.cohort[0].astype(int)))
    assert cohort.scheme != "poisson" or min(map(len, cohorts)) == 0
    assert close(state.w[0], by_numpy(run, problem, 20, cohorts, cohort.divisor(problem.n)))


def test_unequal_batches() -> None:
    """Clients with 4 and 8 records take 2 and 4 of them."""
    data = PROBLEMS["logistic"].data
    offsets = np.array([0, 4, 12, 20, 24])
    unequal = LinearModel(replace(data, x=data.x[:24], y=data.y[:24], offsets=offsets), "unequal clients")
    for name in ("dp-scaffold, batches", "dp-fedavg-record, batches", "dp-sgd-record, batches", "dp-sgd, lots"):
        assert reference(RUNS[name], unequal, Cohort()) == []
    o = BatchOperations(context_of(unequal, 2), Cohort(), 0)
    with pytest.raises(InputError, match="clients have different numbers of records"):
        o.record_gradients(Ellipsis, o.zero, 0.5)


def test_a_share_of_records_that_is_no_whole_number() -> None:
    """noble2022 prints 1/(sR); the other reading divides by the floor(sR) records drawn.

    Both have the same noise for the sensitivity, so they differ by a factor of the local step.
    """
    problem, kind, values = PROBLEMS["logistic"], get("dp-sgd-record"), {"C": 0.3, "sigma_g": 0.7, "s": 0.45}
    printed = kind(eta=0.1, **values)
    drawn = kind.with_parts(kind.readings[1].parts)(eta=0.1 * 2 / 2.7, **values)
    for one in (printed, drawn):
        assert reference(one, problem, Cohort()) == []
    assert close(run_of(drawn, problem).final, run_of(printed, problem).final)
    assert not close(run_of(drawn.with_values(local_step=0.1), problem).final, run_of(printed, problem).final)


def test_gradients_of_records_are_those_that_are_summed() -> None:
    problem = PROBLEMS["logistic"]
    for share, b in ((0.5, 3), (1.0, 6)):
        o, same = (BatchOperations(context_of(problem, REPLICATES), Cohort(), 1) for _ in range(2))
        y = np.random.default_rng(0).normal(size=(problem.n, REPLICATES, problem.d))
        (total, number), g = o.clipped_records(Ellipsis, y, share, 0.3), same.record_gradients(Ellipsis, y, share)
        assert number == b == len(g)
        assert close(total, o.clip(g, 0.3).sum(axis=0))
        assert not close(o.clipped_records(Ellipsis, y, 0.5, 0.3)[0], total)  # the next batch


def test_a_cohort_alone_writes_its_values() -> None:
    o = BatchOperations(context_of(PROBLEMS["logistic"], REPLICATES), Cohort("fixed", 2), 1)
    old, new = o.each(o.everyone, lambda i: o.zero), o.each(o.cohort, lambda i: o.zero + 1.0)
    found = o.put(old, o.cohort, new)
    assert np.array_equal(found[:, :, 0].T, o.cohort.counts)
    assert np.array_equal(o.put(old, o.everyone, new), new)


def test_smoothed_normalisation_of_nothing() -> None:
    o = operations(Cohort())
    assert np.array_equal(o.smooth(o.zero, 0.0), o.zero)
    assert close(o.smooth(o.zero + 2.0, 0.5), (o.zero + 2.0) / (0.5 + 12.0**0.5))


def test_warm_rounds() -> None:
    for name in ("dp-scaffold", "dp-scaffold, batches"):
        run = RUNS[name].with_values(warm_start=2)
        for cohort in (Cohort(), Cohort("fixed", 2)):
            assert reference(run, PROBLEMS["logistic"], cohort) == []
        assert reference(run.with_values(warm_start=1), PROBLEMS["logistic"], Cohort()) == []


def test_what_has_no_simulation_is_refused() -> None:
    problem = PROBLEMS["logistic"]
    with pytest.raises(InputError, match="drawn twice would write twice"):
        run_of(RUNS["scaffold"], problem, 2, cohort=Cohort("with-replacement", 2))
    for name in ("dp-clip21", "dp-norm-ec", "dp-sgd-record", "dp-sgd"):
        with pytest.raises(InputError, match=f"all clients take part in every round of {name}"):
            run_of(RUNS[name], problem, 2, cohort=Cohort("fixed", 2))
    with pytest.raises(InputError, match="lots of records have different sizes"):
        operations(Cohort()).record_gradients(Ellipsis, 0.0, 0.5, lots=True)


# Random numbers, and what a batched simulation refuses.


def operations(cohort: Cohort, problem: Any = PROBLEMS["logistic"], k: int = 2) -> BatchOperations:
    return BatchOperations(context_of(problem, REPLICATES), cohort, k)


def test_draws_of_a_round_are_different() -> None:
    """And noise inside `each` belongs to each client, whether or not the description says so."""
    o = operations(Cohort("poisson", 2))
    drawn = [o.gaussian(1.0), o.gaussian(1.0), o.gaussian(1.0, Ellipsis), o.each(o.everyone, lambda i: o.gaussian(1.0))]
    assert [x.shape for x in drawn] == [(5, 3), (5, 3), (5, 5, 3), (5, 5, 3)]
    assert len(np.unique(np.concatenate([x.ravel() for x in drawn]))) == sum(x.size for x in drawn)
    coins = [o.coin(0.5), o.each(o.everyone, lambda i: o.when(o.coin(0.5), lambda: 1.0, lambda: 0.0))]
    assert [x.shape for x in coins] == [(5, 1), (5, 5, 1)]
    assert 0 < coins[1].sum() < 25


def test_noise_under_a_coin_is_drawn_where_it_is_used() -> None:
    o, same = operations(Cohort()), operations(Cohort())
    coin = o.coin(0.5)
    inside = []
    found = o.when(coin, lambda: inside.append(o.gaussian(1.0)) or inside[0], lambda: o.zero + 7.0)
    assert np.array_equal(found, np.where(coin, same.gaussian(1.0), 7.0))
    assert (inside[0][~coin[:, 0]] == 0.0).all()
    assert 0 < coin.sum() < REPLICATES


def test_single_members_and_generators_are_refused() -> None:
    o = operations(Cohort("with-replacement", 2))
    refusals = (
        lambda: list(o.cohort),
        lambda: len(o.everyone),
        lambda: o.rng,
        lambda: o.gradient(Ellipsis, o.zero, [0]),
        lambda: o.each(o.cohort, lambda i: o.gaussian(1.0, i)),
    )
    for refused in refusals:
        with pytest.raises(InputError):
            refused()
    assert operations(Cohort(), PROBLEMS["quadratic"]).records(Ellipsis) == 1  # so that weights are equal there
    assert operations(Cohort()).records(Ellipsis) == 6


VALUES = {
    "dp-fedavg needs a value of eta, beta, sigma": {"E": 1, "C": 1.0},
    "the local step is -1: a finite positive number is needed": {**FEDAVG, "eta": -1, "C": 1.0, "sigma": 0.0},
    "the number of local steps is 1.5: a whole number of at least 1": {**FEDAVG, "E": 1.5, "C": 1.0, "sigma": 0.0},
    "the noise of the average is -0.1: a finite number that is not negative": {**FEDAVG, "C": 1.0, "sigma": -0.1},
    "step has 2 values for 5 replicates": {**FEDAVG, "eta": [0.1, 0.2], "C": 1.0, "sigma": 0.0},
    "an entry of the global step is 0": {**FEDAVG, "beta": Tabulated([1.0, 0.0]), "C": 1.0, "sigma": 0.0},
    "a number, or one number for each replicate": {**FEDAVG, "C": "one", "sigma": 0.0},
}


@pytest.mark.parametrize("message", VALUES)
def test_values_are_checked(message: str) -> None:
    run = get("dp-fedavg")(**VALUES[message])
    for one in (run, run.replaced(after=lambda a, o, mean: mean)):
        with pytest.raises(InputError, match=message):
            run_of(one, PROBLEMS["quadratic"])


def test_values_of_scaffnew_and_cohorts_are_checked() -> None:
    problem = PROBLEMS["quadratic"]
    with pytest.raises(InputError, match=r"the probability of a communication is 1.5: give a number in \(0, 1\]"):
        run_of(get("scaffnew")(eta=0.1, p=1.5), problem)
    with pytest.raises(InputError, match="one number for all replicates"):
        run_of(get("scaffnew")(eta=0.1, p=EACH), problem)
    with pytest.raises(InputError, match="all clients take part in every round of scaffnew"):
        run_of(RUNS["scaffnew"], problem, cohort=Cohort("fixed", 2))
    with pytest.raises(InputError, match="samples its clients itself"):
        run_of(Simulation(RUNS["fedavg"]), problem, cohort=Cohort())
    with pytest.raises(InputError, match="the cohort size is 9"):
        run_of(RUNS["fedavg"], problem, cohort=Cohort("fixed", 9))


def test_thresholds_may_change_from_round_to_round() -> None:
    run = get("dp-fedavg")(**FEDAVG, C=Schedule(0.5, 0.5), sigma=0.1)
    one = run_of(run, PROBLEMS["logistic"], 1)
    assert close(one.final, run_of(run.with_values(threshold=0.5), PROBLEMS["logistic"], 1).final)
    assert not close(
        run_of(run, PROBLEMS["logistic"], 2).final,
        run_of(run.with_values(threshold=0.5), PROBLEMS["logistic"], 2).final,
    )


@pytest.mark.parametrize("problem", PROBLEMS)
def test_division_by_the_number_that_took_part(problem: str) -> None:
    """It is another round than division by the expected number only where the cohort's size is random."""
    run, cohort = RUNS["dp-fedavg-two-sided, clipped"], Cohort("poisson", 1.5)

    def noise(a: Any, o: Any, members: Any) -> Any:
        return o.sum_of_noises(members, a.sigma) / over_cohort(a, o, members)

    divided = run.replaced(divisor=over_cohort, noise=noise)
    assert not close(
        run_of(divided, PROBLEMS[problem], cohort=cohort).final, run_of(run, PROBLEMS[problem], cohort=cohort).final
    )
    for known in (Cohort(), Cohort("fixed", 2), Cohort("with-replacement", 3)):
        found, expected = (run_of(one, PROBLEMS[problem], cohort=known).final for one in (divided, run))
        assert close(found, expected)


# An algorithm of a user.


@pytest.fixture
def own() -> Iterator[Any]:
    """The file of a user, which registers its algorithms."""
    path = Path(__file__).with_name("own_algorithms.py")
    spec = importlib.util.spec_from_file_location("own_algorithms_of_a_user", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    algorithms.REGISTERED.clear()


OWN = {"lr": 0.1, "E": 3, "beta": 1.5, "C": 0.05, "sigma": 0.02}


def test_an_algorithm_of_a_user_is_simulated(own: Any) -> None:
    """Without a proximal term it is the package's; with one, NumPy's rounds; and it is played from a tape."""
    problem, cohort = PROBLEMS["logistic"], Cohort("fixed", 2)
    kind = get("my-dp-fedprox")
    assert issubclass(kind, Averaging)
    assert kind is own.DPFedProx
    plain = run_of(kind(**OWN, mu=0.0), problem, cohort=cohort)
    assert close(plain.final, run_of(RUNS["dp-fedavg-two-sided, clipped"], problem, cohort=cohort).final)
    silent = kind(**{**OWN, "sigma": 0.0}, mu=2.0)
    assert close(run_of(silent, problem).final[0], by_numpy(silent, problem, ROUNDS))
    noisy = kind(**OWN, mu=[0.0, 0.5, 1.0, 2.0, 4.0])
    found = run_of(noisy, problem, cohort=cohort)
    assert close(found.final[:1], plain.final[:1])
    assert not close(found.final[1:], plain.final[1:])
    assert np.array_equal(found.final, run_of(noisy, problem, cohort=cohort, tape=False).final)
    assert found.configuration["algorithm"]["mu"] == [0.0, 0.5, 1.0, 2.0, 4.0]


def test_an_algorithm_with_a_state_starts_with_it(own: Any) -> None:
    problem = PROBLEMS["logistic"]
    without = run_of(get("my-dp-fedprox")(**OWN, mu=1.0), problem)
    none, some = (run_of(get("my-momentum")(**OWN, mu=1.0, b=b), problem) for b in (0.0, 0.5))
    assert close(none.final, without.final)
    assert not close(some.final, without.final)
    assert np.array_equal(some.final, run_of(get("my-momentum")(**OWN, mu=1.0, b=0.5), problem, tape=False).final)
