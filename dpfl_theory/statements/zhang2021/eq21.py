"""zhang2021 eq. (21): the descent inequality simplified by the limits of the steps, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round_runs as simulated
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import _worst_cases as worst
from dpfl_theory.statements.zhang2021._instances import REPAIRED_STEPS, exact, step_edges
from dpfl_theory.statements.zhang2021._round import rounds as one
from dpfl_theory.statements.zhang2021._symbols import printed_limits, repaired_limits, steps
from dpfl_theory.statements.zhang2021.eq20 import EQ20, EQ20_REPAIRED, NEXT, SYMBOLS, shared_terms

__all__ = ["EQ21", "EQ21_REPAIRED"]


def _eq21_sides(s: Symbols) -> Sides:
    L, Q, P, N, eta, eta_g, alpha = (s[name] for name in ("L", "Q", "P", "N", "eta_l", "eta_g", "alpha"))
    variances = s.sigma_l**2 + 6 * Q * s.sigma_g**2
    drift = sp.Rational(5, 2) * eta_g * eta**3 * alpha * (1 + 12 * eta * eta_g / P) * L**2 * Q**2 * variances
    return Sides(
        lhs={"next": s.E_next},
        rhs={
            **shared_terms(s),
            "gradient": -eta_g * eta * alpha * Q / 4 * s.square,
            "drift": drift,
            "stochastic gradients": 3 * L / N * eta_g**2 * eta**2 * alpha**2 * Q * s.sigma_l**2,
        },
    )


def _eq21_repaired_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g, alpha = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g", "alpha"))
    variances = s.sigma_l**2 + 6 * Q * s.sigma_g**2
    sampling = sp.Rational(13, 4) * s.sigma_l**2 + sp.Rational(27, 2) * Q * s.sigma_g**2
    return Sides(
        lhs={"next": s.E_next},
        rhs={
            **shared_terms(s),
            "gradient": -eta_g * eta * alpha * Q / 4 * s.square,
            "drift": sp.Rational(5, 2) * eta_g * eta**3 * alpha * L**2 * Q**2 * variances,
            "sampling": L / P * eta_g**2 * eta**2 * alpha**2 * Q * sampling,
        },
    )


def _dropped(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """From (20) to (21) the terms in sigma_g^2 must not become smaller: (21) less (20) at their common symbols."""
    s = symbols_of(statement)
    gap = (total(statement) - zhang.sides_with(EQ20, local_square=0)[1]).subs({s.sigma_l: 0, s.square: 0})
    left = -12 / s.P * s.eta_g**2 * s.eta_l**2 * s.alpha * s.Q**3 * s.sigma_g**2
    found = equal(gap.expand(), left.expand(), "(21) less (20) in sigma_g^2 against -(12/P) eta_g^2 eta_l^2 alpha Q^3")
    return (
        Outcome(
            False,
            "(21) lacks exactly (12/P) eta_g^2 eta_l^2 alpha Q^3 sigma_g^2 of (20), so that (20) does not imply it",
            found.notes,
        )
        if found.true
        else found
    )


def _follows(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(21) repaired less (20) repaired, at their worst: with u = eta_l^2 Q^2 L^2 <= 1/120 and v = L eta_g eta_l Q/P <=
    1/120, alpha <= 1, the coefficients of all symbols are nonnegative."""
    s = symbols_of(statement)
    eta, eta_g, Q, L, P, alpha = (s[name] for name in ("eta_l", "eta_g", "Q", "L", "P", "alpha"))
    gap = sp.expand(total(statement) - zhang.sides_with(EQ20_REPAIRED, local_square=0)[1])
    u, v = (eta * Q * L) ** 2, L * eta_g * eta * Q / P
    scale = eta_g * eta * alpha * Q
    rest = gap
    for symbol, want in (
        ("square", sp.Rational(1, 4) - 15 * u - 12 * alpha * v * (15 * u + 1)),
        ("sigma_g", alpha * v * (sp.Rational(27, 2) - 12 * (15 * u + 1))),
        ("sigma_l", alpha * v / Q * (sp.Rational(1, 4) - 30 * u)),
    ):
        power = s[symbol] if symbol == "square" else s[symbol] ** 2
        coefficient = gap.coeff(power)
        rest -= coefficient * power
        found = equal(sp.expand(coefficient / scale), sp.expand(want), f"the coefficient of {symbol}")
        if not found.true:
            return found
    at_limit = [sp.Rational(1, 4) - 15 * x - 12 * x * (15 * x + 1) for x in (sp.Rational(0), sp.Rational(1, 120))]
    if sp.expand(rest) != 0 or min(at_limit) < 0:
        return Outcome(False, f"terms are left over ({sp.expand(rest)}), or a coefficient is negative: {at_limit}")
    return Outcome(
        True,
        "(21) less (20) has the coefficients 1/4 - 15u - 12 alpha v (15u + 1) >= 0.012, 12 alpha v (1/8 - 15u) >= 0 "
        "and alpha v (1/4 - 30u)/Q >= 0 for u, v <= 1/120; the terms in the local updates cancel for eta_g eta_l <= "
        "P/(6QL(P-1))",
    )


_UNIT = {"q": ["1", "1"], "m": ["-1", "1"], "x": ["0"], "Q": 1, "P": 1, "eta_l": "1/1000", "eta_g": "1"}
_MANY = {"q": ["1"] * 20, "m": ["0"] * 20, "x": ["0"], "Q": 1, "P": 1, "noise": "1", "eta_l": "1/1000", "eta_g": "1"}


def _optimum(eta_g: str) -> dict[str, dict[str, Any]]:
    return {
        "two clients, L = 1, at the optimum": {**_UNIT, "eta_g": eta_g},
        "twenty identical clients, one takes part": {**_MANY, "eta_g": eta_g},
    }


EQ21: Statement = zhang.proof_step(
    "zhang2021.eq21",
    "21",
    symbols=SYMBOLS,
    expectations=NEXT,
    hypotheses=(steps(printed_limits),),
    sides=_eq21_sides,
    homogeneous=False,
    checks=(
        Check("algebra", "what (21) drops of (20)", _dropped, {}, "violated"),
        *checks("exact", one, _optimum("20"), "violated"),
        *step_edges(printed_limits, one, cohort=False),
        *worst.round_checks(),
    ),
    expected="violated",
    uses=("zhang2021.eq20",),
)

EQ21_REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq21.repaired",
    "21",
    symbols=SYMBOLS,
    expectations=NEXT,
    hypotheses=(steps(repaired_limits),),
    sides=_eq21_repaired_sides,
    checks=(
        Check("algebra", "follows from (20)", _follows),
        *checks("exact", one, _optimum("8")),
        *exact(step=REPAIRED_STEPS),
        *step_edges(repaired_limits, one, cohort=False),
        *worst.round_checks(repaired_limits, ("91/1000", "1/100")),
        *simulated.runs(simulated.DESCENTS),
    ),
    uses=("zhang2021.eq20.repaired",),
)

STATEMENTS = (EQ21, EQ21_REPAIRED)
