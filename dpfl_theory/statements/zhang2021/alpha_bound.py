"""zhang2021's bound on |alpha_i - alpha~_i|, stated after Theorem 3.1, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values, checks
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _symbols as zhang

_SYMBOLS = (
    *zhang.symbols("c", "eta_l"),
    Symbol("drawn", r"$\|\sum_q g_i^{t,q}\|$", (1, -1), "nonnegative", r"\|\sum_q g_i^{t,q}\|"),
    Symbol("mean", r"$\|E \sum_q g_i^{t,q}\|$", (1, -1), "nonnegative", r"\|\mathbb{E}[\sum_q g_i^{t,q}]\|"),
)


def _difference(s: Symbols) -> Any:
    drawn, mean = (s.c / sp.Max(s.c, s.eta_l * s[name]) for name in ("drawn", "mean"))
    return sp.Abs(drawn - mean)


def _printed_sides(s: Symbols) -> Sides:
    return Sides(lhs={"factors": _difference(s)}, rhs={"lengths": s.eta_l * sp.Abs(s.drawn - s.mean)})


def _repaired_sides(s: Symbols) -> Sides:
    return Sides(lhs={"factors": _difference(s)}, rhs={"lengths": s.eta_l / s.c * sp.Abs(s.drawn - s.mean)})


def drawn(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """A single stochastic gradient g = a or b with probability 1/2 each (Q = 1, one dimension): both values of g."""
    found, eta = [], Fraction(instance["eta_l"])
    for c in map(Fraction, instance["c"]):
        for low, high in instance["g"]:
            a, b = Fraction(low), Fraction(high)
            found += [Values({"c": c, "eta_l": eta, "drawn": abs(g), "mean": abs(a + b) / 2}) for g in (a, b)]
    return found


def _near_threshold(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Both lengths tend to the threshold from above: the largest ratio of the sides there must be at most 1.

    c/max(c, y) has the slope -1/c just above c, the steepest that it has.
    """
    s, gap = symbols_of(statement), sp.Symbol("gap", positive=True)
    left, right = zhang.sides_with(statement, mean=s.c / s.eta_l, drawn=(s.c + gap) / s.eta_l)
    ratio = sp.limit(sp.simplify(left / right), gap, 0, "+")
    at_half = ratio.subs(s.c, sp.Rational(1, 2))
    return Outcome(
        bool(at_half <= 1), f"just above the threshold the sides have the ratio {ratio}, {at_half} at c = 1/2"
    )


def _both_clipped(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """For lengths y > z >= c: |y - z|/c - |c/y - c/z| = (y - z)(y z - c^2)/(c y z), which is not negative."""
    s = symbols_of(statement)
    gap, beyond = sp.symbols("gap beyond", positive=True)
    c, eta = s.c, s.eta_l
    z = c + beyond
    y = z + gap
    left, right = zhang.sides_with(statement, drawn=y / eta, mean=z / eta)
    return equal(right - left, gap * (y * z - c**2) / (c * y * z), "the slack where both are clipped")


def _one_clipped(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """For lengths y <= c < z: (z - y)/c - (1 - c/z) = (c - y)/c + (z - c)^2/(c z), which is not negative."""
    s = symbols_of(statement)
    below, beyond = sp.symbols("below beyond", positive=True)
    c, eta = s.c, s.eta_l
    # y = c/(1 + below), so that y is positive and below c for all values.
    y, z = c / (1 + below), c + beyond
    left, right = zhang.sides_with(statement, drawn=y / eta, mean=z / eta)
    return equal(right - left, (c - y) / c + (z - c) ** 2 / (c * z), "the slack where one is clipped")


_DRAWS = [["1/2", "1"], ["0", "2"], ["-1", "1"], ["1/10", "1/5"], ["-3", "4"]]
_DRAWN = {
    "c < 1": {"c": ["1/2", "1/10"], "g": _DRAWS, "eta_l": "1"},
    "c >= 1": {"c": ["1", "3"], "g": _DRAWS, "eta_l": "1/2"},
}

BOUND: Statement = Statement(
    id="zhang2021.alpha-bound",
    kind="step",
    source=Source(zhang.PAPER, f"Section 3.1, paragraph after Theorem 3.1 ({zhang.VERSION})"),
    symbols=_SYMBOLS,
    sides=_printed_sides,
    homogeneous=False,
    checks=(
        Check("algebra", "just above the threshold", _near_threshold, {}, "violated"),
        *checks("exact", drawn, _DRAWN, {"c < 1": "violated"}),
    ),
    expected="violated",
)

REPAIRED: Statement = Statement(
    id="zhang2021.alpha-bound.repaired",
    kind="step",
    source=Source(zhang.PAPER, f"Section 3.1, paragraph after Theorem 3.1 ({zhang.VERSION})"),
    symbols=_SYMBOLS,
    sides=_repaired_sides,
    checks=(
        Check("algebra", "just above the threshold", _near_threshold),
        Check("algebra", "both clipped", _both_clipped),
        Check("algebra", "one clipped", _one_clipped),
        *checks("exact", drawn, _DRAWN),
    ),
)

STATEMENTS = (BOUND, REPAIRED)
