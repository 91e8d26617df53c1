"""Corollary C.1's displays: proofs for all M, lM and K, and counterexamples to the displays as printed.

Each proof ends in the coefficients of ``sides()``.

First display, for all smooth F_i and all steps: errors have mean zero given all before them, so that their squares add
up.

Second and third display, for convex F_i and eta_l <= 2/nu. Given C^t, x^{t-1} and the past q = c^{t-1} - c_i^{t-1} is a
number, y^k = T(y^{k-1}) - eta_l (error + q) with T = id - eta_l grad F_i, and T is nonexpansive. So Var T(Y) <= Var Y
(half of E||T(Y) - T(Y')||^2 for an independent copy Y'), Var y^k <= Var y^{k-1} + eta_l^2 V, Var y^K <= K eta_l^2 V;
and K (c_i^t + q) = (x - y^K)/eta_l. The third is l^2 times the second: c^t - c^{t-1} is 1/M times the cohort's sum of
c_i^t - c_i^{t-1}.

The counterexamples are inside every hypothesis of the paper: smooth F_i that are bounded below and have bounded
gradients, records drawn at random, and Gaussian noise.

One user's two records have the gradients F'(x) + 1 and F'(x) - 1; one is drawn, so that varsigma^2 = sR = 1 and the
error is e = +-1 + w with w ~ N(0, tau^2), Sigma_g^2 = 2 tau^2 and V = 1 + 2 tau^2. Each left side below is a lower
bound of the true one, as a fraction: errors are unbounded, and what their tails may change is bounded by moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any

from dpfl_theory.core import Outcome, Statement, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022.scaffold._round_instances import noise, root
from dpfl_theory.statements.symbolic import decided, errors

__all__ = ["between_cohorts", "first_display", "long_steps", "other_displays", "past_errors", "pendulum"]


def first_display(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Corollary C.1, first display: P_k = P_{k-1} + Q_k for the second moments P_k of a user's summed errors and Q_k of
    the k-th error. That error has mean zero given those before; so P_K <= K V. Given the cohort users are
    independent."""
    s = symbols_of(statement)
    K, r, k, V = s["K"], sp.Symbol("r", positive=True), sp.Symbol("k", integer=True, positive=True), sp.Symbol("V")
    users = sp.summation(1, (k, 1, r)) * sp.summation(V, (k, 1, K)) / (K * r) ** 2
    stated = total(statement)
    proved = users.subs(r, s["l"] * s["M"]).subs(V, noble.variance(s))
    return decided(errors(), {"noise": (stated - proved) / noble.averaged(s)}, (sp.Symbol("theta"),))


