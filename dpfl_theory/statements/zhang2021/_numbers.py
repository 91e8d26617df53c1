"""The decimals of zhang2021's errata that no check reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.statements.numbers import Key
from dpfl_theory.statements.zhang2021.eq16_to_eq18 import EQ17
from dpfl_theory.statements.zhang2021.eq19 import CONCAVE, EQ19, noise_alone

__all__ = ["COMPUTED", "GIVEN"]


def _one_update_for_each() -> float:
    """(17)'s left side over its right one where one update serves every draw: N = P = 10 clients with f_i = -x^2/2,
    x_t = 0, Q = 5, eta Q = 129/1000, sigma_l = 1, alpha-bar = 1.

    An update is minus eta times the sum of the noises z_q and of the gradients, -x_q: it is eta sum_q (1 + eta)^(Q-q)
    z_q up to its sign, and without its own noises eta sum_q ((1 + eta)^(Q-q) - 1) z_q. The mean over P clients that
    are drawn with replacement has the square of one client's times 1/P + (1 - 1/P)/N.
    """
    Q, P, N = 5, 10, 10
    eta = Fraction(129, 1000) / Q
    grown = [(1 + eta) ** (Q - q) for q in range(1, Q + 1)]
    whole, local = (
        eta**2 * sum(g**2 for g in gains) * (Fraction(1, P) + Fraction(P - 1, P * N))
        for gains in (grown, [g - 1 for g in grown])
    )
    symbols = {"cohort_local": local, "P": P, "eta_l": eta, "alpha": 1, "Q": Q, "sigma_l": 1}
    return float(whole / evaluate_side(EQ17, "rhs", symbols))


def _noise_factor(Q: int) -> float:
    """The ratio of (19)'s sides for one client at its maximum, f = -x^2/2, eta_l Q L = 129/1000, with only its
    noise."""
    (found,) = noise_alone(EQ19, {**CONCAVE, "Q": [Q]})
    return float(evaluate_side(EQ19, "lhs", found.symbol_values) / evaluate_side(EQ19, "rhs", found.symbol_values))


def _reached() -> float:
    """The epsilon that is certainly spent where 5 is requested: P of N = 80 of 1920, T = 1000, v = 4, delta = 1e-5."""
    from dpfl_theory.privacy.events import Repeated
    from dpfl_theory.privacy.pld import epsilon_low
    from dpfl_theory.privacy.sampling import fixed_size

    rate, T = 80 / 1920, 1000
    z = rate * math.sqrt(4 * T * math.log(1e5)) / 5
    return epsilon_low(Repeated(fixed_size(rate, z, False), T), 1e-5)


def _known_cohorts() -> float:
    """The epsilon at delta = 1e-5 of an observer who sees the sums and who takes part, P of N = 80 of 1920, T = 1000,
    v = 4, noise for 1.5: the rounds in which one client takes part, k of T, are together one release of multiplier
    z/sqrt(k)."""
    from dpfl_theory.lazy import stats

    rate, T = 80 / 1920, 1000
    z = rate * math.sqrt(4 * T * math.log(1e5)) / 1.5
    chances = [(math.sqrt(k) / z, float(stats.binom.pmf(k, T, rate))) for k in range(1, T + 1)]

    def delta(epsilon: float) -> float:
        return math.fsum(
            w
            * float(stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu))
            for mu, w in chances
            if w > 1e-18
        )

    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > 1e-5 else (low, middle)
    return high


COMPUTED: Mapping[Key, Callable[[], float]] = {
    ("zhang2021.eq17", "1.046"): _one_update_for_each,
    ("zhang2021.eq19", "1.12"): lambda: _noise_factor(32),
    ("zhang2021.eq20", "0.101"): lambda: 8 / 79,
    ("zhang2021.eq22", "5.28"): lambda: 2 * (1 + (1920 - 80) / (1920 - 1) * 32) / 12,
    ("zhang2021.theorem3.1", "2.64"): lambda: (1 + (1920 - 80) / (1920 - 1) * 32) / 2 / 6,
    ("zhang2021.theorem3.1", "-3.17"): lambda: 1 - 200 / 48,
    ("zhang2021.theorem3.2", "6.75"): _reached,
    ("zhang2021.theorem3.2", "2.88"): lambda: 5 / ((80 / 1920) ** 2 * 1000),
    ("zhang2021.theorem3.2", "5.07"): _known_cohorts,
}

GIVEN: Mapping[Key, str] = {
    ("zhang2021.eq15", "7.75"): "the theorem's limit of the local step, 1/(7.75 QL)",
    ("zhang2021.eq17", "0.129"): "the counterexample's eta_l Q L, just below 1/sqrt(60)",
}
