"""The strongly convex half of noble2022 Lemma C.8 repaired: its weights and step size; and runs of one user."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Statement, Values, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._moments import below, single_user, squares, weighted
from dpfl_theory.statements.noble2022._step_limit import limit
from dpfl_theory.statements.symbolic import all_equal, equal

__all__ = [
    "LONG_ENOUGH",
    "averaged_steps",
    "logarithm",
    "one_step",
    "one_user",
    "one_user_checks",
    "strong_step",
    "weights",
]


LONG_ENOUGH = Hypothesis(
    lambda s: s.T >= sp.Max(108 / s.l, 48 * s.nu / (s.mu * s.l ** sp.Rational(2, 3))),
    r"$T \ge \max(108/l, 48 \nu/(\mu l^{2/3}))$",
)


def weights(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """With a = mu eta~/2 the weights (1 - a)^{-t}, t = 1..T, add up to ((1 - a)^{-T} - 1)/a, so that Lemma C.7 gives
    the weighted mean of F(x^{t-1}) - F* at most 2 D^2/(eta~ S) + 20 eta~ W = mu D^2 (1 - a)^T/(1 - (1 - a)^T) + 20
    eta~ W."""
    a, mu, D, eta = sp.symbols("a mu D eta", positive=True)
    steps = []
    for T in instance["T"]:
        total = sum((1 - a) ** (-t) for t in range(1, T + 1))
        claimed = (mu * D**2 * (1 - a) ** T / (1 - (1 - a) ** T)).subs(mu, 2 * a / eta)
        steps.append((2 * D**2 / (eta * total), claimed, f"T = {T}"))
    found = all_equal(*steps)
    return replace(found, true=found.true or None)


def logarithm(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """eta~ = min(eta_max, 2 L/(mu T)), L = ln max(e, mu^2 D^2 T/W), with a T >= 1 at both: (1 - a)^T <= e^{-aT} <=
    1/e and 1/(1 - 1/e) < 1.6. The first choice gives 1.6 mu D^2 exp(-mu eta_max T/2), the second 1.6 mu D^2 e^{-L} <=
    1.6 W/(mu T) or less; 20 eta~ W <= 40 L W/(mu T); together at most 42 L W/(mu T) + 1.6 mu D^2 exp(-mu eta_max
    T/2)."""
    mu, T, W, D = sp.symbols("mu T W D", positive=True)
    ratio = mu**2 * D**2 * T / W
    first = equal(mu * D**2 * sp.exp(-sp.log(ratio)), W / (mu * T), "the start's share at the shorter step")
    enough = bool(1 / (1 - sp.exp(-1)) < sp.Rational(8, 5)) and sp.Rational(8, 5) + 40 <= 42
    return Outcome(True if first.true and enough else None, f"{first.reason}; 1/(1 - 1/e) < 8/5 and 8/5 + 40 <= 42")


def strong_step(values: Mapping[str, float]) -> float:
    """eta~ = min(l^(2/3)/(24 nu), l/(54 mu), 2L/(mu T)), L = ln max(e, mu^2 D_0^2 T/W)."""
    v = values
    W = noble.averaged(v) * (1 + v["l"] * v["M"] / v["eta_g"] ** 2)
    return min(limit(v), 2 * noble.log_factor(v["mu"], v["D0"], v["T"], W) / (v["mu"] * v["T"])) if W else limit(v)


def one_step(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Theorem C.1 (1) repaired for one user and one local step on F(x) = nu x^2/2 or mu x^2/2, in fractions.

    Weights (1 - mu eta/2)^{-t} on x^{t-1}. The prescribed step is rounded down.
    """
    found = []
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        values: dict[str, Any] = {**_ALONE, "nu": nu, "mu": 1, "T": int(T), "D0": 1, "Sigma": sp.sqrt(sp.Rational(V))}
        chosen = evaluate(prescription_of(statement)["eta_l"], values)
        eta = chosen if isinstance(chosen, Fraction) else below(chosen, 10**4)
        for curvature in dict.fromkeys((nu, Fraction(1))):
            alone = single_user(curvature, eta, Fraction(1), V)
            left = curvature / 2 * weighted(squares(alone, int(T) - 1), eta / 2)
            named = {"T": T, "V": V, "nu": nu, "curvature": curvature, "eta~": eta}
            found.append(Values({**values, "eta_l": eta, "excess": left}, named))
    return found


