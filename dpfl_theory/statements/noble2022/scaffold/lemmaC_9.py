"""noble2022 Lemma C.9: the convergence of DP-SCAFFOLD-warm for smooth objectives, printed and repaired."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.core import Check, Expected, Experiment, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _first_step as first
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_limit import step_limit_symbolic, unless_quiet
from dpfl_theory.statements.noble2022.scaffold import _smooth_descent as smooth
from dpfl_theory.statements.noble2022.scaffold import _strongly_convex as strong
from dpfl_theory.statements.noble2022.scaffold import lemmaC_7
from dpfl_theory.statements.symbolic import all_equal

_WHERE = "Lemma C.9, Appendix C.4"


def _printed(s: Symbols) -> Sides:
    deviation = noble.deviation(s)
    root = sp.sqrt(s.T * s.K * s.l * s.M)
    return Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * sp.sqrt(s.F0) * deviation / root * sp.sqrt(1 + s.l * s.M / s.eta_g**2),
            "start": s.c * s.nu / s.T * s.F0 * (1 / s.l) ** sp.Rational(2, 3),
        },
    )


def _no_step_helps(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Whatever eta_l and the weights are: F(x) = nu x^2/2 up to |x| = k and linear beyond, x^0 = k, M = l = K = s =
    eta_g = 1, errors N(0, V), V = Sigma^2/2 = 8 T nu^2 k^2.

    Gradients are at most nu k. So x^t >= k wherever the sum of the t errors is at least t nu k, which has probability
    Phi(-sqrt(t) nu k/sqrt(V)) >= Phi(-1/sqrt(8)) for every step size. There F'(x^t)^2 = nu^2 k^2 = 2 nu F_0. At T = 4c
    the right side is 8 c sqrt(nu) F_0 + nu F_0/4, below 2 Phi(-1/sqrt(8)) nu F_0 once nu is large: the units of the
    first term are wrong, and a change of units decides.
    """
    s = symbols_of(statement)
    unit = {s[name]: 1 for name in ("K", "M", "l", "s", "R", "eta_g")} | {s.varsigma: 0}
    c, nu, F0, T = s.c, s.nu, s.F0, s.T
    positive = sp.Symbol("F0", positive=True)
    Sigma = sp.sqrt(2 * 16 * T * nu * F0)  # nu k^2 = 2 F_0
    right = total(statement).subs(unit).subs(s.Sigma, Sigma).subs(T, 4 * c)
    ratio = sp.simplify(right.subs(F0, positive) / (nu * positive))
    tends = sp.limit(ratio, nu, sp.oo)
    left = sp.erfc(sp.Rational(1, 4))  # 2 Phi(-1/sqrt(8))
    refuted = tends.is_number and sp.N(left - tends, 30) > 0
    return Outcome(
        False if refuted else None,
        f"at T = 4c and V = 16 T nu F_0 the left side is at least {float(left):.4g} nu F_0 for every step size and all "
        f"weights; the right side is {ratio} of nu F_0, which tends to {tends} as nu grows, for every c",
        {"right": str(ratio), "left": float(left)},
    )


