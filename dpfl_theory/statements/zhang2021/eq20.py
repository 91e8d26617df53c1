"""zhang2021 eq. (20): the descent inequality of one round, all steps put together, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols
from dpfl_theory.core.formula import sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round_runs as simulated
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq13_eq14, eq15, eq16_to_eq18, eq19
from dpfl_theory.statements.zhang2021._instances import edges, exact
from dpfl_theory.statements.zhang2021._round import rounds
from dpfl_theory.statements.zhang2021._symbols import LOCAL_STEP

__all__ = ["EQ20", "EQ20_REPAIRED", "NEXT", "SYMBOLS", "assembled", "shared_terms"]

SYMBOLS = zhang.symbols(
    "f_now",
    "eta_g",
    "eta_l",
    "alpha",
    "Q",
    "square",
    "L",
    "sigma_l",
    "sigma_g",
    "P",
    "N",
    "d",
    "noise_variance",
    "first_bias",
    "second_bias",
    "first_spread",
    "second_spread",
)

NEXT = zhang.expected("E_next")


def shared_terms(s: Symbols) -> dict[str, Any]:
    """The common terms of all versions of the inequality: f(x_t), the biases and spreads of clipping, and the privacy
    noise."""
    return {
        "now": s.f_now,
        "clipping bias": s.eta_g * (s.first_bias + s.second_bias),
        "clipping spread": sp.Rational(3, 2) * s.L * s.eta_g**2 * (s.first_spread + s.second_spread),
        "privacy": s.L / 2 * s.eta_g**2 * s.noise_variance * s.d / s.P,
    }


def _first_order(s: Symbols) -> dict[str, Any]:
    """(13) to (15), and the noise term of (17)."""
    L, Q, P, eta, eta_g, alpha = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g", "alpha"))
    variances = s.sigma_l**2 + 6 * Q * s.sigma_g**2
    drift = 5 * L**2 * Q**2 * eta**2 * variances + 30 * L**2 * Q**3 * eta**2 * s.square
    return {
        "gradient": -eta_g * eta * alpha * Q / 2 * s.square,
        "updates": -eta_g * eta * alpha / (2 * Q) * s.local_square / (eta * alpha) ** 2,
        "drift": eta_g * eta * alpha / 2 * drift,
        "pairs": 3 * L * eta_g**2 * (P - 1) / P * s.local_square,
        "stochastic gradients": 3 * L / P * eta_g**2 * eta**2 * alpha**2 * Q * s.sigma_l**2,
    }


def _eq20_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g, alpha = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g", "alpha"))
    both = s.square + s.sigma_g**2
    return Sides(
        lhs={"next": s.E_next},
        rhs={
            **shared_terms(s),
            **_first_order(s),
            "sampling, noise": 30 / P * eta**4 * eta_g**2 * alpha * L**2 * Q**2 * s.sigma_l**2,
            "sampling": 12 / P * eta**2 * eta_g**2 * alpha * Q**3 * (15 * L**2 * eta**2 + 1) * both,
        },
    )


def _eq20_repaired_sides(s: Symbols) -> Sides:
    factor = 3 * s.L * s.eta_g**2 / s.P
    squares = {f"sampling, {name}": factor * term for name, term in eq19.repaired_squares(s).items()}
    return Sides(lhs={"next": s.E_next}, rhs={**shared_terms(s), **_first_order(s), **squares})


def assembled(drift: Any, squares: Any) -> Any:
    """The bound of E f(x_{t+1}) by (12) with (13), (14), (16), (17) and (18), with these bounds of A_1 and of the
    clients' squared updates."""
    s = symbols_of(EQ20_REPAIRED)
    _, product = zhang.sides_with(eq13_eq14.EQ14_REPAIRED, drift_square=drift)
    _, first = zhang.sides_with(eq13_eq14.EQ13, common_product=product)
    _, sampled = zhang.sides_with(eq16_to_eq18.EQ18_REPAIRED, local_squares=squares)
    _, inner = zhang.sides_with(eq16_to_eq18.EQ17, cohort_local=sampled)
    _, outer = zhang.sides_with(eq16_to_eq18.EQ16, cohort_common=inner)
    noise = s.L / 2 * s.eta_g**2 * s.noise_variance * s.d / s.P
    return s.f_now + s.eta_g * first + s.L / 2 * s.eta_g**2 * outer + noise


def _bookkeeping(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(12) with (13), (14), (15), (16), (17), (18) and (19), term by term.

    (L/2) eta_g^2 times 3 (16), 2 (17) and (18) leaves 3 L eta_g^2 ((1/(P N)) (19) + ((P-1)/P) local_square).
    """
    combined = assembled(total(eq15.EQ15), total(eq19.EQ19_REPAIRED))
    return equal(sp.expand(combined), sp.expand(total(statement)), "(12) to (19) put together against (20)")


def _missing(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The two terms that (18) and (19) add must be (3 L eta_g^2/(P N)) times (19); as printed the L is missing."""
    s = symbols_of(statement)
    due = 3 * s.L * s.eta_g**2 / (s.P * s.N) * total(eq19.EQ19)
    terms = sides_of(statement).rhs
    return equal(
        sp.expand(terms["sampling, noise"] + terms["sampling"]),
        sp.expand(due),
        "the last two terms against 3 L eta_g^2/(P N) times (19)",
    )


_SAMPLED = {"q": ["100", "100"], "m": ["-1", "1"], "x": ["0"], "Q": 1, "P": 1, "eta_l": "1/1000000", "eta_g": "1"}
"""L = 100, grad f(x_t) = 0, no noise, no clipping: only the sampling of the clients is left."""
EQ20: Statement = zhang.proof_step(
    "zhang2021.eq20",
    "20",
    symbols=(*SYMBOLS, *zhang.symbols("local_square")),
    expectations=NEXT,
    hypotheses=(LOCAL_STEP,),
    sides=_eq20_sides,
    homogeneous=False,
    checks=(
        Check("algebra", "the terms that (18) and (19) add", _missing, {}, "violated"),
        Check("exact", "two clients, L = 100, at the optimum", rounds, _SAMPLED, "violated"),
        *exact(samplings=["without", "anew"]),
        *edges(),
    ),
    expected="violated",
    uses=(
        "zhang2021.eq13",
        "zhang2021.eq14",
        "zhang2021.eq15",
        "zhang2021.eq16",
        "zhang2021.eq17",
        "zhang2021.eq18",
        "zhang2021.eq19",
    ),
)

EQ20_REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq20.repaired",
    "20",
    symbols=EQ20.symbols,
    expectations=NEXT,
    hypotheses=(LOCAL_STEP,),
    sides=_eq20_repaired_sides,
    checks=(
        Check("algebra", "(12) to (19) put together", _bookkeeping),
        Check("exact", "two clients, L = 100, at the optimum", rounds, _SAMPLED),
        *exact(samplings=["without", "anew"]),
        *edges(),
        *simulated.runs(simulated.DESCENTS),
    ),
    smoke=("one round in two dimensions, privacy noise decides",),
    uses=(
        "zhang2021.eq13",
        "zhang2021.eq14.repaired",
        "zhang2021.eq15",
        "zhang2021.eq16",
        "zhang2021.eq17",
        "zhang2021.eq18.repaired",
        "zhang2021.eq19.repaired",
    ),
)

STATEMENTS = (EQ20, EQ20_REPAIRED)
