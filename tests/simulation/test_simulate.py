"""The one loop: streams, starting points, replicates, what it refuses."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from oracles.compare import ARRAY, CPU, play, problem_of, starting_points
from short_forms import clip, fedavg, scaffold, two_sided

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.kernels import select
from dpfl_theory.kernels.cuda import unavailable_reason
from dpfl_theory.problems import make
from dpfl_theory.runtime import threads
from dpfl_theory.simulation import (
    Cohort,
    RecordGradient,
    Simulation,
    WeightedAverage,
    simulate,
)
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables import Observable, get

ALGORITHM = fedavg(0.3, 2, bound=clip(1.5), sigma=0.2, cohort=Cohort("poisson", 2.5))
OF_STATE, OF_ROUND = "suboptimality", "unclipped-share"
SCAFFNEW = Simulation(DPScaffNew(eta=0.3, p=0.5, C=1.0, sigma=0.1))
ALGORITHMS = {
    "fedavg": ALGORITHM,
    "scaffnew": SCAFFNEW,
    "two-sided": two_sided(0.3, 1.2, 2, 1.0, 0.1, Cohort("fixed", 2)),
    "norm-ec": Simulation(NormEC(gamma=0.1, alpha=0.1, beta=0.2, sigma=0.1)),
    "scaffold": scaffold(0.3, 1.0, 2, Cohort("fixed", 2), RecordGradient(0.5, 1.0, 0.2), 1),
    "momentum": fedavg(0.2, sigma=0.1, momentum=0.5),
    "average": WeightedAverage(SCAFFNEW, 0.9),
}
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)


def test_streams_are_what_the_rounds_say() -> None:
    """mean and smallest over rounds 0..K-1; last after them for what depends on w alone, in round K-1 otherwise."""
    problem, K = problem_of("dense"), 7
    start = starting_points(problem, 3)
    both = simulate(ALGORITHM, problem, K, 3, 4, [OF_STATE, OF_ROUND], start=start, series=True, device="cpu")
    rounds = play(ALGORITHM, problem, K, start, 4)
    gaps = np.array([[problem.value(w) - problem.constants.f_star for w in ws] for ws in rounds.servers])
    shares = np.array([np.mean(h.update_norms <= 1.5, axis=1) for h in rounds.rounds])
    assert np.array_equal(both.final, rounds.servers[-1])
    for name, expected in ((OF_STATE, gaps), (OF_ROUND, shares)):
        stream = both[name]
        assert stream.observable is get(name)
        assert stream.series.shape == (K + (name == OF_STATE), 3)
        assert np.allclose(stream.series, expected, rtol=1e-10)
        assert np.allclose(stream.mean, expected[:K].mean(axis=0), rtol=1e-10)
        assert np.allclose(stream.last, expected[-1], rtol=1e-10)
        assert np.allclose(stream.smallest, expected[:K].min(axis=0), rtol=1e-10)
        assert np.array_equal(stream.every_round, stream.series)
        assert np.ptp(expected) > 0.1
    assert not np.allclose(gaps[-1], gaps[-2])


def test_without_a_series_the_rest_is_the_same() -> None:
    problem = problem_of("huber")
    kept, not_kept = (
        simulate(ALGORITHM, problem, 5, 3, 4, [OF_STATE, OF_ROUND], series=series, device="cpu")
        for series in (True, False)
    )
    for name in (OF_STATE, OF_ROUND):
        assert not_kept[name].series is None
        for part in ("mean", "last", "smallest"):
            assert np.array_equal(getattr(kept[name], part), getattr(not_kept[name], part))
        with pytest.raises(ValueError, match="call simulate with series=True"):
            _ = not_kept[name].every_round


@pytest.mark.parametrize("every", [1, 3, 4, 50])
def test_observing_some_rounds_only(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds 0, every, 2 every, ...; the run itself is the same, and so is what is observed, in any batch of
    replicates."""
    monkeypatch.setattr(__import__("sys").modules[simulate.__module__], "_MOST_REPLICATES", 2)
    problem, K = problem_of("dense"), 9
    whole, some = (
        simulate(ALGORITHM, problem, K, 3, 4, [OF_STATE, OF_ROUND], series=True, every=e, device="cpu")
        for e in (1, every)
    )
    assert np.array_equal(some.final, whole.final)
    assert some.configuration["every"] == every
    for name in (OF_STATE, OF_ROUND):
        observed = whole[name].series[:K][::every]
        stream = some[name]
        assert np.array_equal(stream.series[: len(observed)], observed)
        assert len(stream.series) == len(observed) + (name == OF_STATE)
        assert np.allclose(stream.mean, observed.mean(axis=0), rtol=1e-14)
        assert np.array_equal(stream.smallest, observed.min(axis=0))
        last = whole[name].last if name == OF_STATE else observed[-1]
        assert np.array_equal(stream.last, last)
        assert not np.array_equal(stream.mean, whole[name].mean) or every == 1


