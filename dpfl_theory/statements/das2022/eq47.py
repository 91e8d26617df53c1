"""das2022 eq. 47 (Appendix D.1): the recursion (40) with (46), summed over the rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _one_round as rounds
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem7
from dpfl_theory.statements.das2022._consistency import same_sides
from dpfl_theory.statements.das2022._experiments import general_experiment, runs
from dpfl_theory.statements.das2022._weights import FINITE, diverging
from dpfl_theory.statements.das2022.eq41_to_46 import EQ46
from dpfl_theory.statements.symbolic import equal


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


def _theorem7(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(47) is the first display of Theorem 7 with rho written out."""
    at = {symbols_of(theorem7.GENERAL).rho: das.expanded_rho(symbols_of(statement))}
    return same_sides(theorem7.GENERAL, at, statement, "with rho written out")


def _from_eq46(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(40) with (46), summed over K rounds and over eta E K, at the prescribed eta is (47)."""
    s = symbols_of(statement)
    rho, K, E = das.expanded_rho(s), s.K, s.E
    eta = prescription_of(statement)["eta"]
    at = {symbols_of(EQ46).eta: eta}
    noise = eta**2 * K * rho**2 * (s.C_hat * E) ** 2  # of one round: eta^2 d sigma^2
    # D_K - D_0 <= K (mean of (46) + noise); D_K >= 0.
    right = s.D**2 / (eta * E * K) + noise / (eta * E)
    moved = total(EQ46, "rhs").subs(at) / (eta * E)
    return equal(
        right + moved, total(statement, "rhs") - total(statement, "lhs"), "(46) summed over the rounds against (47)"
    )


_OUTSIDE = {
    **corners.OUTSIDE_ROUNDS,
    **corners.OUTSIDE_COHORT,
    **corners.OUTSIDE_THRESHOLD,
    **corners.OUTSIDE_FINITE,
}
EQ47: Statement = Statement(
    id="das2022.eq47",
    kind="step",
    source=Source(das.PAPER, "Appendix D.1, proof of Theorem 7, last display", "47"),
    symbols=(*das.symbols("E", "K", "gamma", "L", "C", "C_hat", "eta", "D", "Delta_max"), *das.privacy_symbols()),
    expectations=das.expected(
        "E_unclipped_weighted_gap", "E_clipped_length", "E_unclipped_share", "E_unclipped_weighted_Delta"
    ),
    hypotheses=(das.CONVEX, das.SMOOTH, das.MINIMISER, das.THRESHOLD, das.MANY_ROUNDS, das.COHORT, das.ROUNDS, FINITE),
    sides=_eq47_sides,
    prescription=lambda s: das.prescription(s, rho=das.expanded_rho(s)),
    checks=(
        Check("algebra", "is Theorem 7's first display", _theorem7),
        Check("algebra", "from (46), over the rounds", _from_eq46),
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        *rounds.checks("dp-normfedavg", ("independent",)),
        *runs("dp-normfedavg", instances.sampled(instances.GENERAL_NORM), experiment=general_experiment),
        *runs("dp-normfedavg", _OUTSIDE, "not-applicable", general_experiment),
        *runs("dp-normfedavg", instances.GENERAL_INDEPENDENT, "violated", general_experiment),
    ),
    expected="violated",
    uses=("das2022.eq46", "das2022.eq12"),
)

STATEMENTS = (EQ47,)
