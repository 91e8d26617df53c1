"""zhang2021 Theorem 3.2, repaired: its proof against exact moments, and planted faults in noise, range and proof."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

from dpfl_theory.checks import algebra, privacy
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021 import theorem3_2

ID = "zhang2021.theorem3.2.repaired"


def the_check(name: str) -> Check:
    (found,) = (c for c in get(ID).checks if c.name.startswith(name))
    return found


def log_moment(order: int, q: float, s: float) -> Any:
    """ln E e^{s J(J-1)/2}, J ~ Bin(order, q), by its sum: (order - 1) times the Renyi divergence of one round."""
    with mpmath.workdps(40):
        terms = (
            mpmath.binomial(order, j)
            * (1 - mpmath.mpf(q)) ** (order - j)
            * mpmath.mpf(q) ** j
            * mpmath.exp(s * j * (j - 1) / 2)
            for j in range(order + 1)
        )
        return mpmath.log(mpmath.fsum(terms))


@pytest.mark.parametrize("log", [0.2, 2.0, 11.5129, 300.0])
@pytest.mark.parametrize("x", [0.01, 0.13, 0.3, 0.5])
@pytest.mark.parametrize("q", [0.001, 1 / 24, 0.5, 1.0])
def test_the_proof_bounds_the_exact_moments(log: float, x: float, q: float) -> None:
    """At the fewest rounds: T rounds of the exact moment, converted to (epsilon, delta), cost no more than claimed."""
    epsilon = x * log
    T = math.ceil(max(80 * log, epsilon / q**2))
    s = epsilon**2 / (4 * q**2 * T * log)
    order = 1 + math.ceil(math.sqrt(8) / x)
    spent = T * log_moment(order, q, s) / (order - 1) + log / (order - 1)
    assert spent <= epsilon * theorem3_2.share(x, x * (order - 1)) * (1 + 1e-9)
    assert spent < epsilon


def test_the_proof_does_not_close_far_beyond_its_range() -> None:
    assert theorem3_2.share(1.0, math.sqrt(8) + 1.0) > 1


def with_noise(factor: Any) -> Statement:
    true = theorem3_2.REPAIRED
    sides = sides_of(true)
    return replace(true, sides=lambda _: Sides(sides.lhs, {name: factor * term for name, term in sides.rhs.items()}))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["independent clients", "cohorts of fixed size"])
def test_too_little_noise_is_found(name: str) -> None:
    """2/5 of the variance; every point with the fixed size is certified to fail, or not to hold."""
    assert privacy.run(with_noise(sp.Rational(2, 5)), the_check(name), Settings()).verdict == "violated"


def test_the_rounds_are_counted_at_the_prescribed_noise() -> None:
    check = the_check("T rounds")
    assert algebra.run(get(ID), check, Settings()).verdict == "holds"
    assert algebra.run(with_noise(2), check, Settings()).verdict == "violated"


def test_the_paper_s_larger_budget_is_outside() -> None:
    """T = 1000, epsilon = 5: at least 6.75 is spent with cohorts of fixed size, and the hypotheses exclude it."""
    check = the_check("cohorts of fixed size")
    instance = {**check.instance, "N, P, T, epsilon": [[1920, 80, 1000, 5.0]]}
    assert privacy.run(get(ID), replace(check, instance=instance), Settings()).verdict == "not-applicable"
    (point,) = check.make(get(ID), instance).points()
    assert point.low > 6.75


@pytest.mark.slow
@pytest.mark.parametrize("name", ["independent clients", "cohorts of fixed size"])
def test_where_a_data_set_is_replaced_four_is_not_enough(name: str) -> None:
    """v = 4 gives more than 1.73 at P = 80, N = 1920, T = 1000 and epsilon = 1.5; v = 16 is certified."""
    check = the_check(f"4 times the noise where a client's data set is replaced, {name}")
    assert privacy.run(get(ID), check, Settings()).verdict == "holds"
    one = {**check.instance, "N, P, T, epsilon": [[1920, 80, 1000, 1.5]]}
    (point,) = check.make(get(ID), {**one, "times": 1}).points()
    assert point.low > 1.73
    assert privacy.run(get(ID), replace(check, instance={**one, "times": 1}), Settings()).verdict == "violated"


def test_where_a_data_set_is_replaced_four_is_not_enough_for_all_clients_in_all_rounds() -> None:
    """P = N, epsilon = 2: the true delta of all rounds together by the normal distribution, 1.37e-4."""
    move = 2 / (math.sqrt(4 * math.log(1e5)) / 2)  # over the deviation of the noise in all rounds together
    true = mpmath.ncdf(move / 2 - 2 / move) - mpmath.exp(2) * mpmath.ncdf(-move / 2 - 2 / move)
    assert float(true) == pytest.approx(1.3726e-4, rel=1e-4)


@pytest.mark.slow
def test_an_observer_who_knows_the_cohorts_learns_more() -> None:
    """The typo at Theorem 3.2, by another method: the mean over k of releases of multiplier z/sqrt(k)."""
    from scipy import stats

    rate, T = 80 / 1920, 1000
    z = rate * math.sqrt(4 * T * math.log(1e5)) / 1.5
    k = np.arange(1, T + 1)
    mu, weight = np.sqrt(k) / z, stats.binom.pmf(k, T, rate)

    def delta(epsilon: float) -> float:
        """By quadrature over the loss of each release, N(mu^2/2, mu^2)."""
        x = np.linspace(-12.0, 12.0, 20_001)
        loss = mu[:, None] ** 2 / 2 + mu[:, None] * x
        gain = np.maximum(0.0, -np.expm1(epsilon - loss)) * stats.norm.pdf(x)
        return float(weight @ np.trapezoid(gain, x, axis=1))

    assert delta(5.06) > 1e-5 > delta(5.07)


def test_every_T_needs_no_rounds() -> None:
    """The same noise as the repaired theorem's where every client takes part, and N^2/P^2 times it elsewhere."""
    from dpfl_theory.statements.prescribed_noise import evaluate, noise_of

    for P, N in ((8, 8), (8, 24)):
        at = {"P": P, "N": N, "T": 100, "c": 3, "epsilon": 2, "delta": mpmath.mpf("1e-5")}
        found = [evaluate(s, noise_of(s), at) for s in (get("zhang2021.theorem3.2.every-T"), get(ID))]
        assert float(found[0] / found[1]) == pytest.approx((N / P) ** 2)
