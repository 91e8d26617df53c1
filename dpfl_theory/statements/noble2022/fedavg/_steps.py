"""The step sizes of Theorem C.2 repaired, as numbers: what balances the terms that T rounds of `_fedavg_proof` leave.

Summed over T rounds the mean of F(x^t) - F*, or of ||grad F(x^t)||^2, is at most A/(eta~ T) + c_1 eta~ + c_2 eta~^2
with A = D_0^2/gain or F_0/gain; weighted for strong convexity, A/T becomes (mu/2) A/(exp(mu eta~ T/2) - 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.scaffold._strongly_convex import log_factor

__all__ = ["ROUNDS", "RoundConstants", "coefficients", "exact", "start", "step", "strong_step", "weight"]


@dataclass(frozen=True)
class RoundConstants:
    """||x^t - x*||^2 + gain eta~ (F(x) - F*) <= (1 - mu eta~/2) ||x - x*||^2 + eta~^2 (noise W + users U) + drift nu
    eta~^3 G^2/(lM) in expectation, U = (1 - l) G^2/(lM); mu is 0 without strong convexity.

    ``non-convex``: F(x^t) + gain eta~ ||grad F(x)||^2 <= F(x) + nu eta~^2 (noise W + users U) + drift nu^2 eta~^3
    G^2/(lM). split: the a of the proof's second step.
    """

    gain: Fraction
    noise: Fraction
    users: Fraction
    drift: Fraction
    split: Fraction


ROUNDS = {
    "convex": RoundConstants(Fraction(4, 3), Fraction(4, 3), Fraction(5, 2), Fraction(7, 8), Fraction(1, 4)),
    "strongly convex": RoundConstants(Fraction(4, 3), Fraction(7, 5), Fraction(5, 2), Fraction(14, 9), Fraction(1, 4)),
    "non-convex": RoundConstants(Fraction(1, 3), Fraction(2, 3), Fraction(6, 5), Fraction(8, 15), Fraction(1, 5)),
}
"""What one round of each class keeps."""


def exact(value: Any) -> Any:
    """A fraction as a sympy number."""
    return sp.Rational(value.numerator, value.denominator)


def start(kind: str, v: Mapping[str, Any], number: Any = float) -> Any:
    """A = D_0^2/gain or F_0/gain."""
    return (v["F0"] if kind == "non-convex" else v["D0"] ** 2) / number(ROUNDS[kind].gain)


def coefficients(kind: str, v: Mapping[str, Any], number: Any = float) -> tuple[Any, Any, Any]:
    """The two parts of c_1, of the noise and of the sampling of users, and c_2, of letters that are numbers or symbols.

    number: what makes one of a fraction.
    """
    claim = ROUNDS[kind]
    unit = v["nu"] if kind == "non-convex" else 1
    V = v["varsigma"] ** 2 / (v["s"] * v["R"]) + v["Sigma"] ** 2
    cohort = v["l"] * v["M"]
    noise = number(claim.noise / claim.gain) * unit * V / (v["K"] * cohort)
    users = number(claim.users / claim.gain) * unit * (1 - v["l"]) * v["G"] ** 2 / cohort
    return noise, users, number(claim.drift / claim.gain) * unit * v["nu"] * v["G"] ** 2 / cohort


def weight(v: Mapping[str, Any], number: Any = float) -> Any:
    """W = gain (c_1 + 2 c_2/(mu T)) of the strongly convex step: what mu^2 D_0^2 T is measured against."""
    noise, users, c2 = coefficients("strongly convex", v, number)
    return number(ROUNDS["strongly convex"].gain) * (noise + users + 2 * c2 / (v["mu"] * v["T"]))


def step(kind: str, values: Mapping[str, float], longer: float = 1.0) -> float:
    """eta~ = min(1/(8 (1 + B^2) nu), sqrt(A/(c_1 T)), (A/(c_2 T))^(1/3)) for ``convex`` and ``non-convex``.

    A term that is 0 asks for no shorter step. longer: multiplies the last two.
    """
    noise, users, c2 = coefficients(kind, values)
    A, c1, T = start(kind, values), noise + users, values["T"]
    return min(
        _longest(values),
        longer * math.sqrt(A / (c1 * T)) if c1 else math.inf,
        longer * math.cbrt(A / (c2 * T)) if c2 else math.inf,
    )


def strong_step(values: Mapping[str, float]) -> float:
    """eta~ = min(1/(8 (1 + B^2) nu), 2L/(mu T)), L = ln max(e, mu^2 D_0^2 T/W)."""
    mu, T, W, longest = values["mu"], values["T"], weight(values), _longest(values)
    return min(longest, 2 * log_factor(mu, values["D0"], T, W) / (mu * T)) if W else longest


def _longest(v: Mapping[str, float]) -> float:
    return 1 / (8 * (1 + v["B"] ** 2) * v["nu"])
