"""shulgin2025 Theorem 1: alpha-NormEC without noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.shulgin2025 import _letters as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._experiments import QUIET, runs
from dpfl_theory.statements.shulgin2025.lemma2 import after_update
from dpfl_theory.statements.symbolic import equal

__all__ = ["SHARPENED", "STATEMENTS", "THEOREM1"]


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


_ROUNDS = (
    {"L": "1", "gradient": "1", "R": "1/64", "estimates": ["1"]},
    {"L": "1", "gradient": "2", "R": "1", "estimates": ["2"]},
    {"L": "1", "gradient": "3", "R": "5/4", "estimates": ["3", "2"]},
    {"L": "4", "gradient": "2", "R": "1", "estimates": ["1", "1", "2"]},
    {"L": "1", "gradient": "4", "R": "2", "estimates": ["3", "4", "3", "4"]},
)
"""The gradients no shorter than ``gradient``, the estimates within R of them; R >= 1 where gamma is at its limit."""

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
        Check("algebra", "residuals after the update", after_update),
        *worst.grid_of(worst.rounds, _ROUNDS),
        *runs(QUIET),
    ),
    uses=("shulgin2025.lemma2", "shulgin2025.descent"),
    slips=(
        "With zero memories R is at least ||grad f(x^0)||, so that the term 2R alone exceeds what doing nothing "
        "guarantees.",
    ),
)


def _sharpened_sides() -> Sides:
    import sympy as sp

    s = sympy_symbols(SHARPENED)
    gained = s["gap"] / (s["gamma"] * (s["K"] + 1)) + s["L"] * s["gamma"] / 2
    return Sides({"gradient": s["least"]}, {"bound": sp.sqrt(s["R"] ** 2 + gained**2)})


def _angles_added_up(_: Mapping[str, Any]) -> Outcome:
    """If min_k g_k > R, K + 1 descents f_{k+1} <= f_k - gamma sqrt(g_k^2 - R^2) + L gamma^2/2 give sqrt(min g_k^2 -
    R^2) <= gap/(gamma (K + 1)) + L gamma/2. Otherwise min_k g_k <= R, which the bound exceeds."""
    import sympy as sp

    s, u = sympy_symbols(SHARPENED), sp.Symbol("u", positive=True)  # u = sqrt(min g^2 - R^2)
    count, step = s["K"] + 1, s["gamma"]
    (found,) = sp.solve(s["gap"] - count * (step * u - s["L"] * step**2 / 2), u)
    bound = sum(_sharpened_sides().rhs.values())
    return equal(sp.sqrt(s["R"] ** 2 + found**2), bound, "the added descents, solved, and the sharpened bound")


def _below_printed(_: Mapping[str, Any]) -> Outcome:
    """With B the two other terms, (2R + B)^2 - (R^2 + B^2) = 3 R^2 + 4 R B > 0."""
    import sympy as sp

    R, B = sp.symbols("R B", positive=True)
    return equal(sp.expand((2 * R + B) ** 2 - R**2 - B**2), 3 * R**2 + 4 * R * B, "the squared bounds' difference")


SHARPENED: Statement = replace(
    THEOREM1,
    id="shulgin2025.theorem1.sharpened",
    title="alpha-NormEC without noise, with a smaller bound",
    source=Source(
        shu.PAPER,
        "Theorem 1, Section 4",
        note=(
            "derived: the sharpened descent inequality and residuals of at most R after each update. R enters as a leg "
            "of a right-angled triangle instead of twice in a sum; still above ||grad f(x^0)|| for zero memories"
        ),
    ),
    text="Under the hypotheses of Theorem 1, the smaller bound holds.",
    sides=_sharpened_sides,
    checks=(
        Check("algebra", "descent inequalities added up", _angles_added_up),
        Check("algebra", "below the printed bound", _below_printed),
        Check("algebra", "residuals after the update", after_update),
        *worst.grid_of(lambda i: worst.rounds(i, sharpened=True), _ROUNDS),
        *runs(QUIET),
    ),
    uses=("shulgin2025.lemma2.repaired", "shulgin2025.descent.sharpened"),
    slips=(),
)

STATEMENTS = (THEOREM1, SHARPENED)