def _too_short_a_step(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The same F and x^0 with the first term mended by sqrt(nu): eta_l = 1/(1000 nu T) keeps E F'(x^t)^2 above 0.998 *
    2 nu F_0.

    E min(x^t, k) >= k - T eta_l nu k - eta_l sqrt(T V) >= (1 - 1/1000 - 1/10^6) k for Sigma = sqrt(nu F_0)/(100 c), and
    F'(x) >= nu min(x, k).
    """
    s, terms = symbols_of(statement), sides_of(statement).rhs
    unit = {s[name]: 1 for name in ("K", "M", "l", "s", "R", "eta_g")} | {s.varsigma: 0}
    c, nu, F0 = s.c, s.nu, s.F0
    positive = sp.Symbol("F0", positive=True)
    right = (sp.sqrt(nu) * terms["noise"] + terms["start"]).subs(unit).subs(s.Sigma, sp.sqrt(nu * F0) / (100 * c))
    ratio = sp.simplify(right.subs(s.T, 100 * c).subs(F0, positive) / (nu * positive))
    at = [ratio.subs(c, value).evalf(20) for value in (1, 10**3, 10**6, 10**12)]
    left = sp.Rational(998, 1000) * 2
    refuted = at[0] < left and all(a >= b for a, b in pairwise(at))
    return Outcome(
        False if refuted else None,
        f"with eta_l = 1/(1000 nu T) and T = 100 c the left side is at least {float(left):.4g} nu F_0, the right side "
        f"{ratio} of nu F_0: {float(at[0]):.3g} for c = 1 and less for larger c",
    )


def _refuting_run(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of `_no_step_helps`, c = 1, with the start, x^1, ..., x^T among the observed points."""
    found = runs.experiment({**instance, "sigma": math.sqrt(2 * instance["T"])})
    longer = replace(found, rounds=int(instance["T"]) + 2)
    algorithm: Any = found.algorithm
    return runs.chosen_values(longer, statement, c=1.0, eta_l=algorithm.run.local_step)


def _refuting_runs() -> tuple[Check, ...]:
    problem = {"family": "huber-planes", "parameters": {"rows": [[32.0]], "thresholds": [32.0]}}
    run = {**runs.run_of(problem, 1, 1, 4, 0.0, replicates=512), "c": 1}
    return tuple(
        Check("monte-carlo", f"c = 1, {name} steps", _refuting_run, {**run, "step": step}, "violated")
        for name, step in (("the longest", 1.0), ("short", 0.001))
    )


def _noise(s: Symbols) -> Any:
    """W = V/(KlM) (6 + lM/eta_g^2)."""
    return noble.averaged(s) * (6 + s.l * s.M / s.eta_g**2)


def _balance(s: Symbols) -> Any:
    """The eta~ at which both terms of f (`_two_cases`) are equal: sqrt(12 F_0/(5 nu T W))."""
    return sp.sqrt(12 * s.F0 / (5 * s.nu * s.T * _noise(s)))


def best_step(values: Mapping[str, float]) -> float:
    """`_balance` of numbers; inf without noise."""
    return unless_quiet(_balance(symbols_of(REPAIRED)), values)


def _step(s: Symbols) -> Mapping[str, Any]:
    """eta~ = min(l^(2/3)/(24 nu), sqrt(12 F_0/(5 nu T W)))."""
    return {"eta": sp.Min(step_limit_symbolic(s), _balance(s))}


def _two_cases(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """12/5 = 1/gain and 12/5 (alone + shared z) <= 6 + z, so the mean of ||grad F||^2 is at most f(eta~) = (12/5)
    F_0/(eta~ T) + nu eta~ W; at its best step b, f(b) = 2 sqrt((12/5) nu F_0 W/T), and nu b W is half of that."""
    s, terms = symbols_of(statement), sides_of(statement).rhs
    W = sp.Symbol("W", positive=True)
    b = sp.sqrt(12 * s.F0 / (5 * s.nu * s.T * W))
    best = 2 * sp.sqrt(sp.Rational(12, 5) * s.nu * s.F0 * W / s.T)
    a = step_limit_symbolic(s)
    found = all_equal(
        (sp.Rational(12, 5) * s.F0 / (b * s.T) + s.nu * b * W, best, "f at its best step"),
        (sp.Rational(12, 5) * s.F0 / (a * s.T), terms["start"], "f's first term at the longest step"),
        (terms["noise"] ** 2, best.subs(W, _noise(s)) ** 2, "the noise term"),
    )
    gain, alone, shared = smooth.round_constants(statement)
    room = gain * Fraction(12, 5) >= 1 and alone * Fraction(12, 5) <= 6 and shared * Fraction(12, 5) <= 1
    return replace(found, true=(found.true and room) or None)


def _repaired(s: Symbols) -> Sides:
    return Sides(
        runs.without_warm_round(s, "slope", "slope0"),
        {
            "noise": 2 * sp.sqrt(sp.Rational(12, 5) * s.nu * s.F0 * _noise(s) / s.T),
            "start": sp.Rational(288, 5) * s.nu * s.F0 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    )


_LEAST = Expected(
    "gradient",
    (("gradient-norm-squared", 1),),
    (2, -2),
    r"\min_{w} \mathbb{E}\|\nabla F(\overline{x}^T)\|^2",
    "with the best weights, which is the least of the rounds' expectations",
    when="least",
)
_SYMBOLS = ("eta_g", "nu", *noble.VARIANCE, *noble.COHORT, "T", "F0")
_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE, noble.GLOBAL, noble.ROUNDS)

LEMMA: Statement = Statement(
    id="noble2022.lemmaC.9",
    kind="lemma",
    source=Source(noble.PAPER, _WHERE),
    symbols=noble.symbols("c", "eta_l", *_SYMBOLS),
    expectations=(_LEAST,),
    hypotheses=_BASE,
    sides=_printed,
    checks=(
        Check("algebra", "no step size helps", _no_step_helps, expected="violated"),
        Check("algebra", "a step that is too short, with units mended", _too_short_a_step, expected="violated"),
        Check("exact", "one step from the minimiser", first.cases, {"eta~ over its limit": ["1", "1/100"]}, "violated"),
        first.worst("gradient", "1/24"),
        *_refuting_runs(),
    ),
    expected="violated",
    homogeneous=False,
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.4", "noble2022.lemmaC.5", "noble2022.lemmaC.6"),
)

REPAIRED: Statement = Statement(
    id="noble2022.lemmaC.9.repaired",
    kind="lemma",
    source=Source(noble.PAPER, _WHERE),
    symbols=(*noble.symbols("eta", *_SYMBOLS), runs.SLOPE0),
    expectations=(runs.SLOPE,),
    hypotheses=(*_BASE, lemmaC_7.STEP, runs.AWAY),
    sides=_repaired,
    prescription=_step,
    checks=(
        Check("algebra", "descent, from Lemmas C.4 to C.6", smooth.combination),
        Check("algebra", "the step size", _two_cases),
        *smooth.descent_checks(),
        *smooth.worst_descents(),
        *strong.one_user_checks("F_0 > 0"),
        *runs.runs(best_step, beyond=("l", "T")),
    ),
    uses=("noble2022.lemmaC.4.sharpened", "noble2022.lemmaC.5.sharpened", "noble2022.lemmaC.6.sharpened"),
)

STATEMENTS = (LEMMA, REPAIRED)
