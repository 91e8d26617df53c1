"""das2022 eqs. 18 to 34 (Appendix C.1): the contribution of one client's clipped update to a round, in two cases.

A_i = -2 eta <clip(u_i, C), w_k - w*> + eta^2 ||clip(u_i, C)||^2. Case 1: ||u_i|| > C; case 2: ||u_i|| <= C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022 import _step_performance as worst
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._experiments import runs, step_experiment
from dpfl_theory.statements.das2022.facts import FACT2
from dpfl_theory.statements.das2022.lemma8 import LEMMA8
from dpfl_theory.statements.das2022.lemma9 import LEMMA9
from dpfl_theory.statements.local_phase import grid
from dpfl_theory.statements.symbolic import all_equal, equal

_WHERE = "Appendix C.1, proof of Theorem 6"


def _runs(found: Mapping[str, instances.Instance] = steps.STEP, **outside: instances.Instance) -> tuple[Check, ...]:
    """Runs, and instances just outside the named hypotheses and smoothness."""
    beyond = {**outside, **corners.OUTSIDE_SMOOTH}
    return (*runs("dp-fedavg", found, experiment=step_experiment), *_outside(beyond))


def _outside(found: Mapping[str, instances.Instance]) -> tuple[Check, ...]:
    return runs("dp-fedavg", found, "not-applicable", step_experiment)


def _eq18_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"update": s.eta / (2 * s.L * s.E) * s.update_squared},
        rhs={"approach": s.approach, "heterogeneity": 2 * s.eta * s.E * s.Delta},
    )


def _eq22_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"progress": s.clipped_progress},
        rhs={"update": -3 * s.eta * s.C / (8 * s.L * s.E) * s.E_clipped_length},
    )


def _eq23_sides(s: Symbols) -> Sides:
    square = 2 * s.eta**2 * s.L * s.E**2
    return Sides(
        lhs={"progress": s.unclipped_progress},
        rhs={
            "inner product": -2 * s.eta * s.unclipped_B,
            "update": square * (s.E_unclipped_gap + s.E_unclipped_Delta),
        },
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


def _eq32_sides(s: Symbols) -> Sides:
    return Sides(lhs={"progress": s.unclipped_progress}, rhs=_unclipped_terms(s))


def _eq34_sides(s: Symbols) -> Sides:
    clipped = -s.eta * s.E * 3 * s.C_hat / (8 * s.L * s.E) * s.E_clipped_length
    return Sides(
        lhs={"clipped": s.clipped_progress, "unclipped": s.unclipped_progress},
        rhs={"update": clipped, **_unclipped_terms(s)},
    )


def _threshold_step(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(19) to (22): with C^2 = 16 L E^2 Delta_max and ||u|| >= C, what (22) drops is eta C (||u|| - C)(eta + 1/(8LE)).

    (19)'s right side is -C (eta^2 + eta/(2LE))||u|| + 2 eta (C/||u||) E Delta + eta^2 C^2, largest at the largest Delta
    that the threshold allows, C^2/(16 L E^2), and there 2 eta (C/||u||) E Delta = eta C^3/(8 L E ||u||).
    """
    s, more = symbols_of(statement), sp.Symbol("more", positive=True)
    eta, L, E, C = s.eta, s.L, s.E, s.C
    u = C + more  # ||u||
    line19 = -C * (eta**2 + eta / (2 * L * E)) * u + 2 * eta * (C / u) * E * C**2 / (16 * L * E**2) + eta**2 * C**2
    line22 = total(statement).subs(s.E_clipped_length, u)
    slack = eta**2 * C * more + eta * C / (8 * L * E) * (u - C**2 / u)
    return equal(line22 - line19, slack, "(22) minus (19) against two terms that are nonnegative for ||u|| >= C")


