"""das2022 Theorem 4: DP-FedAvg with clipping (a) and DP-NormFedAvg (b), convex, smooth, Lipschitz."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Symbols
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem6, theorem7
from dpfl_theory.statements.das2022._consistency import Swaps, agreeing_prescriptions, specialises
from dpfl_theory.statements.das2022._experiments import runs
from dpfl_theory.statements.das2022._weights import FINITE, diverging

_SYMBOLS = das.symbols("rho", "E", "K", "alpha", "gamma", "L", "G", "C", "eta", "D", "Delta")
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
        rhs={
            "A (initialisation)": _initialisation(s),
            "B1 (heterogeneity)": 3 * s.E / (2 * s.alpha) * s.Delta * s.rho,
        },
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


def _unclipped(general: Mapping[str, str]) -> Swaps:
    """C_hat = G, so that no update is longer than C: the general form's expectations become Theorem 4's."""
    return lambda s: {"C_hat": s.G, "E_clipped_length": 0, **{old: s[new] for old, new in general.items()}}


_WEIGHTED = {"E_unclipped_weighted_gap": "E_weighted_gap", "E_unclipped_weighted_Delta": "E_weighted_Delta"}


A: Statement = Statement(
    id="das2022.theorem4a",
    kind="theorem",
    source=Source(
        das.PAPER,
        "Theorem 4 (a), Section 4",
        "2",
    ),
    symbols=_SYMBOLS,
    expectations=das.expected("E_gap"),
    hypotheses=ASSUMPTIONS,
    sides=_sides_a,
    prescription=_prescription,
    checks=(
        specialises(theorem6.ALPHA, _unclipped({"E_unclipped_gap": "E_gap"}), "C_hat = G"),
        agreeing_prescriptions(theorem6.ALPHA, lambda s: {"C_hat": s.G}, "C_hat = G"),
        *runs("dp-fedavg", {**instances.LIPSCHITZ, **instances.FAR, **instances.SAMPLING, **instances.INDEPENDENT}),
        *runs("dp-fedavg", corners.INSIDE_RATIO),
        *runs(
            "dp-fedavg", {**instances.BELOW_ONE, **corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"
        ),
    ),
    smoke=("moderate heterogeneity, 3 of 10 clients", "nearly linear objective, longest travel"),
    uses=("das2022.theorem6.alpha",),
)

B: Statement = Statement(
    id="das2022.theorem4b",
    kind="theorem",
    source=Source(
        das.PAPER,
        "Theorem 4 (b), Section 4",
        "3",
    ),
    symbols=_SYMBOLS,
    expectations=das.expected("E_weighted_gap", "E_weighted_Delta"),
    hypotheses=(*ASSUMPTIONS, FINITE),
    sides=lambda s: _sides_b(s),
    prescription=_prescription,
    checks=(
        specialises(theorem7.ALPHA, _unclipped(_WEIGHTED), "C_hat = G"),
        agreeing_prescriptions(theorem7.ALPHA, lambda s: {"C_hat": s.G}, "C_hat = G"),
        diverging("E_weighted_gap", "E_weighted_Delta"),
        *runs("dp-normfedavg", instances.sampled({**instances.LIPSCHITZ, **instances.SAMPLING})),
        *runs("dp-normfedavg", corners.INSIDE_RATIO),
        *runs(
            "dp-normfedavg", {**corners.APART, **corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"
        ),
        *runs("dp-normfedavg", {**instances.INDEPENDENT, **corners.IN_RANGE}, "violated"),
    ),
    smoke=("units", "shared minimiser, full participation"),
    expected="violated",
    uses=("das2022.theorem7.alpha",),
)

B_REPAIRED: Statement = replace(
    B,
    id="das2022.theorem4b.repaired",
    symbols=(*_SYMBOLS, *das.symbols("kappa")),
    sides=lambda s: _sides_b(s, s.kappa),
    checks=(
        specialises(theorem7.ALPHA_REPAIRED, _unclipped(_WEIGHTED), "C_hat = G"),
        *runs(
            "dp-normfedavg",
            {**instances.LIPSCHITZ, **instances.SAMPLING, **instances.INDEPENDENT, **corners.IN_RANGE},
        ),
        *runs("dp-normfedavg", corners.INSIDE_RATIO),
        *runs(
            "dp-normfedavg", {**corners.APART, **corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"
        ),
    ),
    smoke=("unequal clients, full participation", "unequal clients, independent r = 10"),
    expected="holds",
    uses=("das2022.theorem7.alpha.repaired",),
)

STATEMENTS = (A, B, B_REPAIRED)
