"""noble2022 Lemma C.4: the variance of the server's update, as printed and without convexity."""

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


def _worst(kind: str) -> tuple[Check, ...]:
    """All sizes at a short step; at the longest step those with one user in the cohort, of at most two; and long local
    steps inside a server step of the longest length."""
    longest = worst.checks(kind, ("0",), lambda at: at["M"] <= 2 and at["size"] == 1, step="24")
    short = worst.checks(kind, ("0",), step="1/10")
    instance = {"class": kind, "M": 2, "size": 1, "K": 2, "eta_g": "1/12", "step": "24", "power": "0", "noise": True}
    name = f"one round, {kind}, M = 2, lM = 1, K = 2, eta~ nu = 1, eta_g = 1/12"
    return (*longest, *short, Check("worst-case", name, worst.one_round, instance))


def _c4_sides(s: Symbols) -> Sides:
    return Sides(
        {"move": s.move},
        {
            "drift": 4 * s.eta**2 * s.nu**2 * s.drift,
            "lag": 8 * s.nu**2 * s.eta**2 * s.lag,
            "excess": 8 * s.nu * s.eta**2 * s.gap,
            "noise": 9 * s.eta**2 * noble.averaged(s),
        },
    )


def _c4_sharp_sides(s: Symbols) -> Sides:
    return Sides(
        {"move": s.move},
        {
            "drift": 4 * s.eta**2 * s.nu**2 * s.drift,
            "lag": sp.Rational(8, 3) * s.nu**2 * s.eta**2 * s.lag,
            "slope": sp.Rational(4, 3) * s.eta**2 * s.slope,
            "noise": 4 * s.eta**2 * noble.averaged(s),
        },
    )


def _short(values: Mapping[str, float]) -> float:
    """eta~ nu, where the drift hides little."""
    return 1 / 24


C4: Statement = Statement(
    id="noble2022.lemmaC.4",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.4, Appendix C.3"),
    **runs.symbols(steps.symbols("move", "gap", *steps.ROUND), "move", "drift"),
    hypotheses=(
        *steps.BASE,
        noble.CONVEX,
        noble.MINIMISER,
        Hypothesis(lambda s: s.eta <= 1 / s.nu, r"$\tilde\eta \le 1/\nu$"),
    ),
    sides=_c4_sides,
    checks=(
        Check("algebra", "from the sharpened form", steps.by_lemma_c2(_c4_sharp_sides)),
        *exact.checks(steps.constant_step(Fraction(1)), exact.FEW | exact.LONG),
        *exact.checks(steps.constant_step(Fraction(101, 100)), steps.just_outside("eta~ <= 1/nu"), "not-applicable"),
        *draws.checks(steps.constant_step(Fraction(1, 24))),
        *_worst("convex"),
        *runs.checks(_short),
        *runs.checks(_short, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.corollaryC.1", "noble2022.lemmaC.2", "noble2022.lemmaC.3", "noble2022.lemmaC.4.sharpened"),
)

C4_SHARPENED: Statement = replace(
    C4,
    id="noble2022.lemmaC.4.sharpened",
    source=Source(noble.PAPER, "Lemma C.4, Appendix C.3"),
    **runs.symbols(steps.symbols("move", "slope", *steps.ROUND), "move", "drift"),
    hypotheses=steps.BASE,
    sides=_c4_sharp_sides,
    checks=(
        Check("algebra", "for all users, cohorts and steps", proofs.move),
        *exact.checks(steps.constant_step(Fraction(1)), exact.MIXED | exact.LONG),
        *exact.checks(steps.constant_step(Fraction(5)), exact.OTHER),
        *draws.checks(steps.constant_step(Fraction(1, 24))),
        *_worst("non-convex"),
        *runs.checks(_short, runs=runs.RUNS | runs.CORNERS),
        *runs.checks(_short, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.1",),
)

STATEMENTS = (C4, C4_SHARPENED)