def _sum_of_squares(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The sum of tau^2 for tau < E is (E - 1) E (2E - 1)/6, which E^3 exceeds by E (4 E^2 + 3 E - 1)/6 > 0: with the
    display's middle, which has the sum, in place of B_i, (31)'s slack is that multiple of its drift."""
    s, tau = symbols_of(statement), sp.Symbol("tau", integer=True, positive=True)
    E, drift = s.E, 2 * s.eta**2 * s.L**2 * (s.E_gap + s.Delta)
    middle = E * s.E_gap - drift * sp.summation(tau**2, (tau, 0, E - 1))
    slack = total(statement).subs(s.B, middle) - total(statement, "lhs")
    return equal(slack, drift * E * (4 * E**2 + 3 * E - 1) / 6, "the display's middle less (31), not negative")


def _eq32_from_steps(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(23) with (31) in it is (32)."""
    mine, s = total(statement, "rhs"), symbols_of(EQ23)
    right = total(EQ23, "rhs")
    other = symbols_of(EQ31)
    gap, delta = s.E_unclipped_gap, s.E_unclipped_Delta
    product = total(EQ31, "lhs").subs({other.E_gap: gap, other.Delta: delta})
    return equal(right.subs(s.unclipped_B, product), mine, "(23) with (31) in it against (32)")


def _eq34_from_cases(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(22) and (32), with C = C_hat E, add up to (34), side by side."""
    s = symbols_of(statement)
    at = {symbols_of(EQ22).C: s.C_hat * s.E}
    return all_equal(
        *(
            (
                total(EQ22, side).subs(at) + total(EQ32, side),
                total(statement, side),
                f"{side} of (22) and (32) with C = C_hat E against (34)",
            )
            for side in ("lhs", "rhs")
        )
    )


def _from_lemma8(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Lemma 8 with (17), Fact 2 for E gradients: sum ||grad||^2 = (||u||^2 + slack)/E, whose slack (18) drops."""
    s, own, fact = symbols_of(statement), symbols_of(LEMMA8), symbols_of(FACT2)
    squares = fact.sum_of_squared_norms
    least = (total(FACT2, "rhs") / squares).subs(fact.p, s.E)  # ||u||^2 <= least * sum ||grad||^2
    phase = (total(LEMMA8, "rhs") - total(LEMMA8, "lhs")).subs(own.gradients_squared, s.update_squared / least)
    mine = (total(statement, "rhs") - total(statement, "lhs")).subs(
        s.approach, own.distance_before - own.distance_after
    )
    return equal(phase, mine, "Lemma 8 with Fact 2 in it against (18)")


def _from_lemma9(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """A_i = -2 eta B_i + eta^2 ||u||^2 with Lemma 9's ||u||^2 = ||w_k - w_{k,E}||^2/eta^2 is (23)."""
    s, own = symbols_of(statement), symbols_of(LEMMA9)
    swaps = {own.tau: s.E, own.E_gap: s.E_unclipped_gap, own.Delta: s.E_unclipped_Delta}
    square = (total(LEMMA9, "rhs") / own.eta**2).subs(swaps)
    mine = -2 * s.eta * s.unclipped_B + s.eta**2 * square
    return equal(mine, total(statement, "rhs"), "A_i with Lemma 9 in it against (23)")


_CLIENT = ("eta", "L", "E")
_HALF = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.HALF_STEP)
_FULL = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.STEP)

EQ18: Statement = Statement(
    id="das2022.eq18",
    kind="step",
    source=Source(
        das.PAPER,
        f"{_WHERE}, case 1",
        "18",
    ),
    symbols=(*das.symbols(*_CLIENT), das.CLIENT_DELTA),
    expectations=das.of_client("approach", "update_squared"),
    hypotheses=_HALF,
    sides=_eq18_sides,
    checks=(
        Check("algebra", "from Lemma 8 and Fact 2", _from_lemma8),
        *worst.checks(worst.eq18, ("1/2", "1/4", "1/16")),
        *_runs(),
    ),
    uses=("das2022.lemma8", "das2022.fact2"),
)

EQ22: Statement = Statement(
    id="das2022.eq22",
    kind="step",
    source=Source(
        das.PAPER,
        f"{_WHERE}, case 1",
        "22",
    ),
    symbols=das.symbols(*_CLIENT, "C", "C_hat", "Delta_max"),
    expectations=das.of_client("clipped_progress", "E_clipped_length"),
    hypotheses=(*_HALF, das.THRESHOLD),
    sides=_eq22_sides,
    checks=(
        Check("algebra", "from (19), by the threshold", _threshold_step),
        *worst.checks(worst.clipped, ("1/2", "1/4", "1/16")),
        *_runs(steps.CLIPPED_STEP, **corners.OUTSIDE_THRESHOLD),
    ),
    uses=("das2022.eq18",),
)

_MIDDLE = "The display's middle, with the sum of tau^2 for tau < E in place of E^3; (31) follows, as E^3 is no smaller."


def _single_step(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """E = 1: where 16 sqrt(2)/9 comes from.

    Convexity and smoothness give <g, w - w*> >= f_i(w) - f_i(w*) + ||g - g*||^2/(2L) with f_i(w) - f_i^* >=
    ||g||^2/(2L) and ||g*||^2 <= 2 L Delta, hence <g, w - w*> >= ||g||^2/L - ||g|| sqrt(2 Delta/L). At eta L = 1/2 and
    C = ||g||, A_i = -2 eta <g, w - w*> + eta^2 ||g||^2 with it is (22)'s right side where ||g|| = (16 sqrt(2)/9) sqrt(L
    Delta).
    """
    s, delta = symbols_of(statement), sp.Symbol("Delta", positive=True)
    L, eta = s.L, 1 / (2 * s.L)
    g = 16 * sp.sqrt(2) / 9 * sp.sqrt(L * delta)
    product = g**2 / L - g * sp.sqrt(2 * delta / L)
    allowed = total(statement).subs({s.eta: eta, s.E: 1, s.C: g, s.E_clipped_length: g}, simultaneous=True)
    return equal(-2 * eta * product + eta**2 * g**2, allowed, "A_i with the least inner product against (22)")


EQ22_SHARPENED: Statement = replace(
    EQ22,
    id="das2022.eq22.sharpened",
    source=Source(
        das.PAPER,
        f"{_WHERE}, case 1",
        "22",
    ),
    hypotheses=(*_HALF, das.SMALLER_THRESHOLD),
    checks=(
        Check("algebra", "one step needs 16 sqrt(2)/9", _single_step),
        *checks(
            "worst-case",
            partial(worst.clipped, threshold=das.SMALLER),
            grid(**{"E": (1, 2, 3, 4, 5, 6), "eta L": ("1/2", "1/4", "1/16"), "L": ("1",)}),
        ),
        *worst.outside(partial(worst.clipped, threshold=das.SMALLER), "1/2"),
        *_runs(steps.SMALLER_THRESHOLD, **corners.OUTSIDE_SMALLER),
    ),
    uses=(),
)

EQ23: Statement = Statement(
    id="das2022.eq23",
    kind="step",
    source=Source(
        das.PAPER,
        f"{_WHERE}, case 2",
        "23",
    ),
    symbols=das.symbols(*_CLIENT),
    expectations=das.of_client("unclipped_progress", "unclipped_B", "E_unclipped_gap", "E_unclipped_Delta"),
    hypotheses=_FULL,
    sides=_eq23_sides,
    checks=(
        Check("algebra", "from Lemma 9", _from_lemma9),
        *worst.checks(worst.eq23, ("1", "1/2", "1/8")),
        *_runs(),
    ),
    uses=("das2022.lemma9",),
)

EQ31: Statement = Statement(
    id="das2022.eq31",
    kind="step",
    source=Source(
        das.PAPER,
        f"{_WHERE}, case 2",
        "31",
    ),
    symbols=(*das.symbols(*_CLIENT), das.CLIENT_DELTA),
    expectations=das.of_client("B", "E_gap"),
    hypotheses=_FULL,
    sides=_eq31_sides,
    checks=(
        Check("algebra", "the sum of squares is below E^3", _sum_of_squares),
        *worst.checks(worst.eq31, ("1", "1/2", "1/8")),
        *worst.checks(worst.eq31_sum, ("1", "1/2", "1/8"), "with sum tau^2, ", _MIDDLE),
        *_runs(),
    ),
    uses=("das2022.lemma9",),
)

EQ32: Statement = Statement(
    id="das2022.eq32",
    kind="step",
    source=Source(das.PAPER, f"{_WHERE}, case 2", "32"),
    symbols=das.symbols(*_CLIENT),
    expectations=das.of_client("unclipped_progress", "E_unclipped_gap", "E_unclipped_Delta"),
    hypotheses=_FULL,
    sides=_eq32_sides,
    checks=(
        Check("algebra", "(31) in (23)", _eq32_from_steps),
        *worst.checks(worst.unclipped, ("1", "1/2", "1/8", "1/64")),
        *_runs(),
    ),
    uses=("das2022.eq23", "das2022.eq31"),
)

EQ34: Statement = Statement(
    id="das2022.eq34",
    kind="step",
    source=Source(
        das.PAPER,
        f"{_WHERE}, both cases",
        "34",
    ),
    symbols=das.symbols(*_CLIENT, "C_hat", "Delta_max"),
    expectations=das.of_client(
        "clipped_progress", "unclipped_progress", "E_unclipped_gap", "E_clipped_length", "E_unclipped_Delta"
    ),
    hypotheses=(*_HALF, das.THRESHOLD),
    sides=_eq34_sides,
    checks=(
        Check("algebra", "the two cases together", _eq34_from_cases),
        *(
            Check("worst-case", f"{case}, {name}", build, instance)
            for case, build in (("clipped", worst.clipped), ("not clipped", worst.unclipped))
            for name, instance in grid(**{"E": (2, 4), "eta L": ("1/2", "1/5"), "L": ("1",)}).items()
        ),
        *worst.outside(worst.unclipped, "1/2"),
        *_outside(corners.OUTSIDE_THRESHOLD),
        *_runs(),
    ),
    uses=("das2022.eq22", "das2022.eq32"),
)

STATEMENTS = (EQ18, EQ22, EQ22_SHARPENED, EQ23, EQ31, EQ32, EQ34)
