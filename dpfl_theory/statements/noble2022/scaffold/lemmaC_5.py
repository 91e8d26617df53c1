"""noble2022 Lemma C.5: the lag of the control variates, as printed and without convexity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _c5_sides(s: Symbols) -> Sides:
    """Without convexity by the gradient, whose square is at most 2 nu times the excess."""
    power = s.l ** (2 * s.alpha - 1)
    excess = {"excess": power * s.gap / (24 * s.nu)} if "gap" in s else {"slope": power * s.slope / (48 * s.nu**2)}
    return Sides(
        {"lag": s.lag_after},
        {
            "lag before": (1 - sp.Rational(17, 36) * s.l) * s.lag,
            **excess,
            "drift": sp.Rational(97, 48) * power * s.drift,
            "noise": s.l / s.nu**2 * noble.averaged(s) / 32,
        },
    )


def _limit(alpha: str) -> Callable[[Fraction], Fraction | None]:
    """l^alpha/24, where it and l^(2 alpha - 1) are fractions."""

    def limit(share: Fraction) -> Fraction | None:
        found, other = (exact.power(share, power) for power in (Fraction(alpha), 2 * Fraction(alpha) - 1))
        return None if found is None or other is None else found / 24

    return limit


def _lag_checks(sharp: bool) -> tuple[Check, ...]:
    out: list[Check] = []
    for alpha in ("1/2", "2/3", "1") if sharp else ("1/2", "1"):
        named = f", alpha = {alpha}"
        out += exact.checks(_limit(alpha), exact.MIXED if sharp else exact.FEW, named=named, alpha=alpha)
    kind = "non-convex" if sharp else "convex"
    many = {"class": kind, "M": 6, "size": 1, "K": 1, "step": "1", "power": "1/2", "noise": True}
    return (
        *out,
        *draws.checks(_limit("1"), alpha="1"),
        *worst.checks(kind, ("1/2", "1")),
        Check("worst-case", f"one round, {kind}, M = 6, lM = 1, K = 1, step l^(1/2)", worst.one_round, many),
    )


def _outside() -> tuple[Check, ...]:
    step = steps.constant_step(Fraction(1, 24))
    return (
        *exact.checks(step, steps.just_outside("alpha >= 1/2"), "not-applicable", alpha="99/200"),
        *exact.checks(step, steps.just_outside("alpha <= 1"), "not-applicable", alpha="101/100"),
        *exact.checks(
            steps.constant_step(Fraction(101, 2400)),
            steps.just_outside("eta~ <= l/(24 nu)"),
            "not-applicable",
            alpha="1",
        ),
    )


def _longest(values: Mapping[str, float]) -> float:
    """eta~ nu."""
    return float(values["l"] ** values["alpha"] / 24)


_EXPONENT = Hypothesis(lambda s: (s.alpha >= sp.Rational(1, 2), s.alpha <= 1))
_STEP_ALPHA = Hypothesis(lambda s: s.eta <= s.l**s.alpha / (24 * s.nu), r"$\tilde\eta \le l^\alpha/(24 \nu)$")
C5: Statement = Statement(
    id="noble2022.lemmaC.5",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.5, Appendix C.3"),
    **runs.symbols(steps.symbols("lag_after", "gap", "alpha", *steps.ROUND), "lag_after", "drift"),
    hypotheses=(*steps.BASE, noble.CONVEX, noble.MINIMISER, _EXPONENT, _STEP_ALPHA),
    sides=_c5_sides,
    checks=(
        Check("algebra", "from the sharpened form", steps.by_lemma_c2(_c5_sides)),
        *_lag_checks(sharp=False),
        *_outside(),
        *runs.checks(_longest),
        *runs.checks(_longest, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.2", "noble2022.lemmaC.5.sharpened"),
)
C5_SHARPENED: Statement = replace(
    C5,
    id="noble2022.lemmaC.5.sharpened",
    source=Source(noble.PAPER, "Lemma C.5, Appendix C.3"),
    **runs.symbols(steps.symbols("lag_after", "slope", "alpha", *steps.ROUND), "lag_after", "drift"),
    hypotheses=(*steps.BASE, _EXPONENT, _STEP_ALPHA),
    checks=(
        Check("algebra", "for all users, cohorts and steps", proofs.lag),
        *_lag_checks(sharp=True),
        *_outside(),
        *runs.checks(_longest, runs=runs.RUNS | runs.CORNERS),
        *runs.checks(_longest, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.4.sharpened"),
)

STATEMENTS = (C5, C5_SHARPENED)
