"""A start at which no weights help: the non-convex parts of noble2022 Theorems C.1 and C.2, over x^0 or from x^1 on.

One user, M = l = K = s = R = B = 1, F(x) = nu x^2/2 up to |x| = w and linear beyond (gradients of at most nu w), noise
xi ~ N(0, V) in each step, V = Sigma^2/2, x^0 = eta~ sqrt(V). Whatever z = x - eta~ F'(x) is, x' = z + eta~ xi with xi
independent of z, and E min(x'^2, w^2) is least at z = 0 (Anderson), so E F'(x^t)^2 >= nu^2 E min(eta~^2 xi^2, w^2) for
all t >= 1; at w = 8 eta~ sqrt(V) that is nu^2 eta~^2 V up to a factor of 1 - 10^(-12).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import letters_of, prescription_of, total
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.noble2022 import _utility as noble

__all__ = ["bent", "lasting"]

ROUNDS = (10**4, 10**8, 10**12, 10**16)
WIDTH = 8
"""w over eta~ sqrt(V)."""


def _noise_stays(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    s = letters_of(statement)
    one = {s[name]: 1 for name in ("M", "l", "K", "s", "R")} | {s.varsigma: 0}
    if "B" in s:
        one |= {s.B: 1, s.G: 0}
    chosen = prescription_of(statement)
    eta = (chosen["eta_g"] * chosen["eta_l"].subs(s.eta_g, chosen["eta_g"])).subs(one)
    V = s.Sigma**2 / 2
    # E min(xi^2, w^2)/V for a standard normal: erf(w/sqrt 2) - w sqrt(2/pi) e^(-w^2/2) + w^2 erfc(w/sqrt 2)
    w = sp.Integer(WIDTH)
    tail = sp.erfc(w / sp.sqrt(2))
    kept = 1 - tail - w * sp.sqrt(2 / sp.pi) * sp.exp(-(w**2) / 2) + w**2 * tail
    floor = sp.simplify(s.nu**2 * eta**2 * V)
    right = total(statement).subs(one).subs(s.F0, s.nu * eta**2 * V / 2)
    tends = sp.limit(right, s.T, sp.oo)
    unit = {s.c: 1, s.nu: 1, s.Sigma: 1}
    needed = {T: float((floor / right).subs(unit).subs(s.T, T).evalf(20)) for T in ROUNDS}
    rising = list(needed.values()) == sorted(needed.values()) and needed[ROUNDS[-1]] > 10**4 * needed[ROUNDS[0]]
    refuted = tends == 0 and bool(floor.is_positive) and 0 <= sp.N(1 - kept, 30) < 1e-12 and rising
    return Outcome(
        False if refuted else None,
        f"E||grad F||^2 stays at {floor} for x^0 and every later iterate, so for all weights and T, while the "
        f"right side tends to {tends} for every constant",
        {"floor": str(floor), "eta": str(eta), "needed": {str(T): c for T, c in needed.items()}},
    )


def lasting() -> Check:
    """The check of a non-convex part."""
    return Check("algebra", "noise that no weights remove", _noise_stays, expected="violated")


def bent() -> Check:
    """The check of a convex part: slopes nu = 10 and mu = 1 on the two sides of x*, as in the strongly convex part.

    Gradients cut at a large L keep its floor: the induction m' <= -2a has a factor 2 of room from the second step on,
    and the cut adds at most eta nu^2 E x^2/(4L) to m'.
    """
    instance = {"nu": "10", "mu": "1", "M": "1", "Sigma": "1", "T": list(ROUNDS)}
    return Check("algebra", "a step that does not shrink with T", noble.keeps_a_distance, instance, "violated")
