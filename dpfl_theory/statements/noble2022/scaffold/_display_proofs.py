r"""Corollary C.1 for all M, lM and K. Each proof ends in the coefficients of ``sides()``.

First display, for all smooth F_i and all steps: errors have mean zero given all before them, so that their squares add
up.

Second and third display, for convex F_i and eta_l <= 2/nu. Given C^t, x^{t-1} and the past q = c^{t-1} -
c_i^{t-1} is a number, y^k = T(y^{k-1}) - eta_l (error + q) with T = id - eta_l grad F_i, and T brings no two points
apart. So Var T(Y) <= Var Y (half of E||T(Y) - T(Y')||^2 for an independent copy Y'), Var y^k <= Var y^{k-1} + eta_l^2
V, Var y^K <= K eta_l^2 V; and K (c_i^t + q) = (x - y^K)/eta_l. The third is l^2 times the second: c^t - c^{t-1} is 1/M
times the cohort's sum of c_i^t - c_i^{t-1}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import letters_of, total
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.symbolic import decided, errors

__all__ = ["first_display", "other_displays"]


def first_display(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Corollary C.1, first display: P_k = P_{k-1} + Q_k for the second moments P_k of a user's summed errors and Q_k of
    the k-th error, which has mean zero given those before; so P_K <= K V. Given the cohort users are independent."""
    s = letters_of(statement)
    K, r, k, V = s["K"], sp.Symbol("r", positive=True), sp.Symbol("k", integer=True, positive=True), sp.Symbol("V")
    users = sp.summation(1, (k, 1, r)) * sp.summation(V, (k, 1, K)) / (K * r) ** 2
    stated = total(statement)
    proved = users.subs(r, s["l"] * s["M"]).subs(V, noble.variance(s))
    return decided(errors(), {"noise": (stated - proved) / noble.averaged(s)}, (sp.Symbol("theta"),))


def other_displays(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Corollary C.1, second and third display, for eta_l nu = 2 theta, theta in [0, 1]."""
    s, stated = letters_of(statement), total(statement)
    K, share = s.K, s.l
    eta, nu, V, r, theta, S, x, q = sp.symbols("eta_l nu V r theta S x q", positive=True)
    first, second, d, g, inner, mean = sp.symbols("E_1 E_2 d g p m", real=True)
    k, j = sp.symbols("k j", integer=True, positive=True)
    end = x - eta * (S + K * q)  # y^K, S the sum of the K noisy gradients
    spread = sp.summation(eta**2 * V, (k, 1, K))  # Var y^K
    one = spread / (K * eta) ** 2  # Var c_i^t
    several = sp.summation(one, (j, 1, r))
    identities = {
        "c_i - c + (x - y^K)/(K eta_l) is the mean of the K noisy gradients": (
            -q + (x - end) / (K * eta),
            S / K,
        ),
        "a variance is half of the mean square between two copies": (
            (second - 2 * first**2 + second) / 2,
            second - first**2,
        ),
        "a step's error adds its variance": (
            (second + eta**2 * V) - mean**2,
            (second - mean**2) + eta**2 * V,
        ),
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
