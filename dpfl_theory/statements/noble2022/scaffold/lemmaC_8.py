"""noble2022 Lemma C.8: the convergence of DP-SCAFFOLD-warm for convex objectives, printed and with a step size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols, Values
from dpfl_theory.core.formula import sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _first_step as first
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_limit import rate, step_limit_symbolic, unless_quiet
from dpfl_theory.statements.noble2022.scaffold import _strongly_convex as strong
from dpfl_theory.statements.noble2022.scaffold import theoremC_1_explicit as explicit
from dpfl_theory.statements.noble2022.scaffold.lemmaC_7 import STEP
from dpfl_theory.statements.symbolic import all_equal

_WHERE = "Lemma C.8, Appendix C.3"


def _spread(s: Symbols) -> Any:
    """1 + lM/eta_g^2."""
    return 1 + s.l * s.M / s.eta_g**2


def _printed(s: Symbols) -> Sides:
    deviation = noble.deviation(s)
    root = sp.sqrt(s.T * s.K * s.l * s.M)
    return Sides(
        {"excess": s.excess},
        {
            "noise": s.c * s.D0 * deviation / root * sp.sqrt(_spread(s)),
            "start": s.c * s.nu / s.T * s.D0**2 * (1 / s.l) ** sp.Rational(2, 3),
        },
    )


def strongly_convex(s: Symbols) -> Any:
    """The printed right side for strongly convex objectives."""
    noise = noble.averaged(s) / (s.mu * s.T) * _spread(s)
    return s.c * (noise + s.mu * s.D0**2 * sp.exp(-rate(s) * s.T))


def _too_short_a_step(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """eta_l = 1/(1000 nu T) lies in the printed range, and nothing moves.

    M = l = K = s = eta_g = 1, x^0 = D_0. Convex: F(x) = nu x^2/2 up to |x| = D_0 and linear beyond, so that gradients
    are at most nu D_0 and E x^t >= D_0 - t eta_l nu D_0; strongly convex: F(x) = nu x^2/2, E x^t = (1 - eta_l nu)^t D_0
    (Bernoulli). By Jensen's inequality E F(xbar) - F* >= (nu/2)(1 - 1/1000)^2 D_0^2 for all weights. With Sigma = nu
    D_0/(100 c) and T = 100 c (T = 10^5 (1 + ln c) in the strongly convex case, mu = nu) the right side is smaller,
    whatever c >= 1 is.
    """
    s, strongly = symbols_of(statement), bool(instance["strongly"])
    right = strongly_convex(Symbols({**s, "mu": s.nu}, statement.id)) if strongly else total(statement)
    c, nu, D0 = s.c, s.nu, s.D0
    unit = {s[name]: 1 for name in ("K", "M", "l", "s", "R", "eta_g")} | {s.varsigma: 0, s.Sigma: nu * D0 / (100 * c)}
    T = 10**5 * (1 + sp.log(c)) if strongly else 100 * c
    ratio = right.subs(unit).subs(s.T, T).subs({nu: 1, D0: 1})  # both sides have the unit of nu D_0^2
    left = sp.Rational(999, 1000) ** 2 / 2
    at = [ratio.subs(c, value).evalf(20) for value in (1, 10**3, 10**6, 10**12)]
    falls = all(a >= b for a, b in pairwise(at))
    refuted = falls and at[0] < left
    return Outcome(
        False if refuted else None,
        f"with eta_l = 1/(1000 nu T) the left side is at least {float(left):.4g} nu D_0^2, the right side {ratio} of "
        f"it: {float(at[0]):.3g} for c = 1 and less for larger c",
        {"right": str(ratio)},
    )


def short_steps(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The convex half of `_too_short_a_step` in fractions, with eta_g = 4/3 for a rational root: a lower limit of the
    left side, for several constants c."""
    found = []
    for c in instance["c"]:
        T, Sigma, eta_g = 100 * int(c), Fraction(1, 100 * int(c)), Fraction(4, 3)
        values: dict[str, Any] = dict.fromkeys(("K", "M", "l", "s", "R", "nu", "D0"), 1) | {"varsigma": 0}
        values |= {"c": int(c), "T": T, "Sigma": Sigma, "eta_g": eta_g, "eta_l": Fraction(1, 1000 * T)}
        found.append(Values({**values, "excess": (1 - eta_g / 1000) ** 2 / 2}, {"c": c, "T": T, "Sigma": Sigma}))
    return found


