"""zhang2021's bound on |alpha_i - alpha~_i|, stated after Theorem 3.1, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbol, Symbols, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.zhang2021 import _symbols as zhang


def _sides(s: Symbols, factor: Any) -> Sides:
    """factor: of the lengths' difference."""
    drawn, mean = (s.c / sp.Max(s.c, s.eta_l * s[name]) for name in ("drawn", "mean"))
    return Sides(lhs={"factors": sp.Abs(drawn - mean)}, rhs={"lengths": factor * sp.Abs(s.drawn - s.mean)})


def drawn(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """A single stochastic gradient g = a or b with probability 1/2 each (Q = 1, one dimension): both values of g."""
    found, eta = [], Fraction(instance["eta_l"])
    for c in map(Fraction, instance["c"]):
        for low, high in instance["g"]:
            a, b = Fraction(low), Fraction(high)
            found += [Values({"c": c, "eta_l": eta, "drawn": abs(g), "mean": abs(a + b) / 2}) for g in (a, b)]
    return found


def _near_threshold(expected: str = "holds") -> Check:
    @algebra("just above the threshold", expected=expected)
    def ratio(s: Formula) -> Proof:
        """Both lengths tend to the threshold from above: the largest ratio of the sides there must be at most 1.

        c/max(c, y) has the slope -1/c just above c, the steepest that it has.
        """
        gap = sp.Symbol("gap", positive=True)
        near = of(s.statement, mean=s.c / s.eta_l, drawn=(s.c + gap) / s.eta_l)
        found = sp.limit(sp.simplify(near.lhs / near.rhs), gap, 0, "+")
        at_half = found.subs(s.c, sp.Rational(1, 2))
        said = f"just above the threshold the sides have the ratio {found}, {at_half} at c = 1/2"
        return Outcome(bool(at_half <= 1), said)

    return ratio


@algebra("both clipped")
def _both_clipped(s: Formula) -> Proof:
    """For lengths y > z >= c: |y - z|/c - |c/y - c/z| = (y - z)(y z - c^2)/(c y z), which is not negative."""
    gap, beyond = sp.symbols("gap beyond", positive=True)
    z = s.c + beyond
    y = z + gap
    slack = of(s.statement, drawn=y / s.eta_l, mean=z / s.eta_l).slack
    return slack, gap * (y * z - s.c**2) / (s.c * y * z), "the slack where both are clipped"


@algebra("one clipped")
def _one_clipped(s: Formula) -> Proof:
    """For lengths y <= c < z: (z - y)/c - (1 - c/z) = (c - y)/c + (z - c)^2/(c z), which is not negative."""
    below, beyond = sp.symbols("below beyond", positive=True)
    # y = c/(1 + below), so that y is positive and below c for all values.
    c, y, z = s.c, s.c / (1 + below), s.c + beyond
    slack = of(s.statement, drawn=y / s.eta_l, mean=z / s.eta_l).slack
    return slack, (c - y) / c + (z - c) ** 2 / (c * z), "the slack where one is clipped"


_DRAWS = [["1/2", "1"], ["0", "2"], ["-1", "1"], ["1/10", "1/5"], ["-3", "4"]]
_DRAWN = {
    "c < 1": {"c": ["1/2", "1/10"], "g": _DRAWS, "eta_l": "1"},
    "c >= 1": {"c": ["1", "3"], "g": _DRAWS, "eta_l": "1/2"},
}

BOUND: Statement = Statement(
    id="zhang2021.alpha-bound",
    kind="step",
    source=zhang.source("Section 3.1, paragraph after Theorem 3.1"),
    symbols=(
        *zhang.symbols("c eta_l"),
        Symbol("drawn", r"$\|\sum_q g_i^{t,q}\|$", (1, -1), "nonnegative", r"\|\sum_q g_i^{t,q}\|"),
        Symbol("mean", r"$\|E \sum_q g_i^{t,q}\|$", (1, -1), "nonnegative", r"\|\mathbb{E}[\sum_q g_i^{t,q}]\|"),
    ),
    sides=lambda s: _sides(s, s.eta_l),
    homogeneous=False,
    checks=battery(_near_threshold("violated"), checks("exact", drawn, _DRAWN, {"c < 1": "violated"})),
)

REPAIRED: Statement = replace(
    BOUND,
    id="zhang2021.alpha-bound.repaired",
    sides=lambda s: _sides(s, s.eta_l / s.c),
    homogeneous=True,
    checks=battery(_near_threshold(), _both_clipped, _one_clipped, checks("exact", drawn, _DRAWN)),
)

STATEMENTS = (BOUND, REPAIRED)