def other_displays(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Corollary C.1, second and third display, for eta_l nu = 2 theta, theta in [0, 1]."""
    s, stated = symbols_of(statement), total(statement)
    K, share = s.K, s.l
    eta, nu, V, r, theta, S, x, q = sp.symbols("eta_l nu V r theta S x q", positive=True)
    first, second, d, g, inner, mean = sp.symbols("E_1 E_2 d g p m", real=True)
    k, j = sp.symbols("k j", integer=True, positive=True)
    end = x - eta * (S + K * q)  # y^K, S the sum of the K noisy gradients
    spread = sp.summation(eta**2 * V, (k, 1, K))  # Var y^K
    one = spread / (K * eta) ** 2  # Var c_i^t
    several = sp.summation(one, (j, 1, r))
    identities = {
        "c_i - c + (x - y^K)/(K eta_l) is the mean of the K noisy gradients": (-q + (x - end) / (K * eta), S / K),
        "a variance is half of the mean square between two copies": (
            (second - 2 * first**2 + second) / 2,
            second - first**2,
        ),
        "a step's error adds its variance": ((second + eta**2 * V) - mean**2, (second - mean**2) + eta**2 * V),
        "||d - eta g||^2 = ||d||^2 - 2 eta (<d, g> - ||g||^2/nu) - eta (2/nu - eta) ||g||^2": (
            d**2 - 2 * eta * inner + eta**2 * g**2,
            d**2 - 2 * eta * (inner - g**2 / nu) - eta * (2 / nu - eta) * g**2,
        ),
    }
    size, unit = share * s["M"], noble.averaged(s)
    at = {V: noble.variance(s), r: size}
    slacks = {
        "step": ((2 / nu - eta) * nu / 2).subs(eta, 2 * theta / nu),
        "second": (stated - (several / r**2).subs(at)) / unit,
        "third": (stated - (several / s["M"] ** 2).subs(at)) / unit,
    }
    return decided(identities, slacks, (theta, share))


def _two_steps(eta: Fraction, M: int) -> dict[str, Any]:
    """One of M users takes K = 2 steps, nu = 1."""
    return {"K": 2, "M": M, "l": Fraction(1, M), "nu": 1, "eta_l": eta}


def _one_of_two(tau2: Fraction) -> dict[str, Any]:
    """One of two records, at a distance of 1 from their mean, and noise of variance tau^2."""
    return {"R": 2, "s": Fraction(1, 2), "varsigma": 1, "Sigma": root(2 * tau2)}


def pendulum(_: Statement, instance: Mapping[str, Any]) -> Values:
    """Second display: F(x) = 1 - cos x (nu = 1, F* = 0, |F'| <= 1, C = 2) from x = pi, one user, K = 2.

    y^1 = pi - eta e_1, so that K c = e_1 + sin(eta e_1) + e_2, whose mean is 0. With z sin z >= z^2 - z^4/6 and
    sin(z)^2 >= z^2 - z^4/3 the second moment is at least E e_2^2 + (1 + eta)^2 E e_1^2 - (eta^3 + eta^4) E e_1^4/3.
    """
    eta, tau2 = Fraction(instance["eta_l nu"]), Fraction(instance["tau"]) ** 2
    second, fourth = 1 + tau2, 1 + 6 * tau2 + 3 * tau2**2
    left = (second + (1 + eta) ** 2 * second - (eta**3 + eta**4) * fourth / 3) / 4
    at = {"F": "1 - cos x", "x": "pi", "K": 2, "eta_l nu": eta, "tau": instance["tau"]}
    return Values({**_two_steps(eta, 1), **_one_of_two(tau2), "spread": left}, at)


def long_steps(_: Statement, instance: Mapping[str, Any]) -> Values:
    """Second display: F the Huber loss with F'(x) = clip(x, -w, w), w = 2 eta, from x = 0, one user, K = 2.

    y^1 = -eta e_1. Where |e_1| <= 2 this is K c = (1 - eta) e_1 + e_2; elsewhere |w_1| > 1, and what is lost is at most
    (1 - eta)^2 E e_1^2 w_1^2 = (1 - eta)^2 (tau^2 + 3 tau^4).
    """
    eta, tau2 = Fraction(instance["eta_l nu"]), Fraction(instance["tau"]) ** 2
    left = (1 + tau2 + (1 - eta) ** 2 * (1 + tau2 - tau2 - 3 * tau2**2)) / 4
    at = {"F": f"Huber, gradient clipped at {2 * eta}", "x": 0, "K": 2, "eta_l nu": eta, "tau": instance["tau"]}
    return Values({**_two_steps(eta, 1), **_one_of_two(tau2), "spread": left}, at)


def past_errors(_: Statement, instance: Mapping[str, Any]) -> Values:
    """Second display, convex, given C^1 and x^0 only: first round after the warm start, K = 2, lM = 1, x^0 = 0, user 1
    with F_1'(x) = clip(x, -w, w), w = 3 eta, the other F_i = 0; all users err by e.

    y^1 = -eta (e_1 - q), where q = c_1^0 - c^0 has the variance (1 - 1/M) Var e/2. Unclipped K c_1^1 = X + e_2 with X =
    (1 - eta) e_1 + eta q. As |q| <= 2 except for its normal part, |y^1| exceeds w by no more than its own normal part
    n, E n^2 = eta^2 tau^2 (1 + (1 - 1/M)/2). So clipping takes at most sqrt(E n^2) from the standard deviation of X.
    The fraction keeps E X^2 - 2 sqrt(E X^2 E n^2), its square root rounded up.
    """
    eta, tau, M = Fraction(instance["eta_l nu"]), Fraction(instance["tau"]), int(instance["M"])
    single, left = 1 + tau**2, 1 - Fraction(1, M)
    linear = ((1 - eta) ** 2 + eta**2 * left / 2) * single
    lost = eta**2 * tau**2 * (1 + left / 2)
    both = linear * lost
    most = Fraction(isqrt(both.numerator * both.denominator) + 1, both.denominator)
    spread = (linear - 2 * most + single) / 4
    at = {"F_1": f"Huber, gradient clipped at {3 * eta}", "F_2": 0, "M": M, "lM": 1, "K": 2, "eta_l nu": eta}
    return Values({**_two_steps(eta, M), **_one_of_two(tau**2), "spread": spread}, {**at, "tau": instance["tau"]})


def between_cohorts(_: Statement, instance: Mapping[str, Any]) -> Values:
    """Third display with E[c^t] over the cohorts too, first round after the warm start: M = 2, lM = 1, K = 2, F_1 Huber
    with its gradient clipped at 2, F_2 = 0, x^0 = 1, errors of variance V only.

    Var c^1 >= Var E[c^1 | C^1] = (m_1 - m_2)^2/4, the means over the errors for the cohorts {1} and {2}. m_2 = E c^0,
    and m_1 - m_2 = (E F_1'(y^1) - 1)/4 where y^1 has the mean 1 - eta/2 and the variance 5 eta^2 V/4. Clipping moves
    F_1'(y) by at most (|y| - 2)_+ <= z^2/4, z = y - E y, so that |m_1 - m_2| >= (eta/2 - 5 eta^2 V/16)/4.
    """
    eta, V = Fraction(instance["eta_l nu"]), Fraction(instance["V"])
    gap = (eta / 2 - 5 * eta**2 * V / 16) / 4
    at = {"F_1": "Huber, gradient clipped at 2", "F_2": 0, "M": 2, "lM": 1, "K": 2, "eta_l nu": eta, "V": V}
    return Values({**_two_steps(eta, 2), **noise(V), "spread": gap**2 / 4}, at)
