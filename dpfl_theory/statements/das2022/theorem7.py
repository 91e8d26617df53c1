"""das2022 Theorem 7: DP-NormFedAvg, convex and smooth, without a Lipschitz constant, and its repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import eq12, eq41_to_46, theorem6
from dpfl_theory.statements.das2022._consistency import same_sides
from dpfl_theory.statements.das2022._experiments import general_experiment, runs
from dpfl_theory.statements.das2022._weights import FINITE, diverging
from dpfl_theory.statements.symbolic import all_equal, equal


def _sides(s: Symbols, excess: Any = 0) -> Sides:
    """The general form; the repair adds ``excess`` (kappa) to the share of clients whose second moment is counted."""
    y = 2 * s.gamma / (s.C_hat * s.K * s.rho)
    return Sides(
        lhs={"unclipped": (2 - y**2) * s.E_unclipped_weighted_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": das.initialisation_term(s),
            "normalisation": s.gamma * s.C_hat / (s.L * s.K * s.rho) * (s.E_unclipped_share + excess),
            "heterogeneity": y**2 * s.E_unclipped_weighted_Delta,
        },
    )


def _alpha_sides(s: Symbols, excess: Any = 0) -> Sides:
    x = s.rho * s.E / s.alpha
    return Sides(
        lhs={"unclipped": (2 - x**2) * s.E_unclipped_weighted_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": das.initialisation_term(s),
            "normalisation": s.E / s.alpha * s.C_hat**2 / (2 * s.L) * (1 + excess) * s.rho,
            "heterogeneity": s.E / s.alpha * s.E_unclipped_weighted_Delta * x * s.rho,
        },
    )


def _follows(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """At K of the alpha form the general form differs from it only by E_unclipped_share <= 1 replaced by 1."""
    own, s, prescribed = symbols_of(GENERAL), symbols_of(statement), prescription_of(statement)
    swaps = {own.K: prescribed["K"], own.E_unclipped_share: 1}
    return all_equal(
        *(
            (total(GENERAL, side).subs(swaps), total(statement, side), f"{side} of both forms")
            for side in ("lhs", "rhs")
        ),
        (prescribed["eta"], s.rho / (2 * s.alpha * s.L), "eta at the alpha form's K"),
    )


def _step_limit(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """K > (2 gamma/(C_hat E))/rho is the proof's eta L < 1/2, and there the left side's 2 - y^2 is 2 - E^2."""
    s = symbols_of(statement)
    least = {s.K: 2 * s.gamma / (s.C_hat * s.E * s.rho)}
    slope = total(statement, "lhs").coeff(s.E_unclipped_weighted_gap).subs(least)
    return all_equal(
        (prescription_of(statement)["eta"].subs(least) * s.L, "1/2", "eta L at the smallest K"),
        (slope, 2 - s.E**2, "the weighted gap's coefficient at the smallest K"),
    )


def _all_clipped(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Where every update is longer than C both methods send the same: Theorem 7 is Theorem 6."""
    none = ("E_unclipped_weighted_gap", "E_unclipped_share", "E_unclipped_weighted_Delta")
    s, other = symbols_of(statement), symbols_of(theorem6.GENERAL)
    swaps = {other[name]: 0 for name in ("E_unclipped_gap", "E_unclipped_Delta")}
    return all_equal(
        *(
            (
                total(statement, side).subs({s[name]: 0 for name in none}),
                total(theorem6.GENERAL, side).subs(swaps),
                f"{side} of Theorems 7 and 6 with every update clipped",
            )
            for side in ("lhs", "rhs")
        )
    )


