"""A start at which no weights help: the non-convex parts of noble2022 Theorems C.1 and C.2, over x^0 or from x^1 on.

One user, M = l = K = s = R = B = 1, F(x) = nu x^2/2 up to |x| = w and linear beyond (gradients of at most nu w), noise
xi ~ N(0, V) in each step, V = Sigma^2/2, x^0 = eta~ sqrt(V). Let z = x - eta~ F'(x), so that x' = z + eta~ xi with xi
independent of z. Whatever z is, E min(x'^2, w^2) is least at z = 0 (Anderson). So E F'(x^t)^2 >= nu^2 E min(eta~^2
xi^2, w^2) for all t >= 1; at w = 8 eta~ sqrt(V) that is nu^2 eta~^2 V up to a factor of 1 - 10^(-12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Statement
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp

__all__ = ["floors", "noise_stays", "starts_at_the_minimiser", "two_slopes"]

ROUNDS = (10**4, 10**8, 10**12, 10**16)
WIDTH = 8
"""w over eta~ sqrt(V)."""


def _noise_stays(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    s = symbols_of(statement)
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


def noise_stays() -> Check:
    """The check of a non-convex part."""
    return Check("algebra", "noise that no weights remove", _noise_stays, expected="violated")


def two_slopes() -> Check:
    """The check of a convex part: slopes nu = 10 and mu = 1 on the two sides of x*, as in the strongly convex part.

    Gradients cut at a large L keep its floor: the induction m' <= -2a has a factor 2 of room from the second step on,
    and the cut adds at most eta nu^2 E x^2/(4L) to m'.
    """
    instance = {**_SLOPES, "Sigma": "1"}
    return Check("algebra", "a step that does not shrink with T", keeps_a_distance, instance, "violated")


def floors() -> tuple[Check, ...]:
    """The checks of a strongly convex part: privacy noise, or a sample of records whose gradients are bounded."""
    instance = {**_SLOPES, "varsigma": "1"}
    return (two_slopes(), Check("algebra", "the same with bounded gradients", keeps_a_distance, instance, "violated"))


_SLOPES = {"nu": "10", "mu": "1", "M": "1", "T": list(ROUNDS)}


def starts_at_the_minimiser(start: str) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """x^0 = x*, so that the printed right side is 0 whatever c is; one round of one local step by all users.

    F_i(x) = nu ||x||^2/2 for all i, s = 1: x^1 is eta_g eta_l times the mean of M Gaussian vectors (the control
    variates cancel), each with second moment Sigma^2/2, and the only weight is w_1 = 1. start: ``D0`` or ``F0``.
    """

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s = symbols_of(statement)
        one = {s["l"]: 1, s["K"]: 1, s["T"]: 1, s["s"]: 1, s["varsigma"]: 0}
        if "B" in s:
            one |= {s["B"]: 1, s["G"]: 0}
        chosen = prescription_of(statement)
        step = (chosen["eta_g"] * chosen["eta_l"].subs(s["eta_g"], chosen["eta_g"])).subs(one)
        moment = step**2 * s["Sigma"] ** 2 / (2 * s["M"])  # E||x^1||^2
        left = s["nu"] * moment / 2 if start == "D0" else s["nu"] ** 2 * moment
        right = total(statement).subs(one).subs(s[start], 0)
        refuted = right == 0 and bool(left.is_positive)
        return Outcome(
            False if refuted else None,
            f"at x^0 = x* with T = K = l = s = 1 the left side is {left}, the right side {right} for every constant",
            {"left": str(left), "right": str(right)},
        )

    return build


def keeps_a_distance(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """For a step that does not shrink with T the excess stays above a floor, whatever the weights, while the right side
    tends to 0.

    One dimension, equal users, l = K = s = 1: x' = x - eta F'(x) + eta xi, xi ~ N(0, tau^2), tau^2 = Sigma^2/(2M),
    F'(x) = nu x for x > 0 and mu x for x < 0. With m = E x and p = E max(x, 0): m' = (1 - eta mu) m - eta (nu - mu)
    p, and E|x'| >= eta E|xi| = 2h, so that p >= (2h + m)/2 from the first iterate on. From x^0 = -h follows m_t <= -a,
    a = min((1 - eta mu) h, eta (nu - mu) h/2), for all t >= 1; by Jensen's inequality E F(xbar) >= mu a^2/2.

    Only the symmetry of xi is used. Where the instance has varsigma for Sigma, one user of two records, with gradients
    F'(x) +- varsigma, draws one in each step, without privacy noise: |x^t| <= varsigma/mu for all t, so that no
    gradient is longer than C = (nu/mu + 1) varsigma. eta is the step that the statement prescribes.
    """
    s = symbols_of(statement)
    nu, mu, users = (sp.Rational(instance[name]) for name in ("nu", "mu", "M"))
    noise, records = (sp.Rational(instance.get(name, 0)) for name in ("Sigma", "varsigma"))
    if records and (noise or users != 1):
        raise ValueError("either Gaussian noise, or the records of one user")
    one = {s[name]: 1 for name in ("l", "K", "s", "R", "c")} | {s.nu: nu, s.M: users}  # sR = 1 in either case
    one |= {s.mu: mu} if "mu" in s else {}
    one |= {s.B: 1, s.G: 0} if "B" in s else {}
    chosen = prescription_of(statement)
    eta = (chosen["eta_g"] * chosen["eta_l"].subs(s.eta_g, chosen["eta_g"])).subs(one)
    h = eta * (records + noise / sp.sqrt(2 * users) * sp.sqrt(2 / sp.pi)) / 2
    a = sp.Min((1 - eta * mu) * h, eta * (nu - mu) * h / 2)
    floor = mu * a**2 / 2
    right = total(statement).subs({**one, s.Sigma: noise, s.D0: h, s.varsigma: records})
    needed = {T: float((floor / right.subs(s.T, T)).evalf(20)) for T in instance["T"]}
    tends = sp.limit(right, s.T, sp.oo)
    refuted = tends == 0 and floor.evalf() > 0 and list(needed.values()) == sorted(needed.values())
    shown = ", ".join(f"{c:.3g} at T = {T:.0e}" for T, c in needed.items())
    return Outcome(
        False if refuted else None,
        f"the excess stays above {float(floor):.4g} for all T and weights, the right side tends to {tends}: the "
        f"constant must be at least {shown}",
        {"floor": float(floor), "eta": str(eta), "start": float(-h), "needed": {str(k): v for k, v in needed.items()}},
    )
