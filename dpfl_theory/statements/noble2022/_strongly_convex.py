"""The strongly convex half of noble2022 Lemma C.8 repaired: its weights, its step size, and runs in fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome
from dpfl_theory.statements.symbolic import equal

__all__ = ["below", "log_factor", "logarithm", "strong_cases", "strong_step", "weights"]


def weights(instance: Mapping[str, Any]) -> Outcome:
    """With a = mu eta~/2 the weights (1 - a)^{-t}, t = 1..T, add up to ((1 - a)^{-T} - 1)/a, so that Lemma C.7 gives
    the weighted mean of F(x^{t-1}) - F* at most 2 D^2/(eta~ S) + 20 eta~ W = mu D^2 (1 - a)^T/(1 - (1 - a)^T) + 20
    eta~ W."""
    import sympy as sp

    a, mu, D, eta = sp.symbols("a mu D eta", positive=True)
    reasons: list[str] = []
    fine = True
    for T in instance["T"]:
        total = sum((1 - a) ** (-t) for t in range(1, T + 1))
        given = 2 * D**2 / (eta * total)
        claimed = (mu * D**2 * (1 - a) ** T / (1 - (1 - a) ** T)).subs(mu, 2 * a / eta)
        found = equal(given, claimed, f"T = {T}")
        fine, reasons = fine and bool(found.true), [*reasons, found.reason]
    return Outcome(fine or None, "; ".join(reasons))


def logarithm(_: Mapping[str, Any]) -> Outcome:
    """eta~ = min(eta_max, 2 L/(mu T)), L = ln max(e, mu^2 D^2 T/W), with a T >= 1 at both: (1 - a)^T <= e^{-aT} <=
    1/e and 1/(1 - 1/e) < 1.6. The first choice gives 1.6 mu D^2 exp(-mu eta_max T/2), the second 1.6 mu D^2 e^{-L} <=
    1.6 W/(mu T) or less; 20 eta~ W <= 40 L W/(mu T); together at most 42 L W/(mu T) + 1.6 mu D^2 exp(-mu eta_max
    T/2)."""
    import sympy as sp

    mu, T, W, D = sp.symbols("mu T W D", positive=True)
    ratio = mu**2 * D**2 * T / W
    first = equal(mu * D**2 * sp.exp(-sp.log(ratio)), W / (mu * T), "the start's share at the shorter step")
    enough = bool(1 / (1 - sp.exp(-1)) < sp.Rational(8, 5)) and sp.Rational(8, 5) + 40 <= 42
    return Outcome(True if first.true and enough else None, f"{first.reason}; 1/(1 - 1/e) < 8/5 and 8/5 + 40 <= 42")


def strong_step(values: Mapping[str, float]) -> float:
    """eta~ = min(l^(2/3)/(24 nu), l/(54 mu), 2L/(mu T)), L = ln max(e, mu^2 D_0^2 T/W)."""
    v = values
    V = v["varsigma"] ** 2 / (v["s"] * v["R"]) + v["Sigma"] ** 2
    W = V * (1 + v["l"] * v["M"] / v["eta_g"] ** 2) / (v["K"] * v["l"] * v["M"])
    limit: float = min(v["l"] ** (2 / 3) / (24 * v["nu"]), v["l"] / (54 * v["mu"]))
    return min(limit, 2 * log_factor(v["mu"], v["D0"], v["T"], W) / (v["mu"] * v["T"])) if W else limit


def log_factor(mu: float, D0: float, T: float, W: float) -> float:
    """L, 1 for W = 0, where the term that it multiplies is 0."""
    return math.log(max(math.e, mu**2 * D0**2 * T / W)) if W else 1.0


def strong_cases(instance: Mapping[str, Any], slack: Fraction = Fraction(1)) -> list[Case]:
    """The strongly convex half for one user and one local step on F(x) = nu x^2/2 or mu x^2/2, in fractions.

    E F(x^t) - F* follows x' = (1 - eta a) x + eta xi, E xi^2 = V; weights (1 - mu eta/2)^{-t} on x^{t-1}. The step, L
    and exp are rounded down to fractions, so that the right side is no larger than claimed; slack multiplies it.
    """
    found = []
    mu, D0 = Fraction(1), Fraction(1)
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        W = 2 * V
        log = below(log_factor(1.0, 1.0, float(T), float(W)), 10**9)
        limit = min(1 / (24 * nu), 1 / (54 * mu))
        eta = min(limit, below(float(2 * log / (mu * T)), 10**4)) if V else limit
        rate = min(Fraction(1, 108), mu / (48 * nu))
        right = 42 * log * W / (mu * T) + Fraction(8, 5) * mu * D0**2 * below(math.exp(-float(rate * T)), 10**15)
        for curvature in dict.fromkeys((nu, mu)):
            total, weights, weight, square = Fraction(0), Fraction(0), Fraction(1), D0**2
            for _ in range(int(T)):
                weight /= 1 - mu * eta / 2
                total, weights = total + weight * curvature / 2 * square, weights + weight
                square = (1 - eta * curvature) ** 2 * square + eta**2 * V
            values = {"T": T, "V": V, "nu": nu, "curvature": curvature, "eta~": eta}
            found.append(Case(values, total / weights, slack * right))
    return found


def below(value: Any, parts: int) -> Fraction:
    """A fraction of at most the value, a positive number or sympy number, a part or two below it."""
    return Fraction(int(value * parts) - 1, parts)
