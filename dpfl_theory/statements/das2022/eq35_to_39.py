"""das2022 eqs. 36, 37 and 39 (Appendix C.1): DP-FedAvg with clipping, its rounds summed, eta and K substituted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _independent as independent
from dpfl_theory.statements.das2022 import _one_round as rounds
from dpfl_theory.statements.das2022 import _sampling_moments as exact
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem6
from dpfl_theory.statements.das2022._consistency import same_sides
from dpfl_theory.statements.das2022._experiments import alpha_form_experiment, general_experiment, runs, step_experiment
from dpfl_theory.statements.das2022.eq18_to_34 import EQ34
from dpfl_theory.statements.symbolic import equal

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


def from_eq34(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(13) with (34) for the mean of A_i: ||w_k - w*||^2 + (34) + eta^2 d sigma^2, d sigma^2 = K C^2 rho^2."""
    s = symbols_of(statement)
    noise = s.eta**2 * s.K * (s.C_hat * s.E) ** 2 * das.expanded_rho(s) ** 2
    bound = s.distance**2 + total(EQ34, "rhs") + noise - s.next_distance**2
    return equal(bound, total(statement, "rhs") - total(statement, "lhs"), "(34) in (13) against (35)")


def _summed(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(13) with (34): D_{k+1} <= D_k + mean A_i + eta^2 d sigma^2. Over K rounds, with D_K >= 0 dropped and all over
    eta E K, it is (36)."""
    s = symbols_of(statement)
    noise = s.eta**2 * s.K * (s.C_hat * s.E) ** 2 * das.expanded_rho(s) ** 2
    per_round = total(EQ34, "rhs") + noise
    mine = (s.D**2 / s.K + per_round) / (s.eta * s.E)
    return equal(mine, total(statement, "rhs") - total(statement, "lhs"), "(34) summed over the rounds against (36)")


def _step_substituted(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(36) at the prescribed eta is (37)."""
    at = {symbols_of(EQ36).eta: prescription_of(statement)["eta"]}
    return same_sides(EQ36, at, statement, "at the prescribed eta")


def _theorem6(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(37) is the first display of Theorem 6 with rho written out."""
    at = {symbols_of(theorem6.GENERAL).rho: das.expanded_rho(symbols_of(statement))}
    return same_sides(theorem6.GENERAL, at, statement, "with rho written out")


def _rounds_substituted(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(38), which is (37), at the prescribed K is (39)."""
    at = {symbols_of(EQ37).K: prescription_of(statement)["K"]}
    return same_sides(EQ37, at, statement, "at the prescribed K")


def _three_halves(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """With x = E rho/alpha <= 1/2, x(1 + x) <= (3/2) x, equal at x = 1/2: the brace under (39)."""
    x = sp.Symbol("x", positive=True)
    return equal(sp.Rational(3, 2) * x - x * (1 + x), x * (sp.Rational(1, 2) - x), "3x/2 less x(1 + x)")


_SYMBOLS = das.symbols("E", "L", "C", "C_hat", "eta", "K", "D", "Delta_max")
_EXPECTATIONS = das.expected("E_unclipped_gap", "E_clipped_length", "E_unclipped_Delta")
_HYPOTHESES = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.THRESHOLD, das.COHORT, das.ROUNDS)

_DISTANCE = Symbol("distance", r"$\|w_k - w^*\|$", (0, 1), "nonnegative", r"\|w_k - w^*\|")
_NEXT = Symbol(
    "next_distance", r"$(E\|w_{k+1} - w^*\|^2)^{1/2}$", (0, 1), "nonnegative", r"\mathbb{E}^{1/2}[\|w_{k+1} - w^*\|^2]"
)
_BRACE = "It decides the brace under (39), which the second display of Theorem 6 uses; the sides are the line above it."
_OUTSIDE_GENERAL = {**corners.OUTSIDE_ROUNDS, **corners.OUTSIDE_COHORT, **corners.OUTSIDE_THRESHOLD}
_OUTSIDE_ALPHA = {**corners.OUTSIDE_PHASE, **corners.OUTSIDE_COHORT, **corners.OUTSIDE_THRESHOLD}

_IN_13 = Check(
    "algebra",
    "(34) in (13)",
    from_eq34,
    part="It decides that the bound is (13) with (34); the other checks decide whether (13) holds for the cohorts.",
)
_THRESHOLD = replace(
    das.THRESHOLD, constructed="equal clients have Delta_j* = 0, and worst cases have the threshold as a constraint"
)
EQ35: Statement = Statement(
    id="das2022.eq35",
    kind="step",
    source=Source(das.PAPER, _WHERE, "35"),
    symbols=(_NEXT, _DISTANCE, *das.symbols("E", "L", "C_hat", "eta", "K"), *das.privacy_symbols()),
    expectations=_EXPECTATIONS,
    hypotheses=(das.CONVEX, das.SMOOTH_BY_CLASS, das.MINIMISER, das.HALF_STEP, _THRESHOLD),
    sides=_eq35_sides,
    checks=(
        _IN_13,
        Check(
            "exact",
            "200 equal clients, independent r = 1",
            exact.equal_clients,
            {**exact.EQUAL, "E": [4, 8, 20], "sampling": "independent"},
            "violated",
        ),
        Check(
            "exact",
            "200 equal clients, all of them",
            exact.equal_clients,
            {**exact.EQUAL, "E": [1, 4, 8, 20], "r": "200", "sampling": "independent"},
        ),
        Check(
            "exact",
            "200 equal clients, all of them, with noise",
            exact.equal_clients,
            {**exact.EQUAL, "E": [1, 4, 8, 20], "r": "200", "sampling": "independent", "rho": "9/10", "K": 5},
        ),
        *rounds.outside("1/2", 1, "independent"),
        *rounds.checks("dp-fedavg", ("independent",)),
        *rounds.SHORT_PHASES,
        *rounds.near_threshold("independent"),
    ),
    expected="violated",
    uses=("das2022.eq34", "das2022.eq12"),
)


_SHORT = Hypothesis(
    lambda s: s.eta * s.L * s.E <= sp.Piecewise((sp.Rational(6, 25), s.E < 2), (sp.Rational(3, 10), True)),
    r"$\eta L E \le 6/25$, or $3/10$ where $E \ge 2$",
)

EQ35_REPAIRED: Statement = replace(
    EQ35,
    id="das2022.eq35.repaired",
    source=Source(das.PAPER, _WHERE, "35"),
    hypotheses=(*EQ35.hypotheses, das.COHORT, _SHORT),
    checks=(
        _IN_13,
        *independent.checks("6/25", False),
        independent.checks("3/10", False, 2)[-1],
        *rounds.groups("two hundred", 100, ((1, "6/25"), (3, "1/10"))),
        *rounds.outside("6/25", 1, "independent"),
        *rounds.outside("3/10", 3, "independent"),
        Check(
            "exact",
            "200 equal clients, independent r = 1",
            exact.equal_clients,
            {**exact.EQUAL, "eta": "6/25", "E": [1], "sampling": "independent"},
        ),
        Check(
            "exact",
            "just outside r >= 1",
            exact.equal_clients,
            {**exact.EQUAL, "eta": "6/25", "E": [1], "sampling": "independent", "stated": {"r": "99/100"}},
            "not-applicable",
        ),
    ),
    expected="holds",
    uses=("das2022.eq34", "das2022.eq12.repaired"),
)

EQ36: Statement = Statement(
    id="das2022.eq36",
    kind="step",
    source=Source(das.PAPER, _WHERE, "36"),
    symbols=(*_SYMBOLS, *das.privacy_symbols()),
    expectations=_EXPECTATIONS,
    hypotheses=(*_HYPOTHESES, das.HALF_STEP),
    sides=_eq36_sides,
    checks=(
        Check("algebra", "(34) over the rounds", _summed),
        *rounds.checks("dp-fedavg", ("fixed",)),
        *rounds.outside("1/2", 1, "fixed"),
        *runs("dp-fedavg", steps.RECURSION, experiment=step_experiment),
        *runs("dp-fedavg", {**corners.OUTSIDE_THRESHOLD, **corners.OUTSIDE_COHORT}, "not-applicable", step_experiment),
    ),
    uses=("das2022.eq35",),
)

EQ37: Statement = Statement(
    id="das2022.eq37",
    kind="step",
    source=Source(das.PAPER, _WHERE, "37"),
    symbols=(*_SYMBOLS, *das.symbols("gamma"), *das.privacy_symbols()),
    expectations=_EXPECTATIONS,
    hypotheses=(*_HYPOTHESES, das.MANY_ROUNDS),
    sides=_eq37_sides,
    prescription=lambda s: das.prescription(s, rho=das.expanded_rho(s)),
    checks=(
        Check("algebra", "(36) at the prescribed eta", _step_substituted),
        Check("algebra", "is Theorem 6's first display", _theorem6),
        *runs("dp-fedavg", steps.SUBSTITUTED, experiment=general_experiment),
        *runs("dp-fedavg", _OUTSIDE_GENERAL, "not-applicable", general_experiment),
    ),
    uses=("das2022.eq36",),
)

EQ39: Statement = Statement(
    id="das2022.eq39",
    kind="step",
    source=Source(das.PAPER, _WHERE, "39"),
    symbols=(*_SYMBOLS, *das.symbols("gamma", "alpha"), *das.privacy_symbols()),
    expectations=_EXPECTATIONS,
    hypotheses=(*_HYPOTHESES, das.ALPHA, das.SHORT_PHASE),
    sides=_eq39_sides,
    prescription=lambda s: das.alpha_prescription(s, das.expanded_rho(s)),
    checks=(
        Check("algebra", "(37) at the prescribed K", _rounds_substituted),
        Check("algebra", "the brace 3/2", _three_halves, part=_BRACE),
        *runs("dp-fedavg", steps.SUBSTITUTED_ALPHA, experiment=alpha_form_experiment),
        *runs("dp-fedavg", _OUTSIDE_ALPHA, "not-applicable", alpha_form_experiment),
    ),
    uses=("das2022.eq37",),
)

STATEMENTS = (EQ35, EQ35_REPAIRED, EQ36, EQ37, EQ39)
