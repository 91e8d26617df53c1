"""shulgin2025 Lemma 2 (Appendix D): the clients' residuals stay at most R, for two conditions on beta; repaired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Case, Check, Hypothesis, Sides, Source, Statement, Symbols, Values, battery, checks
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.shulgin2025 import _line as line
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, experiment


def _swept(statement: Statement, instance: Mapping[str, Any]) -> Iterator[tuple[Fraction, Fraction, list[Fraction]]]:
    """alpha and beta, squares of the instance's roots, and residuals on a grid up to the radius, R = 1."""
    points = int(instance["points"])
    for a, b in instance["roots"]:
        symbols = {"R": Fraction(1), "alpha": Fraction(a) ** 2, "beta": Fraction(b) ** 2}
        radius = evaluate_side(statement, "rhs", symbols)
        yield symbols["alpha"], symbols["beta"], [radius * Fraction(j, points) for j in range(1, points + 1)]


def _steps(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """One round from every residual, the step at its limit: towards 0, and away."""
    R = Fraction(1)
    for alpha, beta, residuals in _swept(statement, instance):
        gamma = beta * R / (alpha + R)
        fixed = {"R": R, "alpha": alpha, "beta": beta, "gamma": gamma, "L_max": Fraction(1)}
        for r in residuals:
            values, away = (
                {"alpha": alpha, "beta": beta, "residual": r},
                line.residual_after_update(r, alpha, beta) + gamma,
            )
            yield Values({**fixed, "residual_0": r, "residual": line.one_step(r, R, alpha, beta)}, values)
            yield Values({**fixed, "residual_0": r, "residual": away}, {**values, "gradient moves": "away"})


def _leavings(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Residuals after an update, that of the largest overshoot among them, against A."""
    R = Fraction(1)
    for alpha, beta, residuals in _swept(statement, instance):
        most = line.largest_residual(R, alpha, beta)
        for r in (*residuals, max(Fraction(0), line.root(alpha) * line.root(beta) - alpha), R):
            values = {"alpha": alpha, "beta": beta, "residual": r, "after": "the update"}
            yield Case(values, line.residual_after_update(r, alpha, beta), most)


@algebra("where no step overshoots")
def _without_overshoot(s: Formula) -> Proof:
    """Where beta <= alpha + r, |1 - beta/(alpha + r)| r = r - beta r/(alpha + r), which grows with r: its derivative is
    ((alpha + r)^2 - alpha beta)/(alpha + r)^2, and the radius of the lemma is R - beta R/(alpha + R) plus the limit of
    gamma L_max."""
    a, b, r, R = sp.symbols("alpha beta r R", positive=True)
    g, radius = r - b * r / (a + r), of(s.statement, alpha=a, beta=a, R=3 * a).rhs
    after = g.subs(r, R) + b * R / (a + R)
    return [
        (sp.diff(g, r), ((a + r) ** 2 - a * b) / (a + r) ** 2, "the derivative of the residual that is left"),
        (after, R, "the residual after an update from R, plus the largest change of a gradient"),
        (radius, 3 * a, "the radius at beta = alpha, R = 3 alpha"),
    ]


@algebra("where steps overshoot")
def _with_overshoot(s: Formula) -> Proof:
    """With q = (sqrt beta - sqrt alpha)^2 and m = beta R/(alpha + R): -g(r) is at most q, at r = sqrt(alpha beta) -
    alpha, and at rho = q + m >= R also g(rho) <= q, since g(rho) - q = m - beta rho/(alpha + rho) <= 0. So the radius
    max(R, q + m) is kept: above R the step is longer, and an overshoot is at most q."""
    a, b, r, R, more = sp.symbols("alpha beta r R more", positive=True)
    g, top, q = r - b * r / (a + r), sp.sqrt(a * b) - a, (sp.sqrt(b) - sp.sqrt(a)) ** 2
    rho = R + more  # q + m
    radius = of(s.statement, alpha=a, beta=9 * a, R=9 * a).rhs
    return [
        (sp.diff(-g, r).subs(r, top), 0, "the overshoot's derivative"),
        (-g.subs(r, top), q, "the largest overshoot"),
        (b * rho / (a + rho) - b * R / (a + R), a * b * more / ((a + R) * (a + rho)), "beta rho/(alpha + rho) less m"),
        (radius, (q + b * R / (a + R)).subs({b: 9 * a, R: 9 * a}), "the radius at beta = R = 9 alpha, against q + m"),
    ]


def after_update(_: Formula) -> Proof:
    """||grad f_i(x^k) - v_i^{k+1}|| <= A <= R in every round, which is all that the descent inequality needs.

    One step maps a residual r to |g(r)|, g(r) = r - beta r/(alpha + r), and the gradient then moves by at most m =
    beta R/(alpha + R). With q = (sqrt(beta) - sqrt(alpha))^2, the most by which a step overshoots (0 for beta <=
    alpha), A = max(g(R), q) bounds |g(r_k)| in every round, by induction: r_{k+1} <= A + m = max(R, q + m), g is convex
    with g(0) = 0, and g(q + m) <= q where q + m >= R. And q < R since beta < alpha + R.
    """
    a, b, r, R = sp.symbols("alpha beta r R", positive=True)
    g, top = r - b * r / (a + r), sp.sqrt(a * b) - a
    most = shu.largest_residual(Symbols({"alpha": a, "beta": b, "R": R}, "an update"))
    largest = R - (sp.sqrt(a + R) - sp.sqrt(a)) ** 2
    return [
        (g.subs(r, R) + b * R / (a + R), R, "g(R) + m"),
        (sp.diff(-g, r).subs(r, top), 0, "the overshoot's derivative at r = sqrt(alpha beta) - alpha"),
        (-g.subs(r, top), (sp.sqrt(b) - sp.sqrt(a)) ** 2, "the largest overshoot"),
        (largest, 2 * sp.sqrt(a) * (sp.sqrt(a + R) - sp.sqrt(a)), "R less the overshoot at beta = alpha + R"),
        (sp.diff(g, r, 2), 2 * a * b / (a + r) ** 3, "the second derivative of g"),
        # q dominates for beta = t^2 alpha, t > 1, and short R; g(R) does for beta <= alpha.
        (most.subs({b: 9 * a, R: 9 * a}), 4 * a, "A at beta = R = 9 alpha"),
        (most.subs(b, a), R**2 / (a + R), "A at beta = alpha"),
    ]


_BETWEEN = "It decides the second half of the text, on residuals between update and step; the two sides are the first."

_WITHIN = {"points": 40, "roots": [["0", "3/10"], ["1/2", "1/2"], ["1", "1/2"], ["2", "2"], ["0", "7/10"]]}
"""With beta <= alpha, or beta <= R/2 and alpha = 0 (R = 1): Lemma 2 holds."""
_SMALL_BETA = {"points": 40, "roots": [["1/2", "1/2"], ["1", "1/2"], ["2", "2"]]}
_OVERSHOOTS = {"points": 40, "roots": [["0", "9/10"], ["1/10", "1"], ["1/2", "1"], ["0", "99/100"], ["3/10", "1"]]}

_INSIDE = (
    {"L": "1", "alpha": "1", "beta": "1", "residual": "1/2"},
    {"L": "1", "alpha": "1", "beta": "1/2", "residual": "1"},
    {"L": "4", "alpha": "2", "beta": "1/4", "residual": "1/8"},
    {"L": "1", "alpha": "0", "beta": "1/2", "residual": "1/64"},
)
_OUTSIDE = (
    {"L": "1", "alpha": "0", "beta": "9/10", "residual": "1/10"},
    {"L": "1", "alpha": "1/4", "beta": "1", "residual": "1/4"},
)
_ALONE = tuple({**i, "clients": 1, "estimate": "4"} for i in _OUTSIDE)
_RADIUS = (
    *_OUTSIDE,
    {"L": "1", "alpha": "0", "beta": "9/10", "residual": "9/5"},
    {"L": "1", "alpha": "1/4", "beta": "1", "residual": "21/20"},
    *_INSIDE[:2],
)
"""Residuals up to the repaired radius, which is 1.8 R for alpha = 0, beta = 9/10 and 1.05 R for 1/4 and 1."""


def _outside(beta: str, sum_: str, residual: str) -> tuple[Check, ...]:
    """Just outside each hypothesis, by their words; sum_: the largest beta."""
    edge = {"class": "convex", "L": "1", "alpha": "1", "beta": "1", "residual": "1"}
    found = {"gamma at its limit": {"step": "51/50"}, beta: {"beta": sum_}, residual: {"residual": "51/50"}}
    named = {f"just outside {words}": {**edge, **change} for words, change in found.items()}
    return checks("worst-case", worst.track, named, "not-applicable")


_SMALL, _SUM = ("beta <= alpha", "51/50"), ("beta < alpha + R", "101/50")
_RUNS, _NEAR = NORMALISE.by(experiment, edges=True), "quadratics, beta = alpha"

LEMMA2: Statement = Statement(
    id="shulgin2025.lemma2",
    kind="lemma",
    source=Source(shu.PAPER, "Lemma 2, Appendix D", provenance="restored"),
    symbols=(shu.BOUND, *shu.symbols("gamma", "alpha", "beta", "L_max")),
    expectations=(shu.next_residual("a round that started with residuals of at most $R$"),),
    hypotheses=(shu.CLIENTS, shu.WITHIN, Hypothesis(lambda s: (s.beta > 0, s.beta <= s.alpha)), shu.STEP),
    sides=lambda s: Sides({"residual": s.residual}, {"radius": s.R}),
    checks=battery(
        _without_overshoot,
        Check("exact", "no overshoot beyond the radius", _steps, _SMALL_BETA),
        worst.grid_of(worst.track, _INSIDE[:3]),
        _outside(*_SMALL, "a residual of at most R"),
        _RUNS("no-overshoot", near=_NEAR),
    ),
    uses=("shulgin2025.lemma1",),
)

LARGER_BETA: Statement = replace(
    LEMMA2,
    id="shulgin2025.lemma2.larger-beta",
    hypotheses=(shu.CLIENTS, shu.WITHIN, shu.CONTRACTS, shu.STEP),
    checks=battery(
        _without_overshoot,
        Check("exact", "no overshoot beyond the radius", _steps, _WITHIN),
        Check("exact", "overshoots", _steps, _OVERSHOOTS, "violated"),
        worst.grid_of(worst.track, _INSIDE),
        worst.grid_of(worst.track, (*_OUTSIDE, *_ALONE), "violated"),
        _outside(*_SUM, "a residual of at most R"),
        NORMALISE("within", violated="overshooting"),
    ),
    reading_of="shulgin2025.lemma2",
)

REPAIRED: Statement = replace(
    LEMMA2,
    id="shulgin2025.lemma2.repaired",
    source=Source(shu.PAPER, "Lemma 2, Appendix D"),
    symbols=(shu.SCALE, *shu.symbols("gamma", "alpha", "beta", "L_max")),
    expectations=(shu.next_residual(r"a round that started with residuals of at most $\rho$"),),
    hypotheses=(shu.CLIENTS, shu.TRACKED, shu.CONTRACTS, shu.STEP),
    sides=lambda s: Sides({"residual": s.residual}, {"radius": shu.tracked_radius(s)}),
    checks=battery(
        _without_overshoot,
        _with_overshoot,
        algebra("residuals after the update", part=_BETWEEN)(after_update),
        checks("exact", _steps, {"no overshoot beyond the radius": _WITHIN, "overshoots": _OVERSHOOTS}),
        checks(
            "exact",
            _leavings,
            {"no overshoot, after the update": _WITHIN, "overshoots, after the update": _OVERSHOOTS},
            part=_BETWEEN,
        ),
        worst.grid_of(worst.track, _RADIUS),
        _outside(*_SUM, "a residual of at most rho"),
        _RUNS("overshooting within beyond", near=_NEAR),
    ),
    smoke=("one client, its residual 1.79 R, round 41",),
)

STATEMENTS = (LEMMA2, LARGER_BETA, REPAIRED)