def test_an_observable_of_the_users_own() -> None:
    problem = problem_of("dense")
    first = Observable("first-coordinate", (0, 1), "w_1", "first coordinate", lambda h: h.w[:, 0], of_state=True)
    number = Observable("round", (0, 0), "k", "number of the round", lambda h: np.full(len(h.w), float(h.k)))
    run = simulate(ALGORITHM, problem, 4, 2, observe=[first, number, OF_STATE], series=True, device="cpu")
    assert list(run.streams) == ["first-coordinate", "round", OF_STATE]
    assert np.array_equal(run["first-coordinate"].series[-1], run.final[:, 0])
    assert run["round"].series.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert run["round"].mean.tolist() == [1.5, 1.5]


def test_asking_twice_counts_once() -> None:
    problem = problem_of("dense")
    once, twice = (
        simulate(ALGORITHM, problem, 4, observe=observe, device="cpu", series=True)
        for observe in ([OF_STATE], [OF_STATE, get(OF_STATE)])
    )
    assert np.array_equal(once[OF_STATE].mean, twice[OF_STATE].mean)
    assert np.array_equal(once[OF_STATE].series, twice[OF_STATE].series)
    mine = Observable(OF_STATE, (1, 0), "x", "not the catalogue's", lambda h: h.w[:, 0])
    with pytest.raises(InputError, match=r"^two observables are called 'suboptimality': give each a name of its own$"):
        simulate(ALGORITHM, problem, 4, observe=[OF_STATE, mine], device="cpu")


def test_nothing_observed_still_runs() -> None:
    run = simulate(ALGORITHM, problem_of("dense"), 3, 2, observe=(), device="cpu")
    assert run.streams == {}
    assert run.final.shape == (2, 4)


def test_starting_points() -> None:
    problem = problem_of("dense")
    d = problem.d
    one, own = np.arange(d, dtype=float), starting_points(problem, 2)
    for start, expected in ((None, np.zeros((2, d))), (one, np.array([one, one])), (own.tolist(), own)):
        found = simulate(fedavg(1e-300), problem, 1, 2, start=start, device="cpu").final
        assert np.allclose(found, expected, rtol=0, atol=1e-290)


@every_algorithm
def test_a_run_leaves_its_starting_points_alone(algorithm: Any) -> None:
    problem = problem_of("huber")
    own = starting_points(problem, 2)
    before = own.copy()
    run = simulate(algorithm, problem, 3, 2, start=own, device="cpu")
    assert np.array_equal(own, before)
    assert not np.allclose(run.final, own)


