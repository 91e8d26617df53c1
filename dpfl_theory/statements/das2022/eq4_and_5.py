"""das2022 eqs. 4 and 5: the asymptotic bounds of Section 4.1, with that section's own number of rounds, and their
repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem4
from dpfl_theory.statements.das2022._runs import CLIP, NORMALISE
from dpfl_theory.statements.das2022._weights import diverging
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.relations import Formula, Proof, algebra, in_the_limit, limit, of, prescribes_as


def _prescription(s: Symbols, printed: bool) -> Mapping[str, Any]:
    """Theorem 4's eta and C; K = (2 alpha gamma/(C E))/rho^2 as Section 4.1 prints it, or (2 alpha gamma/C)/rho^2."""
    C = s.G * s.E
    K = 2 * s.alpha * s.gamma / ((C * s.E if printed else C) * s.rho**2)
    return {"eta": s.rho / (2 * s.alpha * s.L), "C": C, "K": K}


def _sides(s: Symbols, expectation: str) -> Sides:
    bound = s.G / 2 * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.rho
    return Sides(lhs={"gap": s[expectation]}, rhs={"initialisation": bound})


def _bound_with_printed_rounds(finite: Statement) -> Check:
    """With Section 4.1's K, Theorem 4 holds with gamma/E in place of gamma: does its limit still give the printed
    bound?"""

    @algebra("bound for Section 4.1's own K", expected="violated")
    def check(s: Formula) -> Proof:
        swapped = of(finite, gamma=s.gamma / s.E)
        return in_the_limit(swapped, "alpha", s.statement, f"the limit of {finite.id} with Section 4.1's K")

    return check


def _emptiness(expectation: str) -> tuple[Check, ...]:
    """The check of infinite weighted means, where there are weights."""
    return (diverging(expectation, None),) if expectation == "E_weighted_gap" else ()


_APART = {"two clients apart in one dimension": "the repaired form has it"}


def _printed(
    id_: str, equation: str, expectation: str, runs: Runs, finite: Statement, smoke: tuple[str, ...] = ()
) -> Statement:
    return das.statement(
        id=id_,
        kind="corollary",
        source=Source(das.PAPER, "Section 4.1", equation),
        hypotheses=finite.hypotheses,
        sides=lambda s: _sides(s, expectation),
        prescription=lambda s: _prescription(s, printed=True),
        checks=battery(
            limit(finite, "alpha"),
            prescribes_as(finite, "nothing replaced", expected="violated"),
            _bound_with_printed_rounds(finite),
            _emptiness(expectation),
            runs("limit", violated="limit-E", without=_APART if "weighted" in expectation else None),
        ),
        smoke=smoke,
        uses=(finite.id,),
    )


def _repaired(id_: str, printed: Statement, finite: Statement, expectation: str, runs: Runs) -> Statement:
    return replace(
        printed,
        id=id_,
        prescription=lambda s: _prescription(s, printed=False),
        checks=battery(
            limit(finite, "alpha"),
            prescribes_as(finite, "nothing replaced"),
            _emptiness(expectation),
            runs("limit limit-E-rounds limit-independent"),
        ),
        uses=(finite.id,),
    )


EQ4 = _printed("das2022.eq4", "4", "E_gap", CLIP, theorem4.A, smoke=("nearly linear objective, E = 2",))
EQ5 = _printed("das2022.eq5", "5", "E_weighted_gap", NORMALISE, theorem4.B)

STATEMENTS = (
    EQ4,
    EQ5,
    _repaired("das2022.eq4.repaired", EQ4, theorem4.A, "E_gap", CLIP),
    _repaired("das2022.eq5.repaired", EQ5, theorem4.B_REPAIRED, "E_weighted_gap", NORMALISE),
)
