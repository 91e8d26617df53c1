r"""Lower confidence limits for epsilon, and for mu of Gaussian differential privacy, from samples of a score.

A score is a number S that an observer computes from its observations. It is sampled with the canary's data (arm 1) and
without it (arm 0). A `Rule` guesses: S > high says "with", S < low says "without", and in between the rule abstains.

**Epsilon** (`epsilon_lower_bound`). Let every replicate draw its arm with a fair coin, and let c and w be the
probabilities that its guess is correct or wrong. If the mechanism is (epsilon, delta)-differentially private, both ways
round,

.. math:: c = \tfrac12 \big(P_1(S > h) + P_0(S < l)\big) \le e^\varepsilon w + \tfrac{s}{2}\delta,

where s = 2, or 1 for a rule with one threshold. Split c into c' <= e^epsilon w and c'' <= s delta/2. Of M replicates,
at most D are of the second kind with probability 1 - alpha/10, where D is the quantile of Bin(M, s delta/2). Given the
number of remaining guesses, the number of correct ones is binomial with probability at most e^epsilon/(1 + e^epsilon).
A Clopper-Pearson limit on that probability, at 9 alpha/10, from C - D correct and W wrong guesses, gives

.. math:: \varepsilon \ge \log\frac{1 - x}{x}, \qquad x = \text{upper limit of the share of wrong guesses}.

No shape of the score's distribution is assumed, and the error is one-sided: the limit exceeds the true epsilon with
probability at most alpha = 1 - confidence, at every sample size. Two Clopper-Pearson limits, one for each arm, would
need about twice as many replicates (their errors add up; here they add up in quadrature). One tail instead of two would
need twice as many again.

**Which rule?** Thresholds fixed before the data are seen share alpha (Bonferroni). Without them, the first part of the
samples, the pilot, chooses the most promising rule. The other samples, which are independent of the choice, test that
one rule with the whole alpha.

**mu** (`mu_lower_bound`). A mechanism is mu-GDP when no test between neighbours is more powerful than the best test
between N(0, 1) and N(mu, 1). A rule with false positives at most q and true positives at least p, two Clopper-Pearson
limits at alpha/2 each, refutes every mu below :math:`\Phi^{-1}(p) - \Phi^{-1}(q)`. This refutes the claim "mu-GDP"
without assumptions; as a lower limit for epsilon it needs a Gaussian privacy curve of the code, which is not tested.

Sources: Clopper, Pearson, Biometrika 26 (1934); Jagielski, Ullman, Oprea, "Auditing differentially private machine
learning: how private is private SGD?", NeurIPS 2020 (limits on a test's two error rates); Steinke, Nasr, Jagielski,
"Privacy auditing with one (1) training run", NeurIPS 2023 (guesses that may abstain); Dong, Roth, Su, "Gaussian
differential privacy", JRSS B 84 (2022), and Nasr et al., "Tight auditing of differentially private machine learning",
USENIX Security 2023 (auditing mu). Here every replicate is a separate run, so the guesses are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.audit.rules import Rule, choose_for_epsilon, choose_for_mu, epsilon_from_counts, mu_from_counts
from dpfl_theory.errors import InputError
from dpfl_theory.lazy import optimize, special
from dpfl_theory.problems.base import Array


@dataclass(frozen=True)
class EpsilonBound:
    """epsilon >= ``epsilon`` with the requested confidence; ``correct`` and ``wrong`` guesses of the rule on
    ``replicates`` samples."""

    epsilon: float
    rule: Rule
    correct: int
    wrong: int
    replicates: int


@dataclass(frozen=True)
class MuBound:
    """The mechanism is not mu'-GDP for any mu' < ``mu``, with the requested confidence; ``above_with`` of the
    ``replicates_with`` scores and ``above_without`` of the ``replicates_without`` exceed the rule's threshold."""

    mu: float
    rule: Rule
    above_with: int
    replicates_with: int
    above_without: int
    replicates_without: int


