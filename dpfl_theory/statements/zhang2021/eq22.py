"""zhang2021 eq. (22): the descent inequality summed over the rounds, as printed and repaired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _instances as instances
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq21
from dpfl_theory.statements.zhang2021._instances import step_edges
from dpfl_theory.statements.zhang2021._runs import tree
from dpfl_theory.statements.zhang2021._symbols import hypotheses, printed_limits, repaired_limits

_MEANS = ("first_bias", "second_bias", "first_spread", "second_spread")
_SYMBOLS = (
    replace(zhang.SYMBOLS["f_now"], meaning="$f(x_1)$, of the first round", latex="f(x_1)"),
    replace(zhang.SYMBOLS["E_next"], meaning="$E f(x_{T+1})$, after the last round", latex=r"\mathbb{E} f(x_{T+1})"),
    *(
        replace(zhang.SYMBOLS[name], meaning=f"mean over the rounds of {zhang.SYMBOLS[name].meaning}")
        for name in _MEANS
    ),
    *zhang.symbols("T", "eta_g", "eta_l", "Q", "L", "sigma_l", "sigma_g", "P", "N", "d", "noise_variance"),
)


def _shared(s: Symbols) -> dict[str, Any]:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    return {
        "initialisation": 4 / (s.T * eta_g * eta * Q) * (s.f_now - s.E_next),
        "privacy": 2 * L * eta_g / (eta * Q * P) * s.d * s.noise_variance,
        "clipping bias": 4 / (eta * Q) * (s.first_bias + s.second_bias),
        "clipping spread": 6 * L / (eta * Q) * eta_g * (s.first_spread + s.second_spread),
    }


def _eq22_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    variances = s.sigma_l**2 + 6 * Q * s.sigma_g**2
    return Sides(
        lhs={"gradients": s.E_aligned},
        rhs={
            **_shared(s),
            "drift": 10 * eta**2 * L**2 * Q * (1 + 12 * eta * eta_g / P) * variances * s.gamma_1,
            "stochastic gradients": 12 * L / P * eta_g * eta * s.sigma_l**2 * s.gamma_2,
        },
    )


def _repaired_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    variances = s.sigma_l**2 + 6 * Q * s.sigma_g**2
    return Sides(
        lhs={"gradients": s.E_aligned},
        rhs={
            **_shared(s),
            "drift": 10 * eta**2 * L**2 * Q * variances * s.gamma_1,
            "sampling": L / P * eta_g * eta * (13 * s.sigma_l**2 + 54 * Q * s.sigma_g**2) * s.gamma_2,
        },
    )


def _summed(once: Statement) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        """One round's inequality times 4/(eta_g eta_l Q), T = 1, with alpha E||grad f||^2 taken to the left."""
        s, of = symbols_of(statement), symbols_of(once)
        left = 4 / (s.eta_g * s.eta_l * s.Q) * (total(once) - of.E_next)
        left = sp.expand(left + of.alpha * of.square)
        left = sp.expand(left.subs({of.f_now: s.f_now, of.E_next: s.E_next}))
        right = total(statement).subs({s.T: 1, s.gamma_1: of.alpha, s.gamma_2: of.alpha**2})
        return equal(left, sp.expand(right), "one round's inequality, rearranged, against one round of the sum")

    return build


EQ22: Statement = zhang.proof_step(
    "zhang2021.eq22",
    "22",
    symbols=_SYMBOLS,
    expectations=zhang.expected("E_aligned", "gamma_1", "gamma_2"),
    hypotheses=hypotheses(printed_limits),
    sides=_eq22_sides,
    homogeneous=False,
    checks=(
        Check("algebra", "follows from (21)", _summed(eq21.EQ21), {}, "violated"),
        *checks("exact", tree, instances.BROKEN, "violated"),
        *checks("exact", tree, instances.EVERYBODY),
        *step_edges(printed_limits, tree, **instances.ONE_ROUND),
    ),
    expected="violated",
    uses=("zhang2021.eq21",),
)

REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq22.repaired",
    "22",
    symbols=_SYMBOLS,
    expectations=EQ22.expectations,
    hypotheses=hypotheses(repaired_limits, "the exact instances have curvatures of at most L"),
    sides=_repaired_sides,
    checks=(
        Check("algebra", "follows from (21)", _summed(eq21.EQ21_REPAIRED)),
        *checks("exact", tree, instances.ALLOWED),
        *step_edges(repaired_limits, tree, **instances.ONE_ROUND),
    ),
    uses=("zhang2021.eq21.repaired",),
)

STATEMENTS = (EQ22, REPAIRED)
