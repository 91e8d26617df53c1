"""shulgin2025, Appendix D, step 3: the descent of one normalised step, as restored and for accurate estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Expected, Hypothesis, Outcome, Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._experiments import first_round, runs
from dpfl_theory.statements.shulgin2025._instances import FIRST
from dpfl_theory.statements.symbolic import all_equal, equal

__all__ = ["DESCENT", "SHARPENED", "STATEMENTS"]

_AFTER = Expected(
    "gap_after", (("suboptimality", 1),), (1, 0), r"(f(x^{k+1}) - f^{\inf})", r"$f(x^{k+1}) - f_\text{inf}$", when="end"
)
_SLOPE = Symbol("slope", r"$\|\nabla f(x^k)\|$", (1, -1), "nonnegative", r"\|\nabla f(x^k)\|")
_ERROR = Symbol("error", r"$\|\nabla f(x^k) - v^{k+1}\|$", (1, -1), "nonnegative", r"\|\nabla f(x^k) - v^{k+1}\|")
_GAP = Symbol("gap", r"$f(x^k) - f_\text{inf}$", (1, 0), "nonnegative", r"(f(x^k) - f^{\inf})")


def _by_smoothness(s: Symbols, inner: Any) -> Any:
    """f - gamma <grad f, v/||v||> + L gamma^2/2 with this inner product."""
    return s.gap - s.gamma * inner + s.L * s.gamma**2 / 2


def _sides(s: Symbols) -> Sides:
    return Sides(
        {"gap": s.gap_after},
        {
            "gap": s.gap,
            "gradient": -s.gamma * s.slope,
            "estimate": 2 * s.gamma * s.error,
            "curvature": s.L * s.gamma**2 / 2,
        },
    )


def _sharpened_sides(s: Symbols) -> Sides:
    return Sides(
        {"gap": s.gap_after},
        {"gap": s.gap, "gradient": -s.gamma * sp.sqrt(s.slope**2 - s.error**2), "curvature": s.L * s.gamma**2 / 2},
    )


def _aligned(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """<g, v/||v||> = ||v|| + <g - v, v/||v||> >= ||v|| - e >= ||g|| - 2e. In the plane of g and v, with v = (t, 0) and
    g = (t + p, w), p^2 + w^2 = e^2: the second step is ||g|| <= t + e, that is (t + e)^2 - ||g||^2 = 2 t (e - p).

    So the right side exceeds that of L-smoothness, f - gamma <g, v/||v||> + L gamma^2/2, by gamma ((t + e - ||g||) + (e
    + p)), both of which are not negative."""
    s = symbols_of(statement)
    t, p = sp.symbols("t p", real=True)
    e, g = s.error, s.slope
    slack = s.gamma * ((t + e - g) + (e + p))
    square = (t + p) ** 2 + e**2 - p**2
    return all_equal(
        (total(statement) - _by_smoothness(s, t + p), slack, "the right side less that of L-smoothness"),
        ((t + e) ** 2 - square, 2 * t * (e - p), "(||v|| + e)^2 - ||grad f||^2, p <= e"),
    )


def _gained(statement: Statement) -> Any:
    """The inner product with which the sharpened right side is that of L-smoothness."""
    s = symbols_of(statement)
    return (_by_smoothness(s, 0) - total(statement)) / s.gamma


def _angle(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """<g, v/||v||>^2 >= ||g||^2 - e^2 for ||g - v|| = e <= ||g||: with v = (t, 0), g = (c, w) and e^2 = (c - t)^2 +
    w^2, the difference is c^2 - c^2 - w^2 + (c - t)^2 + w^2 = (c - t)^2; and <g, v> > 0, since 2<g, v> = ||g||^2 - e^2
    + ||v||^2. The right side is that of L-smoothness with the least inner product."""
    s = symbols_of(statement)
    t, c, w = sp.symbols("t c w", real=True)
    square = sp.expand(sp.simplify(_gained(statement)) ** 2)
    square = square.subs({s.slope: sp.sqrt(c**2 + w**2), s.error: sp.sqrt((c - t) ** 2 + w**2)})
    return equal(c**2 - square, (c - t) ** 2, "the squared inner product less the entered one's")


def _better(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """sqrt(g^2 - e^2) >= g - e for 0 <= e <= g: g^2 - e^2 - (g - e)^2 = 2 e (g - e). With half of its term in the error
    the restored right side is that of L-smoothness with g - e."""
    s = symbols_of(statement)
    g, e, printed = s.slope, s.error, _sides(s).rhs
    halved = sum(printed.values()) - printed["estimate"] / 2
    square = sp.expand(sp.simplify(_gained(statement)) ** 2)
    return all_equal(
        (halved, _by_smoothness(s, g - e), "the restored right side with the factor 1"),
        (square - (g - e) ** 2, 2 * e * (g - e), "the squares' difference"),
    )


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

_NEAR = ("quadratics", "one quadratic, no overshoot", "breast cancer sorted by label")
"""First rounds whose estimate is nearer to the gradient than 0 is."""


_NOT_QUITE = {
    name: {**next(i for run, i in FIRST.items() if run in _NEAR), "stated": stated}
    for name, stated in {
        "just not L-smooth": {"L": "99/100"},
        "just outside gamma > 0": {"gamma": "0"},
        "just outside messages without noise": {"sigma": "+1/50"},
    }.items()
}

DESCENT: Statement = Statement(
    id="shulgin2025.descent",
    kind="step",
    source=Source(shu.PAPER, "Appendix D, proof of Theorem 1, step 3", provenance="restored"),
    symbols=(_GAP, *shu.symbols("gamma"), _SLOPE, _ERROR, *shu.symbols("L")),
    expectations=(_AFTER,),
    hypotheses=(shu.SMOOTH_F, Hypothesis(lambda s: s.gamma > 0), shu.QUIET),
    sides=_sides,
    checks=(
        Check("algebra", "the inner product of gradient and direction", _aligned),
        *worst.grid_of(worst.descent, _LENGTHS),
        *runs(FIRST, first_round),
        *runs(_NOT_QUITE, first_round, "not-applicable"),
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
    sides=_sharpened_sides,
    checks=(
        Check("algebra", "the largest angle", _angle),
        Check("algebra", "better than the factor 1", _better),
        *worst.grid_of(worst.descent_by_angle, _ACCURATE),
        *worst.grid_of(worst.descent_by_angle, _EDGE, prefix="just inside the error <= ||grad f||, "),
        *worst.grid_of(worst.descent, _BEYOND, "not-applicable", "just outside the error <= ||grad f||, "),
        *runs({name: i for name, i in FIRST.items() if name in _NEAR}, first_round),
        *runs(_NOT_QUITE, first_round, "not-applicable"),
    ),
)

STATEMENTS = (DESCENT, SHARPENED)
