"""Gradient oracles: expectation and spread, the printed divisor, and what they refuse.

Statistical tests are seeded; the rate at each assertion is the chance that a sound oracle fails it for a random seed.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from oracles.compare import CPU, ENGINES, problem_of, starting_points
from oracles.families import least_squares
from scipy import stats
from short_forms import model_clipped, two_sided

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Engine, Replicates
from dpfl_theory.problems.base import Problem
from dpfl_theory.simulation import (
    Cohort,
    FullGradient,
    Gradient,
    NoisyGradient,
    RecordGradient,
    simulate,
)
from dpfl_theory.simulation.base import Context
from dpfl_theory.simulation.gradients import whole_part

TINY = 1e-9
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def context_of(problem: Problem, replicates: int, engine: Engine = CPU) -> Context:
    start = engine.asarray(np.zeros((replicates, problem.d)))
    return Context(engine, problem, problem.kernels(engine), Replicates(31, 2, replicates), slice(0, replicates), start)


def values(oracle: Gradient, problem: Problem, replicates: int, k: int = 0, engine: Engine = CPU) -> np.ndarray:
    """g_i at one point of all clients in all replicates, (n, replicates, d)."""
    w = np.tile(starting_points(problem, 1)[0], (problem.n, replicates, 1))
    return oracle.evaluate(context_of(problem, replicates, engine), engine.asarray(w), None, k, 3)


def gradient_of(problem: Problem) -> np.ndarray:
    """grad f_i there, (n, 1, d)."""
    w = starting_points(problem, 1)[0]
    return np.array([[problem.client_gradient(i, w)] for i in range(problem.n)])


@every_engine
def test_a_noisy_gradient_has_its_mean_and_variance(engine: Engine) -> None:
    """grad f_i plus N(0, s^2 I): chi-square limits for the sum of squares, the normal's for the mean, and no
    correlation between coordinates, clients or local steps."""
    problem, s = problem_of("dense"), 0.7
    oracle = NoisyGradient(s)
    z = (values(oracle, problem, 400, engine=engine) - gradient_of(problem)) / s
    N = z.size
    assert TINY < stats.chi2.cdf(float(np.sum(z**2)), N) < 1 - TINY  # rate 2e-9
    assert np.all(np.abs(z.mean(axis=1)) * math.sqrt(400) < 6.9)  # rate 5e-12 each of 24
    assert stats.kstest(z.ravel(), "norm").pvalue > TINY  # rate 1e-9
    later = (values(oracle, problem, 400, 1, engine) - gradient_of(problem)) / s
    for a, b in ((z[..., 0], z[..., 1]), (z[:-1], z[1:]), (z, later)):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) * math.sqrt(a.size) < 6.5  # rate 1e-10 each


class AllSubsets(CpuEngine):
    """Replicate s gets the s-th of the subsets of two of each client's four records."""

    def subsets(self, replicates: Replicates, round_: int, clients: Any, sizes: Any, counts: Any, step: int = 0) -> Any:
        assert set(sizes) == {4}
        assert set(counts) == {2}
        return np.array([list(itertools.combinations(range(4), 2))] * len(clients))


def test_the_mean_over_all_subsets_is_the_gradient() -> None:
    """Without clipping, where sR is whole: no sampling error, since every subset is met once."""
    problem = least_squares((4, 4, 4))
    found = values(RecordGradient(0.5), problem, 6, engine=AllSubsets()).mean(axis=1)
    assert np.allclose(found, gradient_of(problem)[:, 0], rtol=1e-13, atol=1e-14)


def test_the_printed_divisor_biases_gradients_where_s_R_is_not_whole() -> None:
    """noble2022 samples floor(sR) records and divides by sR, so the mean is the gradient times floor(sR)/(sR): here
    2/2.8 for R = 4 and s = 0.7."""
    problem = least_squares((4, 4, 4))
    found = values(RecordGradient(0.7), problem, 6, engine=AllSubsets()).mean(axis=1)
    assert np.allclose(found, gradient_of(problem)[:, 0] * 2.0 / 2.8, rtol=1e-13, atol=1e-14)


