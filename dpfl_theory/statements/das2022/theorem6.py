"""das2022 Theorem 6: DP-FedAvg with clipping, convex and smooth, without a Lipschitz constant."""

from __future__ import annotations

from dpfl_theory.core import Sides, Source, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _independent as independent
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022._runs import CLIP, isotropic
from dpfl_theory.statements.das2022.eq18_to_34 import EQ34
from dpfl_theory.statements.relations import Formula, Proof, algebra, of


def _sides(s: Symbols) -> Sides:
    y = 2 * s.gamma / (s.C_hat * s.K * s.rho)
    return Sides(
        lhs={"unclipped": (2 - y - y**2) * s.E_unclipped_gap, "clipped": das.clipped_term(s)},
        rhs={"initialisation": das.initialisation_term(s), "heterogeneity": y * (1 + y) * s.E_unclipped_Delta},
    )


def _alpha_sides(s: Symbols) -> Sides:
    x = s.rho * s.E / s.alpha
    return Sides(
        lhs={"unclipped": (2 - x - x**2) * s.E_unclipped_gap, "clipped": das.clipped_term(s)},
        rhs={"initialisation": das.initialisation_term(s), "heterogeneity": das.heterogeneity_term(s)},
    )


@algebra(
    "the condition on K is eta L < 1/2",
    part="It decides that the condition on K is the proof's limit of the step; the next check decides that the bound "
    "is (34), summed.",
)
def step_limit(s: Formula) -> Proof:
    """K > (2 gamma/(C_hat E))/rho is the proof's eta L < 1/2."""
    least = of(s.statement, K=2 * s.gamma / (s.C_hat * s.E * s.rho))
    return least.prescribed["eta"] * s.L, "1/2", "eta L at the smallest K"


@algebra("follows from the general form")
def _follows(s: Formula) -> Proof:
    """The alpha form's right side minus the general one's, at K of the alpha form and with every client unclipped, is
    Delta x (1/2 - x), x = rho E/alpha <= 1/2: never negative."""
    x, general = s.rho * s.E / s.alpha, of(GENERAL, K=s.prescribed["K"], E_unclipped_Delta=s.Delta)
    return [
        (general.lhs, s.lhs, "left sides"),
        (s.rhs - general.rhs, s.Delta * x * (1 - 2 * x) / 2, "alpha form minus general form against Delta x (1/2 - x)"),
    ]


@algebra(
    "eta is that of the general form",
    part="It decides the value of eta at the prescribed K; the first check decides that the bound follows.",
)
def _same_step(s: Formula) -> Proof:
    """The general eta at the alpha form's K is rho/(2 alpha L)."""
    return s.prescribed["eta"], s.rho / (2 * s.alpha * s.L), "eta at the alpha form's K"


GENERAL: Statement = das.statement(
    id="das2022.theorem6",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 6, Appendix C, first display"),
    hypotheses=das.FREE_K,
    sides=_sides,
    prescription=das.prescription,
    checks=battery(
        step_limit,
        das.over_the_rounds("from (34), over the rounds", EQ34, "(34) summed over the rounds"),
        CLIP("clip long-phase general-tight clipped noise-leads inside", beyond="appendix-f"),
        CLIP.by(isotropic)("isotropic"),
    ),
    smoke=(
        "Huber, shared minimiser, full participation, eta L = 0.3",
        "one dimension, noise leads, independent r = 2",
        "equal quadratics at w*, noise alone, 2 of 4 clients",
    ),
    uses=("das2022.eq37",),
)

ALPHA: Statement = das.statement(
    id="das2022.theorem6.alpha",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 6, Appendix C, second display"),
    hypotheses=das.K_BY_ALPHA,
    sides=_alpha_sides,
    prescription=das.alpha_prescription,
    checks=battery(
        _follows,
        _same_step,
        independent.checks("1/4", True),
        worst.groups("two hundred", 100, ((1, "1/4"), (2, "1/8"), (4, "1/16"))),
        CLIP("alpha-clip alpha-tight inside"),
    ),
    uses=("das2022.theorem6", "das2022.eq39"),
)

STATEMENTS = (GENERAL, ALPHA)