def averaged_steps(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Theorem C.1 (2) repaired for one user and one local step on F(x) = nu x^2/2 from x^0 = 1, in fractions.

    The output is the mean of x^0, ..., x^{T-1}. With x' = (1 - h) x + eta e, h = eta nu, E e^2 = V/2 (the noise's
    second moment is half of Sigma^2), step t's error enters the mean with the weight sum_{j < T-1-t} (1 - h)^j/T. (With
    one user c^{t-1} - c_i^{t-1} is 0.) The prescribed step is rounded down.
    """
    found = []
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        values: dict[str, Any] = {**_ALONE, "nu": nu, "T": int(T), "D0": 1, "Sigma": sp.sqrt(sp.Rational(V))}
        chosen = evaluate(prescription_of(statement)["eta_l"], values)
        eta = chosen if isinstance(chosen, Fraction) else below(chosen, 10**6)
        kept, sums = 1 - eta * nu, [Fraction(0)]  # (1 - h)^0 + ... + (1 - h)^(n-1), n = 0, 1, ...
        for _ in range(int(T)):
            sums.append(_up(1 + kept * sums[-1]))
        square = sums[-1] ** 2 + eta**2 * V / 2 * sum((p**2 for p in sums[:-1]), Fraction(0))
        values |= {"eta_l": eta, "excess": _up(nu / 2 * square / T**2)}
        found.append(Values(values, {"T": T, "V": V, "nu": nu, "eta~": eta}))
    return found


def _up(value: Fraction) -> Fraction:
    """Rounded up to thirty digits."""
    return Fraction(math.ceil(value * 10**30), 10**30)


_ALONE = {"M": 1, "l": 1, "K": 1, "s": 1, "R": 1, "varsigma": 0, "eta_g": 1}
"""One user, one local step, one record."""


def one_user(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """T rounds of Lemma C.8 or C.9 repaired for one user on F(x) = x^2/2, in fractions. The prescribed step
    is rounded down; ``longer`` multiplies it."""
    found = []
    kind, start = ("slope", "slope0") if "slope" in symbols_of(statement) else ("excess", "F0")
    for T, V in product(map(int, instance["T"]), map(Fraction, instance["V"])):
        x = Fraction(str(instance.get("start", 1)))
        values: dict[str, Any] = {**_ALONE, "nu": 1, "T": T, "Sigma": sp.sqrt(sp.Rational(V)), "D0": x}
        values |= {"eta_g": Fraction(str(instance.get("eta_g", 1))), "F0": x * x / 2, "slope0": x * x}
        step = "eta" if "eta" in symbols_of(statement) else "eta_l"  # K = eta_g = 1: the same
        chosen = evaluate(prescription_of(statement)[step], values)
        eta = chosen if isinstance(chosen, Fraction) else below(chosen, 10**9)
        eta *= Fraction(str(instance.get("longer", 1)))
        unit = Fraction(1) if kind == "slope" else Fraction(1, 2)
        alone = single_user(Fraction(1), eta, x, V, eta_g=values["eta_g"])
        passed = squares(alone, T - 1, control=eta > 0)  # no control variate is defined by steps of length 0
        rounds = unit * sum(passed, Fraction(0)) + values[start]  # the warm round stays at x^0
        values |= {step: eta, kind: Fraction(math.ceil(rounds / (T + 1) * 10**30), 10**30)}
        found.append(Values(values, {"T": T, "V": V, "eta~": eta}))
    return found


_RUN = {"T": [1, 100, 400], "V": ["1/1000", "1"]}


def one_user_checks(apart: str) -> tuple[Check, ...]:
    """The runs of one user, and the edges of the hypotheses. apart: the hypothesis on x^0, in words."""
    inside = {
        "all rounds, one user": _RUN,
        "just inside eta_g >= 1": {"T": [400], "V": ["1"], "eta_g": "1"},
        "just inside eta~ <= l^(2/3)/(24 nu)": {"T": [1], "V": ["1/1000"]},
        f"just inside {apart}": {"T": [100], "V": ["1/1000000"], "start": "1/1000"},
    }
    outside = {
        "just outside eta_g >= 1": {"T": [400], "V": ["1"], "eta_g": "99/100"},
        "just outside eta~ <= l^(2/3)/(24 nu)": {"T": [1], "V": ["1/1000"], "longer": "101/100"},
        f"just outside {apart}": {"T": [100], "V": ["1"], "start": "0"},
    }
    return (*checks("exact", one_user, inside), *checks("exact", one_user, outside, "not-applicable"))
