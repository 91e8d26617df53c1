"""das2022 eq. 47 (Appendix D.1): the recursion (40) with (46), summed over the rounds."""

from __future__ import annotations

from dpfl_theory.core import Sides, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022 import theorem7
from dpfl_theory.statements.das2022._runs import NORMALISE
from dpfl_theory.statements.das2022._weights import FINITE, diverging
from dpfl_theory.statements.das2022.eq41_to_46 import EQ46
from dpfl_theory.statements.relations import special_form


def _eq47_sides(s: Symbols) -> Sides:
    rho = das.expanded_rho(s)
    y = 2 * s.gamma / (s.C_hat * s.K * rho)
    return Sides(
        lhs={"unclipped": (2 - y**2) * s.E_unclipped_weighted_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.C_hat * rho,
            "normalisation": s.gamma * s.C_hat / (s.L * s.K * rho) * s.E_unclipped_share,
            "heterogeneity": y**2 * s.E_unclipped_weighted_Delta,
        },
    )


EQ47: Statement = das.step(
    "das2022.eq47",
    "Appendix D.1, proof of Theorem 7, last display",
    hypotheses=(das.CONVEX, das.SMOOTH, das.MINIMISER, das.THRESHOLD, das.MANY_ROUNDS, das.COHORT, das.ROUNDS, FINITE),
    sides=_eq47_sides,
    prescription=lambda s: das.prescription(s, rho=das.expanded_rho(s)),
    checks=battery(
        special_form("is Theorem 7's first display", theorem7.GENERAL, "with rho written out", rho=das.expanded_rho),
        das.over_the_rounds("from (46), over the rounds", EQ46, "(46) summed over the rounds against (47)"),
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        worst.round_checks("dp-normfedavg", ("independent",)),
        NORMALISE("norm", violated="norm-jumps", cohorts="poisson"),
    ),
    uses=("das2022.eq46", "das2022.eq12"),
)

STATEMENTS = (EQ47,)
