"""Rules that guess from a score whether a canary's data were used, the limits from their counts, and the choice of a
rule.

`dpfl_theory.audit.bounds` says which limits the counts give, and why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import special, stats
from dpfl_theory.problems.base import Array

_EXCESS_SHARE = 0.1
"""The part of alpha that pays for the limit D on the guesses that delta excuses."""


@dataclass(frozen=True)
class Rule:
    """Guess "with" for scores above ``high`` and "without" for scores below ``low`` <= ``high``; -inf or inf switches a
    side off. ``flipped`` means the score is negated first."""

    low: float
    high: float
    flipped: bool = False

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or not self.low <= self.high or not self.sides:
            raise InputError(
                f"the thresholds are low = {self.low} and high = {self.high}: give low <= high, at least one finite"
            )

    @property
    def sides(self) -> int:
        """How many of the two guesses the rule can make."""
        return int(math.isfinite(self.low)) + int(math.isfinite(self.high))

    def guesses(self, scores: Array) -> tuple[int, int]:
        """The numbers of guesses "with" and "without"."""
        s = -scores if self.flipped else scores
        return int(np.count_nonzero(s > self.high)), int(np.count_nonzero(s < self.low))


def epsilon_from_counts(correct: Any, wrong: Any, replicates: int, delta: float, sides: Any, alpha: float) -> Any:
    """The limit for epsilon from guesses on ``replicates`` replicates with fair coins, by a rule that makes one or both
    guesses (sides 1 or 2); arrays are taken entry by entry.

    >>> round(float(epsilon_from_counts(900, 100, 10_000, 0.0, 2, 1e-6)), 3)  # log(900/100) is 2.197
    1.721
    """
    correct, wrong = np.asarray(correct, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    kept, share = correct, 1.0
    if delta > 0.0:
        excused = np.asarray(stats.binom.isf(_EXCESS_SHARE * alpha, replicates, 0.5 * delta * np.arange(3)))
        kept = correct - excused[np.asarray(sides)]
        share = 1.0 - _EXCESS_SHARE
    x = special.betainccinv(wrong + 1.0, np.maximum(kept, 1.0), share * alpha)
    return np.where(kept >= 1.0, np.maximum(np.log1p(-x) - np.log(x), 0.0), 0.0)


def mu_from_counts(
    above_with: Any, replicates_with: Any, above_without: Any, replicates_without: Any, alpha: float
) -> Any:
    """The limit for mu from how many scores of each arm exceed a threshold; arrays are taken entry by entry.

    >>> round(float(mu_from_counts(8413, 10_000, 5000, 10_000, 1e-6)), 3)  # the normal quantiles differ by 1
    0.865
    """
    x, y = np.asarray(above_with, dtype=np.float64), np.asarray(above_without, dtype=np.float64)
    p = np.where(x > 0, special.betaincinv(np.maximum(x, 1.0), replicates_with - x + 1.0, alpha / 2.0), 0.0)
    rest = np.maximum(replicates_without - y, 1.0)
    q = np.where(y < replicates_without, special.betainccinv(y + 1.0, rest, alpha / 2.0), 1.0)
    with np.errstate(invalid="ignore"):  # both rates 0, or both 1: nothing is known
        mu = special.ndtri(p) - special.ndtri(q)
    return np.where(np.isfinite(mu), np.maximum(mu, 0.0), 0.0)


def candidates(ascending_with: Array, ascending_without: Array) -> tuple[Array, Array]:
    """Candidate thresholds (low, high) on sorted scores. These are order statistics at counts that grow by a quarter
    from the tails inwards, and the middle of a gap between the arms if one exists. Infinity switches a side off.
    """

    def counts(n: int) -> NDArray[np.int64]:
        top = max(1, n // 2)
        return np.unique(np.round(np.geomspace(1, top, 2 + int(math.log(top) / math.log(1.25)))).astype(np.int64))

    one, zero = ascending_with, ascending_without
    high = [math.inf, *zero[len(zero) - 1 - np.minimum(counts(len(zero)), len(zero) - 1)]]
    low = [-math.inf, *one[np.minimum(counts(len(one)), len(one) - 1)]]
    beyond = np.searchsorted(one, zero[-1], side="right")
    if beyond < len(one):
        high.append(0.5 * (zero[-1] + one[beyond]))
    before = np.searchsorted(zero, one[0], side="left")
    if before > 0:
        low.append(0.5 * (one[0] + zero[before - 1]))
    return np.unique(low), np.unique(high)


def choose_for_epsilon(one: Array, zero: Array, delta: float, alpha: float, replicates: int) -> tuple[float, Rule]:
    """The rule with the largest expected limit for epsilon on ``replicates`` further replicates, and that limit. It is
    chosen from sorted pilot scores with (one) and without (zero) the canary. The pilot's counts are made worse by two
    standard deviations, so that the chance of rare scores does not choose a rule."""
    best = (-1.0, Rule(-math.inf, float(zero[-1])))
    for flipped in (False, True):
        a, b = (-one[::-1], -zero[::-1]) if flipped else (one, zero)
        low, high = candidates(a, b)
        scale_one, scale_zero = 0.5 * replicates / len(a), 0.5 * replicates / len(b)
        right = (len(a) - np.searchsorted(a, high, side="right")) * scale_one
        wrong = (len(b) - np.searchsorted(b, high, side="right")) * scale_zero
        right_low = np.searchsorted(b, low, side="left") * scale_zero
        wrong_low = np.searchsorted(a, low, side="left") * scale_one
        sides = np.isfinite(low)[:, None].astype(int) + np.isfinite(high)[None, :].astype(int)
        correct, errors = right_low[:, None] + right[None, :], wrong_low[:, None] + wrong[None, :]
        scale = max(scale_one, scale_zero)
        correct = np.maximum(correct - 2.0 * np.sqrt(scale * correct), 0.0)
        errors = errors + 2.0 * np.sqrt(scale * (errors + scale)) + scale
        promised = epsilon_from_counts(correct, errors, replicates, delta, sides, alpha)
        promised = np.where((low[:, None] <= high[None, :]) & (sides > 0), promised, -1.0)
        i, j = np.unravel_index(int(np.argmax(promised)), promised.shape)
        if promised[i, j] > best[0]:
            best = float(promised[i, j]), Rule(float(low[i]), float(high[j]), flipped)
    return best


def choose_for_mu(one: Array, zero: Array, alpha: float, replicates: int) -> tuple[float, Rule]:
    """As `choose_for_epsilon`, for the limit for mu and rules with one threshold."""
    best = (-1.0, Rule(-math.inf, float(zero[-1])))
    half = 0.5 * replicates
    for flipped in (False, True):
        a, b = (-one[::-1], -zero[::-1]) if flipped else (one, zero)
        low, high = candidates(a, b)
        at = np.unique(np.concatenate([low, high]))
        at = at[np.isfinite(at)]
        above_one = (len(a) - np.searchsorted(a, at, side="right")) * (half / len(a))
        above_zero = (len(b) - np.searchsorted(b, at, side="right")) * (half / len(b))
        cautious = np.minimum(above_zero + half / len(b), half), np.maximum(above_one - half / len(a), 0.0)
        promised = mu_from_counts(cautious[1], half, cautious[0], half, alpha)
        j = int(np.argmax(promised))
        if promised[j] > best[0]:
            best = float(promised[j]), Rule(-math.inf, float(at[j]), flipped)
    return best