@every_algorithm
def test_runs_are_extended_by_further_replicates(algorithm: Any) -> None:
    problem = problem_of("huber")
    whole = simulate(algorithm, problem, 6, 5, 3, device="cpu")
    first = simulate(algorithm, problem, 6, 2, 3, device="cpu")
    more = simulate(algorithm, problem, 6, 3, 3, device="cpu", first_replicate=2)
    assert np.allclose(np.concatenate([first.final, more.final]), whole.final, rtol=1e-12, atol=1e-14)
    assert len(np.unique(whole.final[:, 0])) == 5


def test_the_seed_decides() -> None:
    problem = problem_of("dense")
    a, again, b = (simulate(ALGORITHM, problem, 4, seed=s, device="cpu").final for s in (2**64 - 1, 2**64 - 1, 0))
    assert np.array_equal(a, again)
    assert not np.allclose(a, b)


def test_any_engine_gives_the_same_run() -> None:
    for name in ("dense", "softmax"):
        cpu, array = (
            simulate(ALGORITHM, problem_of(name), 5, 3, observe=[OF_STATE, OF_ROUND], device=engine)
            for engine in (CPU, ARRAY)
        )
        assert np.allclose(cpu.final, array.final, rtol=1e-12, atol=1e-13)
        assert cpu.configuration["device"] == CPU.description
        assert array.configuration["device"] == ARRAY.description


def test_the_configuration_is_plain_data_and_enough_to_run_again() -> None:
    run = simulate(ALGORITHM, problem_of("dense"), 4, 2, 9, first_replicate=3, device="cpu")
    described = json.loads(json.dumps(run.configuration, allow_nan=False))
    assert described["algorithm"] == ALGORITHM.describe()
    assert {key: described[key] for key in ("rounds", "replicates", "first_replicate", "seed")} == {
        "rounds": 4, "replicates": 2, "first_replicate": 3, "seed": 9,
    }  # fmt: skip
    assert described["problem"] == {"name": problem_of("dense").name, "clients": 6, "dimension": 4}
    assert described["device"].startswith("cpu")
    assert run.seconds > 0.0


