r"""Counterexamples to Corollary C.1 inside every hypothesis of the paper: smooth F_i that are bounded below and have
bounded gradients, records drawn at random, and Gaussian noise.

One user's two records have the gradients F'(x) + 1 and F'(x) - 1; one is drawn, so that varsigma^2 = sR = 1 and the
error is e = +-1 + w with w ~ N(0, tau^2), Sigma_g^2 = 2 tau^2 and V = 1 + 2 tau^2. Each left side below is a lower
bound of the true one, as a fraction: errors are unbounded, and what their tails may change is bounded by moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any

from dpfl_theory.statements.claims import Values
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022.scaffold._round_instances import noise, root

__all__ = ["between_cohorts", "long_steps", "past_errors", "pendulum"]


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
    (1 - eta) e_1 + eta q. As |q| <= 2 but for its normal part, |y^1| exceeds w by no more than its own normal part n,
    E n^2 = eta^2 tau^2 (1 + (1 - 1/M)/2), and the clip takes at most sqrt(E n^2) from the standard deviation of X. The
    fraction keeps E X^2 - 2 sqrt(E X^2 E n^2), its square root rounded up.
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
    and m_1 - m_2 = (E F_1'(y^1) - 1)/4 where y^1 has the mean 1 - eta/2 and the variance 5 eta^2 V/4. The clip moves
    F_1'(y) by at most (|y| - 2)_+ <= z^2/4, z = y - E y, so that |m_1 - m_2| >= (eta/2 - 5 eta^2 V/16)/4.
    """
    eta, V = Fraction(instance["eta_l nu"]), Fraction(instance["V"])
    gap = (eta / 2 - 5 * eta**2 * V / 16) / 4
    at = {"F_1": "Huber, gradient clipped at 2", "F_2": 0, "M": 2, "lM": 1, "K": 2, "eta_l nu": eta, "V": V}
    return Values({**_two_steps(eta, 2), **noise(V), "spread": gap**2 / 4}, at)
