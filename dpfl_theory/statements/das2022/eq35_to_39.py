"""das2022 eqs. 36, 37 and 39 (Appendix C.1): DP-FedAvg with clipping, its rounds summed, eta and K substituted."""

from __future__ import annotations

from dataclasses import replace

from dpfl_theory.core import Hypothesis, Sides, Statement, Symbol, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _independent as independent
from dpfl_theory.statements.das2022 import _sampling_moments as exact
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022 import theorem6
from dpfl_theory.statements.das2022._runs import CLIP
from dpfl_theory.statements.das2022.eq18_to_34 import EQ34
from dpfl_theory.statements.relations import Formula, Proof, algebra, of, special_form

_WHERE = "Appendix C.1, proof of Theorem 6"


def _eq36_sides(s: Symbols) -> Sides:
    a, rho = s.eta * s.L * s.E, das.expanded_rho(s)
    return Sides(
        lhs={"unclipped": (2 - 2 * a - 4 * a**2) * s.E_unclipped_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": s.D**2 / (s.eta * s.E * s.K),
            "noise": s.eta * s.E * s.K * s.C_hat**2 * rho**2,
            "heterogeneity": 2 * a * (1 + 2 * a) * s.E_unclipped_Delta,
        },
    )


def _eq35_sides(s: Symbols) -> Sides:
    a, step = s.eta * s.L * s.E, s.eta * s.E
    return Sides(
        lhs={"next distance": s.next_distance**2},
        rhs={
            "distance": s.distance**2,
            "clipped": -step * das.clipped_term(s),
            "unclipped": -step * (2 - 2 * a - 4 * a**2) * s.E_unclipped_gap,
            "heterogeneity": step * (2 * a + 4 * a**2) * s.E_unclipped_Delta,
            "noise": step**2 * s.C_hat**2 * s.K * das.expanded_rho(s) ** 2,
        },
    )


def _eq37_sides(s: Symbols) -> Sides:
    rho = das.expanded_rho(s)
    y = 2 * s.gamma / (s.C_hat * s.K * rho)
    return Sides(
        lhs={"unclipped": (2 - y - y**2) * s.E_unclipped_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.C_hat * rho,
            "heterogeneity": y * (1 + y) * s.E_unclipped_Delta,
        },
    )


def _eq39_sides(s: Symbols) -> Sides:
    rho = das.expanded_rho(s)
    x = s.E * rho / s.alpha
    return Sides(
        lhs={"unclipped": (2 - x - x**2) * s.E_unclipped_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": s.C_hat * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * rho,
            "heterogeneity": s.E_unclipped_Delta * x * (1 + x),
        },
    )


@algebra(
    "(34) in (13)",
    part="It decides that the bound is (13) with (34); the other checks decide whether (13) holds for the cohorts.",
)
def _in_13(s: Formula) -> Proof:
    """(13) with (34) for the mean of A_i: ||w_k - w*||^2 + (34) + eta^2 d sigma^2, d sigma^2 = K C^2 rho^2."""
    noise = s.eta**2 * s.K * (s.C_hat * s.E) ** 2 * das.expanded_rho(s) ** 2
    return s.distance**2 + of(EQ34).rhs + noise - s.next_distance**2, s.slack, "(34) in (13) against (35)"


@algebra(
    "the brace 3/2",
    part="It decides the brace under (39), which the second display of Theorem 6 uses; the sides are the line above "
    "it.",
)
def _three_halves(_: Formula) -> Proof:
    """With x = E rho/alpha <= 1/2, x(1 + x) <= (3/2) x, equal at x = 1/2: the brace under (39)."""
    x = sp.Symbol("x", positive=True)
    return sp.Rational(3, 2) * x - x * (1 + x), x * (sp.Rational(1, 2) - x), "3x/2 less x(1 + x)"


_HYPOTHESES = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.THRESHOLD, das.COHORT, das.ROUNDS)

