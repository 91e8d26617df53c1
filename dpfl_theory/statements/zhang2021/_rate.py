"""Algebra on zhang2021's (9), the rate of Corollary 3.2.1: where its terms come from, its best rate, and why no
constant makes it true.

In (9) the O hides L, G, c', sigma_l, sigma_g, v and f(x^0) - f*; N, P, Q, T, d, epsilon, delta and the steps are
displayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import letters_of, sides_of, total
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import theorem3_1

__all__ = ["best_printed_rate", "best_repaired_rate", "escape", "from_theorem", "no_constant"]


def letters() -> dict[str, Any]:
    """The letters of (9) and of what it hides, and ln(1/delta)."""
    names = "eta_g eta_l Q T P N d epsilon delta L G c_prime v gap sigma_l sigma_g rounds"
    found = {name: sp.Symbol(name, positive=True) for name in names.split()}
    return {**found, "log": sp.log(1 / found["delta"])}


def printed_terms(s: Mapping[str, Any]) -> list[Any]:
    """The four terms of (9) without their constants."""
    product = s["eta_g"] * s["eta_l"]
    return [
        1 / (product * s["Q"] * s["T"]),
        s["eta_l"] ** 2 * s["Q"] ** 2,
        product / s["P"],
        product * s["Q"] * s["T"] * s["d"] * s["log"] / (s["N"] ** 2 * s["epsilon"] ** 2),
    ]


def from_theorem(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """Theorem 3.1's privacy term at c = eta_l Q c' and the variance of Theorem 3.2 is a constant times (9)'s."""
    s, of = letters(), letters_of(theorem3_1.THEOREM)
    term = sides_of(theorem3_1.THEOREM).rhs["privacy"]
    c = s["eta_l"] * s["Q"] * s["c_prime"]
    variance = s["v"] * c**2 * s["P"] * s["T"] * s["log"] / (s["N"] ** 2 * s["epsilon"] ** 2)
    swaps = {of[name]: s[name] for name in ("eta_g", "eta_l", "Q", "L", "P", "d")}
    found = term.subs({**swaps, of["noise_variance"]: variance}, simultaneous=True)
    due = 2 * s["v"] * s["L"] * s["c_prime"] ** 2 * printed_terms(s)[3]
    return equal(found, due, "the theorem's privacy term against 2 v L c'^2 times that of (9)")


def _best_rate(terms: list[Any], s: Mapping[str, Any], budget: Any) -> Outcome:
    """With S = eta_g eta_l Q T fixed the sum is at least 1/S + S d log(1/delta)/budget^2, whose minimum is 2 sqrt(d
    log(1/delta))/budget; eta_l -> 0 and T -> oo lead the other terms to 0."""
    S = sp.Symbol("S", positive=True)
    at = sum(terms).subs(s["eta_g"], S / (s["eta_l"] * s["Q"] * s["T"]))
    rest = sp.limit(sp.limit(sp.expand(at), s["eta_l"], 0), s["T"], sp.oo)
    best = budget / sp.sqrt(s["d"] * s["log"])
    slope, curvature = sp.diff(rest, S).subs(S, best), sp.diff(rest, S, 2).subs(S, best)
    if sp.simplify(slope) != 0 or not sp.simplify(curvature * s["delta"] ** 0).subs(s["delta"], sp.Rational(1, 9)) > 0:
        raise ValueError("the sum has no minimum where it was expected")
    return equal(rest.subs(S, best), 2 * sp.sqrt(s["d"] * s["log"]) / budget, "the least value of the bound")


def best_printed_rate(_: Statement, __: Mapping[str, Any]) -> Outcome:
    s = letters()
    return _best_rate(printed_terms(s), s, s["N"] * s["epsilon"])


