"""What the numbers in the words of zhang2021 are computed with (`dpfl_theory.statements.numbers`)."""

from __future__ import annotations

import math
from fractions import Fraction

from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import stats
from dpfl_theory.statements.zhang2021._instances import ROUNDS
from dpfl_theory.statements.zhang2021.eq13_to_eq19 import EQ17, EQ19, noise_alone


def one_update_for_each() -> float:
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


def noise_factor(Q: int) -> float:
    """The ratio of (19)'s sides for one client at its maximum, f = -x^2/2, eta_l Q L = 129/1000, with only its
    noise."""
    (found,) = noise_alone(EQ19, {**ROUNDS["many-steps"]["concave near x_t, Q from 29"], "Q": [Q]})
    return float(evaluate_side(EQ19, "lhs", found.symbol_values) / evaluate_side(EQ19, "rhs", found.symbol_values))


def reached() -> float:
    """The epsilon that is certainly spent where 5 is requested: P of N = 80 of 1920, T = 1000, v = 4, delta = 1e-5."""
    from dpfl_theory.privacy.events import Repeated
    from dpfl_theory.privacy.pld import epsilon_low
    from dpfl_theory.privacy.sampling import fixed_size

    rate, T = 80 / 1920, 1000
    z = rate * math.sqrt(4 * T * math.log(1e5)) / 5
    return epsilon_low(Repeated(fixed_size(rate, z, False), T), 1e-5)


def known_cohorts() -> float:
    """The epsilon at delta = 1e-5 of an observer who sees the sums and who takes part, P of N = 80 of 1920, T = 1000,
    v = 4, noise for 1.5: the rounds in which one client takes part, k of T, are together one release of multiplier
    z/sqrt(k)."""
    rate, T = 80 / 1920, 1000
    z = rate * math.sqrt(4 * T * math.log(1e5)) / 1.5
    chances = [(math.sqrt(k) / z, float(stats.binom.pmf(k, T, rate))) for k in range(1, T + 1)]

    def one(mu: float, epsilon: float) -> float:
        near, far = (stats.norm.cdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
        return float(near - math.exp(epsilon) * far)

    def delta(epsilon: float) -> float:
        return math.fsum(w * one(mu, epsilon) for mu, w in chances if w > 1e-18)

    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > 1e-5 else (low, middle)
    return high
