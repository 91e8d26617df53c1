"""What the numbers in the words of hou2023 are computed with (`dpfl_theory.statements.numbers`)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from dpfl_theory.statements.hou2023._runs import iterated

LOG = math.log(1e5)


def needed(expected: float, T: int) -> float:
    """The smallest v with which a binomial number of rounds, ``expected`` of T on average, is (3.3, 1e-5)-private:
    delta is the mean over the number j of rounds of the delta of j releases (zero-out; more than 80 rounds over the
    mean have a probability below 1e-30)."""
    from scipy.optimize import brentq
    from scipy.stats import binom, norm

    def excess(v: float) -> float:
        total = 0.0
        for j in range(1, min(T, int(expected) + 80) + 1):
            z = math.sqrt(v * expected * LOG / j) / 3.3
            shift = 1 / (2 * z)
            delta = norm.cdf(shift - 3.3 * z) - math.exp(3.3 + norm.logcdf(-shift - 3.3 * z))
            total += binom.pmf(j, T, expected / T) * delta
        return total - 1e-5

    return float(brentq(excess, 0.1, 50.0))


def least_budget() -> float:
    """The least value of sqrt(v ln(1/delta)/((1 - x) ln(1/(1 - x)))), v = 4 and delta = 1e-5, over x = mu/L: at 1 - x =
    1/e."""
    return math.sqrt(4 * LOG * math.e)


def server() -> float:
    """E||x||^2 of DP-ScaffNew's server over DP-FedAvg's: q = (1, 1/4), x_0 = 1, eta = 1, p = 1/5, T = 40, sigma^2 =
    8."""
    one, zero = [Fraction(1)] * 2, [Fraction(0)] * 2
    run = partial(iterated, one, zero, [Fraction(1), Fraction(1, 4)], Fraction(1), Fraction(1, 5), 40, Fraction(8))
    ours, fedavg = (run(gain=gain) for gain in (None, Fraction(0)))
    return float(ours.square(ours.state[0]) / fedavg.square(fedavg.state[0]))
