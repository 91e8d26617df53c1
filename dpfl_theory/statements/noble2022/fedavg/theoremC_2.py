"""noble2022 Theorem C.2: the rates of DP-FedAvg with noise at every local step, under bounded dissimilarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble

_COMMON = ("c", "eta_g", "eta_l", "nu", "M", "l", "R", "s", "K", "T", "varsigma", "Sigma", "G", "B")
_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.DISSIMILAR, noble.SAMPLING)


def _steps(s: Symbols) -> Mapping[str, Any]:
    """eta_g = sqrt(lM), eta_l = 1/(8 (1 + B^2) nu K eta_g)."""
    eta_g = sp.sqrt(s.l * s.M)
    return {"eta_g": eta_g, "eta_l": 1 / (8 * (1 + s.B**2) * s.nu * s.K * eta_g)}


def _convex(s: Symbols) -> Sides:
    third = sp.Rational(1, 3)
    return Sides(
        {"excess": s.excess},
        {
            "noise": s.c * s.D0 * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M),
            "sampling of users": s.c * s.G * s.D0 * sp.sqrt(1 - s.l) / sp.sqrt(s.T * s.l * s.M),
            "heterogeneity": s.c * s.D0 ** (4 * third) * s.nu**third * s.G ** (2 * third) / s.T ** (2 * third),
            "start": s.c * s.B**2 * s.nu * s.D0**2 / s.T,
        },
    )


def _non_convex(s: Symbols) -> Sides:
    third = sp.Rational(1, 3)
    return Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * s.nu * sp.sqrt(s.F0) * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M),
            "sampling of users": s.c * s.nu * s.G * sp.sqrt(s.F0 * (1 - s.l)) / sp.sqrt(s.T * s.l * s.M),
            "heterogeneity": s.c * s.F0 ** (2 * third) * s.nu**third * s.G ** (2 * third) / s.T ** (2 * third),
            "start": s.c * s.B**2 * s.nu * s.F0 / s.T,
        },
    )


CONVEX: Statement = Statement(
    id="noble2022.theoremC.2.convex",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.2 (2), Appendix C.5"),
    symbols=noble.symbols(*_COMMON, "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.CONVEX, *_BASE, noble.ROUNDS),
    sides=_convex,
    prescription=_steps,
    checks=battery(
        refuting.starts_at_the_minimiser("D0"), refuting.two_slopes, refuting.first_step("excess", "fedavg")
    ),
    uses=("noble2022.lemmaC.1",),
)

STRONGLY_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.2.strongly-convex",
    source=Source(noble.PAPER, "Theorem C.2 (1), Appendix C.5"),
    symbols=noble.symbols(*_COMMON, "mu", "D0"),
    hypotheses=(noble.STRONGLY_CONVEX, *_BASE, noble.LONG_ENOUGH_FEDAVG),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": s.c * noble.averaged(s) / (s.mu * s.T),
            "sampling of users": s.c * (1 - s.l) * s.G**2 / (s.mu * s.T * s.l * s.M),
            "heterogeneity": s.c * s.nu * s.G**2 / (s.mu**2 * s.T**2),
            "start": s.c * s.mu * s.D0**2 * sp.exp(-s.mu / (16 * (1 + s.B**2) * s.nu) * s.T),
        },
    ),
    checks=battery(
        refuting.two_slopes, refuting.bounded_gradients, runs.averaged(method="fedavg", edges=False, c=1.0)("moderate")
    ),
    smoke=("four users, T = 600, c = 1",),
)

NON_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.2.non-convex",
    source=Source(noble.PAPER, "Theorem C.2 (3), Appendix C.5"),
    symbols=noble.symbols(*_COMMON, "F0"),
    expectations=(noble.OUTPUT_GRADIENT,),
    hypotheses=(*_BASE, noble.ROUNDS),
    sides=_non_convex,
    checks=battery(
        refuting.starts_at_the_minimiser("F0"), refuting.noise_stays, refuting.first_step("gradient", "fedavg")
    ),
    homogeneous=False,
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX)
