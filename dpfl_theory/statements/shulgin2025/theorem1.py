"""shulgin2025 Theorem 1: alpha-NormEC without noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Case, Check, Sides, Source, Statement, Symbols, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._instances import JUST_INSIDE
from dpfl_theory.statements.shulgin2025._line import largest_residual, runs_on_the_line
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, ROUND
from dpfl_theory.statements.shulgin2025.lemma2 import after_update


def _sides(s: Symbols) -> Sides:
    return Sides(
        {"gradient": s.least},
        {"initialisation": s.gap / (s.gamma * (s.K + 1)), "memory": 2 * s.R, "curvature": s.L * s.gamma / 2},
    )


def _sharpened_sides(s: Symbols) -> Sides:
    gained = s.gap / (s.gamma * (s.K + 1)) + s.L * s.gamma / 2
    return Sides({"gradient": s.least}, {"bound": sp.sqrt(shu.largest_residual(s) ** 2 + gained**2)})


@algebra("descent inequalities added up")
def _telescoped(s: Formula) -> Proof:
    """K + 1 descent inequalities f_{k+1} <= f_k - gamma g_k + 2 gamma R + L gamma^2/2, added up and divided."""
    count, step = s.K + 1, s.gamma
    added = (s.gap + count * (2 * step * s.R + s.L * step**2 / 2)) / (step * count)
    return added, s.rhs, "the mean of the descent inequalities and the restored bound"


@algebra("descent inequalities added up")
def _angles_added_up(s: Formula) -> Proof:
    """If min_k g_k > A, K + 1 descents f_{k+1} <= f_k - gamma sqrt(g_k^2 - A^2) + L gamma^2/2 give sqrt(min g_k^2 -
    A^2) <= gap/(gamma (K + 1)) + L gamma/2. Otherwise min_k g_k <= A, which the bound exceeds."""
    u = sp.Symbol("u", positive=True)  # sqrt(min g^2 - A^2)
    count, step = s.K + 1, s.gamma
    (found,) = sp.solve(s.gap - count * (step * u - s.L * step**2 / 2), u)
    own = sp.sqrt(shu.largest_residual(s) ** 2 + found**2)
    return own, s.rhs, "the added descents, solved, and the sharpened bound"


@algebra("below the restored bound")
def _below_printed(s: Formula) -> Proof:
    """With A <= R and B the two other terms, (2R + B)^2 - (A^2 + B^2) = (2R - A)(2R + A) + 4 R B > 0. A <= R: g(R) = R
    - m, and the overshoot is below R by `after_update`."""
    A, B = sp.Symbol("A", positive=True), s.gap / (s.gamma * (s.K + 1)) + s.L * s.gamma / 2
    sharpened = (s.rhs**2).subs(shu.largest_residual(s), A)
    slack = (2 * s.R - A) * (2 * s.R + A) + 4 * s.R * B
    return sum(_sides(s).rhs.values()) ** 2 - sharpened, slack, "the squared bounds' difference"


_residuals = algebra(
    "residuals after the update",
    part="It decides that residuals after the memories' update stay at most R; the other checks decide the descent.",
)(after_update)


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


def _leavings_on_the_line(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The residuals after the updates against A."""
    for run in runs_on_the_line(instance):
        most = largest_residual(run.symbols["R"], run.symbols["alpha"], run.symbols["beta"])
        for K, one in enumerate(run.rounds):
            yield Case({**run.symbols, "K": K, "residual": "after the update"}, one.after, most)


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

_NEAREST = {**LINE, "runs": [*LINE["runs"], ["1", "10", "10", "1", ["1"]]]}
"""With one client and alpha = beta = 100: the first gradient is 0.9999 of its bound."""

_ROUNDS = (
    {"L": "1", "gradient": "5", "error": "9/8", "estimates": ["4", "5", "6", "5", "4", "5"]},
    {"L": "4", "gradient": "5", "error": "17/16", "estimates": ["5", "6", "5", "4", "5", "6"]},
    {"L": "1", "gradient": "4", "error": "65/64", "estimates": ["4", "5", "4", "7/2", "4", "9/2", "4", "7/2"]},
)
"""R >= L gamma, as the limit of gamma implies, and gradients so long that arbitrary steps would break the bound."""

_ANGLES = (
    {"L": "1", "gradient": "1", "error": "1/64", "estimates": ["1"]},
    {"L": "1", "gradient": "1", "error": "1/64", "estimates": ["1", "1"]},
    {"L": "1", "gradient": "2", "error": "1/8", "estimates": ["2", "31/16", "33/16"]},
    {"L": "1", "gradient": "5/4", "error": "3/4", "estimates": ["1", "1", "1"]},
    {"L": "4", "gradient": "5/2", "error": "3/2", "estimates": ["2", "3", "2", "3"]},
)
"""``error`` is A, which may be below L gamma: it is R/9 for alpha = beta = 8R. Estimates of sqrt(gradient^2 -
A^2) can form the largest angle."""

_ON_THE_LINE = "residuals after the update of runs on the line"

THEOREM1: Statement = Statement(
    id="shulgin2025.theorem1",
    kind="theorem",
    source=Source(shu.PAPER, "Theorem 1, Section 4", provenance="restored"),
    symbols=shu.symbols("gap", "gamma", "K", "R", "alpha", "beta", "L", "L_max"),
    expectations=(shu.LEAST,),
    hypotheses=(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.QUIET),
    sides=_sides,
    checks=battery(
        _telescoped,
        _residuals,
        Check(
            "exact",
            _ON_THE_LINE,
            _residuals_on_the_line,
            LINE,
            part="It decides the proof's condition on the memories, that each update leaves residuals of at most R; "
            "the bound itself is decided by the other checks.",
        ),
        Check("exact", "long runs on the line", _runs_on_the_line, LONG),
        Check("exact", "memories that lead away from the optimum", _runs_on_the_line, UPHILL),
        ROUND("theorem1", near=JUST_INSIDE),
        worst.grid_of(worst.rounds, _ROUNDS),
        NORMALISE("quiet"),
    ),
    smoke=("one quadratic, first round only", "breast cancer sorted by label"),
    uses=("shulgin2025.lemma2", "shulgin2025.lemma2.repaired", "shulgin2025.descent"),
)

SHARPENED: Statement = replace(
    THEOREM1,
    id="shulgin2025.theorem1.sharpened",
    source=Source(shu.PAPER, "Theorem 1, Section 4"),
    sides=_sharpened_sides,
    checks=battery(
        _angles_added_up,
        _below_printed,
        _residuals,
        Check("exact", "whole runs on the line", _runs_on_the_line, _NEAREST),
        Check(
            "exact",
            _ON_THE_LINE,
            _leavings_on_the_line,
            LINE,
            part="It decides the proof's condition on the memories, that each update leaves residuals of at most A; "
            "the bound itself is decided by the other checks.",
        ),
        ROUND("theorem1", near=JUST_INSIDE),
        worst.grid_of(worst.by_angles, _ANGLES),
        NORMALISE("quiet sharp"),
    ),
    uses=("shulgin2025.lemma2.repaired", "shulgin2025.descent.sharpened"),
)

STATEMENTS = (THEOREM1, SHARPENED)
