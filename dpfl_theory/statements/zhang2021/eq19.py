"""zhang2021 eq. (19): the size of the clients' squared updates, as printed and repaired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Sides, Statement, Symbols, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq15
from dpfl_theory.statements.zhang2021._round import local_steps, rounds
from dpfl_theory.statements.zhang2021._runs import EXACT, LOCAL


def _eq19_sides(s: Symbols) -> Sides:
    N, L, eta, Q, alpha = s.N, s.L, s.eta_l, s.Q, s.alpha
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
    L, eta, Q, alpha = s.L, s.eta_l, s.Q, s.alpha
    return {
        "noise": 10 * eta**4 * alpha**2 * L**2 * Q**3 * s.sigma_l**2,
        "gradients": 4 * eta**2 * alpha**2 * Q**2 * (15 * Q**2 * L**2 * eta**2 + 1) * (s.square + s.sigma_g**2),
    }


def _repaired_sides(s: Symbols) -> Sides:
    return Sides(lhs={"updates": s.local_squares}, rhs={name: s.N * term for name, term in repaired_squares(s).items()})


def _sharpened_sides(s: Symbols) -> Sides:
    L, eta, Q, of_all = s.L, s.eta_l, s.Q, s.N * s.eta_l**2 * s.alpha**2
    grown = 2 * Q**2 * L**2 * eta**2 + 1
    return Sides(
        lhs={"updates": s.local_squares},
        rhs={
            "noise": 4 * of_all * eta**2 * L**2 * Q**3 * s.sigma_l**2,
            "gradients": sp.Rational(3, 2) * of_all * Q**2 * grown * (s.square + s.sigma_g**2),
        },
    )


@algebra("(iii) against the last line")
def _last_line(s: Formula) -> Proof:
    """The last equality of (19): (iii) sorted by variances."""
    L, eta, Q, noise, apart = s.L, s.eta_l, s.Q, s.sigma_l**2, s.sigma_g**2
    bracket = 5 * L**2 * Q**2 * eta**2 * (noise + 6 * Q * apart) + 30 * L**2 * Q**3 * eta**2 * s.square
    third = 2 * eta**2 * s.alpha * s.N * (bracket + 2 * Q**3 * s.square + 2 * Q**3 * apart)
    return third, s.rhs, "(iii) against the last line"


@algebra("follows from (15)")
def _from_eq15(s: Formula) -> Proof:
    """||sum_q a_q||^2 <= Q sum_q ||a_q||^2 once, the middle line of (15), and ||grad f_i||^2 on average at
    most ||grad f||^2 + sigma_g^2.

    N times 2 eta^2 alpha^2 (Q (15) + Q^2 (||grad f||^2 + sigma_g^2)) is the repaired right side less the slack of the
    factor 2 in the second part.
    """
    unit, starts = 2 * s.eta_l**2 * s.alpha**2, s.Q**2 * (s.square + s.sigma_g**2)
    proved = unit * (s.Q * of(eq15.EQ15).rhs + starts)
    return s.rhs / s.N - proved, unit * starts, "the slack of the repaired (19)"


def sharpened_squares(s: Symbols) -> Any:
    """N eta^2 alpha^2 times a bound of the clients' mean ||sum_q grad f_i(x_q)||^2.

    By Young's inequality this mean is at most the sum of two terms. The first is (3/2) Q^2 times the mean ||grad
    f_i(x_t)||^2, which is at most ||grad f||^2 + sigma_g^2. The second is 3 Q times the bound of the middle line of
    (15), the clients' mean of sum_q ||grad f_i(x_q) - grad f_i(x_t)||^2.
    """
    start = sp.Rational(3, 2) * s.Q**2 * (s.square + s.sigma_g**2)
    return s.N * s.eta_l**2 * s.alpha**2 * (start + 3 * s.Q * of(eq15.SHARPENED).rhs)


@algebra("follows from (15), sharpened")
def _young(s: Formula) -> Proof:
    """||sum_q a_q||^2 <= 3/2 ||Q g||^2 + 3 Q sum_q ||a_q - g||^2 for g = grad f_i(x_t), see `sharpened_squares`."""
    u, v = sp.symbols("u v", real=True)
    slack = sp.Rational(3, 2) * u**2 + 3 * v**2 - (u + v) ** 2
    return [
        (slack, (u - 2 * v) ** 2 / 2, "the slack of Young's inequality against a square"),
        (sharpened_squares(s), s.rhs, "the consequence of (15), sharpened"),
    ]


def _sums() -> Iterator[Check]:
    for Q, product in ((1, "129/1000"), (2, "129/1000"), (2, "1/20"), (3, "129/1000"), (4, "129/1000")):
        instance = {"Q": Q, "eta Q L": product}
        yield Check("worst-case", f"without noise, Q = {Q}, eta_l Q L = {product}", local_steps, instance)


def noise_alone(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One client at its minimum, so that only sigma_l is left, for each Q of the instance."""
    return [found for Q in instance["Q"] for found in rounds(statement, {**instance, "Q": Q})]


NOISE = EXACT.by(noise_alone)

EQ19: Statement = zhang.proof_step(
    "zhang2021.eq19",
    symbols=zhang.symbols("N L eta_l Q alpha sigma_l sigma_g square"),
    expectations=zhang.expected("local_squares"),
    hypotheses=(zhang.LOCAL_STEP,),
    sides=_eq19_sides,
    checks=battery(
        _last_line,
        EXACT("all inside"),
        NOISE("few-steps", violated="many-steps"),
        _sums(),
        LOCAL("local-gradients", violated="local-noise at-minimum"),
    ),
    uses=("zhang2021.eq15",),
)

EQ19_REPAIRED: Statement = replace(
    EQ19,
    id="zhang2021.eq19.repaired",
    sides=_repaired_sides,
    checks=battery(_from_eq15, EXACT("all inside"), NOISE("many-steps"), _sums(), LOCAL("local at-minimum")),
)

EQ19_SHARPENED: Statement = replace(
    EQ19_REPAIRED,
    id="zhang2021.eq19.repaired.sharpened",
    sides=_sharpened_sides,
    checks=battery(_young, EXACT("all inside"), NOISE("from-32"), _sums(), LOCAL("local")),
    uses=("zhang2021.eq15.sharpened",),
)

STATEMENTS = (EQ19, EQ19_REPAIRED, EQ19_SHARPENED)
