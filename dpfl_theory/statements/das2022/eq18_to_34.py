"""das2022 eqs. 18 to 34 (Appendix C.1): the contribution of one client's clipped update to a round, in two cases.

A_i = -2 eta <clip(u_i, C), w_k - w*> + eta^2 ||clip(u_i, C)||^2. Case 1: ||u_i|| > C; case 2: ||u_i|| <= C.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.core import Sides, Statement, Symbols, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022._runs import CLIP
from dpfl_theory.statements.das2022.facts import FACT2
from dpfl_theory.statements.das2022.lemma8 import LEMMA8
from dpfl_theory.statements.das2022.lemma9 import LEMMA9
from dpfl_theory.statements.local_phase import grid
from dpfl_theory.statements.relations import Formula, Proof, algebra, equal_sides, of

_WHERE = "Appendix C.1, proof of Theorem 6"


def _eq23_sides(s: Symbols) -> Sides:
    square = 2 * s.eta**2 * s.L * s.E**2
    return Sides(
        lhs={"progress": s.unclipped_progress},
        rhs={"inner product": -2 * s.eta * s.unclipped_B, "update": square * (s.E_unclipped_gap + s.E_unclipped_Delta)},
    )


def _eq31_sides(s: Symbols) -> Sides:
    drift = 2 * s.eta**2 * s.L**2 * s.E**3
    return Sides(lhs={"gap": s.E * s.E_gap, "drift": -drift * (s.E_gap + s.Delta)}, rhs={"inner product": s.B})


def _unclipped_terms(s: Symbols) -> dict[str, Any]:
    a = s.eta * s.L * s.E
    return {
        "gap": -s.eta * s.E * (2 - 2 * a - 4 * a**2) * s.E_unclipped_gap,
        "heterogeneity": s.eta * s.E * (2 * a + 4 * a**2) * s.E_unclipped_Delta,
    }


def _eq34_sides(s: Symbols) -> Sides:
    clipped = -s.eta * s.E * 3 * s.C_hat / (8 * s.L * s.E) * s.E_clipped_length
    return Sides(
        lhs={"clipped": s.clipped_progress, "unclipped": s.unclipped_progress},
        rhs={"update": clipped, **_unclipped_terms(s)},
    )


@algebra("from (19), by the threshold")
def _threshold_step(s: Formula) -> Proof:
    """(19) to (22): with C^2 = 16 L E^2 Delta_max and ||u|| >= C, what (22) drops is eta C (||u|| - C)(eta + 1/(8LE)).

    (19)'s right side is -C (eta^2 + eta/(2LE))||u|| + 2 eta (C/||u||) E Delta + eta^2 C^2, largest at the largest Delta
    that the threshold allows, C^2/(16 L E^2), and there 2 eta (C/||u||) E Delta = eta C^3/(8 L E ||u||).
    """
    eta, L, E, C, more = s.eta, s.L, s.E, s.C, sp.Symbol("more", positive=True)
    u = C + more  # ||u||
    line19 = -C * (eta**2 + eta / (2 * L * E)) * u + 2 * eta * (C / u) * E * C**2 / (16 * L * E**2) + eta**2 * C**2
    line22 = of(s.statement, E_clipped_length=u).rhs
    slack = eta**2 * C * more + eta * C / (8 * L * E) * (u - C**2 / u)
    return line22 - line19, slack, "(22) minus (19) against two terms that are nonnegative for ||u|| >= C"


@algebra("the sum of squares is below E^3")
def _sum_of_squares(s: Formula) -> Proof:
    """The sum of tau^2 for tau < E is (E - 1) E (2E - 1)/6, which E^3 exceeds by E (4 E^2 + 3 E - 1)/6 > 0: with the
    display's middle, which has the sum, in place of B_i, (31)'s slack is that multiple of its drift."""
    E, tau, drift = s.E, sp.Symbol("tau", integer=True, positive=True), 2 * s.eta**2 * s.L**2 * (s.E_gap + s.Delta)
    middle = E * s.E_gap - drift * sp.summation(tau**2, (tau, 0, E - 1))
    slack = of(s.statement, B=middle).slack
    return slack, drift * E * (4 * E**2 + 3 * E - 1) / 6, "the display's middle less (31), not negative"


@algebra("(31) in (23)")
def _eq32_from_steps(s: Formula) -> Proof:
    """(23) with (31) in it is (32)."""
    product = of(EQ31, E_gap=s.E_unclipped_gap, Delta=s.E_unclipped_Delta).lhs
    return of(EQ23, unclipped_B=product).rhs, s.rhs, "(23) with (31) in it against (32)"


@algebra("the two cases together")
def _eq34_from_cases(s: Formula) -> Proof:
    """(22) and (32), with C = C_hat E, add up to (34), side by side."""
    cases = of(EQ22, C=s.C_hat * s.E) + of(EQ32)
    return equal_sides(cases, s, "of (22) and (32) with C = C_hat E against (34)")


@algebra("from Lemma 8 and Fact 2")
def _from_lemma8(s: Formula) -> Proof:
    """Lemma 8 with (17), Fact 2 for E gradients: sum ||grad||^2 = (||u||^2 + slack)/E, whose slack (18) drops."""
    fact, own = of(FACT2, p=s.E), of(LEMMA8)
    least = fact.rhs / fact.sum_of_squared_norms  # ||u||^2 <= least * sum ||grad||^2
    phase = of(LEMMA8, gradients_squared=s.update_squared / least).slack
    mine = of(s.statement, approach=own.distance_before - own.distance_after).slack
    return phase, mine, "Lemma 8 with Fact 2 in it against (18)"


@algebra("from Lemma 9")
def _from_lemma9(s: Formula) -> Proof:
    """A_i = -2 eta B_i + eta^2 ||u||^2 with Lemma 9's ||u||^2 = ||w_k - w_{k,E}||^2/eta^2 is (23)."""
    square = of(LEMMA9, tau=s.E, E_gap=s.E_unclipped_gap, Delta=s.E_unclipped_Delta).rhs / s.eta**2
    return -2 * s.eta * s.unclipped_B + s.eta**2 * square, s.rhs, "A_i with Lemma 9 in it against (23)"


