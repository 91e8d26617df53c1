"""FedAvg, clipped and normalised, against the NumPy reference of das2022 Algorithms 1 and 2."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.compare import ENGINES, PROBLEMS, differs, disagreements, play, problem_of, starting_points
from scipy import stats
from short_forms import bound_of, clip, fedavg, normalise

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.problems import make
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.simulation import Cohort, Schedule, simulate

COHORTS = {
    "full": Cohort(),
    "fixed": Cohort("fixed", 2),
    "poisson": Cohort("poisson", 2.5),
    "with-replacement": Cohort("with-replacement", 4),
}
REPLICATES = 3


def first_norms(problem: Any, eta: float, steps: int) -> np.ndarray:
    """The lengths of the first round's updates, (replicates, n)."""
    return play(fedavg(eta, steps), problem, 1, starting_points(problem, REPLICATES)).rounds[0].update_norms


@pytest.mark.exhaustive(keep=15)
@pytest.mark.parametrize("bounding", ["none", "clip", "normalise"])
@pytest.mark.parametrize("scheme", COHORTS)
@pytest.mark.parametrize("noise", ["per-client", "average"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_agrees_with_the_reference(name: str, noise: str, scheme: str, bounding: str) -> None:
    """E in {1, 3}; one number for all replicates, numbers for each replicate, and schedules, for both step sizes."""
    problem = problem_of(name)
    eta = 0.3 / problem.constants.L_max
    own = [eta, 0.5 * eta, 2.0 * eta]
    steps = [
        (1, eta, None),
        (3, own, None),
        (1, Schedule(own, 0.8), eta),
        (3, Schedule(eta, 0.9), Schedule([1.5 * eta, eta, 0.1 * eta], 0.7)),
    ]
    for local_steps, local, global_ in steps:
        lengths = first_norms(problem, eta, local_steps)
        operator = bound_of(bounding, *([] if bounding == "none" else [[float(np.median(row)) for row in lengths]]))
        size = float(np.median(lengths)) / np.sqrt(problem.d)
        algorithm = fedavg(local, local_steps, global_, operator, COHORTS[scheme], [0.0, 0.3 * size, size], noise)
        for engine in ENGINES.values():
            assert disagreements(algorithm, problem, engine=engine) == []


def test_the_comparison_sees_clipped_and_unclipped_updates_and_all_kinds_of_cohorts() -> None:
    """The case above would be empty if thresholds never or always bit."""
    problem = problem_of("huber")
    eta = 0.3 / problem.constants.L_max
    threshold = [float(np.median(row)) for row in first_norms(problem, eta, 3)]
    algorithm = fedavg(eta, 3, bound=clip(threshold), cohort=COHORTS["poisson"])
    run = play(algorithm, problem, 6, starting_points(problem, REPLICATES), 11, 4)
    clipped = np.array([h.update_norms > np.array(threshold)[:, None] for h in run.rounds])
    assert 0.2 < clipped.mean() < 0.8
    sizes = {int(s) for h in run.rounds for s in h.cohort.sum(axis=1)}
    assert {1, 2, 3} <= sizes


def test_clipping_and_normalising_share_their_noise() -> None:
    problem = problem_of("dense")
    common: dict[str, Any] = {"sigma": 0.7, "cohort": COHORTS["poisson"]}
    clipped, scaled, plain = (
        play(fedavg(0.2, 2, bound=b, **common), problem, 5, starting_points(problem, REPLICATES), 3)
        for b in (clip(0.1), normalise(0.1), None)
    )
    for a, b, c in zip(clipped.rounds, scaled.rounds, plain.rounds):
        assert np.array_equal(a.noise, b.noise)
        assert np.array_equal(a.noise, c.noise)
        assert np.array_equal(a.cohort, b.cohort)
        assert np.any(a.noise != 0.0)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_empty_cohorts_leave_only_what_the_noise_placement_says(engine: Any) -> None:
    """Per-client noise: no client, no noise, no step. Noise on the average: N(0, sigma^2 I) whatever the cohort."""
    problem = problem_of("dense")
    start = starting_points(problem, 4)
    for noise in ("per-client", "average"):
        algorithm = fedavg(0.2, cohort=Cohort("poisson", 0.3), sigma=0.5, noise=noise, bound=clip(1.0))
        run = play(algorithm, problem, 20, start, engine=engine)
        empty = 0
        for before, after, h in zip(run.servers, run.servers[1:], run.rounds):
            for s in range(4):
                if h.cohort[s].sum() == 0.0:
                    empty += 1
                    assert not h.signal[s].any()
                    assert np.array_equal(after[s], before[s]) == (noise == "per-client")
                    assert np.allclose(after[s], before[s] - 0.2 * h.noise[s], rtol=1e-15, atol=0)
                else:
                    assert not np.array_equal(after[s], before[s])
        assert 30 < empty < 80


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("name", ["dense", "huber-scalar"])
def test_zero_updates_normalise_to_zero(engine: Any, name: str) -> None:
    if name == "dense":
        matrices, centres = np.array([np.eye(2), 2 * np.eye(2)]), np.array([[0.0, 0.0], [3.0, 4.0]])
        problem = from_matrices(matrices, centres)
    else:
        problem = make("huber-scalar", minimisers=[0.0, 5.0], thresholds=[1.0, 1.0])
    start = np.zeros((2, problem.d))
    algorithm = fedavg(0.1, 2, bound=normalise(7.0))
    run = play(algorithm, problem, 1, start, engine=engine)
    assert run.rounds[0].update_norms[:, 0].tolist() == [0.0, 0.0]
    direction = problem.constants.w_i_star[1] / np.linalg.norm(problem.constants.w_i_star[1])
    assert np.allclose(run.servers[1], 0.1 * 7.0 / 2 * direction, rtol=1e-14, atol=0)
    assert disagreements(algorithm, problem, 4, 2, start=start, engine=engine) == []


def test_a_client_of_rank_zero_sends_zero() -> None:
    problem = from_matrices(np.array([np.zeros((2, 2)), np.eye(2)]), np.ones((2, 2)))
    algorithm = fedavg(0.1, 3, bound=normalise(1.0), sigma=0.1)
    for engine in ENGINES.values():
        assert disagreements(algorithm, problem, engine=engine) == []
        assert (
            not play(algorithm, problem, 1, starting_points(problem, 2), engine=engine)
            .rounds[0]
            .update_norms[:, 0]
            .any()
        )


def noises(noise: str, sigma: float, r: float) -> tuple[np.ndarray, np.ndarray]:
    """Cohort sizes (N,) and noise vectors (N, d) of many rounds."""
    problem = make("quadratic", clients=8, dimension=10, seed=3)
    algorithm = fedavg(1e-3, cohort=Cohort("poisson", r), sigma=sigma, noise=noise)
    run = play(algorithm, problem, 40, starting_points(problem, 250), 21)
    return (
        np.concatenate([h.cohort.sum(axis=1) for h in run.rounds]),
        np.concatenate([h.noise for h in run.rounds]),
    )


@pytest.mark.parametrize("noise", ["per-client", "average"])
def test_the_variance_of_the_noise(noise: str) -> None:
    """A cohort of s has variance s sigma^2/r with noise per client and sigma^2 on the average: chi-square limits for
    each of 5 sizes s, rate 2e-9 each."""
    sigma, r = 0.7, 2.5
    sizes, vectors = noises(noise, sigma, r)
    if noise == "per-client":
        assert not vectors[sizes == 0].any()
    tested = 0
    for s in range(1 if noise == "per-client" else 0, 6):
        chosen = vectors[sizes == s]
        variance = sigma**2 * (s / r if noise == "per-client" else 1.0)
        limits = stats.chi2.isf([1 - 1e-9, 1e-9], chosen.size)
        assert limits[0] < np.sum(chosen**2) / variance < limits[1], s
        tested += len(chosen) > 100
    assert tested >= 5
    # the distinction is visible: the other placement's variance is far outside
    assert abs(np.mean(vectors[sizes == 5] ** 2) / sigma**2 - (2.0 if noise == "per-client" else 1.0)) < 0.1


def test_noise_per_client_is_that_of_the_printed_sum() -> None:
    """Line 12 drawn client by client, ``(1/r) sum of s vectors N(0, r sigma^2)``, has the spread of line 14's noise."""
    sigma, r, s = 0.7, 2.5, 4
    rng = np.random.default_rng(4)
    printed = (rng.standard_normal((20000, s)) * np.sqrt(r) * sigma).sum(axis=1) / r
    sizes, vectors = noises("per-client", sigma, r)
    drawn = vectors[sizes == s].ravel()
    assert stats.ks_2samp(printed, drawn).pvalue > 1e-9  # rate 1e-9
    assert stats.ks_2samp(printed, drawn * 1.2).pvalue < 1e-9


@given(cut=st.integers(1, 4), first=st.integers(0, 2**31), seed=st.integers(0, 2**64 - 1))
def test_replicates_are_the_same_in_any_batch(cut: int, first: int, seed: int) -> None:
    problem = problem_of("low-rank")
    start = starting_points(problem, 5)
    sigma = np.linspace(0.1, 0.5, 5)
    both: dict[str, Any] = {"bound": clip(0.5), "cohort": COHORTS["fixed"]}
    whole = play(fedavg(0.3, 2, sigma=sigma, **both), problem, 4, start, seed, first)
    for part in (slice(0, cut), slice(cut, 5)):
        some = play(fedavg(0.3, 2, sigma=sigma[part], **both), problem, 4, start[part], seed, first + part.start)
        for a, b in zip(whole.rounds, some.rounds):
            assert np.array_equal(a.noise[part], b.noise)
            assert np.array_equal(a.cohort[part], b.cohort)
        assert differs("w", some.servers, whole.servers[:, part], float(np.max(np.abs(whole.servers))), 1e-12) == []


def test_many_replicates_are_split_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfl_theory.simulation import simulate as public
    from dpfl_theory.simulation.simulate import simulate as function

    module = __import__("sys").modules[function.__module__]
    problem = problem_of("dense")
    own = np.linspace(0.05, 0.4, 7)
    algorithm = fedavg(own, 2, bound=clip(own), sigma=own, cohort=COHORTS["poisson"])
    whole = public(algorithm, problem, 5, 7, 9, start=starting_points(problem, 7), series=True, device="cpu")
    monkeypatch.setattr(module, "_MOST_REPLICATES", 3)
    split = public(algorithm, problem, 5, 7, 9, start=starting_points(problem, 7), series=True, device="cpu")
    assert np.allclose(split.final, whole.final, rtol=1e-12, atol=1e-13)
    assert np.allclose(split["suboptimality"].series, whole["suboptimality"].series, rtol=1e-12, atol=1e-13)
    assert split["suboptimality"].series.shape == (6, 7)


def test_steps_of_different_replicates_are_grouped_correctly() -> None:
    """Repeated and unsorted step sizes: replicates with equal steps and starts end at the same point, up to the
    rounding of a matrix product, whose last row some processors compute in another order."""
    problem = problem_of("dense")
    start = np.tile(starting_points(problem, 1), (5, 1))
    steps = [0.3, 0.1, 0.3, 0.2, 0.1]
    final = simulate(fedavg(steps, 3), problem, 4, 5, start=start, device="cpu").final
    for replicate, same in ((0, 2), (1, 4)):
        assert np.allclose(final[replicate], final[same], rtol=1e-14, atol=1e-14)
    assert min(np.abs(final[i] - final[j]).max() for i, j in ((0, 1), (0, 3), (1, 3))) > 1e-3


def test_plain_fedavg_averages_the_clients_models() -> None:
    """das2022 Algorithm 2, line 11's remark: w_{k+1} is the mean of the w_{k,E}^{(i)}."""
    problem = problem_of("huber")
    w = starting_points(problem, 1)
    models = []
    for i in range(problem.n):
        at = w[0]
        for _ in range(4):
            at = at - 0.5 * problem.client_gradient(i, at)
        models.append(at)
    final = simulate(fedavg(0.5, 4), problem, 1, start=w, device="cpu").final
    assert np.allclose(final[0], np.mean(models, axis=0), rtol=1e-12)


def test_the_description_is_plain_data() -> None:
    algorithm = fedavg(
        Schedule(np.array([0.1, 0.2]), 0.9), np.int64(3), bound=clip(np.int64(2)),
        cohort=Cohort("fixed", np.int64(2)), sigma=np.array([0, 1]),
    )  # fmt: skip
    described = json.loads(json.dumps(algorithm.describe(), allow_nan=False))
    assert described["algorithm"] == "dp-fedavg"
    assert described["eta"] == described["beta"] == {"initial": [0.1, 0.2], "decay": 0.9}
    assert (described["E"], described["C"], described["sigma"]) == (3, 2, [0.0, 1.0])
    assert described["cohort"] == {"scheme": "fixed", "size": 2}


ONE = "give one number, or one for each replicate"
NUMBER = "Schedule(initial=1.0, decay=1.0): a number, or one number for each replicate, is needed"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"local_step": 0.0}, "the local step is 0: a finite positive number is needed"),
    ({"local_step": -0.1}, "the local step is -0.1: a finite positive number is needed"),
    ({"local_step": [0.1, float("nan")]}, "the local step is nan: a finite positive number is needed"),
    ({"local_step": "fast"}, "the local step is 'fast': a number, or one number for each replicate, is needed"),
    ({"local_step": Schedule(0.0)}, "the local step's initial value is 0: a finite positive number is needed"),
    ({"local_step": Schedule(0.1, -1.0)}, "the local step's decay is -1: a finite positive number is needed"),
    ({"global_step": float("inf")}, "the global step is inf: a finite positive number is needed"),
    ({"local_steps": 0}, "the number of local steps is 0: a whole number of at least 1 is needed"),
    ({"local_steps": 2.0}, "the number of local steps is 2.0: a whole number of at least 1 is needed"),
    ({"local_steps": True}, "the number of local steps is True: a whole number of at least 1 is needed"),
    ({"sigma": -1.0}, "the noise of the average is -1: a finite number that is not negative is needed"),
    ({"sigma": Schedule(1.0)}, f"the noise of the average is {NUMBER}"),
    ({"bound": clip(0.0)}, "the threshold of an update is 0: a finite positive number is needed"),
    ({"bound": clip([1.0, -1.0])}, "the threshold of an update is -1: a finite positive number is needed"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[w[1] for w in WRONG])
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        fedavg(**{"local_step": 0.1, "bound": clip(1.0), **arguments})
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"local_step": [0.1, 0.2]},
            "the local step has 2 values for 3 replicates: give one number, or one for each replicate",
        ),
        (
            {"local_step": [0.1] * 4},
            "the local step has 4 values for 3 replicates: give one number, or one for each replicate",
        ),
        (
            {"local_step": Schedule([0.1])},
            "the local step has 1 values for 3 replicates: give one number, or one for each replicate",
        ),
        (
            {"global_step": [0.1]},
            "the global step has 1 values for 3 replicates: give one number, or one for each replicate",
        ),
        (
            {"sigma": np.zeros(2)},
            "the noise of the average has 2 values for 3 replicates: " + ONE,
        ),
        (
            {"bound": clip([1.0] * 4)},
            "the threshold of an update has 4 values for 3 replicates: give one number, or one for each replicate",
        ),
        (
            {"sigma": np.zeros((3, 3))},
            "the noise of the average has shape (3, 3): " + ONE,
        ),
    ],
)
def test_numbers_for_each_replicate_must_be_as_many_as_the_replicates(arguments: dict[str, Any], sentence: str) -> None:
    """Else a kernel would read beyond an array, or the wrong replicates would share a value."""
    algorithm = fedavg(**{"local_step": 0.1, "bound": clip(1.0), **arguments})
    with pytest.raises(InputError) as caught:
        simulate(algorithm, problem_of("dense"), 1, 3, device="cpu")
    assert str(caught.value) == sentence


def test_one_number_may_be_an_array_without_axes() -> None:
    plain, wrapped = (simulate(fedavg(v), problem_of("dense"), 2, 3, device="cpu").final for v in (0.1, np.array(0.1)))
    assert np.array_equal(plain, wrapped)


def test_the_comparison_needs_the_right_engine() -> None:
    """A run on an engine with other noise is noticed, so the agreement above is not by construction."""

    class Other(CpuEngine):
        def normal(self, *arguments: Any, **named: Any) -> Any:
            return super().normal(*arguments, **named) * (1.0 + 1e-8)

    algorithm = fedavg(0.1, sigma=1.0)
    assert disagreements(algorithm, problem_of("dense"), engine=Other())


def test_every_combination_is_covered() -> None:
    from dpfl_theory.simulation.cohort import SCHEMES

    assert set(COHORTS) == set(SCHEMES)
