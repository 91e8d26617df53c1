"""zhang2021 eq. (19): the size of the clients' squared updates, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, Values, WorstCase
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.statements.symbolic import all_equal, equal
from dpfl_theory.statements.zhang2021 import _round_runs as simulated
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq15
from dpfl_theory.statements.zhang2021._instances import edges, exact
from dpfl_theory.statements.zhang2021._round import rounds
from dpfl_theory.statements.zhang2021._symbols import LOCAL_STEP

__all__ = ["CONCAVE", "EQ19", "EQ19_REPAIRED", "MANY_STEPS", "SUMS", "local_sum", "noise_alone", "repaired_squares"]


def _eq19_sides(s: Symbols) -> Sides:
    N, L, eta, Q, alpha = (s[name] for name in ("N", "L", "eta_l", "Q", "alpha"))
    return Sides(
        lhs={"updates": s.local_squares},
        rhs={
            "noise": 10 * N * eta**4 * alpha * L**2 * Q**2 * s.sigma_l**2,
            "gradients": 4 * N * eta**2 * alpha * Q**3 * (15 * L**2 * eta**2 + 1) * (s.square + s.sigma_g**2),
        },
    )


def repaired_squares(s: Symbols) -> dict[str, Any]:
    """The right side of (19) over N, repaired: 10 eta^4 alpha^2 L^2 Q^3 sigma_l^2 and 4 eta^2 alpha^2 Q^2 (15 Q^2 L^2
    eta^2 + 1)(||grad f||^2 + sigma_g^2)."""
    L, eta, Q, alpha = (s[name] for name in ("L", "eta_l", "Q", "alpha"))
    return {
        "noise": 10 * eta**4 * alpha**2 * L**2 * Q**3 * s.sigma_l**2,
        "gradients": 4 * eta**2 * alpha**2 * Q**2 * (15 * Q**2 * L**2 * eta**2 + 1) * (s.square + s.sigma_g**2),
    }


def _repaired_sides(s: Symbols) -> Sides:
    return Sides(lhs={"updates": s.local_squares}, rhs={name: s.N * term for name, term in repaired_squares(s).items()})


def _last_line(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The last equality of (19): (iii) sorted by variances."""
    s = symbols_of(statement)
    N, L, eta, Q, alpha = (s[name] for name in ("N", "L", "eta_l", "Q", "alpha"))
    noise, apart, square = s.sigma_l**2, s.sigma_g**2, s.square
    bracket = 5 * L**2 * Q**2 * eta**2 * (noise + 6 * Q * apart) + 30 * L**2 * Q**3 * eta**2 * square
    third = 2 * eta**2 * alpha * N * (bracket + 2 * Q**3 * square + 2 * Q**3 * apart)
    return equal(sp.expand(third), sp.expand(total(statement)), "(iii) against the last line")


