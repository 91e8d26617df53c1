"""noble2022 Theorem C.1: the rates of DP-SCAFFOLD-warm, for strongly convex, convex and other objectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbols
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _first_step as first
from dpfl_theory.statements.noble2022 import _lasting_noise as lasting
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_limit import rate, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _own_settings as own
from dpfl_theory.statements.noble2022.scaffold import _private_runs as private
from dpfl_theory.statements.noble2022.scaffold import _strongly_convex as strong

_COMMON = ("c", "eta_g", "eta_l", "nu", "M", "l", "R", "s", "K", "T", "varsigma", "Sigma")


def _steps(s: Symbols, strongly: bool = False) -> Mapping[str, Any]:
    """eta_g = sqrt(lM); eta_l = l^(2/3)/(24 nu K eta_g), and at most l/(54 mu K eta_g) if strongly convex."""
    eta_g = sp.sqrt(s.l * s.M)
    eta_l = step_limit_symbolic(s) / (s.K * eta_g)
    return {"eta_g": eta_g, "eta_l": sp.Min(eta_l, s.l / (54 * s.mu * s.K * eta_g)) if strongly else eta_l}


def _strongly_convex(s: Symbols) -> Sides:
    return Sides(
        {"excess": s.excess},
        {"noise": s.c * noble.averaged(s) / (s.mu * s.T), "start": s.c * s.mu * s.D0**2 * sp.exp(-rate(s) * s.T)},
    )


def _convex(s: Symbols) -> Sides:
    return Sides(
        {"excess": s.excess},
        {
            "noise": s.c * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M) * s.D0,
            "start": s.c * s.nu / (s.l ** sp.Rational(2, 3) * s.T) * s.D0**2,
        },
    )


def _non_convex(s: Symbols) -> Sides:
    return Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M) * sp.sqrt(s.F0),
            "start": s.c * s.nu / (s.l ** sp.Rational(2, 3) * s.T) * s.F0,
        },
    )


STRONGLY_CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.strongly-convex",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (1), Appendix C.2"),
    symbols=noble.symbols(*_COMMON, "mu", "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.STRONGLY_CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING, strong.LONG_ENOUGH),
    sides=_strongly_convex,
    prescription=lambda s: _steps(s, strongly=True),
    checks=(*lasting.floors(), *private.moderate_runs("scaffold")),
    expected="violated",
    uses=("noble2022.lemmaC.8",),
)

CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.convex",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (2), Appendix C.2"),
    symbols=noble.symbols(*_COMMON, "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING, noble.ROUNDS),
    sides=_convex,
    prescription=_steps,
    checks=(
        Check("algebra", "start at the minimiser", lasting.starts_at_the_minimiser("D0"), expected="violated"),
        lasting.two_slopes(),
        Check("algebra", "the paper's own settings", own.own_settings, own.SETTINGS, part=own.PART),
        *first.checks("excess", "scaffold"),
        *runs.outside(runs.run(), runs.RUNS[runs.ONE], "nu", "l", "s"),
    ),
    expected="violated",
    uses=("noble2022.lemmaC.8",),
)

NON_CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.non-convex",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (3), Appendix C.2"),
    symbols=noble.symbols(*_COMMON, "F0"),
    expectations=(noble.OUTPUT_GRADIENT,),
    hypotheses=(noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING, noble.ROUNDS),
    sides=_non_convex,
    prescription=_steps,
    checks=(
        Check("algebra", "start at the minimiser", lasting.starts_at_the_minimiser("F0"), expected="violated"),
        lasting.noise_stays(),
        *first.checks("gradient", "scaffold"),
    ),
    smoke=("units",),
    expected="violated",
    homogeneous=False,
    uses=("noble2022.lemmaC.9",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX)