@pytest.mark.parametrize("rounds", [1, 49, 101])
def test_progress_rises_to_one(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("sys").modules[simulate.__module__]
    monkeypatch.setattr(module, "_MOST_REPLICATES", 2)
    shares: list[float] = []
    simulate(ALGORITHM, problem_of("dense"), rounds, 5, device="cpu", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0, rel=1e-12)
    assert 0.0 < shares[0] <= 1.0


UNREADABLE = "the starting point cannot be read as numbers: an array of shape (4,) or (1, 4) is needed"


TOO_LARGE = "seed, replicate or round is too large: seeds stay below 2^64, replicates and rounds below 2^32"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rounds": 0}, "the number of rounds is 0: a whole number of at least 1 is needed"),
        ({"rounds": 2.0}, "the number of rounds is 2.0: a whole number of at least 1 is needed"),
        ({"replicates": 0}, "the number of replicates is 0: a whole number of at least 1 is needed"),
        ({"every": 0}, "the interval between observed rounds is 0: a whole number of at least 1 is needed"),
        ({"replicates": True}, "the number of replicates is True: a whole number of at least 1 is needed"),
        ({"seed": -1}, "the seed is -1: a whole number of at least 0 is needed"),
        ({"seed": "1"}, "the seed is '1': a whole number of at least 0 is needed"),
        ({"first_replicate": -1}, "the first replicate is -1: a whole number of at least 0 is needed"),
        ({"seed": 2**64}, TOO_LARGE),
        ({"first_replicate": 2**32}, TOO_LARGE),
        ({"start": [1.0, 2.0]}, "the starting point has shape (2,): (4,) or (1, 4) is needed"),
        ({"start": np.zeros((2, 4))}, "the starting point has shape (2, 4): (4,) or (1, 4) is needed"),
        ({"start": [0, 0, 0, np.nan]}, "the starting point contains NaN or infinity: give finite numbers"),
        ({"start": "here"}, UNREADABLE),
        ({"start": [[1.0], [1.0, 2.0]]}, UNREADABLE),
        ({"observe": ["suboptimalty"]}, "unknown observable 'suboptimalty': did you mean 'suboptimality'?"),
        (
            {"observe": ["scaffnew-lyapunov"]},
            "observable 'scaffnew-lyapunov' needs ScaffNew's control variates and a minimiser w*",
        ),
        ({"device": "tpu"}, "`device` is 'tpu': choose one of auto, cpu, cuda"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(ALGORITHM, problem_of("dense"), **{"rounds": 1, "device": "cpu", **arguments})
    assert str(caught.value) == sentence


def test_cohorts_that_do_not_fit_the_problem_are_refused_before_the_run() -> None:
    with pytest.raises(InputError, match=r"^the cohort size is 7: with 6 clients it must lie in"):
        simulate(fedavg(0.1, cohort=Cohort("fixed", 7)), problem_of("dense"), 1, device="cpu")


@pytest.mark.skipif(unavailable_reason() is None, reason="there is a usable GPU")
def test_a_missing_gpu_is_not_replaced() -> None:
    with pytest.raises(EnvironmentFault, match="choose 'cpu' or 'auto'"):
        simulate(ALGORITHM, problem_of("dense"), 1, device="cuda")
    assert simulate(ALGORITHM, problem_of("dense"), 1).configuration["device"].startswith("cpu")


BLOCKED = {
    "quadratic": lambda: make("quadratic", clients=170, dimension=100, seed=1),
    "logistic": lambda: make("logistic-synthetic", clients=40, dimension=400, records=10, ridge=0.1, seed=1),
}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("cohort", [Cohort(), Cohort("fixed", 5)], ids=["everyone", "few"])
@pytest.mark.parametrize("name", BLOCKED)
def test_the_number_of_threads_changes_no_bit(name: str, cohort: Cohort) -> None:
    """Several blocks of replicates, with noise and clipping, on one, two and three threads, and parallel to another
    run."""
    problem = BLOCKED[name]()
    algorithm = fedavg(local_step=0.05, local_steps=2, bound=clip(0.1), cohort=cohort, sigma=0.2)
    replicates = 100
    assert len(sys.modules[simulate.__module__]._blocks(problem, select("cpu"), replicates)) > 2

    def run() -> np.ndarray:
        found = simulate(algorithm, problem, rounds=4, replicates=replicates, seed=3, device="cpu")
        return np.concatenate([found["suboptimality"].mean, found.final.ravel()])

    seen = []
    for count in (1, 2, 3):
        with threads.bounded(count):
            seen.append(run())
    with ThreadPoolExecutor(2) as pool:
        seen += [f.result() for f in [pool.submit(run), pool.submit(run)]]
    assert all(np.array_equal(seen[0], other) for other in seen[1:])


@pytest.mark.parametrize("count", [1, 2])
def test_a_failure_in_a_block_is_the_runs(count: int) -> None:
    problem = BLOCKED["quadratic"]()
    rounds_run: list[int] = []

    def fails(h: Round) -> np.ndarray:
        rounds_run.append(h.k)
        if h.k == 3 and h.context.replicates.first == 0:
            raise InputError("replicate 0 in round 3")
        return np.zeros(h.context.replicates.count)

    broken = Observable("broken", (0, 0), "x", "fails", fails)
    with threads.bounded(count), pytest.raises(InputError, match="replicate 0 in round 3"):
        simulate(fedavg(local_step=0.01), problem, rounds=2000, replicates=64, observe=[broken], device="cpu")
    assert len(rounds_run) < 4000, "the other blocks stop too"


def test_progress_adds_up_over_blocks() -> None:
    lines: list[float] = []
    with threads.bounded(2):
        simulate(
            fedavg(local_step=0.01), BLOCKED["quadratic"](), 20, replicates=75, device="cpu", progress=lines.append
        )
    assert lines == sorted(lines)
    assert lines[-1] == pytest.approx(1.0)