def _balance(s: Symbols) -> Any:
    """The eta~ at which the two terms of Theorem C.1.explicit are equal: D_0/sqrt(10 T W)."""
    return s.D0 / sp.sqrt(10 * s.T * noble.averaged(s) * _spread(s))


def best_step(values: Mapping[str, float]) -> float:
    """`_balance` of numbers; inf without noise."""
    return unless_quiet(_balance(symbols_of(REPAIRED)), values)


def _repaired(s: Symbols) -> Sides:
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "noise": 4 * sp.sqrt(10) * s.D0 * sp.sqrt(noble.averaged(s) * _spread(s) / s.T),
            "start": 48 * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    )


def _step(s: Symbols) -> Mapping[str, Any]:
    """eta~ = min(l^(2/3)/(24 nu), D_0/sqrt(10 T W))."""
    return {"eta": sp.Min(step_limit_symbolic(s), _balance(s))}


def _two_cases(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """f(eta) = 2 D^2/(eta T) + 20 eta W at eta = min(a, b), b = D/sqrt(10 T W), a = l^(2/3)/(24 nu).

    f(b) = 4 sqrt(10) D sqrt(W/T). If a < b, 20 a W <= 20 b W = half of that, and 2 D^2/(a T) is the other term.
    """
    s, ours = symbols_of(explicit.EXPLICIT), symbols_of(statement)
    given, terms = total(explicit.EXPLICIT), sides_of(statement).rhs
    named = {ours[name]: s[name] for name in ours if name in s}
    noise, start, b = (expression.subs(named) for expression in (terms["noise"], terms["start"], _balance(ours)))
    a = step_limit_symbolic(s)
    second = 20 * b * noble.averaged(s) * _spread(s)
    found = all_equal(
        (sp.simplify(given.subs(s.eta, b) ** 2), sp.simplify(noise**2), "the square of f at its best step"),
        (2 * s.D0**2 / (a * s.T), start, "f's first term at the longest step"),
        (sp.simplify(second**2), sp.simplify(noise**2 / 4), "f's second term there"),
    )
    return replace(found, true=found.true or None)


_SECOND = (
    "It decides the second half, for strongly convex objectives, whose bound is in the text; the sides are those of "
    "the first half, which the other checks decide."
)
_SYMBOLS = ("eta_g", "nu", *noble.VARIANCE, *noble.COHORT, "T", "D0")
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE, noble.GLOBAL)

LEMMA: Statement = Statement(
    id="noble2022.lemmaC.8",
    kind="lemma",
    source=Source(noble.PAPER, _WHERE),
    symbols=noble.symbols("c", "eta_l", *_SYMBOLS),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(*_BASE, noble.ROUNDS),
    sides=_printed,
    checks=(
        Check("algebra", "a step that is too short, convex", _too_short_a_step, {"strongly": False}, "violated"),
        Check(
            "algebra",
            "a step that is too short, strongly convex",
            _too_short_a_step,
            {"strongly": True},
            "violated",
            _SECOND,
        ),
        Check("exact", "a step that is too short, convex", short_steps, {"c": [1, 100, 10000]}, "violated"),
        *first.checks("excess", "scaffold"),
    ),
    expected="violated",
    uses=("noble2022.lemmaC.7",),
)

REPAIRED: Statement = Statement(
    id="noble2022.lemmaC.8.repaired",
    kind="lemma",
    source=Source(noble.PAPER, _WHERE),
    symbols=noble.symbols("eta", *_SYMBOLS, "F0"),
    expectations=(runs.EXCESS,),
    hypotheses=(*_BASE, noble.ROUNDS, STEP, runs.APART),
    sides=_repaired,
    prescription=_step,
    checks=(
        Check("algebra", "the step size, convex", _two_cases),
        Check("algebra", "the weights, strongly convex", strong.weights, {"T": [1, 2, 3, 5]}, part=_SECOND),
        Check("algebra", "the step size, strongly convex", strong.logarithm, part=_SECOND),
        *strong.one_user_checks("D_0 > 0"),
        *runs.runs(best_step, beyond=("l", "T")),
    ),
    uses=("noble2022.lemmaC.7", "noble2022.theoremC.1.explicit"),
)

STATEMENTS = (LEMMA, REPAIRED)