def _from_eq15(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """||sum_q a_q||^2 <= Q sum_q ||a_q||^2 once, the middle line of (15), and ||grad f_i||^2 on average at
    most ||grad f||^2 + sigma_g^2.

    N times 2 eta^2 alpha^2 (Q (15) + Q^2 (||grad f||^2 + sigma_g^2)) is the repaired right side less the slack of the
    factor 2 in the second part.
    """
    s = symbols_of(statement)
    eta, Q, alpha = (s[name] for name in ("eta_l", "Q", "alpha"))
    both = s.square + s.sigma_g**2
    drift = total(eq15.EQ15)
    proved = 2 * eta**2 * alpha**2 * (Q * drift + Q**2 * both)
    slack = total(statement) / s.N - proved
    return equal(sp.expand(slack), sp.expand(2 * eta**2 * alpha**2 * Q**2 * both), "the slack of the repaired (19)")


def _sharpened_sides(s: Symbols) -> Sides:
    N, L, eta, Q, alpha = (s[name] for name in ("N", "L", "eta_l", "Q", "alpha"))
    both = s.square + s.sigma_g**2
    return Sides(
        lhs={"updates": s.local_squares},
        rhs={
            "noise": 4 * N * eta**4 * alpha**2 * L**2 * Q**3 * s.sigma_l**2,
            "gradients": sp.Rational(3, 2) * N * eta**2 * alpha**2 * Q**2 * (2 * Q**2 * L**2 * eta**2 + 1) * both,
        },
    )


def _young(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """||sum_q a_q||^2 <= 3/2 ||Q g||^2 + 3 Q sum_q ||a_q - g||^2 for g = grad f_i(x_t), and the middle line of (15)
    with its smaller constants; ||g||^2 on average at most ||grad f||^2 + sigma_g^2."""
    s, of = symbols_of(statement), symbols_of(eq15.SHARPENED)
    u, v = sp.symbols("u v", real=True)
    drift = total(eq15.SHARPENED).subs({of[name]: s[name] for name in of if name in s})
    both = s.square + s.sigma_g**2
    Q = s.Q
    proved = s.N * (s.eta_l * s.alpha) ** 2 * (sp.Rational(3, 2) * Q**2 * both + 3 * Q * drift)
    slack = sp.expand(sp.Rational(3, 2) * u**2 + 3 * v**2 - (u + v) ** 2)
    return all_equal(
        (slack, sp.expand((u - 2 * v) ** 2 / 2), "the slack of Young's inequality against a square"),
        (sp.expand(proved), sp.expand(total(statement)), "the consequence of (15), sharpened"),
    )


def local_sum(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The worst case of (19) for one smooth client without noise and clipping, L = 1: the left side is
    eta^2 ||sum_q grad f(x_q)||^2."""
    from PEPit import PEP
    from PEPit.functions import SmoothFunction

    Q = int(instance["Q"])
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEP()
    world = FunctionClass(problem, [problem.declare_function(SmoothFunction, L=1.0)])
    x = Vector(problem.set_initial_point())
    updates = world.square(run_round(TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=Q), world, x).x - x)
    one = dict.fromkeys(("N", "L", "alpha"), 1.0)
    values = {
        **one,
        "eta_l": eta,
        "Q": float(Q),
        "sigma_l": 0.0,
        "sigma_g": 0.0,
        "square": world.square(world.gradient(0, x)),
    }
    return WorstCase(problem, {**values, "local_squares": updates}, f"{statement.id}, one client")


def noise_alone(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One client at its minimum, so that only sigma_l is left, for each Q of the instance."""
    return [found for Q in instance["Q"] for found in rounds(statement, {**instance, "Q": Q})]


_NOISE = {"q": ["1"], "m": ["0"], "x": ["0"], "P": 1, "noise": "1", "eta Q L": "1/1000"}
CONCAVE = {**_NOISE, "q": ["-1"], "eta Q L": "129/1000"}
"""Noises grow from step to step."""
_FEW_STEPS = {
    "at a minimum, Q to 31": {**_NOISE, "Q": [1, 2, 8, 16, 31]},
    "concave near x_t, Q to 28": {**CONCAVE, "Q": [1, 2, 8, 16, 28]},
}
MANY_STEPS = {
    "at a minimum, Q from 32": {**_NOISE, "Q": [32, 40, 64]},
    "concave near x_t, Q from 29": {**CONCAVE, "Q": [29, 32, 64]},
}
SUMS = {
    f"without noise, Q = {Q}, eta_l Q L = {product}": {"Q": Q, "eta Q L": product}
    for Q, product in ((1, "129/1000"), (2, "129/1000"), (2, "1/20"), (3, "129/1000"), (4, "129/1000"))
}

EQ19: Statement = zhang.proof_step(
    "zhang2021.eq19",
    "19",
    expectations=zhang.expected("local_squares"),
    symbols=zhang.symbols("N", "L", "eta_l", "Q", "alpha", "sigma_l", "sigma_g", "square"),
    hypotheses=(LOCAL_STEP,),
    sides=_eq19_sides,
    checks=(
        Check("algebra", "(iii) against the last line", _last_line),
        *exact(),
        *checks("exact", noise_alone, _FEW_STEPS),
        *checks("exact", noise_alone, MANY_STEPS, "violated"),
        *edges(),
        *checks("worst-case", local_sum, SUMS),
        *simulated.runs(
            simulated.LOCAL, simulated.local_phase, {n: "violated" for n in simulated.LOCAL if "noise decides" in n}
        ),
        Check("monte-carlo", "at a minimum, Q = 64", simulated.local_phase, simulated.AT_MINIMUM, "violated"),
    ),
    expected="violated",
    uses=("zhang2021.eq15",),
)

EQ19_REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq19.repaired",
    "19",
    symbols=EQ19.symbols,
    expectations=EQ19.expectations,
    hypotheses=(LOCAL_STEP,),
    sides=_repaired_sides,
    checks=(
        Check("algebra", "follows from (15)", _from_eq15),
        *exact(),
        *simulated.runs(simulated.LOCAL, simulated.local_phase),
        Check("monte-carlo", "at a minimum, Q = 64", simulated.local_phase, simulated.AT_MINIMUM),
        *checks("exact", noise_alone, MANY_STEPS),
        *edges(),
        *checks("worst-case", local_sum, SUMS),
    ),
    uses=("zhang2021.eq15",),
)

_MINIMUM = "at a minimum, Q from 32"

EQ19_SHARPENED: Statement = replace(
    EQ19_REPAIRED,
    id="zhang2021.eq19.repaired.sharpened",
    source=Source(zhang.PAPER, zhang.PROOF, "19"),
    sides=_sharpened_sides,
    checks=(
        Check("algebra", "follows from (15), sharpened", _young),
        *exact(),
        *simulated.runs(simulated.LOCAL, simulated.local_phase),
        Check("exact", _MINIMUM, noise_alone, MANY_STEPS[_MINIMUM]),
        *edges(),
        *checks("worst-case", local_sum, SUMS),
    ),
    uses=("zhang2021.eq15.sharpened",),
)

STATEMENTS = (EQ19, EQ19_REPAIRED, EQ19_SHARPENED)
