"""Statistics of samples over replicates in the validations of hou2023: the place of an optimum, and ratios of smallest
means.

Replicates are paired: compared runs have the same noise and the same coins. Samples are positive and skewed, so that
means are compared by the logarithm of their ratio (delta method). All limits are Student's with Bonferroni's
correction, asymptotic in the replicates: in one claim they leave out a true value with a probability of at most 1%.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy import stats

from dpfl_theory.problems.base import Array

FALSE_ALARM = 0.01  # probability that the limits of a claim leave out a true value


@dataclass(frozen=True)
class Optimum:
    """The place of the smallest mean on a grid.

    ``best``: the grid's value with the smallest mean; ``tied``: the confidence set of the truly best, that is all
    values whose means are not significantly larger, from ``low`` to ``high``; ``trivial``: whether it is an end of the
    grid and every value between the ends is worse in these tests, or better in no replicate; ``non_trivial``: whether
    it is better than both ends in tests with 1% on each grid. That is enough, since the claim that all optima of
    several grids are so is wrong only if it is wrong for a certain one of them; ``value`` and ``error``: its mean and
    standard error.
    """

    best: float
    low: float
    high: float
    tied: tuple[float, ...]
    non_trivial: bool
    trivial: bool
    value: float
    error: float


def _log_ratios(upper: Array, lower: Array) -> tuple[Array, Array]:
    """Logarithms of the means of ``upper`` (k, replicates) over those of ``lower`` (m, replicates), and their standard
    errors."""
    a, b = upper.mean(axis=1), lower.mean(axis=1)
    influence = (upper / a[:, None])[:, None] - (lower / b[:, None])[None]
    return np.log(a)[:, None] - np.log(b), influence.std(axis=2, ddof=1) / math.sqrt(upper.shape[1])


def _critical(replicates: int, probability: float) -> float:
    """The value that Student's t exceeds with this probability."""
    return float(stats.t.isf(probability, replicates - 1))


def worse(samples: Array, sets: int) -> Any:
    """Which rows of samples (k, replicates) have a mean above the smallest, in one-sided tests of all against the best.

    The row with the truly smallest mean is among them with a probability of at most 1%/sets: only if some other of the
    k - 1 looks better in its test, each of which has the probability 1%/(sets (k - 1)).
    """
    best = int(np.argmin(samples.mean(axis=1)))
    ratio, error = (v[:, 0] for v in _log_ratios(samples, samples[best : best + 1]))
    found = ratio > _critical(samples.shape[1], FALSE_ALARM / (sets * max(1, len(samples) - 1))) * error
    found[best] = False
    return found


def optimum(grid: Sequence[float], samples: Array, grids: int = 1) -> Optimum:
    """The optimum of samples (len(grid), replicates), where one claim concerns this number of grids."""
    means, out, alone = samples.mean(axis=1), worse(samples, grids), worse(samples, 1)
    best = int(np.argmin(means))
    tied = tuple(g for g, beaten in zip(grid, out) if not beaten)
    beaten = out | (samples >= samples[best]).all(axis=1)
    return Optimum(
        best=grid[best],
        low=min(tied),
        high=max(tied),
        tied=tied,
        non_trivial=bool(alone[0] and alone[-1]),
        trivial=best in (0, len(grid) - 1) and bool(beaten[1:-1].all()),
        value=float(means[best]),
        error=float(samples[best].std(ddof=1) / math.sqrt(samples.shape[1])),
    )


def resampled_best(grid: Sequence[float], samples: Array, count: int) -> Array:
    """The best value in this number of bootstrap resamples of the replicates, always the same resamples."""
    replicates = samples.shape[1]
    weights = np.random.default_rng(0).multinomial(replicates, np.full(replicates, 1.0 / replicates), size=count)
    values: Array = np.asarray(grid, dtype=np.float64)[np.argmin(weights @ samples.T, axis=1)]
    return values


@dataclass(frozen=True)
class Limits:
    """An estimate between its confidence limits."""

    estimate: float
    low: float
    high: float

    def __format__(self, how: str) -> str:
        """As '1.5 (1.2 to 1.9)', each number in the given format."""
        return f"{format(self.estimate, how)} ({format(self.low, how)} to {format(self.high, how)})"

    def over(self, positive: float) -> Limits:
        """Limits of the value divided by a positive number."""
        return Limits(self.estimate / positive, self.low / positive, self.high / positive)


