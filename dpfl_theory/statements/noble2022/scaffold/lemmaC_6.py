"""noble2022 Lemma C.6: the drift of the users, as printed, and without convexity with smaller constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022.scaffold import _lemma_enumeration as draws
from dpfl_theory.statements.noble2022.scaffold import _lemma_proofs as proofs
from dpfl_theory.statements.noble2022.scaffold import _lemma_runs as runs
from dpfl_theory.statements.noble2022.scaffold import _round_instances as exact
from dpfl_theory.statements.noble2022.scaffold import _round_performance as worst
from dpfl_theory.statements.noble2022.scaffold import _round_steps as steps


def _c6_sides(s: Symbols) -> Sides:
    """As printed where the excess is a symbol; else by the gradient, where the lag is divided by eta_g^2 too."""
    half, square = sp.Rational(9, 2), s.eta_g**2
    if "gap" in s:
        lag, part, noise = half, sp.Rational(9, 40) * s.nu * s.gap, sp.Rational(27, 40)
    else:
        lag, part, noise = sp.Rational(216, 529) / square, sp.Rational(9, 1058) * s.slope, sp.Rational(324, 529)
    return Sides(
        {"drift": half * s.nu**2 * s.eta * s.drift},
        {
            "lag": lag * s.nu**3 * s.eta**2 * s.lag,
            "excess" if "gap" in s else "slope": part * s.eta / square,
            "noise": noise * s.eta**2 * s.nu / (s.K * square) * noble.variance(s),
        },
    )


_C6_STEP = Hypothesis(
    lambda s: s.eta <= 1 / (24 * s.nu), (r"$\eta_l \le 1/(24 \nu K \eta_g)$, that is $\tilde\eta \le 1/(24 \nu)$")
)
_C6_SYMBOLS = ("eta", "nu", "drift", "lag", "eta_g", "K", *noble.VARIANCE, "l", "M")


def _longest(values: Mapping[str, float]) -> float:
    """eta~ nu."""
    return 1 / 24


def _drift_checks(sharp: bool) -> tuple[Check, ...]:
    return (
        *exact.checks(steps.constant_step(Fraction(1, 24)), exact.MIXED if sharp else exact.FEW),
        *draws.checks(steps.constant_step(Fraction(1, 24))),
        *worst.checks("non-convex" if sharp else "convex", ("0",)),
    )


_OUTSIDE = (
    *exact.checks(steps.constant_step(Fraction(101, 2400)), steps.just_outside("eta~ <= 1/(24 nu)"), "not-applicable"),
    *exact.checks(
        steps.constant_step(Fraction(1, 24)), steps.just_outside("eta_g >= 1"), "not-applicable", eta_g="99/100"
    ),
)


C6: Statement = Statement(
    id="noble2022.lemmaC.6",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.6, Appendix C.3"),
    **runs.symbols(steps.symbols("gap", *_C6_SYMBOLS), "drift"),
    hypotheses=(*steps.BASE, noble.CONVEX, noble.MINIMISER, noble.GLOBAL, _C6_STEP),
    sides=_c6_sides,
    checks=(
        Check("algebra", "from the sharpened form", steps.by_lemma_c2(_c6_sides)),
        *_drift_checks(sharp=False),
        *_OUTSIDE,
        *runs.checks(_longest),
        *runs.checks(_longest, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.2", "noble2022.lemmaC.6.sharpened"),
)
C6_SHARPENED: Statement = replace(
    C6,
    id="noble2022.lemmaC.6.sharpened",
    source=Source(noble.PAPER, "Lemma C.6, Appendix C.3"),
    **runs.symbols(steps.symbols("slope", *_C6_SYMBOLS), "drift"),
    hypotheses=(*steps.BASE, noble.GLOBAL, _C6_STEP),
    checks=(
        Check("algebra", "for all users, cohorts and steps", proofs.drift),
        *_drift_checks(sharp=True),
        *_OUTSIDE,
        *runs.checks(_longest, runs=runs.RUNS | runs.CORNERS),
        *runs.checks(_longest, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.1",),
)

STATEMENTS = (C6, C6_SHARPENED)
