"""das2022 Theorem 7: DP-NormFedAvg, convex and smooth, without a Lipschitz constant, and its repair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import eq12, eq41_to_46, theorem6
from dpfl_theory.statements.das2022._runs import NORMALISE
from dpfl_theory.statements.das2022._weights import FINITE, diverging
from dpfl_theory.statements.relations import Formula, Proof, algebra, becomes, equal_sides, of


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


@algebra("follows from the general form")
def _follows(s: Formula) -> Proof:
    """At K of the alpha form the general form differs from it only by E_unclipped_share <= 1 replaced by 1."""
    general = of(GENERAL, K=s.prescribed["K"], E_unclipped_share=1)
    return [
        *equal_sides(general, s, "of both forms"),
        (s.prescribed["eta"], s.rho / (2 * s.alpha * s.L), "eta at the alpha form's K"),
    ]


@algebra("the condition on K is eta L < 1/2")
def _step_limit(s: Formula) -> Proof:
    """K > (2 gamma/(C_hat E))/rho is the proof's eta L < 1/2, and there the left side's 2 - y^2 is 2 - E^2."""
    least = of(s.statement, K=2 * s.gamma / (s.C_hat * s.E * s.rho))
    return [
        (least.prescribed["eta"] * s.L, "1/2", "eta L at the smallest K"),
        (least.lhs.coeff(s.E_unclipped_weighted_gap), 2 - s.E**2, "the weighted gap's coefficient at the smallest K"),
    ]


@algebra("Theorem 6 where every update is clipped")
def _all_clipped(s: Formula) -> Proof:
    """Where every update is longer than C both methods send the same: Theorem 7 is Theorem 6."""
    none = ("E_unclipped_weighted_gap", "E_unclipped_share", "E_unclipped_weighted_Delta")
    own = of(s.statement, **dict.fromkeys(none, 0))
    other = of(theorem6.GENERAL, E_unclipped_gap=0, E_unclipped_Delta=0)
    return equal_sides(own, other, "of Theorems 7 and 6 with every update clipped")


@algebra("from (46) and the repaired (12), over the rounds")
def _recursion_repaired(s: Formula) -> Proof:
    """(40) with (46) and with das2022.eq12.repaired for (12), over K rounds and over eta E K, at the prescribed eta.

    Every normalised update has the length C, so the cohort's excess is that of eq12.repaired with C^2 for the mean
    square: (1/r)(1 - r/n) C^2.
    """
    eta, C = s.prescribed["eta"], s.C_hat * s.E
    moment = of(eq12.REPAIRED, mean_square=C**2)
    bound = das.summed(s, of(eq41_to_46.EQ46, eta=eta).rhs + eta**2 * (moment.rhs - C**2), eta)
    kappa = (1 - moment.r / moment.n) / moment.r
    return bound, of(s.statement, kappa=kappa).slack, "(46) and eq12.repaired, summed, against the repair"


_USES = ("das2022.eq47",)
_REPAIRED_HAS_IT = {"weights of infinite mean: two clients apart on the line": "the repaired form has it"}

GENERAL: Statement = das.statement(
    id="das2022.theorem7",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 7, Appendix D, first display"),
    hypotheses=(*das.FREE_K, FINITE),
    sides=lambda s: _sides(s),
    prescription=das.prescription,
    checks=battery(
        _step_limit,
        _all_clipped,
        das.over_the_rounds("from (46), over the rounds", eq41_to_46.EQ46, "(46) summed over the rounds"),
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        NORMALISE(
            "norm inside", violated="norm-jumps", beyond="appendix-f", cohorts="poisson", without=_REPAIRED_HAS_IT
        ),
    ),
    smoke=("unequal clients, independent r = 1, eta L = 0.01",),
    uses=_USES,
)

ALPHA: Statement = das.statement(
    id="das2022.theorem7.alpha",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 7, Appendix D, second display"),
    hypotheses=(*das.K_BY_ALPHA, FINITE),
    sides=lambda s: _alpha_sides(s),
    prescription=das.alpha_prescription,
    checks=battery(
        _follows,
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        NORMALISE("alpha-norm inside", violated="alpha-jumps", cohorts="poisson"),
    ),
    uses=("das2022.theorem7",),
)

_FIXED = "fixed cohorts give the printed form"

GENERAL_REPAIRED: Statement = replace(
    GENERAL,
    id="das2022.theorem7.repaired",
    sides=lambda s: _sides(s, s.kappa),
    checks=battery(
        becomes(_FIXED, GENERAL, "at kappa = 0", kappa=0),
        _recursion_repaired,
        NORMALISE("norm norm-jumps long-phase inside"),
    ),
    uses=("das2022.eq46", "das2022.eq12.repaired"),
)

ALPHA_REPAIRED: Statement = replace(
    ALPHA,
    id="das2022.theorem7.alpha.repaired",
    sides=lambda s: _alpha_sides(s, s.kappa),
    checks=battery(becomes(_FIXED, ALPHA, "at kappa = 0", kappa=0), NORMALISE("alpha-norm alpha-jumps inside")),
    smoke=("quadratics, 1 of 8 clients, largest E",),
    uses=("das2022.theorem7.repaired",),
)

STATEMENTS = (GENERAL, ALPHA, GENERAL_REPAIRED, ALPHA_REPAIRED)
