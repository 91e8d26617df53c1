"""shulgin2025, Appendix D, step 3: the descent of one normalised step, as restored and for accurate estimates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.core import Hypothesis, Sides, Source, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, first_round

_ERROR = shu.norm("error", r"\|\nabla f(x^k) - v^{k+1}\|")
_RUNS = NORMALISE.by(first_round, edges=True)


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
    square = (t + p) ** 2 + e**2 - p**2
    return [
        (s.rhs - _by_smoothness(s, t + p), slack, "the right side less that of L-smoothness"),
        ((t + e) ** 2 - square, 2 * t * (e - p), "(||v|| + e)^2 - ||grad f||^2, p <= e"),
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


_LENGTHS = (
    {"L": "1", "gradient": "1", "error": "0", "estimate": "1"},
    {"L": "1", "gradient": "2", "error": "1", "estimate": "2"},
    {"L": "4", "gradient": "1", "error": "1/2", "estimate": "1/2"},
    {"L": "1", "gradient": "1/2", "error": "1", "estimate": "3/2"},
    {"L": "1", "gradient": "1", "error": "65/64", "estimate": "1/64"},
)
_ACCURATE = (
    {"L": "1", "gradient": "5/4", "error": "3/4", "estimate": "1"},
    {"L": "1", "gradient": "5", "error": "3", "estimate": "4"},
    {"L": "4", "gradient": "5/8", "error": "1/2", "estimate": "3/8"},
)
"""Right-angled triangles, where the angle between v and the gradient is the largest."""
_EDGE = ({"L": "1", "gradient": "1", "error": "63/64", "estimate": "1/8"},)
_BEYOND = ({"L": "1", "gradient": "1", "error": "65/64", "estimate": "1/8"},)

DESCENT: Statement = Statement(
    id="shulgin2025.descent",
    kind="step",
    source=Source(shu.PAPER, "Appendix D, proof of Theorem 1, step 3", provenance="restored"),
    symbols=(shu.GAP_OF_ROUND, *shu.symbols("gamma"), shu.SLOPE, _ERROR, *shu.symbols("L")),
    expectations=(shu.GAP_AFTER,),
    hypotheses=(shu.SMOOTH_F, shu.POSITIVE_STEP, shu.QUIET),
    sides=_sides,
    checks=battery(_aligned, worst.grid_of(worst.descent, _LENGTHS), _RUNS("first", near="quadratics")),
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
        worst.grid_of(worst.descent_by_angle, _ACCURATE),
        worst.grid_of(worst.descent_by_angle, _EDGE, prefix="just inside the error <= ||grad f||, "),
        worst.grid_of(worst.descent, _BEYOND, "not-applicable", "just outside the error <= ||grad f||, "),
        _RUNS("near", near="quadratics"),
    ),
)

STATEMENTS = (DESCENT, SHARPENED)
