"""das2022 eqs. 41 to 46 (Appendix D.1): the contribution of one client's normalised update to a round.

A_i = -2 eta <norm(u_i, C), w_k - w*> + eta^2 C^2; case 1: ||u_i|| > C = C_hat E; case 2: ||u_i|| <= C.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Sides, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022._runs import NORMALISE
from dpfl_theory.statements.das2022._weights import FINITE
from dpfl_theory.statements.das2022.eq18_to_34 import EQ22, EQ22_SHARPENED, EQ31, EQ32, HALF, SHARPER
from dpfl_theory.statements.relations import Formula, Proof, algebra, equal_sides, of, special_form

_WHERE = "Appendix D.1, proof of Theorem 7"


def _clipped(s: Symbols) -> Any:
    """-(3 eta C_hat/(8L)) ||u_i|| where ||u_i|| > C."""
    return -3 * s.eta * s.C_hat / (8 * s.L) * s.E_clipped_length


def _lengthened(s: Symbols, spread: Any) -> dict[str, Any]:
    """(45) over clients that are not longer than C; ``spread`` is eta^2 C_hat^2 E^2 on them."""
    a = s.eta * s.L * s.E
    return {
        "gap": -2 * s.eta * s.E * (1 - 2 * a**2) * s.E_unclipped_weighted_gap,
        "heterogeneity": 4 * s.eta * s.E * a**2 * s.E_unclipped_weighted_Delta,
        "normalisation": spread,
    }


def _eq45_sides(s: Symbols) -> Sides:
    spread = s.eta**2 * s.C_hat**2 * s.E**2 * s.E_unclipped_share
    return Sides(lhs={"progress": s.normalised_progress}, rhs=_lengthened(s, spread))


def _eq46_sides(s: Symbols) -> Sides:
    spread = s.eta * s.E * s.eta * s.C_hat**2 * s.E * s.E_unclipped_share
    return Sides(
        lhs={"clipped": s.clipped_progress, "lengthened": s.normalised_progress},
        rhs={"update": _clipped(s), **_lengthened(s, spread)},
    )


def _as_clipped(clipped: Statement) -> Check:
    """The bound is the clipped client's with C = C_hat E: norm(u, C) = clip(u, C) where ||u|| > C."""
    return special_form(f"is {clipped.id} with C = C_hat E", clipped, "with C = C_hat E", C=lambda s: s.C_hat * s.E)


@algebra("(44) in (42)")
def _from_eq42(s: Formula) -> Proof:
    """(42), A_i = -2 eta z_i B_i + eta^2 C^2, with the least B_i of (44), which is (31), is (45)."""
    least = of(EQ31, E_gap=s.E_unclipped_weighted_gap, Delta=s.E_unclipped_weighted_Delta).lhs
    line42 = -2 * s.eta * least + s.eta**2 * (s.C_hat * s.E) ** 2 * s.E_unclipped_share
    return line42, s.rhs, "(42) with (44) in it against (45)"


@algebra("at ||u_i|| = C not above (32)")
def _update_of_length_c(s: Formula) -> Proof:
    """Where ||u_i|| = C every weight is 1, and (45) less (32) is eta^2 (C^2 - 2 L E^2 (f_i(w_k) - f_i^*)), not positive
    by Lemma 9."""
    clipped = of(EQ32)
    gap, delta = clipped.E_unclipped_gap, clipped.E_unclipped_Delta
    mine = of(s.statement, E_unclipped_weighted_gap=gap, E_unclipped_weighted_Delta=delta, E_unclipped_share=1)
    square = (s.C_hat * s.E) ** 2 - 2 * s.L * s.E**2 * (gap + delta)
    return mine.rhs - clipped.rhs, s.eta**2 * square, "(45) less (32) at ||u_i|| = C"


@algebra("the two cases together")
def _two_lines(s: Formula) -> Proof:
    """(46)'s terms are those of (41) and (45), side by side."""
    return equal_sides(of(EQ41) + of(EQ45), s, "of (41) and (45) against (46)")


EQ41: Statement = das.client_step(
    "das2022.eq41",
    f"{_WHERE}, case 1",
    symbols=das.CLIENT.also("E"),
    hypotheses=(*HALF, das.THRESHOLD),
    sides=lambda s: Sides(lhs={"progress": s.clipped_progress}, rhs={"update": _clipped(s)}),
    checks=battery(_as_clipped(EQ22), worst.checks(worst.clipped, ("1/2", "1/4", "1/16")), NORMALISE("clipped-step")),
    uses=("das2022.eq22",),
)

EQ41_SHARPENED: Statement = replace(
    EQ41,
    id="das2022.eq41.sharpened",
    hypotheses=EQ22_SHARPENED.hypotheses,
    checks=battery(
        _as_clipped(EQ22_SHARPENED),
        worst.checks(SHARPER, ("1/2", "1/4", "1/16")),
        NORMALISE("clipped-step smaller-threshold"),
    ),
    uses=("das2022.eq22.sharpened",),
)

EQ45: Statement = das.client_step(
    "das2022.eq45",
    f"{_WHERE}, case 2",
    hypotheses=(das.CONVEX, das.SMOOTH, das.MINIMISER, das.STEP, FINITE),
    sides=_eq45_sides,
    checks=battery(
        _from_eq42,
        _update_of_length_c,
        worst.checks(worst.lengthened, ("1", "1/2", "1/8", "1/64")),
        NORMALISE("norm-step"),
    ),
    uses=("das2022.eq31",),
)

EQ46: Statement = das.client_step(
    "das2022.eq46",
    f"{_WHERE}, both cases",
    hypotheses=(*HALF, das.THRESHOLD, FINITE),
    sides=_eq46_sides,
    checks=battery(
        _two_lines,
        worst.cases(shortened=worst.clipped, lengthened=worst.lengthened),
        worst.outside(worst.lengthened, "1/2"),
        NORMALISE("norm-step"),
    ),
    uses=("das2022.eq41", "das2022.eq45"),
)

STATEMENTS = (EQ41, EQ41_SHARPENED, EQ45, EQ46)
