"""shulgin2025 Theorem 1: alpha-NormEC without noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Case, Check, Outcome, Sides, Source, Statement, Symbols, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.shulgin2025 import _many_rounds as many
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._experiments import runs
from dpfl_theory.statements.shulgin2025._instances import QUIET, SHARP
from dpfl_theory.statements.shulgin2025._line import (
    INSIDE,
    NO_NOISE,
    OUTSIDE,
    edges,
    largest_residual,
    largest_residual_symbolic,
    runs_on_the_line,
)
from dpfl_theory.statements.shulgin2025.lemma2 import after_update
from dpfl_theory.statements.symbolic import equal

__all__ = ["SHARPENED", "STATEMENTS", "THEOREM1"]


def _sides(s: Symbols) -> Sides:
    return Sides(
        {"gradient": s.least},
        {"initialisation": s.gap / (s.gamma * (s.K + 1)), "memory": 2 * s.R, "curvature": s.L * s.gamma / 2},
    )


def _telescoped(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """K + 1 descent inequalities f_{k+1} <= f_k - gamma g_k + 2 gamma R + L gamma^2/2, added up and divided."""
    s = symbols_of(statement)
    count, step = s.K + 1, s.gamma
    added = (s.gap + count * (2 * step * s.R + s.L * step**2 / 2)) / (step * count)
    return equal(added, total(statement), "the mean of the descent inequalities and the restored bound")


def _runs_on_the_line(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """min_k |f'(x^k)| after every round."""
    return [
        Values({**run.symbols, "K": K, "least": min(r.slope for r in run.rounds[: K + 1])}, {**run.symbols, "K": K})
        for run in runs_on_the_line(instance)
        for K in range(len(run.rounds))
    ]


