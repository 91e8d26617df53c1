"""The views of DP-SCAFFOLD and DP-FedAvg: exact values and limits for the claims about them.

The data behind the lower limits. Losses are absolute deviations |p x - b|, convex with gradients of norm at most C. One
record of user 0 has p = (1, kappa) in one data set and (-1, kappa) in the other, in units of C/sqrt(1 + kappa^2), with
b > 0: its gradients differ along the first coordinate only. In round 1 the model moves along the second coordinate, so
far that both gradients change sign. Further coordinates show which users take part: there the users' gradients differ.

* s = 1: user 0's other records have gradient 0; the other users' records have p near the second axis, and their
  gradients change sign too. For more than two rounds each loss is the largest of as many functions p_t x - b_t.
* s < 1: user 0's other records are like the first of the two, so that nothing moves if the record is not drawn. If
  user 0 takes part in round 1, the other users' constant gradients cancel what its records do along the first
  coordinate; other sequences of cohorts count as if they showed nothing.

The record's move is 1/sqrt(1 + kappa^2) of the largest possible one, with kappa = 0.01. The distances along the other
coordinates grow with R, so that for R = 10^9 a failure has probability below `UNSEEN`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.lazy import mpmath
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
from dpfl_theory.statements.noble2022.privacy._linear import LinearRun, cohort_sequences, squared_distance

__all__ = [
    "LEVEL",
    "SMALL",
    "UNSEEN",
    "alternating",
    "delta_limits",
    "mixture_of_participations",
    "sampled_low",
    "symbols_at",
    "third_party_low",
]

UNSEEN = 1e-30
"""Probability that is conceded for a sign or a cohort that is not as described."""

SHORTER = Fraction(10_000, 10_001)
"""The squared length of the record's move, 1/(1 + kappa^2)."""


def alternating(rounds: int) -> tuple[int, ...]:
    """The sign of the record's move in each round: opposite in consecutive ones."""
    return tuple(1 - 2 * (t % 2) for t in range(rounds))


def mixture_of_participations(epsilon: Any, deviation: Any, rate: Fraction, rounds: int) -> tuple[Any, Any]:
    """delta (low, high) when a user takes part in a binomial number j of rounds, which everyone sees. Its releases are
    together one Gaussian release with noise multiplier deviation/sqrt(j).

    At s = 1 no data do worse: every round is a Gaussian mechanism, whatever the earlier ones released.
    """
    from dpfl_theory.privacy.gaussian import gaussian_delta

    low = high = mpmath.mpf(0)
    with mpmath.workdps(40):
        q = mpmath.mpf(rate.numerator) / rate.denominator
        for j in range(1, rounds + 1):
            weight = mpmath.binomial(rounds, j) * q**j * (1 - q) ** (rounds - j)
            below, above = gaussian_delta(epsilon, deviation / mpmath.sqrt(j))
            low, high = low + weight * below, high + weight * above
        rounding = high * mpmath.mpf(10) ** -30
        return low - rounding, high + rounding


def third_party_low(epsilon: Any, sigma: Any, users: int, size: int, rounds: int) -> Any:
    """A delta that DP-SCAFFOLD's last models (x^T, c^T) certainly show at s = K = 1, by the data described above."""
    from dpfl_theory.privacy.gaussian import gaussian_delta

    signs = alternating(rounds)
    found: Counter[Fraction] = Counter()
    for cohorts in cohort_sequences(users, size, rounds):
        _, seen, last = LinearRun(users, cohorts, signs=signs).views(True)
        found[squared_distance(last if rounds <= 2 else seen)] += 1
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for distance, count in found.items():
            if distance:
                square = distance * SHORTER
                mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
                total += count * gaussian_delta(epsilon, mpmath.mpf(sigma) / mu)[0]
        return total / sum(found.values()) - (1 + mpmath.exp(epsilon)) * UNSEEN


def sampled_low(epsilon: float, sigma: float, rate: float, users: int, size: int, rounds: int) -> float:
    """The same for s = rate < 1, where no one sees in which of its rounds the record was drawn.

    For each sequence of cohorts one test: the sum u of the models that separates best when the record is always drawn,
    and the best of many thresholds. Any test gives a lower limit.
    """
    import numpy as np
    from scipy.special import ndtr

    signs = alternating(rounds)
    total, count = 0.0, 0
    for cohorts in cohort_sequences(users, size, rounds):
        count += 1
        rows = [[float(x) for x in form] for form in LinearRun(users, cohorts, signs=signs).views(True)[1]]
        mine = [t for t, cohort in enumerate(cohorts) if 0 in cohort]
        if 0 not in mine:
            continue
        moves, weights = [], []
        for drawn in product((0, 1), repeat=len(mine)):
            kept = tuple(signs[t] if t in mine and drawn[mine.index(t)] else 0 for t in range(rounds))
            moves.append([float(form[0]) for form in LinearRun(users, cohorts, signs=kept).views(True)[1]])
            weights.append(rate ** sum(drawn) * (1 - rate) ** (len(drawn) - sum(drawn)))
        noise = np.array(rows)[:, 1:]
        covariance = noise @ noise.T
        u = np.linalg.pinv(covariance, rcond=1e-10) @ np.array(moves[-1])
        shifts = np.array(moves) @ u * float(SHORTER) ** 0.5
        deviation = sigma * float(np.linalg.norm(noise.T @ u))
        thresholds = np.linspace(-3 * deviation, shifts.max() + 12 * deviation, 2001)[:, None]
        seen = ndtr((shifts - thresholds) / deviation) @ np.array(weights)
        total += float(np.max(seen - np.exp(epsilon) * ndtr(-thresholds[:, 0] / deviation)))
    return total / count * (1 - 1e-9) - UNSEEN * (1 + float(np.exp(epsilon)))


def symbols_at(point: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The symbols' values at a point, which is given by M, the cohort's size m, T, s, sigma_g and R."""
    known = {"M": point["M"], "l": point["m"] / point["M"], "T": point["T"], "K": point.get("K", 1)}
    return {**known, "s": point["s"], "R": point["R"], "sigma_g": point["sigma_g"], **more}


def delta_limits(name: str, point: Mapping[str, Any], view: str) -> Any:
    """Its certified limits of delta at the point's epsilon."""
    from dpfl_theory.privacy.accounting import account

    return account(formulas.mechanism(name, symbols_at(point), view), epsilon=float(point["epsilon"])).delta


LEVEL = (
    r"'level of privacy' is read as the smallest $\delta$ for every $\varepsilon$, over all losses and neighbouring "
    "data; $T$ rounds are seen. In DP-SCAFFOLD-warm the rounds that set $c_i^0$ release as much as others"
)
"""The reading of both claims."""
SMALL = {"M": 3, "m": 2, "T": 2, "s": 1, "R": 10**9}
"""The smallest instance: T = 2 and m = 2 < M; a cohort of one, or of all, hides as little from a third party."""