def _summed(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(40) with (46), summed over K rounds with ||w_K - w*||^2 >= 0 dropped, over eta E K, at the prescribed eta."""
    s, client = symbols_of(statement), symbols_of(eq41_to_46.EQ46)
    eta = prescription_of(statement)["eta"]
    noise = s.K * (s.C_hat * s.E) ** 2 * s.rho**2  # d sigma^2
    decrease = total(eq41_to_46.EQ46, "rhs").subs(client.eta, eta) / (eta * s.E)
    summed = s.D**2 / (eta * s.E * s.K) + eta * noise / s.E + decrease
    return equal(summed, total(statement, "rhs") - total(statement, "lhs"), "(46) summed over the rounds")


def _recursion_repaired(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(40) with (46) and with das2022.eq12.repaired for (12), over K rounds and over eta E K, at the prescribed eta.

    Every normalised update has the length C, so the cohort's excess is that of eq12.repaired with C^2 for the mean
    square: (1/r)(1 - r/n) C^2.
    """
    s, own, moment = (symbols_of(x) for x in (statement, eq41_to_46.EQ46, eq12.REPAIRED))
    eta = prescription_of(statement)["eta"]
    C, step = s.C_hat * s.E, eta * s.E
    noise = s.K * C**2 * s.rho**2  # d sigma^2
    excess = total(eq12.REPAIRED, "rhs").subs(moment.mean_square, C**2) - C**2
    bound = s.D**2 / (step * s.K) + total(eq41_to_46.EQ46, "rhs").subs(own.eta, eta) / step
    kappa = (1 - moment.r / moment.n) / moment.r
    moved = (total(statement, "rhs") - total(statement, "lhs")).subs(s.kappa, kappa)
    return equal(bound + eta**2 * (noise + excess) / step, moved, "(46) and eq12.repaired, summed, against the repair")


def _at_zero(printed: Statement) -> Check:
    """A check that with kappa = 0 the repaired form is the printed one."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        return same_sides(statement, {symbols_of(statement).kappa: 0}, printed, "at kappa = 0")

    return Check("algebra", "fixed cohorts give the printed form", build)


_EXPECTATIONS = das.expected(
    "E_unclipped_weighted_gap", "E_clipped_length", "E_unclipped_share", "E_unclipped_weighted_Delta"
)
_USES = ("das2022.eq47",)

GENERAL: Statement = Statement(
    id="das2022.theorem7",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 7, Appendix D, first display"),
    symbols=das.symbols("rho", "E", "K", "gamma", "L", "C", "C_hat", "eta", "D", "Delta_max"),
    expectations=_EXPECTATIONS,
    hypotheses=(*das.FREE_K, FINITE),
    sides=lambda s: _sides(s),
    prescription=das.prescription,
    checks=(
        Check("algebra", "the condition on K is eta L < 1/2", _step_limit),
        Check("algebra", "Theorem 6 where every update is clipped", _all_clipped),
        Check("algebra", "from (46), over the rounds", _summed),
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        *runs("dp-normfedavg", instances.sampled(instances.GENERAL_NORM), experiment=general_experiment),
        *runs("dp-normfedavg", instances.GENERAL_INDEPENDENT, "violated", general_experiment),
        *runs("dp-normfedavg", corners.INSIDE_RATIO, experiment=general_experiment),
        *runs(
            "dp-normfedavg", {**instances.APPENDIX_F, **corners.OUTSIDE_GENERAL}, "not-applicable", general_experiment
        ),
    ),
    smoke=("unequal clients, independent r = 1, eta L = 0.01",),
    expected="violated",
    uses=_USES,
)

ALPHA: Statement = Statement(
    id="das2022.theorem7.alpha",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 7, Appendix D, second display"),
    symbols=das.symbols("rho", "E", "K", "alpha", "gamma", "L", "C", "C_hat", "eta", "D", "Delta_max"),
    expectations=das.expected("E_unclipped_weighted_gap", "E_clipped_length", "E_unclipped_weighted_Delta"),
    hypotheses=(*das.K_BY_ALPHA, FINITE),
    sides=lambda s: _alpha_sides(s),
    prescription=das.alpha_prescription,
    checks=(
        Check("algebra", "follows from the general form", _follows),
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        *runs("dp-normfedavg", instances.sampled(instances.ALPHA_NORM)),
        *runs("dp-normfedavg", corners.INSIDE_RATIO),
        *runs("dp-normfedavg", {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_THRESHOLD}, "not-applicable"),
        *runs("dp-normfedavg", corners.OUTSIDE_FINITE, "not-applicable"),
        *runs("dp-normfedavg", instances.ALPHA_INDEPENDENT, "violated"),
    ),
    expected="violated",
    uses=("das2022.theorem7",),
)


def _repaired(
    id_: str,
    printed: Statement,
    sides: Callable[[Symbols], Sides],
    checks: tuple[Check, ...],
    uses: tuple[str, ...],
    smoke: tuple[str, ...] = (),
) -> Statement:
    """The printed statement with kappa in its normalisation term."""
    return replace(
        printed,
        id=id_,
        symbols=(*printed.symbols, *das.symbols("kappa")),
        sides=sides,
        checks=checks,
        smoke=smoke,
        expected="holds",
        uses=uses,
    )


GENERAL_REPAIRED: Statement = _repaired(
    "das2022.theorem7.repaired",
    GENERAL,
    lambda s: _sides(s, s.kappa),
    (
        _at_zero(GENERAL),
        Check("algebra", "from (46) and the repaired (12), over the rounds", _recursion_repaired),
        *runs(
            "dp-normfedavg",
            {**instances.GENERAL_NORM, **instances.GENERAL_INDEPENDENT, **corners.LONG_PHASE, **corners.INSIDE_RATIO},
            experiment=general_experiment,
        ),
        *runs(
            "dp-normfedavg",
            {**corners.OUTSIDE_GENERAL, **corners.OUTSIDE_FINITE},
            "not-applicable",
            general_experiment,
        ),
    ),
    ("das2022.eq46", "das2022.eq12.repaired"),
)
ALPHA_REPAIRED: Statement = _repaired(
    "das2022.theorem7.alpha.repaired",
    ALPHA,
    lambda s: _alpha_sides(s, s.kappa),
    (
        _at_zero(ALPHA),
        *runs("dp-normfedavg", {**instances.ALPHA_NORM, **instances.ALPHA_INDEPENDENT, **corners.INSIDE_RATIO}),
        *runs("dp-normfedavg", {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_THRESHOLD}, "not-applicable"),
        *runs("dp-normfedavg", corners.OUTSIDE_FINITE, "not-applicable"),
    ),
    ("das2022.theorem7.repaired",),
    ("quadratics, 1 of 8 clients, largest E",),
)

STATEMENTS = (GENERAL, ALPHA, GENERAL_REPAIRED, ALPHA_REPAIRED)
