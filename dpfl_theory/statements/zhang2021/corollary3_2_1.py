"""zhang2021 Corollary 3.2.1: the rate of DP-FedAvg under a privacy budget, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _instances as instances
from dpfl_theory.statements.zhang2021 import _rate, theorem3_1, theorem3_2
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._sampled_noise import LONG, RANGE

_WHERE = f"Corollary 3.2.1, Section 3.2 ({zhang.VERSION})"


def _repaired_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    budget = s.N**2 * s.epsilon**2
    return Sides(
        lhs={"gradients": s.E_gradient},
        rhs={
            "initialisation": 4 * s.gap / (eta_g * eta * Q * s.T),
            "drift": 10 * eta**2 * L**2 * Q * (s.sigma_l**2 + 6 * Q * s.sigma_g**2),
            "sampling": eta_g * eta * L / P * (13 * s.sigma_l**2 + 54 * Q * s.sigma_g**2),
            "privacy": 8 * L * eta_g * eta * Q * s.c_prime**2 * s.d * s.T * sp.log(1 / s.delta) / budget,
        },
    )


def _follows(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The repaired Theorem 3.1 without clipping, at c = eta_l Q c' and the repaired Theorem 3.2's noise."""
    s, of, noise = (symbols_of(x) for x in (statement, theorem3_1.REPAIRED, theorem3_2.REPAIRED))
    variance = prescription_of(theorem3_2.REPAIRED)["noise_variance"]
    c = s.eta_l * s.Q * s.c_prime
    own = {"c": c, **{name: s[name] for name in ("P", "N", "T", "epsilon", "delta")}}
    variance = variance.subs({noise[name]: value for name, value in own.items()}, simultaneous=True)
    plain = {of.gamma_1: 1, of.gamma_2: 1, of.E_deviation: 0, of.E_square_deviation: 0}
    swaps = {of[name]: s[name] for name in of if name in s}
    found = total(theorem3_1.REPAIRED).subs({**swaps, **plain, of.noise_variance: variance}, simultaneous=True)
    return equal(found, total(statement), "Theorem 3.1, repaired, at this noise against the bound")


_REPAIRED_SYMBOLS = zhang.symbols(
    *("gap", "eta_g", "eta_l", "Q", "T", "L", "sigma_l", "sigma_g", "P", "N", "d", "c_prime", "G", "epsilon", "delta")
)

COROLLARY: Statement = Statement(
    id="zhang2021.corollary3.2.1",
    kind="corollary",
    source=Source(zhang.PAPER, _WHERE, "9"),
    relation="exists",
    checks=(
        Check("algebra", "the privacy term", _rate.from_theorem),
        Check("algebra", "best rate of (9)", _rate.best_printed_rate),
        Check("algebra", "no constant makes (9) true", _rate.no_constant, {}, "violated"),
    ),
    expected="violated",
    uses=("zhang2021.theorem3.1", "zhang2021.theorem3.2"),
)

_THIRTY = "thirty of 300 identical clients, noise dominates"
_FEWER = {"just outside P <= N": {**instances.PRIVATE[_THIRTY], "stated": {"N": "-271"}}}

REPAIRED: Statement = Statement(
    id="zhang2021.corollary3.2.1.repaired",
    kind="corollary",
    source=Source(zhang.PAPER, _WHERE, "9"),
    symbols=_REPAIRED_SYMBOLS,
    expectations=zhang.expected("E_gradient"),
    hypotheses=(*theorem3_1.REPAIRED.hypotheses, RANGE, LONG, Hypothesis(lambda s: s.c_prime >= s.G, r"$c' \ge G$")),
    sides=_repaired_sides,
    checks=(
        Check("algebra", "follows from the repaired theorems", _follows),
        Check("algebra", "best rate", _rate.best_repaired_rate),
        *checks("monte-carlo", _rate.private, instances.PRIVATE),
        *checks("monte-carlo", _rate.private, {**instances.PRIVATE_OUTSIDE, **_FEWER}, "not-applicable"),
        *_rate.EXPONENTS,
    ),
    uses=("zhang2021.theorem3.1.repaired", "zhang2021.theorem3.2.repaired"),
)

STATEMENTS = (COROLLARY, REPAIRED)