def best_repaired_rate(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The least value of the repaired bound over the steps and T, its drift and sampling led to 0 as in
    `_best_rate`: of order sqrt(d log(1/delta))/(N epsilon)."""
    s, S = letters_of(statement), sp.Symbol("S", positive=True)
    at = sp.expand(total(statement).subs(s.eta_g, S / (s.eta_l * s.Q * s.T)))
    rest = sp.limit(sp.limit(at, s.eta_l, 0), s.T, sp.oo)
    log = sp.Symbol("log", positive=True)
    rest = rest.subs(sp.log(1 / s.delta), log).subs(sp.log(s.delta), -log)
    gap = sp.Symbol("gap_", positive=True)  # at a gap of 0 there is nothing to balance
    rest = rest.subs(s.gap, gap)
    (best,) = sp.solve(sp.diff(rest, S), S)
    least = sp.simplify(rest.subs(S, best))
    order = sp.sqrt(s.d * log) / (s.N * s.epsilon)
    return equal(least, 8 * s.c_prime * sp.sqrt(2 * gap * s.L) * order, "the least value of the repaired bound")


def escape(s: Mapping[str, Any]) -> tuple[Any, Any]:
    """Q times the sum of (9)'s terms, and Q times a lower bound of the mean of E||grad f||^2, along an admissible
    family as Q grows; epsilon is fixed.

    Half of the N = Q^2 clients are Huber losses with threshold 3 around -1, half around 1 (L = 1, G = 3, sigma_g = 1);
    P = Q of them take part, Q even; x^0 = x* = 0, full gradients, eta_l = 1/Q^2, eta_g = Q/48, T = rounds Q^2, epsilon
    <= u rounds = u (P/N)^2 T, c' = G, Q >= 8: every condition of Theorems 3.1 and 3.2 is met, and nothing is clipped.

    Within [-2, 2] all losses are quadratic, grad f(x) = x, and a round is x -> (1 - a) x + a m plus noise, m the mean
    of the cohort's centres, a = eta_g (1 - (1 - eta_l)^Q) in [(1 - 1/(2Q))/48, 1/48]. So x_t = y_t + w_t there: y_t,
    in [-1, 1], has the second moment V (1 - (1 - a)^(2t)), V = (a/(2 - a)) E m^2, E m^2 = (N - P)/(P (N - 1)); w_t, the
    noises' sum, is Gaussian and independent of it, with mean 0 and a variance of at most s^2 = eta_g^2 sigma^2/(P a).
    The run stays within [-2, 2] unless some |w_t| exceeds 1, which has at most the probability p = 2 T exp(-1/(2 s^2));
    by Cauchy-Schwarz what is lost there is at most sqrt(8 (1 + 3 s^4) p), since (y + w)^4 <= 8 (1 + w^4).
    """
    Q, T = s["Q"], s["rounds"] * s["Q"] ** 2
    family = {s["eta_l"]: 1 / Q**2, s["eta_g"]: Q / 48, s["T"]: T, s["P"]: Q, s["N"]: Q**2, s["d"]: 1}
    allowed = sum(printed_terms(s)).subs(family)
    a = (1 - 1 / (2 * Q)) / 48
    c = 3 * s["eta_l"] * Q
    variance = s["v"] * c**2 * s["P"] * s["T"] * s["log"] / (s["N"] ** 2 * s["epsilon"] ** 2)
    spread = (s["eta_g"] ** 2 * variance / s["P"]).subs(family) / a
    left = 2 * T * sp.exp(-1 / (2 * spread))
    centres = (Q**2 - Q) / (Q * (Q**2 - 1))
    kept = a / (2 - a) * centres * (1 - 1 / (T * (1 - (1 - a) ** 2)))
    return Q * allowed, Q * (kept - sp.sqrt(8 * (1 + 3 * spread**2) * left))


def no_constant(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """As Q grows the terms of (9) vanish faster along `escape` than the left side."""
    s = letters()
    Q, one = s["Q"], sp.Symbol("one", positive=True)
    allowed, reached = escape(s)
    # v ln(1/delta) rounds/epsilon^2 as one positive number: limits need no more.
    reached = reached.subs(s["v"], one * s["epsilon"] ** 2 / (s["log"] * s["rounds"]))
    limits = sp.limit(sp.expand(allowed), Q, sp.oo), sp.limit(reached, Q, sp.oo)
    grows = limits[0] == 0 and bool(limits[1] > 0)
    return Outcome(
        not grows,
        f"with epsilon fixed, as Q grows Q times the terms of (9) tends to {limits[0]} and Q times the mean squared "
        f"gradient to at least {limits[1]}, so that no constant makes (9) true",
        {"Q times the terms of (9)": str(allowed), "Q times the mean squared gradient": str(reached)},
    )
