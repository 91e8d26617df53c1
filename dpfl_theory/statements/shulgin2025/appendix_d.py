"""shulgin2025 Appendix D: Lemma 2, by which residuals stay at most R, for two conditions on beta and repaired; and step
3 of Theorem 1's proof, the descent of one normalised step, as restored and for accurate estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Case, Check, Hypothesis, Sides, Source, Statement, Symbols, Values, battery, checks
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.rational import root
from dpfl_theory.statements.instances import edges_of
from dpfl_theory.statements.relations import Formula, Proof, algebra, exact, of
from dpfl_theory.statements.shulgin2025 import _line as line
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, experiment, first_round

# Lemma 2.


def _swept(statement: Statement, instance: Mapping[str, Any]) -> Iterator[tuple[Fraction, Fraction, list[Fraction]]]:
    """alpha and beta, squares of the instance's roots, and residuals on a grid up to the radius, R = 1."""
    points = int(instance["points"])
    for alpha, beta in ((Fraction(a) ** 2, Fraction(b) ** 2) for a, b in instance["roots"]):
        radius = evaluate_side(statement, "rhs", {"R": Fraction(1), "alpha": alpha, "beta": beta})
        yield alpha, beta, [radius * Fraction(j, points) for j in range(1, points + 1)]


def _steps(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """One round from every residual, the step at its limit: towards 0, and away."""
    one = Fraction(1)
    for alpha, beta, residuals in _swept(statement, instance):
        fixed = {"R": one, "alpha": alpha, "beta": beta, "gamma": beta / (alpha + 1), "L_max": one}
        for r in residuals:
            values = {"alpha": alpha, "beta": beta, "residual": r}
            away = line.residual_after_update(r, alpha, beta) + fixed["gamma"]
            yield Values({**fixed, "residual_0": r, "residual": line.one_step(r, one, alpha, beta)}, values)
            yield Values({**fixed, "residual_0": r, "residual": away}, {**values, "gradient moves": "away"})


def _leavings(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Residuals after an update, that of the largest overshoot among them, against A."""
    for alpha, beta, residuals in _swept(statement, instance):
        most = line.largest_residual(Fraction(1), alpha, beta)
        for r in (*residuals, max(Fraction(0), root(alpha) * root(beta) - alpha), Fraction(1)):
            values = {"alpha": alpha, "beta": beta, "residual": r, "after": "the update"}
            yield Case(values, line.residual_after_update(r, alpha, beta), most)


def _update() -> tuple[Any, ...]:
    """alpha, beta, r, R, g, top and q: an update leaves g = r - beta r/(alpha + r) of a residual r. It overshoots most
    at r = top = sqrt(alpha beta) - alpha, by q = (sqrt(beta) - sqrt(alpha))^2."""
    a, b, r, R = sp.symbols("alpha beta r R", positive=True)
    return a, b, r, R, r - b * r / (a + r), sp.sqrt(a * b) - a, (sp.sqrt(b) - sp.sqrt(a)) ** 2


@algebra("where no step overshoots")
def _without_overshoot(s: Formula) -> Proof:
    """Where beta <= alpha + r, |1 - beta/(alpha + r)| r = r - beta r/(alpha + r), which grows with r: its derivative is
    ((alpha + r)^2 - alpha beta)/(alpha + r)^2, and the radius of the lemma is R - beta R/(alpha + R) plus the limit of
    gamma L_max."""
    a, b, r, R, g, *_ = _update()
    return [
        (sp.diff(g, r), ((a + r) ** 2 - a * b) / (a + r) ** 2, "the derivative of the residual that is left"),
        (
            g.subs(r, R) + b * R / (a + R),
            R,
            "the residual after an update from R, plus the largest change of a gradient",
        ),
        (of(s.statement, alpha=a, beta=a, R=3 * a).rhs, 3 * a, "the radius at beta = alpha, R = 3 alpha"),
    ]


@algebra("where steps overshoot")
def _with_overshoot(s: Formula) -> Proof:
    """With q = (sqrt beta - sqrt alpha)^2 and m = beta R/(alpha + R): -g(r) is at most q, at r = sqrt(alpha beta) -
    alpha, and at rho = q + m >= R also g(rho) <= q, since g(rho) - q = m - beta rho/(alpha + rho) <= 0. So the radius
    max(R, q + m) is kept: above R the step is longer, and an overshoot is at most q."""
    (a, b, r, R, g, top, q), more = _update(), sp.Symbol("more", positive=True)
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
    a, b, r, R, g, top, q = _update()
    most = shu.largest_residual(Symbols({"alpha": a, "beta": b, "R": R}, "an update"))
    largest = R - (sp.sqrt(a + R) - sp.sqrt(a)) ** 2
    return [
        (g.subs(r, R) + b * R / (a + R), R, "g(R) + m"),
        (sp.diff(-g, r).subs(r, top), 0, "the overshoot's derivative at r = sqrt(alpha beta) - alpha"),
        (-g.subs(r, top), q, "the largest overshoot"),
        (largest, 2 * sp.sqrt(a) * (sp.sqrt(a + R) - sp.sqrt(a)), "R less the overshoot at beta = alpha + R"),
        (sp.diff(g, r, 2), 2 * a * b / (a + r) ** 3, "the second derivative of g"),
        # q dominates for beta = t^2 alpha, t > 1, and short R; g(R) does for beta <= alpha.
        (most.subs({b: 9 * a, R: 9 * a}), 4 * a, "A at beta = R = 9 alpha"),
        (most.subs(b, a), R**2 / (a + R), "A at beta = alpha"),
    ]


_BETWEEN = "It decides the second half of the text, on residuals between update and step; the two sides are the first."

_SMALL_BETA = [["1/2", "1/2"], ["1", "1/2"], ["2", "2"]]
_WITHIN: dict[str, Any] = {"points": 40, "roots": [["0", "3/10"], *_SMALL_BETA, ["0", "7/10"]]}
"""With beta <= alpha, or beta <= R/2 and alpha = 0 (R = 1): Lemma 2 holds."""
_OVERSHOOTS: dict[str, Any] = {
    "points": 40,
    "roots": [["0", "9/10"], ["1/10", "1"], ["1/2", "1"], ["0", "99/100"], ["3/10", "1"]],
}


_TRACKED = "L,alpha,beta,residual"
_INSIDE = ("1 1 1 1/2", "1 1 1/2 1", "4 2 1/4 1/8", "1 0 1/2 1/64")
_OUTSIDE = ("1 0 9/10 1/10", "1 1/4 1 1/4")


def _track(*rows: str, expected: str = "holds", **more: Any) -> list[Check]:
    return worst.grid_of(worst.track, [{**axis, **more} for axis in worst.axes(_TRACKED, *rows)], expected)


def _edges(beta: str, sum_: str, residual: str) -> Iterator[Check]:
    """Just outside each hypothesis, by their words; sum_: the largest beta."""
    found = {"gamma at its limit": {"step": "51/50"}, beta: {"beta": sum_}, residual: {"residual": "51/50"}}
    edge = {"class": "convex", **dict.fromkeys(_TRACKED.split(","), "1")}
    return edges_of("worst-case", worst.track, edge, found)


_SUM = ("beta < alpha + R", "101/50")
_NEAR = "quadratics, beta = alpha"

LEMMA2: Statement = shu.statement(
    id="shulgin2025.lemma2",
    kind="lemma",
    source=Source(shu.PAPER, "Lemma 2, Appendix D", provenance="restored"),
    symbols=shu.NOTATION(shu.BOUND, shu.next_residual("a round that started with residuals of at most $R$")),
    hypotheses=(shu.CLIENTS, shu.WITHIN, Hypothesis(lambda s: (s.beta > 0, s.beta <= s.alpha)), shu.STEP),
    sides=lambda s: Sides({"residual": s.residual}, {"radius": s.R}),
    checks=battery(
        _without_overshoot,
        exact("no overshoot beyond the radius", points=40, roots=_SMALL_BETA)(_steps),
        _track(*_INSIDE[:3]),
        _edges("beta <= alpha", "51/50", "a residual of at most R"),
        NORMALISE.by(experiment, edges=True)("no-overshoot", near=_NEAR),
    ),
    uses=("shulgin2025.lemma1",),
)

LARGER_BETA: Statement = replace(
    LEMMA2,
    id="shulgin2025.lemma2.larger-beta",
    hypotheses=(shu.CLIENTS, shu.WITHIN, shu.CONTRACTS, shu.STEP),
    checks=battery(
        _without_overshoot,
        checks(
            "exact",
            _steps,
            {"no overshoot beyond the radius": _WITHIN, "overshoots": _OVERSHOOTS},
            {"overshoots": "violated"},
        ),
        _track(*_INSIDE),
        _track(*_OUTSIDE, expected="violated"),
        _track(*_OUTSIDE, expected="violated", clients=1, estimate="4"),
        _edges(*_SUM, "a residual of at most R"),
        NORMALISE("within", violated="overshooting"),
    ),
    reading_of="shulgin2025.lemma2",
)

LEMMA2_REPAIRED: Statement = replace(
    LEMMA2,
    id="shulgin2025.lemma2.repaired",
    source=Source(shu.PAPER, "Lemma 2, Appendix D"),
    symbols=shu.NOTATION(shu.SCALE, shu.next_residual(r"a round that started with residuals of at most $\rho$")),
    hypotheses=(shu.CLIENTS, shu.TRACKED, shu.CONTRACTS, shu.STEP),
    sides=lambda s: Sides({"residual": s.residual}, {"radius": shu.tracked_radius(s)}),
    checks=battery(
        _without_overshoot,
        _with_overshoot,
        algebra("residuals after the update", _BETWEEN)(after_update),
        checks("exact", _steps, {"no overshoot beyond the radius": _WITHIN, "overshoots": _OVERSHOOTS}),
        exact("no overshoot, after the update", _BETWEEN, **_WITHIN)(_leavings),
        exact("overshoots, after the update", _BETWEEN, **_OVERSHOOTS)(_leavings),
        # Up to the repaired radius, which is 1.8 R for alpha = 0, beta = 9/10 and 1.05 R for 1/4 and 1.
        _track(*_OUTSIDE, "1 0 9/10 9/5", "1 1/4 1 21/20", *_INSIDE[:2]),
        _edges(*_SUM, "a residual of at most rho"),
        NORMALISE.by(experiment, edges=True)("overshooting within beyond", near=_NEAR),
    ),
    smoke=("one client, its residual 1.79 R, round 41",),
)

# The descent.


def _by_smoothness(s: Symbols, inner: Any) -> Any:
    """f - gamma <grad f, v/||v||> + L gamma^2/2 with this inner product."""
    return s.gap - s.gamma * inner + s.L * s.gamma**2 / 2


def _bound(s: Symbols, **gained: Any) -> Sides:
    return Sides({"gap": s.gap_after}, {"gap": s.gap, **gained, "curvature": s.L * s.gamma**2 / 2})


def _sides(s: Symbols) -> Sides:
    return _bound(s, gradient=-s.gamma * s.slope, estimate=2 * s.gamma * s.error)


@algebra("the inner product of gradient and direction")
def _aligned(s: Formula) -> Proof:
    """<g, v/||v||> = ||v|| + <g - v, v/||v||> >= ||v|| - e >= ||g|| - 2e. In the plane of g and v, with v = (t, 0) and
    g = (t + p, w), p^2 + w^2 = e^2: the second step is ||g|| <= t + e, that is (t + e)^2 - ||g||^2 = 2 t (e - p).

    So the right side exceeds that of L-smoothness, f - gamma <g, v/||v||> + L gamma^2/2, by gamma ((t + e - ||g||) + (e
    + p)), both of which are not negative."""
    t, p = sp.symbols("t p", real=True)
    e, g = s.error, s.slope
    slack = s.gamma * ((t + e - g) + (e + p))
    return [
        (s.rhs - _by_smoothness(s, t + p), slack, "the right side less that of L-smoothness"),
        ((t + e) ** 2 - ((t + p) ** 2 + e**2 - p**2), 2 * t * (e - p), "(||v|| + e)^2 - ||grad f||^2, p <= e"),
    ]


def _gained(s: Formula) -> Any:
    """The square of the inner product with which the sharpened right side is that of L-smoothness."""
    return sp.expand(sp.simplify((_by_smoothness(s, 0) - s.rhs) / s.gamma) ** 2)


@algebra("the largest angle")
def _angle(s: Formula) -> Proof:
    """<g, v/||v||>^2 >= ||g||^2 - e^2 for ||g - v|| = e <= ||g||: with v = (t, 0), g = (c, w) and e^2 = (c - t)^2 +
    w^2, the difference is c^2 - c^2 - w^2 + (c - t)^2 + w^2 = (c - t)^2; and <g, v> > 0, since 2<g, v> = ||g||^2 - e^2
    + ||v||^2. The right side is that of L-smoothness with the least inner product."""
    t, c, w = sp.symbols("t c w", real=True)
    square = _gained(s).subs({s.slope: sp.sqrt(c**2 + w**2), s.error: sp.sqrt((c - t) ** 2 + w**2)})
    return c**2 - square, (c - t) ** 2, "the squared inner product less the entered one's"


@algebra("better than the factor 1")
def _better(s: Formula) -> Proof:
    """sqrt(g^2 - e^2) >= g - e for 0 <= e <= g: g^2 - e^2 - (g - e)^2 = 2 e (g - e). With half of its term in the error
    the restored right side is that of L-smoothness with g - e."""
    g, e, printed = s.slope, s.error, _sides(s).rhs
    halved = sum(printed.values()) - printed["estimate"] / 2
    return [
        (halved, _by_smoothness(s, g - e), "the restored right side with the factor 1"),
        (_gained(s) - (g - e) ** 2, 2 * e * (g - e), "the squares' difference"),
    ]


_LENGTHS = "L,gradient,error,estimate"

DESCENT: Statement = shu.statement(
    id="shulgin2025.descent",
    kind="step",
    source=Source(shu.PAPER, "Appendix D, proof of Theorem 1, step 3", provenance="restored"),
    symbols=shu.NOTATION(shu.GAP_OF_ROUND, shu.norm("error", r"\|\nabla f(x^k) - v^{k+1}\|")),
    hypotheses=(shu.SMOOTH_F, shu.POSITIVE_STEP, shu.QUIET),
    sides=_sides,
    checks=battery(
        _aligned,
        worst.grid_of(
            worst.descent, worst.axes(_LENGTHS, "1 1 0 1", "1 2 1 2", "4 1 1/2 1/2", "1 1/2 1 3/2", "1 1 65/64 1/64")
        ),
        NORMALISE.by(first_round, edges=True)("first", near="quadratics"),
    ),
)

SHARPENED: Statement = replace(
    DESCENT,
    id="shulgin2025.descent.sharpened",
    source=Source(shu.PAPER, "Appendix D, proof of Theorem 1, step 3"),
    hypotheses=(
        *DESCENT.hypotheses,
        Hypothesis(lambda s: s.error <= s.slope, r"$\|\nabla f(x^k) - v^{k+1}\| \le \|\nabla f(x^k)\|$"),
    ),
    sides=lambda s: _bound(s, gradient=-s.gamma * sp.sqrt(s.slope**2 - s.error**2)),
    checks=battery(
        _angle,
        _better,
        # Right-angled triangles, where the angle between v and the gradient is the largest.
        worst.grid_of(worst.descent_by_angle, worst.axes(_LENGTHS, "1 5/4 3/4 1", "1 5 3 4", "4 5/8 1/2 3/8")),
        worst.grid_of(
            *(worst.descent_by_angle, worst.axes(_LENGTHS, "1 1 63/64 1/8")),
            prefix="just inside the error <= ||grad f||, ",
        ),
        worst.grid_of(
            *(worst.descent, worst.axes(_LENGTHS, "1 1 65/64 1/8")),
            *("not-applicable", "just outside the error <= ||grad f||, "),
        ),
        NORMALISE.by(first_round, edges=True)("near", near="quadratics"),
    ),
)

STATEMENTS = (LEMMA2, LARGER_BETA, LEMMA2_REPAIRED, DESCENT, SHARPENED)
