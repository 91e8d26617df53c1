"""das2022 Theorem 6: DP-FedAvg with clipping, convex and smooth, without a Lipschitz constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _independent as independent
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _one_round as rounds
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._experiments import general_experiment, isotropic_experiment, runs
from dpfl_theory.statements.das2022.eq18_to_34 import EQ34
from dpfl_theory.statements.symbolic import all_equal, equal


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
        rhs={
            "initialisation": das.initialisation_term(s),
            "heterogeneity": 3 * s.E / (2 * s.alpha) * s.Delta * s.rho,
        },
    )


def _follows(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The alpha form's right side minus the general one's, at K of the alpha form and with every client unclipped, is
    Delta x (1/2 - x), x = rho E/alpha <= 1/2: never negative."""
    s, own = symbols_of(statement), symbols_of(GENERAL)
    x = s.rho * s.E / s.alpha
    swaps = {own.K: prescription_of(statement)["K"], own.E_unclipped_Delta: s.Delta}
    slack = total(statement, "rhs") - total(GENERAL, "rhs").subs(swaps)
    return all_equal(
        (total(GENERAL, "lhs").subs(swaps), total(statement, "lhs"), "left sides"),
        (slack, s.Delta * x * (1 - 2 * x) / 2, "alpha form minus general form against Delta x (1/2 - x)"),
    )


def _step_limit(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """K > (2 gamma/(C_hat E))/rho is the proof's eta L < 1/2."""
    s = symbols_of(statement)
    at_limit = prescription_of(statement)["eta"].subs(s.K, 2 * s.gamma / (s.C_hat * s.E * s.rho))
    return equal(at_limit * s.L, "1/2", "eta L at the smallest K")


def _summed(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(13) with (34), summed over K rounds with ||w_K - w*||^2 >= 0 dropped, over eta E K, at the prescribed eta.

    It is an equality, so that a term that is missing, or K - 1 for K, which would weaken the bound, is noticed too.
    """
    s, client = symbols_of(statement), symbols_of(EQ34)
    eta = prescription_of(statement)["eta"]
    noise = s.K * (s.C_hat * s.E) ** 2 * s.rho**2  # d sigma^2
    decrease = total(EQ34, "rhs").subs(client.eta, eta) / (eta * s.E)
    summed = s.D**2 / (eta * s.E * s.K) + eta * noise / s.E + decrease
    return equal(summed, total(statement, "rhs") - total(statement, "lhs"), "(34) summed over the rounds")


def _same_step(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The general eta at the alpha form's K is rho/(2 alpha L)."""
    s = symbols_of(statement)
    return equal(prescription_of(statement)["eta"], s.rho / (2 * s.alpha * s.L), "eta at the alpha form's K")


_CONDITION = (
    "It decides that the condition on K is the proof's limit of the step; the next check decides that the bound is "
    "(34), summed."
)
_STEP = "It decides the value of eta at the prescribed K; the first check decides that the bound follows."

GENERAL: Statement = Statement(
    id="das2022.theorem6",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 6, Appendix C, first display"),
    symbols=das.symbols("rho", "E", "K", "gamma", "L", "C", "C_hat", "eta", "D", "Delta", "Delta_max"),
    expectations=das.expected("E_unclipped_gap", "E_clipped_length", "E_unclipped_Delta"),
    hypotheses=das.FREE_K,
    sides=_sides,
    prescription=das.prescription,
    checks=(
        Check("algebra", "the condition on K is eta L < 1/2", _step_limit, part=_CONDITION),
        Check("algebra", "from (34), over the rounds", _summed),
        *runs(
            "dp-fedavg",
            {**instances.GENERAL_CLIP, **corners.LONG_PHASE, **corners.GENERAL_CLIP_TIGHT, **corners.NOISE_LEADS},
            experiment=general_experiment,
        ),
        *runs("dp-fedavg", corners.ISOTROPIC, experiment=isotropic_experiment),
        *runs("dp-fedavg", corners.INSIDE_RATIO, experiment=general_experiment),
        *runs("dp-fedavg", {**instances.APPENDIX_F, **corners.OUTSIDE_GENERAL}, "not-applicable", general_experiment),
    ),
    smoke=(
        "Huber, shared minimiser, full participation, eta L = 0.3",
        "one dimension, noise leads, independent r = 2",
        "equal quadratics at w*, noise alone, 2 of 4 clients",
    ),
    uses=("das2022.eq37",),
)

ALPHA: Statement = Statement(
    id="das2022.theorem6.alpha",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 6, Appendix C, second display"),
    symbols=das.symbols("rho", "E", "K", "alpha", "gamma", "L", "C", "C_hat", "eta", "D", "Delta", "Delta_max"),
    expectations=das.expected("E_unclipped_gap", "E_clipped_length"),
    hypotheses=das.K_BY_ALPHA,
    sides=_alpha_sides,
    prescription=das.alpha_prescription,
    checks=(
        Check("algebra", "follows from the general form", _follows),
        Check("algebra", "eta is that of the general form", _same_step, part=_STEP),
        *independent.checks("1/4", True),
        *rounds.groups("two hundred", 100, ((1, "1/4"), (2, "1/8"), (4, "1/16"))),
        *runs("dp-fedavg", {**instances.ALPHA_CLIP, **corners.ALPHA_CLIP_TIGHT, **corners.INSIDE_RATIO}),
        *runs("dp-fedavg", {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_THRESHOLD}, "not-applicable"),
    ),
    uses=("das2022.theorem6", "das2022.eq39"),
)

STATEMENTS = (GENERAL, ALPHA)
