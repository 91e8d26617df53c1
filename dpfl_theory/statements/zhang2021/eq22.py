"""zhang2021 eq. (22): the descent inequality summed over the rounds, as printed and repaired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Effect, Erratum, Outcome, Sides, Statement, Symbols, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _instances as instances
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq21
from dpfl_theory.statements.zhang2021._causes import SAMPLED_CLIENTS
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
    "The rounds summed",
    "22",
    "for the steps of (21). The proof's $x_1$ is the algorithm's $x^0$; a bracket of the display is not closed",
    (
        r"$(1/T) \sum_t E[\alpha \|\nabla f(x_t)\|^2] \le (4/(T \eta_g \eta_l Q))(E f(x_1) - E f(x_{T+1})) + 10 "
        r"\eta_l^2 L^2 Q (1 + 12 \eta_l \eta_g/P)(\sigma_l^2 + 6 Q \sigma_g^2) (1/T) \sum \alpha + (12L/P) \eta_g "
        r"\eta_l \sigma_l^2 (1/T) \sum \alpha^2 + 2L (\eta_g/(\eta_l Q P)) d \sigma^2 + (4/(\eta_l Q))$ times the "
        r"mean biases + $(6L/(\eta_l Q)) \eta_g$ times the mean spreads."
    ),
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
    erratum=Erratum(
        cause=SAMPLED_CLIENTS,
        grade="false",
        effect=Effect(
            5.28,
            r"At $P = 80$ of $N = 1920$, $Q = 32$ and $\sigma_l = \sigma_g$ the term in $\sigma_l^2$ must grow by "
            r"this factor: one round of clients $(L/2)\|x - m_i\|^2$ from the optimum, short steps, needs $(2L/P) "
            r"\eta_g \eta_l (\sigma_l^2 + ((N - P)/(N - 1)) Q \sigma_g^2)$, printed is $(12L/P) \eta_g \eta_l "
            r"\sigma_l^2$.",
        ),
        printed=r"no term in $\eta_g \eta_l Q \sigma_g^2/P$, for the steps of (21)",
        corrected=(
            r"$(L/P) \eta_g \eta_l (13 \sigma_l^2 + 54 Q \sigma_g^2) \gamma_2$ in place of $(12L/P) \eta_g \eta_l "
            r"\sigma_l^2 \gamma_2$, for $\eta_g \eta_l \le P/(120QL)$ and $\eta_l \le 1/(\sqrt{120} QL)$"
        ),
        why="it is the sum of (21), from which the term is gone, with its limit of the steps, which has lost an $L$",
        counterexample=(
            r"$f_i = (x \pm 1)^2/2$, $N = 2$, $P = Q = 1$, $x_1 = 0$, $\eta_l = 1/1000$, $\eta_g = 20$, $T = 1$, no "
            "noise, no clipping: the left side is 0, the right side -0.0399"
        ),
        repaired="zhang2021.eq22.repaired",
        affects=("zhang2021.theorem3.1", "zhang2021.corollary3.2.1"),
    ),
    uses=("zhang2021.eq21",),
    typos=(r"(22) has $(12L/P) \sigma_l^2$, which is right, where (21) has $3L/N$ and the theorem $6L/P$.",),
)

REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq22.repaired",
    "The rounds summed, repaired",
    "22",
    "repaired: the sum of the repaired (21), with its limits on the steps",
    (
        r"$(1/T) \sum_t E[\alpha \|\nabla f(x_t)\|^2] \le (4/(T \eta_g \eta_l Q))(E f(x_1) - E f(x_{T+1})) + 10 "
        r"\eta_l^2 L^2 Q (\sigma_l^2 + 6 Q \sigma_g^2) \gamma_1 + (L/P) \eta_g \eta_l (13 \sigma_l^2 + 54 Q "
        r"\sigma_g^2) \gamma_2 + 2L (\eta_g/(\eta_l Q P)) d \sigma^2 + (4/(\eta_l Q))$ times the mean biases + "
        r"$(6L/(\eta_l Q)) \eta_g$ times the mean spreads."
    ),
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
