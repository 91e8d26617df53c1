"""das2022 Theorem 4: DP-FedAvg with clipping (a) and DP-NormFedAvg (b), convex, smooth, Lipschitz."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem6, theorem7
from dpfl_theory.statements.das2022._runs import CLIP, NORMALISE
from dpfl_theory.statements.das2022._weights import FINITE, diverging
from dpfl_theory.statements.relations import specialises

ASSUMPTIONS = (
    das.CONVEX,
    das.SMOOTH,
    das.LIPSCHITZ,
    das.MINIMISER,
    das.ALPHA,
    das.SHORT_PHASE,
    das.RHO,
    das.COHORT,
    das.ROUNDS,
)


def _prescription(s: Symbols) -> Mapping[str, Any]:
    """eta = beta = rho/(2 alpha L), C = G E, K = (2 alpha gamma/C)/rho^2."""
    C = s.G * s.E
    return {"eta": s.rho / (2 * s.alpha * s.L), "C": C, "K": 2 * s.alpha * s.gamma / (C * s.rho**2)}


def _initialisation(s: Symbols) -> Any:
    return s.G * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.rho


def _sides_a(s: Symbols) -> Sides:
    x = s.rho * s.E / s.alpha
    return Sides(
        lhs={"gap": (2 - x - x**2) * s.E_gap},
        rhs={"A (initialisation)": _initialisation(s), "B1 (heterogeneity)": das.heterogeneity_term(s)},
    )


def _sides_b(s: Symbols, excess: Any = 0) -> Sides:
    x = s.rho * s.E / s.alpha
    return Sides(
        lhs={"weighted gap": (2 - x**2) * s.E_weighted_gap},
        rhs={
            "A (initialisation)": _initialisation(s),
            "B2 (normalisation)": s.E / s.alpha * s.G**2 / (2 * s.L) * (1 + excess) * s.rho,
            "B2 (heterogeneity)": s.E / s.alpha * s.E_weighted_Delta * x * s.rho,
        },
    )


# C_hat = G, so that no update is longer than C: the general form's expectations become Theorem 4's.
_UNCLIPPED: dict[str, Any] = {"C_hat": "G", "E_clipped_length": 0}
_WEIGHTED: dict[str, Any] = {
    "E_unclipped_weighted_gap": "E_weighted_gap",
    "E_unclipped_weighted_Delta": "E_weighted_Delta",
}

A: Statement = das.statement(
    id="das2022.theorem4a",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 4 (a), Section 4", "2"),
    hypotheses=ASSUMPTIONS,
    sides=_sides_a,
    prescription=_prescription,
    checks=battery(
        specialises(theorem6.ALPHA, "C_hat = G", **_UNCLIPPED, E_unclipped_gap="E_gap"),
        CLIP("lipschitz far sampling jumps inside", beyond="below-one"),
    ),
    smoke=("moderate heterogeneity, 3 of 10 clients", "nearly linear objective, longest travel"),
    uses=("das2022.theorem6.alpha",),
)

B: Statement = das.statement(
    id="das2022.theorem4b",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 4 (b), Section 4", "3"),
    hypotheses=(*ASSUMPTIONS, FINITE),
    sides=lambda s: _sides_b(s),
    prescription=_prescription,
    checks=battery(
        specialises(theorem7.ALPHA, "C_hat = G", **_UNCLIPPED, **_WEIGHTED),
        diverging("E_weighted_gap", "E_weighted_Delta"),
        NORMALISE("lipschitz sampling inside", violated="jumps in-range", cohorts="poisson"),
    ),
    smoke=("units", "shared minimiser, full participation"),
    uses=("das2022.theorem7.alpha",),
)

B_REPAIRED: Statement = replace(
    B,
    id="das2022.theorem4b.repaired",
    sides=lambda s: _sides_b(s, s.kappa),
    checks=battery(
        specialises(theorem7.ALPHA_REPAIRED, "C_hat = G", prescription=False, **_UNCLIPPED, **_WEIGHTED),
        NORMALISE("lipschitz sampling jumps in-range inside"),
    ),
    smoke=("unequal clients, full participation", "unequal clients, independent r = 10"),
    uses=("das2022.theorem7.alpha.repaired",),
)

STATEMENTS = (A, B, B_REPAIRED)