def _residuals_on_the_line(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """The residuals after every update against R: the proof needs this instead of Lemma 2."""
    return [
        Case({**run.symbols, "round": K + 1, "client": "the farthest"}, found.after, run.symbols["R"])
        for run in runs_on_the_line(instance)
        for K, found in enumerate(run.rounds)
    ]


_AFTER = "It decides that residuals after the memories' update stay at most R; the other checks decide the descent."
_RESIDUALS = (
    "It decides the proof's condition on the memories, that each update leaves residuals of at most R; the bound "
    "itself is decided by the other checks."
)

LINE: dict[str, Any] = {
    "clients": [[["1"], ["0"]], [["1/2", "1", "1/4"], ["10", "-7", "1"]], [["4", "1"], ["-1", "3"]]],
    "runs": [
        ["10", "0", "3/4", "1", ["1"]],
        ["9/4", "10", "10", "1", ["1"]],
        ["-6", "1", "1", "1", ["-1", "1/2"]],
        ["8", "1/4", "1", "1", ["1", "3/16", "-1/8"]],
        ["3", "3", "3", "1/2", ["1", "-1"]],
    ],
    "rounds": 6,
}
"""As `runs_on_the_line` has them; too short for the restored bound, which is above |f'(x^0)| in all. A residual of 3/16
attains the largest overshoot for alpha = 1/16, beta = 1; from x^0 = 9/4 the only client's first bound is nearest to its
gradient."""

UPHILL: dict[str, Any] = {"clients": [[["1"], ["0"]]], "runs": [["1/4", "1", "1/2", "1", ["1"]]], "rounds": 4}
"""The memory points away from the gradient in all four rounds: x goes from 1/4 to 5/8, and the other two terms of the
bound are below 1/4."""

LONG: dict[str, Any] = {
    "clients": [[["1"], ["0"]], [["3/4", "1", "1/2", "1"], ["3", "-2", "1", "0"]]],
    "runs": [["10", "0", "3/4", "1", ["1"]], ["-11", "0", "3/4", "1", ["-1"]], ["15", "0", "9/10", "1", ["1", "-1/2"]]],
    "rounds": 16,
}
"""Runs so long that an algorithm that never moves, or moves away, would break the bound."""

_ROUNDS = (
    {"L": "1", "gradient": "5", "error": "9/8", "estimates": ["4", "5", "6", "5", "4", "5"]},
    {"L": "4", "gradient": "5", "error": "17/16", "estimates": ["5", "6", "5", "4", "5", "6"]},
    {"L": "1", "gradient": "4", "error": "65/64", "estimates": ["4", "5", "4", "7/2", "4", "9/2", "4", "7/2"]},
)
"""R >= L gamma, as the limit of gamma implies, and gradients so long that arbitrary steps would break the bound."""

THEOREM1: Statement = Statement(
    id="shulgin2025.theorem1",
    kind="theorem",
    source=Source(shu.PAPER, "Theorem 1, Section 4", provenance="restored"),
    symbols=shu.symbols("gap", "gamma", "K", "R", "alpha", "beta", "L", "L_max"),
    expectations=(shu.LEAST,),
    hypotheses=(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.QUIET),
    sides=_sides,
    checks=(
        Check("algebra", "descent inequalities added up", _telescoped),
        Check("algebra", "residuals after the update", after_update, part=_AFTER),
        Check("exact", "residuals after the update of runs on the line", _residuals_on_the_line, LINE, part=_RESIDUALS),
        Check("exact", "long runs on the line", _runs_on_the_line, LONG),
        Check("exact", "memories that lead away from the optimum", _runs_on_the_line, UPHILL),
        *edges(INSIDE, {**OUTSIDE, **NO_NOISE}),
        *worst.grid_of(many.rounds, _ROUNDS),
        *runs(QUIET),
    ),
    smoke=("one quadratic, first round only", "breast cancer sorted by label"),
    uses=("shulgin2025.lemma2", "shulgin2025.lemma2.repaired", "shulgin2025.descent"),
)


def _sharpened_sides(s: Symbols) -> Sides:
    gained = s.gap / (s.gamma * (s.K + 1)) + s.L * s.gamma / 2
    return Sides({"gradient": s.least}, {"bound": sp.sqrt(largest_residual_symbolic(s) ** 2 + gained**2)})


def _angles_added_up(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """If min_k g_k > A, K + 1 descents f_{k+1} <= f_k - gamma sqrt(g_k^2 - A^2) + L gamma^2/2 give sqrt(min g_k^2 -
    A^2) <= gap/(gamma (K + 1)) + L gamma/2. Otherwise min_k g_k <= A, which the bound exceeds."""
    s, u = symbols_of(statement), sp.Symbol("u", positive=True)  # u = sqrt(min g^2 - A^2)
    count, step = s.K + 1, s.gamma
    (found,) = sp.solve(s.gap - count * (step * u - s.L * step**2 / 2), u)
    own = sp.sqrt(largest_residual_symbolic(s) ** 2 + found**2)
    return equal(own, total(statement), "the added descents, solved, and the sharpened bound")


def _below_printed(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """With A <= R and B the two other terms, (2R + B)^2 - (A^2 + B^2) = (2R - A)(2R + A) + 4 R B > 0. A <= R: g(R) = R
    - m, and the overshoot is below R by `after_update`."""
    s, A = symbols_of(statement), sp.Symbol("A", positive=True)
    printed = sum(_sides(s).rhs.values())
    B = s.gap / (s.gamma * (s.K + 1)) + s.L * s.gamma / 2
    slack = (2 * s.R - A) * (2 * s.R + A) + 4 * s.R * B
    sharpened = (total(statement) ** 2).subs(largest_residual_symbolic(s), A)
    return equal(printed**2 - sharpened, slack, "the squared bounds' difference")


def _leavings_on_the_line(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """The residuals after the updates against A."""
    cases = []
    for run in runs_on_the_line(instance):
        most = largest_residual(run.symbols["R"], run.symbols["alpha"], run.symbols["beta"])
        for K, found in enumerate(run.rounds):
            cases.append(Case({**run.symbols, "K": K, "residual": "after the update"}, found.after, most))
    return cases


_ANGLES = (
    {"L": "1", "gradient": "1", "error": "1/64", "estimates": ["1"]},
    {"L": "1", "gradient": "1", "error": "1/64", "estimates": ["1", "1"]},
    {"L": "1", "gradient": "2", "error": "1/8", "estimates": ["2", "31/16", "33/16"]},
    {"L": "1", "gradient": "5/4", "error": "3/4", "estimates": ["1", "1", "1"]},
    {"L": "4", "gradient": "5/2", "error": "3/2", "estimates": ["2", "3", "2", "3"]},
)
"""``error`` is A, which may be below L gamma: it is R/9 for alpha = beta = 8R. Estimates of sqrt(gradient^2 -
A^2) can form the largest angle."""

_NEAREST = ["1", "10", "10", "1", ["1"]]
"""One client, alpha = beta = 100: the first gradient is 0.9999 of its bound."""

_LEAVINGS = (
    "It decides the proof's condition on the memories, that each update leaves residuals of at most A; the bound "
    "itself is decided by the other checks."
)

SHARPENED: Statement = replace(
    THEOREM1,
    id="shulgin2025.theorem1.sharpened",
    source=Source(shu.PAPER, "Theorem 1, Section 4"),
    sides=_sharpened_sides,
    checks=(
        Check("algebra", "descent inequalities added up", _angles_added_up),
        Check("algebra", "below the restored bound", _below_printed),
        Check("algebra", "residuals after the update", after_update, part=_AFTER),
        Check("exact", "whole runs on the line", _runs_on_the_line, {**LINE, "runs": [*LINE["runs"], _NEAREST]}),
        Check("exact", "residuals after the update of runs on the line", _leavings_on_the_line, LINE, part=_LEAVINGS),
        *edges(INSIDE, {**OUTSIDE, **NO_NOISE}),
        *worst.grid_of(many.by_angles, _ANGLES),
        *runs({**QUIET, **SHARP}),
    ),
    uses=("shulgin2025.lemma2.repaired", "shulgin2025.descent.sharpened"),
)

STATEMENTS = (THEOREM1, SHARPENED)
