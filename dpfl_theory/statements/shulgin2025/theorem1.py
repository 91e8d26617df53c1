"""shulgin2025 Theorem 1: alpha-NormEC without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.shulgin2025 import _letters as shu
from dpfl_theory.statements.shulgin2025._experiments import QUIET, runs
from dpfl_theory.statements.symbolic import equal

__all__ = ["STATEMENTS", "THEOREM1"]


def _sides() -> Sides:
    s = sympy_symbols(THEOREM1)
    return Sides(
        {"gradient": s["least"]},
        {
            "initialisation": s["gap"] / (s["gamma"] * (s["K"] + 1)),
            "memory": 2 * s["R"],
            "curvature": s["L"] * s["gamma"] / 2,
        },
    )


def _telescoped(_: Mapping[str, Any]) -> Outcome:
    """K + 1 descent inequalities f_{k+1} <= f_k - gamma g_k + 2 gamma R + L gamma^2/2, added up and divided."""
    s = sympy_symbols(THEOREM1)
    count, step = s["K"] + 1, s["gamma"]
    added = (s["gap"] + count * (2 * step * s["R"] + s["L"] * step**2 / 2)) / (step * count)
    return equal(added, sum(_sides().rhs.values()), "the mean of the descent inequalities and the printed bound")


def _residual(_: Mapping[str, Any]) -> Outcome:
    """||grad f_i(x^k) - v_i^{k+1}|| <= R in every round, which is all that the descent inequality needs.

    One step maps a residual r to |g(r)|, g(r) = r - beta r/(alpha + r), and the gradient then moves by at most m =
    beta R/(alpha + R). With q = (sqrt(beta) - sqrt(alpha))^2, the most by which a step overshoots (0 for beta <=
    alpha), max(g(R), q) bounds |g(r_k)| in every round: r_{k+1} <= max(R, q + m), g is convex with g(0) = 0, and
    g(q + m) <= q where q + m >= R. And q < R since beta < alpha + R.
    """
    import sympy as sp

    a, b, r, R = sp.symbols("alpha beta r R", positive=True)
    g = r - b * r / (a + r)
    moved = b * R / (a + R)
    steps = (
        (g.subs(r, R) + moved, R, "g(R) + m"),
        (sp.diff(-g, r).subs(r, sp.sqrt(a * b) - a), 0, "the overshoot's derivative at r = sqrt(alpha beta) - alpha"),
        (-g.subs(r, sp.sqrt(a * b) - a), (sp.sqrt(b) - sp.sqrt(a)) ** 2, "the largest overshoot"),
        (
            R - (sp.sqrt(a + R) - sp.sqrt(a)) ** 2,
            2 * sp.sqrt(a) * (sp.sqrt(a + R) - sp.sqrt(a)),
            "R less the overshoot at beta = alpha + R",
        ),
    )
    for left, right, what in steps:
        outcome = equal(left, right, what)
        if not outcome.true:
            return outcome
    if sp.simplify(sp.diff(g, r, 2) * (a + r) ** 3 / (2 * a * b)) != 1:
        return Outcome(None, "the convexity of g was not found")
    return Outcome(True, "the residual after each update of the memories is at most R, also where a step overshoots")


THEOREM1: Statement = Statement(
    id="shulgin2025.theorem1",
    kind="theorem",
    title="alpha-NormEC without noise: smooth objectives",
    source=Source(
        shu.PAPER,
        "Theorem 1, Section 4",
        note=(
            "the display is lost in the text at hand and was restored; it is pinned by the remaining words and the "
            "steps of the proof (mark P). The proof rests on Lemma 2 (residuals before the update stay at most R), "
            "which fails where a step overshoots: for beta above alpha a small residual can grow beyond R. The theorem "
            "does not need it: the residuals after the update stay at most R, as a check shows"
        ),
    ),
    text=(
        "If f is L-smooth and bounded from below and each f_i is L_i-smooth, then Algorithm 1 with R = max_i ||grad "
        "f_i(x^0) - v_i^0||, beta/(alpha + R) < 1 and 0 < gamma <= beta R/((alpha + R) L_max) satisfies the bound."
    ),
    symbols=shu.letters("gap", "gamma", "K", "R", "alpha", "beta", "L", "L_max"),
    expectations=(shu.LEAST,),
    assumptions=(shu.SMOOTH, shu.CONTRACTS, shu.STEP, shu.ROUNDS),
    sides=_sides,
    checks=(
        Check("algebra", "descent inequalities added up", _telescoped),
        Check("algebra", "residuals after the update", _residual),
        *runs(QUIET),
    ),
    uses=("shulgin2025.lemma2", "shulgin2025.descent"),
)

STATEMENTS = (THEOREM1,)