_DISTANCE = Symbol("distance", r"$\|w_k - w^*\|$", (0, 1), "nonnegative", r"\|w_k - w^*\|")
_NEXT = Symbol(
    "next_distance", r"$(E\|w_{k+1} - w^*\|^2)^{1/2}$", (0, 1), "nonnegative", r"\mathbb{E}^{1/2}[\|w_{k+1} - w^*\|^2]"
)
_MANY = "40 clients in 200 dimensions, {}"
_SLOW = "it takes seconds, and the six-dimensional quadratics show the same"
_THRESHOLD = replace(
    das.THRESHOLD, constructed="equal clients have Delta_j* = 0, and worst cases have the threshold as a constraint"
)
EQ35: Statement = das.step(
    "das2022.eq35",
    _WHERE,
    symbols=das.NOTATION(_NEXT, _DISTANCE),
    hypotheses=(das.CONVEX, das.SMOOTH_BY_CLASS, das.MINIMISER, das.HALF_STEP, _THRESHOLD),
    sides=_eq35_sides,
    checks=battery(
        _in_13,
        exact.same_clients("200 equal clients, independent r = 1", "independent", [4, 8, 20], "violated"),
        exact.same_clients("200 equal clients, all of them", "independent", [1, 4, 8, 20], r="200"),
        exact.same_clients(
            "200 equal clients, all of them, with noise", "independent", [1, 4, 8, 20], r="200", rho="9/10", K=5
        ),
        worst.round_outside("1/2", 1, "independent"),
        worst.round_checks("dp-fedavg", ("independent",)),
        worst.SHORT_PHASES,
        worst.near_threshold("independent"),
    ),
    uses=("das2022.eq34", "das2022.eq12"),
)


_SHORT = Hypothesis(
    lambda s: s.eta * s.L * s.E <= sp.Piecewise((sp.Rational(6, 25), s.E < 2), (sp.Rational(3, 10), True)),
    r"$\eta L E \le 6/25$, or $3/10$ where $E \ge 2$",
)

EQ35_REPAIRED: Statement = replace(
    EQ35,
    id="das2022.eq35.repaired",
    hypotheses=(*EQ35.hypotheses, das.COHORT, _SHORT),
    checks=battery(
        _in_13,
        independent.checks("6/25", False),
        independent.checks("3/10", False, 2)[-1],
        worst.groups("two hundred", 100, ((1, "6/25"), (3, "1/10"))),
        worst.round_outside("6/25", 1, "independent"),
        worst.round_outside("3/10", 3, "independent"),
        exact.same_clients("200 equal clients, independent r = 1", "independent", [1], eta="6/25"),
        exact.same_clients(
            "just outside r >= 1", "independent", [1], "not-applicable", eta="6/25", stated={"r": "99/100"}
        ),
    ),
    uses=("das2022.eq34", "das2022.eq12.repaired"),
)

EQ36: Statement = das.step(
    "das2022.eq36",
    _WHERE,
    hypotheses=(*_HYPOTHESES, das.HALF_STEP),
    sides=_eq36_sides,
    checks=battery(
        das.over_the_rounds("(34) over the rounds", EQ34, "(34) summed over the rounds against (36)"),
        worst.round_checks("dp-fedavg", ("fixed",)),
        worst.round_outside("1/2", 1, "fixed"),
        CLIP("recursion clipped"),
    ),
    uses=("das2022.eq35",),
    symbols=das.NOTATION.also("q", "d", "n", "delta", "epsilon"),
)

EQ37: Statement = das.step(
    "das2022.eq37",
    _WHERE,
    hypotheses=(*_HYPOTHESES, das.MANY_ROUNDS),
    sides=_eq37_sides,
    prescription=lambda s: das.prescription(s, rho=das.expanded_rho(s)),
    checks=battery(
        special_form("(36) at the prescribed eta", EQ36, "at the prescribed eta", eta=lambda s: s.prescribed["eta"]),
        special_form("is Theorem 6's first display", theorem6.GENERAL, "with rho written out", rho=das.expanded_rho),
        CLIP("clip long-phase clipped", without={_MANY.format("1 of 40, eta L = 0.1"): _SLOW}),
    ),
    uses=("das2022.eq36",),
)

EQ39: Statement = das.step(
    "das2022.eq39",
    _WHERE,
    hypotheses=(*_HYPOTHESES, das.ALPHA, das.SHORT_PHASE),
    sides=_eq39_sides,
    prescription=lambda s: das.alpha_prescription(s, das.expanded_rho(s)),
    checks=battery(
        special_form("(37) at the prescribed K", EQ37, "at the prescribed K", K=lambda s: s.prescribed["K"]),
        _three_halves,
        CLIP("alpha-clip alpha-tight", without={_MANY.format("independent r = 10"): _SLOW}),
    ),
    uses=("das2022.eq37",),
)

STATEMENTS = (EQ35, EQ35_REPAIRED, EQ36, EQ37, EQ39)
