"""das2022 eqs. 4 and 5: the asymptotic bounds of Section 4.1, with that section's own number of rounds, and their
repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem4
from dpfl_theory.statements.das2022._consistency import agreeing_prescriptions, limit
from dpfl_theory.statements.das2022._experiments import runs
from dpfl_theory.statements.das2022._weights import diverging
from dpfl_theory.statements.symbolic import equal


def _prescription(s: Symbols, printed: bool) -> Mapping[str, Any]:
    """Theorem 4's eta and C; K = (2 alpha gamma/(C E))/rho^2 as Section 4.1 prints it, or (2 alpha gamma/C)/rho^2."""
    C = s.G * s.E
    K = 2 * s.alpha * s.gamma / ((C * s.E if printed else C) * s.rho**2)
    return {"eta": s.rho / (2 * s.alpha * s.L), "C": C, "K": K}


def _sides(expectation: str) -> Callable[[Symbols], Sides]:
    def sides(s: Symbols) -> Sides:
        bound = s.G / 2 * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.rho
        return Sides(lhs={"gap": s[expectation]}, rhs={"initialisation": bound})

    return sides


def _bound_with_printed_rounds(finite: Statement) -> Check:
    """With Section 4.1's K, Theorem 4 holds with gamma/E in place of gamma: does its limit still give the printed
    bound?"""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s = symbols_of(finite)
        swapped = {s.gamma: s.gamma / s.E}
        left, right = (sp.limit(total(finite, side).subs(swapped), s.alpha, sp.oo) for side in ("lhs", "rhs"))
        printed = [total(statement, side) for side in ("lhs", "rhs")]
        message = f"the limit of {finite.id} with Section 4.1's K against {statement.id}"
        return equal(left * printed[1], right * printed[0], message)

    return Check("algebra", "bound for Section 4.1's own K", build, expected="violated")


def _emptiness(expectation: str) -> tuple[Check, ...]:
    """The check of infinite weighted means, where there are weights."""
    return (diverging(expectation, None),) if expectation == "E_weighted_gap" else ()


_SYMBOLS = das.symbols("rho", "E", "K", "alpha", "gamma", "L", "G", "C", "eta", "D")


def _printed(
    id_: str,
    equation: str,
    expectation: str,
    algorithm: str,
    finite: Statement,
    smoke: tuple[str, ...] = (),
) -> Statement:
    return Statement(
        id=id_,
        kind="corollary",
        source=Source(das.PAPER, "Section 4.1", equation),
        symbols=_SYMBOLS,
        expectations=das.expected(expectation),
        hypotheses=finite.hypotheses,
        sides=_sides(expectation),
        prescription=lambda s: _prescription(s, printed=True),
        checks=(
            limit(finite),
            agreeing_prescriptions(finite, lambda s: {}, "nothing replaced", expected="violated"),
            _bound_with_printed_rounds(finite),
            *_emptiness(expectation),
            *runs(algorithm, instances.ASYMPTOTIC),
            *runs(algorithm, {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"),
            *runs(algorithm, instances.ASYMPTOTIC_E, "violated"),
        ),
        smoke=smoke,
        expected="violated",
        uses=(finite.id,),
    )


def _repaired(id_: str, printed: Statement, finite: Statement, expectation: str, algorithm: str) -> Statement:
    return replace(
        printed,
        id=id_,
        sides=_sides(expectation),
        prescription=lambda s: _prescription(s, printed=False),
        checks=(
            limit(finite),
            agreeing_prescriptions(finite, lambda s: {}, "nothing replaced"),
            *_emptiness(expectation),
            *runs(algorithm, {**instances.ASYMPTOTIC, **instances.ASYMPTOTIC_E_REPAIRED}),
            *runs(algorithm, corners.ASYMPTOTIC_INDEPENDENT),
            *runs(algorithm, {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"),
            *runs(algorithm, corners.APART if algorithm == "dp-normfedavg" else {}, "not-applicable"),
        ),
        expected="holds",
        uses=(finite.id,),
    )


EQ4 = _printed(
    "das2022.eq4",
    "4",
    "E_gap",
    "dp-fedavg",
    theorem4.A,
    smoke=("nearly linear objective, E = 2",),
)
EQ5 = _printed(
    "das2022.eq5",
    "5",
    "E_weighted_gap",
    "dp-normfedavg",
    theorem4.B,
)

STATEMENTS = (
    EQ4,
    EQ5,
    _repaired("das2022.eq4.repaired", EQ4, theorem4.A, "E_gap", "dp-fedavg"),
    _repaired("das2022.eq5.repaired", EQ5, theorem4.B_REPAIRED, "E_weighted_gap", "dp-normfedavg"),
)
