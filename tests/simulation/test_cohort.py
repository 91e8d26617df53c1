"""Client sampling: sizes, frequencies, independence. A sound sampler fails a statistical test with the stated rate."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
from oracles.compare import ENGINES, cohort_by_address, problem_of
from scipy import stats

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.simulation import Cohort
from dpfl_theory.simulation.base import Context

REPLICATES, ROUNDS, N = 300, 40, 6
TINY = 1e-9


def context_of(engine: str) -> Context:
    problem, chosen = problem_of("dense"), ENGINES[engine]
    start = chosen.asarray(np.zeros((REPLICATES, problem.d)))
    return Context(chosen, problem, problem.kernels(chosen), Replicates(17, 5, REPLICATES), slice(0, REPLICATES), start)


@functools.cache
def cohorts(cohort: Cohort, engine: str = "cpu") -> np.ndarray:
    """(rounds, replicates, n)."""
    context = context_of(engine)
    return np.array([cohort.sample(context, k) for k in range(ROUNDS)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "cohort",
    [
        Cohort("fixed", 2), Cohort("fixed", 5), Cohort("poisson", 2.5), Cohort("poisson", 0.1),
        Cohort("with-replacement", 4), Cohort("with-replacement", 6),
    ],
)  # fmt: skip
def test_members_are_those_of_the_address(cohort: Cohort, engine: str) -> None:
    sample = cohorts(cohort, engine)
    assert set(np.unique(sample)) >= {0.0, 1.0}
    assert (sample.max() > 1.0) == (cohort.scheme == "with-replacement")
    for k, s in itertools.product(range(0, ROUNDS, 13), range(0, REPLICATES, 29)):
        members = np.repeat(np.arange(N), sample[k, s].astype(int)).tolist()
        assert members == cohort_by_address(cohort, N, 17, 5 + s, k)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_fixed_cohorts_have_their_size_and_choose_clients_and_pairs_evenly(size: int) -> None:
    sample = cohorts(Cohort("fixed", size)).reshape(-1, N)
    assert np.all(sample.sum(axis=1) == size)
    M, q = len(sample), size / N
    # Hotelling's statistic of drawing without replacement is chi-square with n - 1 degrees of freedom; rate 2e-9.
    statistic = np.sum((sample.sum(axis=0) - M * q) ** 2) * (N - 1) / N / (M * q * (1 - q))
    assert TINY < stats.chi2.sf(statistic, N - 1) < 1 - TINY
    if size == 2:
        pairs = np.array([np.sum(sample[:, i] * sample[:, j]) for i, j in itertools.combinations(range(N), 2)])
        assert TINY < stats.chisquare(pairs).pvalue < 1 - TINY  # rate 2e-9


@pytest.mark.parametrize("size", [0.3, 2.5, 5.9])
def test_poisson_cohorts_are_independent_coins(size: float) -> None:
    sample = cohorts(Cohort("poisson", size)).reshape(-1, N)
    M, q = len(sample), size / N
    counts = np.bincount(sample.sum(axis=1).astype(int), minlength=N + 1)
    expected = M * stats.binom.pmf(np.arange(N + 1), N, q)
    big = expected >= 5
    merged = [np.append(x[big], x[~big].sum()) if (~big).any() else x for x in (counts, expected)]
    keep = merged[1] > 1e-3
    assert (
        stats.chisquare(merged[0][keep], merged[1][keep] * merged[0][keep].sum() / merged[1][keep].sum()).pvalue > TINY
    )
    for i in range(N):  # rate 2e-9 each
        assert TINY < stats.binom.cdf(sample[:, i].sum(), M, q) < 1 - TINY
    for i, j in itertools.combinations(range(N), 2):
        z = np.corrcoef(sample[:, i], sample[:, j])[0, 1] * math.sqrt(M)
        assert abs(z) < 6.5  # rate 1e-10 each


@pytest.mark.parametrize("size", [1, 3, 6])
def test_draws_with_replacement_are_independent(size: int) -> None:
    """Each client's count is binomial, and the clients' counts together are multinomial; rate 2e-9 each."""
    sample = cohorts(Cohort("with-replacement", size)).reshape(-1, N).astype(int)
    assert np.all(sample.sum(axis=1) == size)
    M = len(sample)
    assert TINY < stats.chisquare(sample.sum(axis=0)).pvalue < 1 - TINY
    for i in range(N):
        merged = np.minimum(sample[:, i], 2)
        expected = M * np.array([*stats.binom.pmf([0, 1], size, 1.0 / N), stats.binom.sf(1, size, 1.0 / N)])
        keep = expected > 0.0
        assert TINY < stats.chisquare(np.bincount(merged, minlength=3)[keep], expected[keep]).pvalue < 1 - TINY
    if size == 3:
        vectors = [v for v in itertools.product(range(4), repeat=N) if sum(v) == 3]
        place = {v: j for j, v in enumerate(vectors)}
        counts = np.bincount([place[tuple(v)] for v in sample.tolist()], minlength=len(vectors))
        chances = stats.multinomial.pmf(np.array(vectors), 3, np.full(N, 1.0 / N))
        assert TINY < stats.chisquare(counts, M * chances).pvalue < 1 - TINY


def test_a_uniform_next_to_one_draws_the_last_client() -> None:
    """Not client n, which does not exist: no client would take its place."""

    class Edge(CpuEngine):
        def uniform(self, replicates: Replicates, round_: int, clients: int, stream: int, step: int = 0) -> Any:
            return np.tile([0.0, 1.0 - 2.0**-53, 1.0], (replicates.count, 1))

    context = dataclasses.replace(context_of("cpu"), engine=Edge())
    assert np.all(Cohort("with-replacement", 3).sample(context, 0) == [1.0, 0.0, 0.0, 0.0, 0.0, 2.0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cohort", [Cohort("fixed", 2), Cohort("fixed", N), Cohort()])
def test_members_are_those_who_take_part(cohort: Cohort, engine: str) -> None:
    """Ascending numbers, of as many clients as take part in each replicate."""
    context = context_of(engine)
    for k in range(3):
        counts, members = cohort.sample(context, k), cohort.members(context, k)
        assert members.shape == (int(cohort.divisor(N)), REPLICATES)
        assert np.all(members[:-1] < members[1:])
        assert np.all(np.take_along_axis(counts, members.T, axis=1) == 1.0)
        assert len(members) * REPLICATES == counts.sum()
        assert members.flags.c_contiguous


@pytest.mark.parametrize("scheme", [("poisson", 2.5), ("with-replacement", 3)])
def test_rounds_and_replicates_are_independent(scheme: tuple[str, float]) -> None:
    sample = cohorts(Cohort(*scheme))
    for a, b in ((sample[1:], sample[:-1]), (sample[:, 1:], sample[:, :-1])):
        z = np.corrcoef(a.ravel(), b.ravel())[0, 1] * math.sqrt(a.size)
        assert abs(z) < 6.5  # rate 1e-10 each


@pytest.mark.parametrize("cohort", [Cohort(), Cohort("full", 2), Cohort("fixed", N), Cohort("poisson", N)])
def test_everybody(cohort: Cohort) -> None:
    assert np.all(cohorts(cohort) == 1.0)
    assert cohort.divisor(N) == N


def test_sums_are_divided_by_the_expected_number() -> None:
    assert Cohort("poisson", 0.25).divisor(N) == 0.25
    assert Cohort("fixed", 3).divisor(N) == 3.0
    assert Cohort("full", 3).divisor(N) == N
    assert Cohort("with-replacement", 3).divisor(N) == 3.0


RANGE = "with 6 clients it must lie in (0, 6], so that r/n is in (0, 1]"


@pytest.mark.parametrize(
    ("cohort", "sentence"),
    [
        (("uniform", 2), "sampling scheme 'uniform' is unknown: choose one of poisson, fixed, with-replacement, full"),
        (("poisson", None), f"the cohort size is None: {RANGE}"),
        (("poisson", 0), f"the cohort size is 0: {RANGE}"),
        (("poisson", 6.5), f"the cohort size is 6.5: {RANGE}"),
        (("poisson", math.nan), f"the cohort size is nan: {RANGE}"),
        (("poisson", "2"), f"the cohort size is '2': {RANGE}"),
        (("fixed", 7), f"the cohort size is 7: {RANGE}"),
        (("with-replacement", 7), f"the cohort size is 7: {RANGE}"),
        (
            ("with-replacement", 2.5),
            "the cohort size is 2.5: sampling a fixed number of clients needs a whole number",
        ),
        (("fixed", 2.5), "the cohort size is 2.5: sampling a fixed number of clients needs a whole number"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(cohort: tuple[Any, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Cohort(*cohort).check(N)
    assert str(caught.value) == sentence