def largest(found: Sequence[Limits]) -> Limits:
    """Limits of the largest of several values."""
    return Limits(max(o.estimate for o in found), max(o.low for o in found), max(o.high for o in found))


def mean(samples: Array, cases: int) -> Limits:
    """The mean of samples (replicates,), one of this number of cases of one claim."""
    critical = _critical(len(samples), FALSE_ALARM / (2 * cases))
    estimate, half = float(samples.mean()), critical * float(samples.std(ddof=1)) / math.sqrt(len(samples))
    return Limits(estimate, estimate - half, estimate + half)


def ratio(upper: Array, lower: Array, cases: int) -> Limits:
    """The smallest mean of ``upper`` (k, replicates) over the smallest of ``lower`` (m, replicates), for this number of
    cases of a claim.

    Whichever row i of ``upper`` is the smallest, the ratio is at least mean_i/mean_j for every j, and i is one of those
    not `worse`: the lower limit is the smallest over such i of the largest lower limit over j, of m ratios at once. The
    upper limit is the same of the inverse.
    """

    def least(a: Array, b: Array) -> float:
        """The lower limit of log(min a/min b): half of its probability for leaving the row i out, half for ratios."""
        estimate, error = _log_ratios(a[~worse(a, 4 * cases)], b)
        half = _critical(a.shape[1], FALSE_ALARM / (4 * cases * len(b))) * error
        return float((estimate - half).max(axis=1).min())

    estimate = float(upper.mean(axis=1).min() / lower.mean(axis=1).min())
    return Limits(estimate, math.exp(least(upper, lower)), math.exp(-least(lower, upper)))


def difference_at_best(first: tuple[Array, Array], second: tuple[Array, Array], cases: int) -> Limits:
    """A second quantity where the mean of a first is smallest: its mean in ``first`` less that in ``second``.

    Both are (samples of the first, samples of the second), each (k, replicates). Limits are the outermost of those of
    all pairs of rows that are not `worse`: half of the probability goes to leaving the true pair out, half to its
    limits.
    """
    (a, at_a), (b, at_b) = (
        (~worse(samples, 4 * cases), samples.mean(axis=1).argmin()) for samples, _ in (first, second)
    )
    pairs = first[1][a][:, None] - second[1][b][None]
    means, replicates = pairs.mean(axis=2), pairs.shape[2]
    half = _critical(replicates, FALSE_ALARM / (4 * cases)) * pairs.std(axis=2, ddof=1) / math.sqrt(replicates)
    estimate = float(first[1][at_a].mean() - second[1][at_b].mean())
    return Limits(estimate, float((means - half).min()), float((means + half).max()))


def settle(certain: Iterable[bool], impossible: Iterable[bool]) -> str:
    """The verdict on a claim about all cases, each of which is certain, impossible, or neither."""
    return "not-reproduced" if any(impossible) else "reproduced" if all(certain) else "inconclusive"


def all_within(found: Sequence[Limits], low: float, high: float) -> str:
    """The verdict on the claim that all these values are from low to high."""
    return settle((low <= o.low and o.high <= high for o in found), (o.high < low or o.low > high for o in found))


def all_in(found: Sequence[Collection[float]], claimed: Sequence[Collection[float]]) -> str:
    """The verdict on the claim that each optimum, of which a confidence set was found, is one of the claimed values.

    Where no claimed value was tested, nothing is decided.
    """
    pairs = [(set(f), set(c)) for f, c in zip(found, claimed, strict=True)]
    return settle((f <= c for f, c in pairs), (bool(c) and not f & c for f, c in pairs))


def all_equal(groups: Iterable[Sequence[Collection[float]]]) -> str:
    """The verdict on the claim that in each group all optima, of which confidence sets were found, are the same."""
    sets = [[set(f) for f in group] for group in groups]
    common = [reduce(set.intersection, group) for group in sets]
    return settle(
        (len(c) == 1 and all(f == c for f in group) for c, group in zip(common, sets)), (not c for c in common)
    )
