"""zhang2021 eqs. (13) and (14): the first-order term of the descent inequality."""

from __future__ import annotations

import itertools
from dataclasses import replace

from dpfl_theory.core import Check, Sides, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.zhang2021 import _round as one
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._runs import EXACT, RECORDS, SAMPLED


@algebra("three parts")
def _telescoping(s: Formula) -> Proof:
    """Two of three clients, with arbitrary factors alpha_i and alpha~_i: both sides of (13) in their symbols.

    All are scalars: inner products with grad f are linear. alpha_i and the sum g_i of the stochastic gradients may be
    random, since both sides are linear in alpha_i g_i and g_i; alpha~_i need only be the same in all outcomes.
    """
    N, P = 3, 2
    slope, eta, mean = sp.symbols("slope eta alphabar", real=True)
    own, known, sums = (sp.symbols(f"{name}1:4", real=True) for name in ("alpha", "known", "g"))
    sent = [-eta * a * g for a, g in zip(own, sums)]
    cohorts = list(itertools.combinations(range(N), P))
    parts = of(
        s.statement,
        cohort_product=slope * sum(sent[i] for members in cohorts for i in members) / (P * len(cohorts)),
        first_bias=slope * sum(-eta * (a - k) * g for a, k, g in zip(own, known, sums)) / N,
        second_bias=slope * sum(-eta * (k - mean) * g for k, g in zip(known, sums)) / N,
        common_product=slope * sum(-eta * mean * g for g in sums) / N,
    )
    return parts.lhs, parts.rhs, "the cohort's product against the three parts"


@algebra(
    "participation is P/N",
    part="It decides the probability P/N of taking part; the other checks decide the equality of the products.",
)
def _participation(_: Formula) -> Proof:
    """A client is in P of N places: C(N-1, P-1)/C(N, P) = P/N without replacement, and N^(P-1) P/N^P with it; so the
    cohort's mean has the expectation of the clients' mean, for every N and P."""
    N, P = (sp.Symbol(name, positive=True, integer=True) for name in "NP")
    share = sp.gammasimp((sp.binomial(N - 1, P - 1) / sp.binomial(N, P)).rewrite(sp.gamma))
    return sp.simplify(share), P / N, "the probability of taking part against P/N"


def _eq14_sides(s: Symbols, distance: str) -> Sides:
    step, Q = s.eta_l * s.alpha, s.Q
    return Sides(
        lhs={"descent": s.common_product},
        rhs={
            "gradient": -step * Q / 2 * s.square,
            "updates": -step / (2 * Q) * s.local_square / step**2,
            "distance": step / 2 * s[distance],
        },
    )


def _polarisation(distance: str, expected: str = "holds") -> Check:
    @algebra("completed squares", expected=expected)
    def squares(s: Formula) -> Proof:
        """The sides in scalars: g the gradient, S the mean of the clients' sums of local gradients.

        The mean of the updates is -eta alpha S. The printed square has (1/sqrt(Q)) sum Delta/(eta N alpha) =
        -S/sqrt(Q) with a minus sign, which makes it sqrt(Q) g + S/sqrt(Q); A_1 of (15) is that of sqrt(Q) g -
        S/sqrt(Q).
        """
        g, S = sp.symbols("g S", real=True)
        step, sign = s.eta_l * s.alpha, 1 if distance == "far_square" else -1
        square = {distance: s.Q * (g + sign * S / s.Q) ** 2, "square": g**2, "local_square": (step * S) ** 2}
        found = of(s.statement, common_product=-step * g * S, **square)
        return found.lhs, found.rhs, "the product against the completed squares"

    return squares


EQ13: Statement = zhang.proof_step(
    "zhang2021.eq13",
    symbols=zhang.symbols("first_bias second_bias common_product"),
    expectations=zhang.expected("cohort_product"),
    relation="==",
    sides=lambda s: Sides(
        {"cohort": s.cohort_product}, {"noise": s.first_bias, "clients": s.second_bias, "descent": s.common_product}
    ),
    checks=battery(
        _telescoping,
        _participation,
        EXACT("all"),
        one.step_checks(("without", "anew"), directions=("<=", ">="), clipped=True),
        SAMPLED("products"),
        RECORDS("records"),
    ),
    smoke=("one round, four records of six at a time, half of them clipped, with a ridge",),
)

EQ14: Statement = zhang.proof_step(
    "zhang2021.eq14",
    symbols=zhang.symbols("eta_l alpha Q square local_square far_square"),
    expectations=zhang.expected("common_product"),
    relation="==",
    sides=lambda s: _eq14_sides(s, "far_square"),
    checks=battery(
        _polarisation("far_square", "violated"),
        EXACT(violated="simple all"),
        one.step_checks(verdict=lambda direction, instance: "violated", directions=(">=",)),
        SAMPLED(violated="unclipped"),
    ),
)

EQ14_REPAIRED: Statement = replace(
    EQ14,
    id="zhang2021.eq14.repaired",
    symbols=zhang.symbols("eta_l alpha Q square local_square drift_square"),
    sides=lambda s: _eq14_sides(s, "drift_square"),
    checks=battery(
        _polarisation("drift_square"),
        EXACT("simple all"),
        one.step_checks(directions=("<=", ">=")),
        SAMPLED("unclipped"),
    ),
)

STATEMENTS = (EQ13, EQ14, EQ14_REPAIRED)