@algebra("one step needs 16 sqrt(2)/9")
def _single_step(s: Formula) -> Proof:
    """E = 1: where 16 sqrt(2)/9 comes from.

    Convexity and smoothness give <g, w - w*> >= f_i(w) - f_i(w*) + ||g - g*||^2/(2L) with f_i(w) - f_i^* >=
    ||g||^2/(2L) and ||g*||^2 <= 2 L Delta, hence <g, w - w*> >= ||g||^2/L - ||g|| sqrt(2 Delta/L). At eta L = 1/2 and
    C = ||g||, A_i = -2 eta <g, w - w*> + eta^2 ||g||^2 with it is (22)'s right side where ||g|| = (16 sqrt(2)/9) sqrt(L
    Delta).
    """
    L, eta, delta = s.L, 1 / (2 * s.L), sp.Symbol("Delta", positive=True)
    g = 16 * sp.sqrt(2) / 9 * sp.sqrt(L * delta)
    product = g**2 / L - g * sp.sqrt(2 * delta / L)
    allowed = of(s.statement, eta=eta, E=1, C=g, E_clipped_length=g).rhs
    return -2 * eta * product + eta**2 * g**2, allowed, "A_i with the least inner product against (22)"


HALF = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.HALF_STEP)
_FULL = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.STEP)

EQ18: Statement = das.client_step(
    "das2022.eq18",
    f"{_WHERE}, case 1",
    hypotheses=HALF,
    sides=lambda s: Sides(
        lhs={"update": s.eta / (2 * s.L * s.E) * s.update_squared},
        rhs={"approach": s.approach, "heterogeneity": 2 * s.eta * s.E * s.Delta},
    ),
    checks=battery(_from_lemma8, worst.checks(worst.eq18, ("1/2", "1/4", "1/16")), CLIP("step")),
    uses=("das2022.lemma8", "das2022.fact2"),
)

EQ22: Statement = das.client_step(
    "das2022.eq22",
    f"{_WHERE}, case 1",
    hypotheses=(*HALF, das.THRESHOLD),
    sides=lambda s: Sides(
        lhs={"progress": s.clipped_progress}, rhs={"update": -3 * s.eta * s.C / (8 * s.L * s.E) * s.E_clipped_length}
    ),
    checks=battery(_threshold_step, worst.checks(worst.clipped, ("1/2", "1/4", "1/16")), CLIP("clipped-step")),
    uses=("das2022.eq18",),
)

_MIDDLE = "The display's middle, with the sum of tau^2 for tau < E in place of E^3; (31) follows, as E^3 is no smaller."


SHARPER = partial(worst.clipped, threshold=das.SMALLER)
"""A client with ||u|| = C and the smaller threshold."""

EQ22_SHARPENED: Statement = replace(
    EQ22,
    id="das2022.eq22.sharpened",
    hypotheses=(*HALF, das.SMALLER_THRESHOLD),
    checks=battery(
        _single_step,
        checks("worst-case", SHARPER, grid(**{"E": (1, 2, 3, 4, 5, 6), "eta L": ("1/2", "1/4", "1/16"), "L": ("1",)})),
        worst.outside(SHARPER, "1/2"),
        CLIP("clipped-step smaller-threshold"),
    ),
    uses=(),
)

EQ23: Statement = das.client_step(
    "das2022.eq23",
    f"{_WHERE}, case 2",
    hypotheses=_FULL,
    sides=_eq23_sides,
    checks=battery(_from_lemma9, worst.checks(worst.eq23, ("1", "1/2", "1/8")), CLIP("step")),
    uses=("das2022.lemma9",),
)

EQ31: Statement = das.client_step(
    "das2022.eq31",
    f"{_WHERE}, case 2",
    hypotheses=_FULL,
    sides=_eq31_sides,
    checks=battery(
        _sum_of_squares,
        worst.checks(worst.eq31, ("1", "1/2", "1/8")),
        worst.checks(worst.eq31_sum, ("1", "1/2", "1/8"), "with sum tau^2, ", _MIDDLE),
        CLIP("step"),
    ),
    uses=("das2022.lemma9",),
)

EQ32: Statement = das.client_step(
    "das2022.eq32",
    f"{_WHERE}, case 2",
    hypotheses=_FULL,
    sides=lambda s: Sides(lhs={"progress": s.unclipped_progress}, rhs=_unclipped_terms(s)),
    checks=battery(_eq32_from_steps, worst.checks(worst.unclipped, ("1", "1/2", "1/8", "1/64")), CLIP("step")),
    uses=("das2022.eq23", "das2022.eq31"),
)

EQ34: Statement = das.client_step(
    "das2022.eq34",
    f"{_WHERE}, both cases",
    hypotheses=(*HALF, das.THRESHOLD),
    sides=_eq34_sides,
    checks=battery(
        _eq34_from_cases,
        worst.cases(clipped=worst.clipped, **{"not clipped": worst.unclipped}),
        worst.outside(worst.unclipped, "1/2"),
        CLIP("step"),
    ),
    uses=("das2022.eq22", "das2022.eq32"),
)

STATEMENTS = (EQ18, EQ22, EQ22_SHARPENED, EQ23, EQ31, EQ32, EQ34)
