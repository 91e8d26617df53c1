"""Two-sided FedAvg, model clipping, DP-SGD, EF21, SCAFFOLD, momentum and averages against their NumPy references: on
both engines, on several problems, with all sampling schemes, gradient oracles and bounding operators."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from oracles.compare import ENGINES, PROBLEMS, STEPS, TRACES, disagreements, play, problem_of, starting_points
from short_forms import clip, fedavg, normalise

from dpfl_theory.algorithms import get
from dpfl_theory.algorithms.averaging import with_momentum
from dpfl_theory.algorithms.error_feedback import (
    Clip21,
    DPNormSGD,
    ErrorFeedback,
    InformedClip21,
    InformedNormEC,
    NormEC,
)
from dpfl_theory.algorithms.record_level import DPScaffold, RecordLevelFedAvg
from dpfl_theory.algorithms.scaffnew import DPScaffNew, UnclippedScaffNew
from dpfl_theory.algorithms.scaffold import Scaffold, all_users
from dpfl_theory.algorithms.two_step_sizes import (
    DPTwoSidedFedAvg,
    ModelClippedFedAvg,
    TwoSidedFedAvg,
    UnclippedTwoSidedFedAvg,
)
from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.errors import InputError
from dpfl_theory.simulation import (
    Cohort,
    FullGradient,
    Gradient,
    NoisyGradient,
    RecordGradient,
    Schedule,
    Simulation,
    Tabulated,
    WeightedAverage,
)
from dpfl_theory.simulation.local_updates import dense
from dpfl_theory.simulation.operations import BatchOperations

COHORTS = (Cohort(), Cohort("fixed", 2), Cohort("poisson", 1.5), Cohort("with-replacement", 4))
GRADIENTS: dict[str, Gradient] = {
    "full": FullGradient(),
    "noisy": NoisyGradient([0.1, 0.3, 0.0]),
    "records": RecordGradient(0.5, 0.7, [0.5, 0.0, 2.0]),
    "records, unclipped": RecordGradient(0.4),
    "records, median": RecordGradient(0.6, "median", 0.3),
    "records, all": RecordGradient(1.0, [0.1, 1.0, 5.0], 0.2),
}
WITH_RECORDS = ("huber", "logistic", "softmax", "unequal")
PRIVATE = {"threshold": [0.1, 0.7, 5.0], "noise_multiplier": [0.5, 0.0, 2.0]}
every_gradient = pytest.mark.parametrize("kind", GRADIENTS)


def cohorts(kind: str) -> Sequence[Cohort]:
    """Those in which a client may not be drawn twice, unless its local steps draw nothing."""
    return COHORTS if kind == "full" else COHORTS[:3]


def agree(algorithms: Sequence[Any], kind: str, rounds: int = 4) -> None:
    """Problems take turns, so that each algorithm meets one and all are met; each on both engines."""
    names = WITH_RECORDS if kind.startswith("records") else tuple(PROBLEMS)
    for algorithm, name in zip(algorithms, itertools.cycle(names)):
        wrong = disagreements(algorithm, problem_of(name), rounds, engine=list(ENGINES.values()))
        assert wrong == [], (name, algorithm.describe())


@pytest.mark.exhaustive(keep=2)
@every_gradient
def test_two_sided_fedavg(kind: str) -> None:
    """zhang2021 Algorithms 1 to 3; constant steps, schedules and tables, for all replicates and for each."""
    steps = ((0.3, 1.0), ([0.3, 0.2, 0.1], Schedule([1.5, 1.0, 0.5], 0.8)), (Tabulated([0.1, 0.3, 0.2, 0.4, 0.1]), 2.0))
    runs = (TwoSidedFedAvg(), UnclippedTwoSidedFedAvg(), DPTwoSidedFedAvg(threshold=[0.2, 1.0, 0.5]))
    found = []
    for j, (cohort, run, Q) in enumerate(itertools.product(cohorts(kind), runs, (1, 3))):
        eta_l, eta_g = steps[j % 3]
        noise = {"sigma": [0.1, 0.0, 0.4] if j % 4 else 0.0} if "sigma" in run.parameters else {}
        run = run.with_values(local_step=eta_l, global_step=eta_g, local_steps=Q, **noise)
        found.append(Simulation(run, cohort, GRADIENTS[kind]))
    agree(found, kind)


@pytest.mark.exhaustive(keep=2)
@every_gradient
def test_model_clipping(kind: str) -> None:
    found = []
    for cohort, c, Q in itertools.product(cohorts(kind), ([0.5, 2.0, 5.0], 1.0), (1, 3)):
        run = ModelClippedFedAvg(eta_l=[0.3, 0.2, 0.1], Q=Q, c=c, sigma=0.2)
        found.append(Simulation(run, cohort, GRADIENTS[kind]))
    agree(found, kind)


@pytest.mark.exhaustive(keep=2)
@every_gradient
def test_dp_sgd(kind: str) -> None:
    """shulgin2025 equation (2). A client that is drawn twice has one full gradient, and would draw other ones twice."""
    cohorts = COHORTS if kind == "full" else COHORTS[:3]
    runs = [DPNormSGD(gamma=Schedule(0.4, 0.9), alpha=alpha, sigma=[0.0, 0.1, 0.3]) for alpha in ([0.0, 0.1, 1.0], 0.3)]
    agree([Simulation(run, cohort, GRADIENTS[kind]) for cohort, run in itertools.product(cohorts, runs)], kind)


@pytest.mark.exhaustive(keep=2)
@every_gradient
def test_error_feedback(kind: str) -> None:
    """shulgin2025 Algorithm 1. With alpha = 0 the rounding of a zero difference would be stretched to length 1, so
    memories start at zero there."""
    own = {"gamma": 0.3, "sigma": [0.1, 0.0, 0.3], "memory": [0.0, 1.0, 0.5]}
    smoothed = InformedNormEC(**own, beta=[0.2, 1.0, 0.5], alpha=[0.0, 0.1, 1.0])
    runs: list[Description] = [
        *(InformedClip21(**own, tau=tau) for tau in (1e9, [0.15, 0.4, 1.0])),
        smoothed,
        smoothed.replaced(direction=ErrorFeedback.direction),
        Clip21(gamma=Schedule(0.3, 0.9), tau=0.5, sigma=0.2),
        NormEC(gamma=0.3, alpha=[0.1, 0.2, 1.0], beta=0.2, sigma=0.1),
    ]
    agree([Simulation(run, gradient=GRADIENTS[kind]) for run in runs], kind, 5)


@pytest.mark.exhaustive(keep=2)
@every_gradient
def test_scaffold(kind: str) -> None:
    """noble2022 Algorithm 1: server's and users' control variates, too; cold and warm starts."""
    agree(
        [Simulation(scaffold(Scaffold(), *case), cohort, GRADIENTS[kind]) for cohort, *case in scaffold_cases()], kind
    )


def scaffold_cases() -> list[tuple[Any, ...]]:
    """Cohorts, numbers of warm rounds, whether all users take part in these, and numbers of local steps."""
    starts = ((0, False), (1, True), (2, False), (2, True))
    return [(cohort, *start, K) for cohort, start, K in itertools.product(COHORTS[:2], starts, (1, 3))]


def scaffold(run: Any, warm_start: int, everyone: bool, K: int) -> Any:
    steps = {"local_step": Schedule([0.3, 0.1, 0.2], 0.9), "global_step": 1.5, "local_steps": K}
    return run.replaced(**({"warm_members": all_users} if everyone else {})).with_values(**steps, warm_start=warm_start)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_protected_records(share: float) -> None:
    """noble2022 Algorithms 1 and 2, whose sums of records are divided by their number."""
    found = [Simulation(scaffold(DPScaffold(**PRIVATE, s=share), *case), cohort) for cohort, *case in scaffold_cases()]
    steps = {"eta_l": [0.3, 0.2, 0.1], "eta_g": 1.5, "K": 2}
    found += [Simulation(RecordLevelFedAvg(**steps, **PRIVATE, s=share), cohort) for cohort in COHORTS[:3]]
    agree(found, "records")


@pytest.mark.exhaustive(keep=2)
@every_gradient
def test_scaffnew_with_any_gradient(kind: str) -> None:
    kinds = (UnclippedScaffNew(), DPScaffNew(C=0.7))
    runs = [run.with_values(step=[0.3, 0.2, 0.1], probability=p, sigma=0.1) for p in (0.3, 1.0) for run in kinds]
    agree([Simulation(run, gradient=GRADIENTS[kind]) for run in runs], kind, 6)


def test_fedavg_with_clients_drawn_repeatedly() -> None:
    repeated = Cohort("with-replacement", 4)
    cases = itertools.product((None, clip(1.5), normalise(1.5)), ("per-client", "average"))
    agree([fedavg(0.3, 2, 0.2, bound, repeated, 0.3, noise) for bound, noise in cases], "full")


def test_server_momentum() -> None:
    poisson, twice, noisy = Cohort("poisson", 1.5), Cohort("with-replacement", 3), GRADIENTS["noisy"]
    two = with_momentum(DPTwoSidedFedAvg)(eta_l=0.2, eta_g=1.5, Q=2, c=0.7, sigma=0.2)
    models = with_momentum(ModelClippedFedAvg)(eta_l=0.2, Q=2, c=2.0, sigma=0.1)
    for m in (0.8, [0.0, 0.5, 0.9]):
        agree([fedavg(Schedule(0.2, 0.9), 2, None, clip(1.0), poisson, 0.3, momentum=m)], "full")
        agree([Simulation(two.with_values(momentum=m), Cohort("fixed", 2), noisy)], "full")
        agree([Simulation(two.with_values(momentum=m), twice)], "full")
        agree([Simulation(models.with_values(momentum=m), Cohort("fixed", 3))], "full")


def test_weighted_averages() -> None:
    inner = [
        fedavg(0.3, 2),
        Simulation(DPScaffNew(eta=0.3, p=0.5, C=0.8, sigma=0.2)),
        Simulation(Scaffold(eta_l=0.3, eta_g=1.0, K=1).with_values(warm_start=1)),
        fedavg(0.2, momentum=0.8),
    ]
    agree([WeightedAverage(algorithm, ratio) for algorithm in inner for ratio in (1.0, [0.5, 0.9, 1.0])], "full")
    agree([WeightedAverage(algorithm, [0.5, 0.9, 1.0], with_start=True) for algorithm in inner], "full")


@pytest.mark.parametrize("cohort", COHORTS[:3], ids=lambda cohort: cohort.scheme)
@pytest.mark.parametrize("name", ["fedavg-mcmahan", "fedprox", "fednova", "fedavgm", "fedadam", "fedyogi", "feddyn"])
def test_unequal_clients_without_privacy(name: str, cohort: Cohort) -> None:
    """Weights by 3 to 9 records, batches of 4 of them, and all readings, on both engines."""
    kind = get(name)
    adaptive = {"global_step": 0.1, "adaptivity": 0.1} if "adaptivity" in kind.parameters else {}
    others = {"proximal": 0.5, "momentum_factor": 0.6, "decay": 0.7, "second_decay": 0.8, "strength": 0.6}
    own = {attribute: value for attribute, value in others.items() if attribute in kind.parameters}
    for reading, size in itertools.product(kind.readings, (0, 4)):
        run = kind(local_step=0.2, local_steps=2, batch_size=size, **adaptive, **own).replaced(**reading.parts)
        wrong = disagreements(Simulation(run, cohort), problem_of("unequal"), 4, engine=list(ENGINES.values()))
        assert wrong == [], (reading.name, size)


def test_batches_split_the_records() -> None:
    """In an epoch each record is in one batch; and batches with an oracle, or of clients drawn twice, are refused."""
    problem, start = problem_of("unequal"), starting_points(problem_of("unequal"), 3)
    context = play(Simulation(TwoSidedFedAvg(eta_l=0.3, eta_g=1.0, Q=1)), problem, 1, start, 11, 4).context
    o, sizes = BatchOperations(context, Cohort(), 1), np.array([7, 3, 5, 4, 9, 3])
    y = o.each(o.everyone, lambda i: start)
    every, size = o.each(o.everyone, lambda i: o.gradient(i, y)), 4
    total = np.zeros_like(every)
    for k in range(3):
        number = np.clip(sizes - k * size, 0, size)
        there = number > 0
        total[there] += (number[:, None, None] * o.batch_gradient(Ellipsis, y, size))[there]
    assert np.allclose(total, sizes[:, None, None] * every, rtol=1e-12)
    with pytest.raises(InputError, match="full gradients in batches"):
        BatchOperations(context, Cohort(), 1, NoisyGradient(0.1)).batch_gradient(Ellipsis, y, size)
    with pytest.raises(InputError, match="drawn twice"):
        BatchOperations(context, Cohort("with-replacement", 3), 1).batch_gradient(Ellipsis, y, size)


def test_the_comparison_reaches_what_it_is_for() -> None:
    """Some messages are bounded, some are not; some clients are drawn twice, and at least once no client takes part."""
    problem, start = problem_of("huber"), starting_points(problem_of("huber"), 3)
    counts, plain = {}, TwoSidedFedAvg(eta_l=0.3, eta_g=1.0, Q=1)
    for cohort in COHORTS[2:]:
        context = play(Simulation(plain, cohort), problem, 1, start, 11, 4).context
        counts[cohort.scheme] = np.array([cohort.sample(context, k) for k in range(4)])
    assert counts["poisson"].sum(axis=2).min() == 0.0
    assert counts["with-replacement"].max() >= 2.0

    def lengths(algorithm: Any) -> np.ndarray:
        runs = [play(algorithm, problem_of(name), 4, starting_points(problem_of(name), 3), 11, 4) for name in PROBLEMS]
        return np.array([[np.linalg.norm(dense(h.messages), axis=2) for h in run.rounds] for run in runs])

    for found, threshold in (
        (lengths(Simulation(plain.with_values(local_steps=3))), [0.2, 1.0, 0.5]),
        (lengths(Simulation(Clip21(gamma=0.3, tau=1e9, sigma=0.0))), [0.15, 0.4, 1.0]),
    ):
        clipped = np.mean(found > np.array(threshold), axis=(0, 1, 2))
        assert np.all((clipped > 0.03) & (clipped < 0.97)), clipped
    with_records = play(Simulation(plain, gradient=RecordGradient(0.5, 0.7)), problem, 1, start, 11, 4)
    records = problem.data.x  # type: ignore[attr-defined]
    assert 0.05 < np.mean(0.5 * np.linalg.norm(records, axis=1) > 0.7) < 0.95
    assert with_records.rounds[0].messages.shape == (6, 3, problem.d)


def test_every_algorithm_has_a_reference() -> None:
    from laws.test_algorithm_laws import EXAMPLES

    names = {cls.name if issubclass(cls, Description) else cls.__name__ for cls in EXAMPLES}
    assert names <= set(STEPS) | set(TRACES)