def epsilon_lower_bound(
    scores_with: Any,
    scores_without: Any,
    delta: float,
    confidence: float = 1.0 - 1e-6,
    thresholds: Sequence[tuple[float, float]] | None = None,
    *,
    pilot: float = 0.2,
    seed: int = 0,
) -> EpsilonBound:
    """A lower confidence limit for epsilon at this delta from independent scores with and without the canary.

    scores_with, scores_without: one-dimensional, each sample from a separate run.
    thresholds: (low, high) pairs fixed before the scores were seen, which share the error; None: the first ``pilot`` of
    each arm's scores chooses one pair (and whether to negate the score), and the others test it. seed: of the coins.
    The arms' sizes must look as if each sample had chosen its arm by a fair coin. So some of each arm's samples (about
    4 sqrt(n)) are left out. In the rare case that the coins need more samples than available (probability below 1e-11),
    the limit is 0.

    The limit exceeds the true epsilon with probability at most 1 - confidence.

    Raises InputError for scores that are not finite numbers, fewer than 100 in an arm, delta outside [0, 1),
    confidence outside (0, 1), or a pilot outside (0, 1).

    >>> import numpy as np
    >>> z = np.random.default_rng(0).standard_normal((2, 100_000))
    >>> bound = epsilon_lower_bound(z[0] + 1.0, z[1], delta=1e-3)  # the true epsilon is 3.13
    >>> 2.2 < bound.epsilon < 3.13
    True
    """
    one, zero = _scores("scores_with", scores_with), _scores("scores_without", scores_without)
    alpha = _alpha(delta, confidence, pilot)
    if thresholds is None:
        one, zero, first, second = _split(one, zero, pilot)
        rules = [choose_for_epsilon(first, second, delta, alpha, len(one) + len(zero))[1]]
    else:
        rules = [Rule(float(low), float(high)) for low, high in thresholds]
        if not rules:
            raise InputError("there are no thresholds: give at least one pair (low, high), or None for a pilot")
    with_, without = _fair(len(one), len(zero), seed)
    bounds = []
    for rule in rules:
        (right, wrong_low), (wrong, right_low) = rule.guesses(one[:with_]), rule.guesses(zero[:without])
        replicates = with_ + without
        correct, errors = right + right_low, wrong + wrong_low
        value = float(epsilon_from_counts(correct, errors, replicates, delta, rule.sides, alpha / len(rules)))
        bounds.append(EpsilonBound(value, rule, correct, errors, replicates))
    return max(bounds, key=lambda bound: bound.epsilon)


def mu_lower_bound(
    scores_with: Any, scores_without: Any, confidence: float = 1.0 - 1e-6, *, pilot: float = 0.2
) -> MuBound:
    """A lower confidence limit for mu: the claim that the mechanism is mu'-GDP is refuted for every mu' below it.

    Arguments and errors are those of `epsilon_lower_bound`.

    >>> import numpy as np
    >>> z = np.random.default_rng(0).standard_normal((2, 100_000))
    >>> 0.9 < mu_lower_bound(z[0] + 1.0, z[1]).mu < 1.0
    True
    """
    one, zero = _scores("scores_with", scores_with), _scores("scores_without", scores_without)
    alpha = _alpha(0.0, confidence, pilot)
    one, zero, first, second = _split(one, zero, pilot)
    rule = choose_for_mu(first, second, alpha, len(one) + len(zero))[1]
    above = rule.guesses(one)[0], rule.guesses(zero)[0]
    value = float(mu_from_counts(above[0], len(one), above[1], len(zero), alpha))
    return MuBound(value, rule, above[0], len(one), above[1], len(zero))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon of mu-GDP at this delta: the root of `dpfl_theory.privacy.gaussian.gaussian_delta` with z = 1/mu.

    >>> round(gaussian_epsilon(1.0, 1e-5), 4)
    4.3772
    """

    def excess(epsilon: float) -> float:
        first = special.ndtr(0.5 * mu - epsilon / mu)
        return float(first - math.exp(epsilon + special.log_ndtr(-0.5 * mu - epsilon / mu)) - delta)

    if mu <= 0.0 or excess(0.0) <= 0.0:
        return 0.0
    if delta == 0.0:
        return math.inf
    high = 1.0
    while excess(high) > 0.0:
        high *= 2.0
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-12))


def _scores(name: str, values: Any) -> Array:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} cannot be read as numbers: give a one-dimensional array of scores") from None
    if scores.ndim != 1 or len(scores) < 100:
        raise InputError(f"{name} has shape {scores.shape}: give one dimension with at least 100 scores")
    if not np.isfinite(scores).all():
        raise InputError(f"{name} contains NaN or infinity: give finite scores")
    return scores


def _alpha(delta: float, confidence: float, pilot: float) -> float:
    if not 0.0 <= delta < 1.0:
        raise InputError(f"delta is {delta}: it must lie in [0, 1)")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"the confidence is {confidence}: it must lie strictly between 0 and 1")
    if not 0.0 < pilot < 1.0:
        raise InputError(f"the pilot's share is {pilot}: it must lie strictly between 0 and 1")
    return 1.0 - confidence


def _split(one: Array, zero: Array, pilot: float) -> tuple[Array, Array, Array, Array]:
    """The samples of the test, and the sorted pilot that chooses the rule."""
    a, b = (min(len(s) - 1, max(1, round(pilot * len(s)))) for s in (one, zero))
    return one[a:], zero[b:], np.sort(one[:a]), np.sort(zero[:b])


def _fair(one: int, zero: int, seed: int) -> tuple[int, int]:
    """How many of each arm's samples to use, so that the arms' sizes are those of fair coins."""
    most = 2 * min(one, zero)
    replicates = max(0, most - math.ceil(7.0 * math.sqrt(most)))
    heads = int(np.random.default_rng(seed).binomial(replicates, 0.5))
    return (heads, replicates - heads) if max(heads, replicates - heads) <= min(one, zero) else (0, 0)