@every_engine
def test_random_subsets_give_an_unbiased_gradient(engine: Engine) -> None:
    """Of all clients in 3000 replicates: Hotelling's statistic against chi-square with d degrees of freedom, rate 2e-9
    for each client (its covariance is that of sampling without replacement, known exactly)."""
    problem, replicates = least_squares((6, 8, 10)), 3000
    found, w = values(RecordGradient(0.5), problem, replicates, engine=engine), starting_points(problem, 1)[0]
    data = problem.data
    for i, R in enumerate((6, 8, 10)):
        own = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
        g = (data.x[own] @ w - data.y[own])[:, None] * data.x[own]
        covariance = np.cov(g.T) / (R // 2) * (1.0 - 0.5)
        off = found[i].mean(axis=0) - g.mean(axis=0)
        statistic = replicates * float(off @ np.linalg.solve(covariance, off))
        assert TINY < stats.chi2.cdf(statistic, 3) < 1 - TINY


@every_engine
@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_the_noise_has_the_printed_deviation(engine: Engine, share: float) -> None:
    """2 C sigma_g/(sR) for each coordinate, with the client's own R and sR as it is, not its floor; rate 2e-9 each."""
    sizes, C, sigma_g, replicates = (4, 6, 9), 0.3, 1.7, 500
    problem = least_squares(sizes)
    noisy, quiet = (
        values(RecordGradient(share, C, sigma), problem, replicates, engine=engine) for sigma in (sigma_g, 0.0)
    )
    for i, R in enumerate(sizes):
        z = (noisy[i] - quiet[i]) / (2.0 * C * sigma_g / (share * R))
        assert TINY < stats.chi2.cdf(float(np.sum(z**2)), z.size) < 1 - TINY
        for j in range(3):
            assert TINY < stats.chi2.cdf(float(np.sum(z[:, j] ** 2)), replicates) < 1 - TINY
        assert abs(float(z.mean())) * math.sqrt(z.size) < 6.5  # rate 1e-10


def test_local_steps_and_clients_draw_noise_and_records_of_their_own() -> None:
    problem = least_squares((6, 6, 6))
    w = np.tile(starting_points(problem, 1)[0], (3, 40, 1))
    context = context_of(problem, 40)
    for oracle in (RecordGradient(0.5), RecordGradient(1.0, 0.5, 1.0), NoisyGradient(0.5)):
        first, again, next_step, next_round = (
            oracle.evaluate(context, w, None, k, q) for k, q in ((0, 0), (0, 0), (0, 1), (1, 0))
        )
        assert np.array_equal(first, again)
        for other in (next_step, next_round):
            assert np.mean(np.all(np.isclose(first, other), axis=2)) < 0.2
        chosen = np.ascontiguousarray(np.tile([[2], [0]], (1, 40)))
        assert np.allclose(oracle.evaluate(context, w[:2], chosen, 0, 0), first[[2, 0]], rtol=1e-13)


@pytest.mark.parametrize("algorithm", [two_sided, model_clipped])
def test_a_client_drawn_twice_adds_noise_twice(algorithm: Any) -> None:
    """The mean of s draws has variance sigma^2/s however often a client is among them: chi-square limits, rate 2e-9.
    With one noise for each distinct client it would be sigma^2 sum_i (count_i/s)^2, beyond those limits."""
    problem, sigma, replicates, s = problem_of("dense"), 0.6, 3000, 4
    options = {"threshold": 1e9} if algorithm is model_clipped else {}
    cohort = Cohort("with-replacement", s)
    start = np.zeros((replicates, problem.d))
    noisy, quiet = (
        simulate(
            algorithm(0.1, sigma=x, cohort=cohort, **options), problem, 1, replicates, 5, start=start, device="cpu"
        )
        for x in (sigma, 0.0)
    )
    z = noisy.final - quiet.final
    square = float(np.sum(z**2)) / sigma**2
    assert TINY < stats.chi2.cdf(square * s, z.size) < 1 - TINY
    counts = cohort.sample(context_of(problem, replicates), 0)
    distinct = float(np.mean(np.sum((counts / s) ** 2, axis=1)))
    assert distinct > 1.3 / s
    assert stats.chi2.cdf(square / distinct, z.size) < TINY


def test_which_oracles_are_private() -> None:
    private = [RecordGradient(0.5, 1.0, 0.1), RecordGradient(0.5, 1.0, [0.0, 0.1])]
    others = [
        FullGradient(),
        NoisyGradient(1.0),
        RecordGradient(0.5, 1.0),
        RecordGradient(0.5),
        RecordGradient(0.5, "median", 2.0),
    ]
    assert [o.private for o in private] == [True, True]
    assert [o.private for o in others] == [False] * 5


def test_the_description_is_plain_data() -> None:
    def reported(oracle: Gradient) -> dict[str, Any]:
        return dict(json.loads(json.dumps(oracle.describe(), allow_nan=False)))

    assert reported(FullGradient()) == {"gradient": "full"}
    assert reported(NoisyGradient(np.array([0.1, 0.2]))) == {"gradient": "noisy", "deviation": [0.1, 0.2]}
    records = {"gradient": "records", "share": 0.5, "record_threshold": 2, "noise_multiplier": 1.5}
    assert reported(RecordGradient(np.float64(0.5), np.int64(2), 1.5)) == records
    assert "no privacy theorem" in reported(RecordGradient(0.5, "median"))["privacy"]
    assert reported(RecordGradient(0.5, np.array([1.0, 2.0])))["record_threshold"] == [1.0, 2.0]
    assert "privacy" not in reported(RecordGradient(0.5, 1.0))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RecordGradient(0.0), "the share of records is 0.0: it must lie in (0, 1]"),
        (lambda: RecordGradient(1.5), "the share of records is 1.5: it must lie in (0, 1]"),
        (lambda: RecordGradient(True), "the share of records is True: it must lie in (0, 1]"),
        (lambda: RecordGradient(0.5, 0.0), "the threshold C is 0: a finite positive number is needed"),
        (lambda: RecordGradient(0.5, "mean"), "the threshold is 'mean': give a positive number, None or 'median'"),
        (
            lambda: RecordGradient(0.5, None, 1.0),
            "noise is calibrated to the threshold C: give a threshold, or a noise multiplier of 0",
        ),
        (
            lambda: RecordGradient(0.5, 1.0, -1.0),
            "the noise multiplier is -1: a finite number that is not negative is needed",
        ),
        (
            lambda: NoisyGradient(-0.1),
            "the deviation of the stochastic gradient is -0.1: a finite number that is not negative is needed",
        ),
        (
            lambda: RecordGradient(0.2).validate(least_squares((9, 4)), 1),
            "the share of records is 0.2: a client has 4 records, so give at least 1/4",
        ),
        (
            lambda: RecordGradient(0.5).validate(problem_of("dense"), 1),
            "problem 'random quadratic, condition 10' has no records: a gradient of records needs a linear model, such "
            "as least-squares",
        ),
        (
            lambda: NoisyGradient([0.1, 0.2]).validate(problem_of("dense"), 3),
            "deviation has 2 values for 3 replicates: give one number, or one for each replicate",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == sentence


def test_a_whole_share_is_not_lost_to_rounding() -> None:
    """0.29 * 100 is 28.999999999999996 in floating point; floor(sR) is 29."""
    counts = whole_part(0.29, np.array([100, 200, 99]))
    assert counts.tolist() == [29, 58, 28]
