"""zhang2021 Theorem 3.1: convergence of DP-FedAvg, as printed and repaired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import all_equal, equal
from dpfl_theory.statements.zhang2021 import _instances as instances
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq22
from dpfl_theory.statements.zhang2021._instances import step_edges
from dpfl_theory.statements.zhang2021._runs import at_rest, long_run, runs, tree
from dpfl_theory.statements.zhang2021._symbols import hypotheses, printed_limits, repaired_limits

__all__ = ["READINGS", "REPAIRED", "THEOREM", "clipping", "shared"]

_WHERE = f"Theorem 3.1, Section 3.1 ({zhang.VERSION})"
_SYMBOLS = zhang.symbols(
    "gap", "eta_g", "eta_l", "Q", "T", "L", "sigma_l", "sigma_g", "P", "N", "d", "noise_variance", "G"
)
_EXPECTATIONS = zhang.expected("E_aligned", "gamma_1", "gamma_2", "E_deviation", "E_square_deviation")


def clipping(s: Symbols, over: str) -> dict[str, Any]:
    """over: the divisor of the square deviations, P as printed or N."""
    return {
        "clipping bias": 4 * s.G**2 * s.E_deviation,
        "clipping spread": 6 * s.eta_g * s.eta_l * s.L * s.Q * s.G**2 * s.N / s[over] * s.E_square_deviation,
    }


def shared(s: Symbols) -> dict[str, Any]:
    return {
        "initialisation": 4 * s.gap / (s.eta_g * s.eta_l * s.Q * s.T),
        "privacy": 2 * s.eta_g * s.L * s.d * s.noise_variance / (s.eta_l * s.P * s.Q),
    }


def _sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    variances = s.sigma_l**2 + 6 * Q * s.sigma_g**2
    return Sides(
        lhs={"gradients": s.E_aligned},
        rhs={
            **shared(s),
            "drift": sp.Rational(25, 2) * eta**2 * L * Q * variances * s.gamma_1,
            "stochastic gradients": 6 * eta_g * eta * L * s.sigma_l**2 / P * s.gamma_2,
            **clipping(s, "P"),
        },
    )


def _repaired_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    return Sides(
        lhs={"gradients": s.E_aligned},
        rhs={
            **shared(s),
            "drift": 10 * eta**2 * L**2 * Q * (s.sigma_l**2 + 6 * Q * s.sigma_g**2) * s.gamma_1,
            "sampling": eta_g * eta * L / P * (13 * s.sigma_l**2 + 54 * Q * s.sigma_g**2) * s.gamma_2,
            **clipping(s, "N"),
        },
    )


def _last_step(previous: Statement, over: str) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        """(22) with E f(x_{T+1}) >= f* and its biases and spreads at the bounds that ||g|| <= G gives.

        ||grad f|| <= G and ||update|| <= eta_l Q G bound the biases by eta_l Q G^2 times the deviations, and Jensen's
        inequality the spreads by (eta_l Q G)^2 times the mean squares over the clients.
        """
        s, of = symbols_of(statement), symbols_of(previous)
        step = s.eta_l * s.Q
        spread = (step * s.G) ** 2 * s.E_square_deviation * s.N / s[over]
        right = total(previous).subs(
            {
                of.f_now - of.E_next: s.gap,
                of.second_bias: step * s.G**2 * s.E_deviation - of.first_bias,
                of.second_spread: spread - of.first_spread,
            }
        )
        return equal(sp.expand(right), sp.expand(total(statement)), "(22) at these bounds against the theorem")

    return build


def _steps_of_section(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """eta_g = sqrt(QP), eta_l = 1/(sqrt(T) Q L) in the standard terms, sigma_l = 0: the rate that Section 3.1 states.

    The term of the sampling, which the printed bound lacks, is 54 sqrt(Q/(PT)) sigma_g^2, larger by Q than 1/sqrt(PQT).
    """
    s = symbols_of(statement)
    steps = {s.eta_g: sp.sqrt(s.Q * s.P), s.eta_l: 1 / (sp.sqrt(s.T) * s.Q * s.L)}
    terms = sides_of(statement).rhs
    return all_equal(
        (
            terms["initialisation"].subs(steps),
            4 * s.gap * s.L / sp.sqrt(s.P * s.Q * s.T),
            "the initialisation with the steps of Section 3.1",
        ),
        (
            terms["sampling"].subs(steps).subs(s.sigma_l, 0),
            54 * sp.sqrt(s.Q / (s.P * s.T)) * s.sigma_g**2 * s.gamma_2,
            "the sampling's term with the steps of Section 3.1",
        ),
    )


_NOTE = (
    r"the sum over $t = 1$..T is read over the $T$ rounds' starting points $x^0, \dots, x^{T-1}$, as in its proof; "
    r"$E_\text{deviation}$ joins the two terms of each bracket. $f$ is the mean of the $f_i$ (equation (1) prints "
    r"their sum, the proof the mean); $\tilde\alpha_i$ is taken given $x^t$. The steps of Section 3.1 are printed "
    r"$\eta_l = 1/\sqrt{TQL}$ in the available text, which is not a step size by its unit; read as $1/(\sqrt{T} Q "
    r"L)$, like the limit $1/(\sqrt{60} QL)$, with which the rate $O(1/\sqrt{PQT} + 1/T)$ is that of the standard "
    "terms. The verdict is the same for both"
)


READINGS = "without replacement, or with it where every draw is a separate local run; " + _NOTE

THEOREM: Statement = Statement(
    id="zhang2021.theorem3.1",
    kind="theorem",
    source=Source(zhang.PAPER, _WHERE),
    symbols=_SYMBOLS,
    expectations=_EXPECTATIONS,
    hypotheses=hypotheses(printed_limits),
    sides=_sides,
    homogeneous=False,
    checks=(
        Check("algebra", "follows from (22)", _last_step(eq22.EQ22, "P"), {}, "violated"),
        *checks("exact", tree, {name: i for name, i in instances.BROKEN.items() if i["T"] > 1}, "violated"),
        Check("exact", "one client, L = 200", tree, instances.UNSTABLE, "violated"),
        *checks("exact", partial(long_run, below=True), instances.LONG, "violated"),
        *checks("exact", tree, instances.EVERYBODY),
        *step_edges(printed_limits, tree, **instances.ONE_ROUND),
        *runs(printed_limits, instances.SIMULATED_BROKEN, "violated"),
    ),
    expected="violated",
    uses=("zhang2021.eq22",),
)

REPAIRED: Statement = Statement(
    id="zhang2021.theorem3.1.repaired",
    kind="theorem",
    source=Source(zhang.PAPER, _WHERE),
    symbols=_SYMBOLS,
    expectations=_EXPECTATIONS,
    hypotheses=hypotheses(repaired_limits),
    sides=_repaired_sides,
    checks=(
        Check("algebra", "follows from (22)", _last_step(eq22.REPAIRED, "N")),
        Check("algebra", "rate with the steps of Section 3.1", _steps_of_section),
        *checks("exact", tree, instances.ALLOWED),
        *checks("exact", long_run, instances.LONG),
        *checks("exact", at_rest, instances.AT_REST),
        *step_edges(repaired_limits, tree, **instances.ONE_ROUND),
        *runs(repaired_limits, instances.SIMULATED),
    ),
    uses=("zhang2021.eq22.repaired",),
)

STATEMENTS = (THEOREM, REPAIRED)
