"""Algebra checks that the statements of das2022 share: special cases, limits and prescriptions that must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Statement, Symbols
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import all_equal, equal

__all__ = ["Swaps", "agreeing_prescriptions", "limit", "same_sides", "sides_difference", "specialises"]

Swaps = Callable[[Symbols], Mapping[str, Any]]
"""From the special statement's symbols, the expressions that replace the general one's symbols, by name."""


def same_sides(first: Statement, swaps: Mapping[Any, Any], second: Statement, justification: str) -> Outcome:
    """Whether both sides of the first statement, with its symbols replaced, are those of the second."""
    return all_equal(
        *(
            (
                total(first, side).subs(swaps),
                total(second, side),
                f"{side} of {first.id} {justification} against {second.id}",
            )
            for side in ("lhs", "rhs")
        )
    )


def sides_difference(statement: Statement) -> Any:
    """lhs - rhs."""
    return total(statement, "lhs") - total(statement, "rhs")


def _substituted(statement: Statement, replace: Swaps, target: Statement) -> Any:
    """lhs - rhs of ``statement`` with symbols replaced by expressions of the target's symbols."""
    own, new = symbols_of(statement), symbols_of(target)
    expression = sides_difference(statement)
    swaps = {own[name]: value for name, value in replace(new).items() if name in own}
    swaps.update({own[name]: new[name] for name in own if name in new and own[name] not in swaps})
    return expression.subs(swaps, simultaneous=True)


def specialises(general: Statement, replace: Swaps, justification: str) -> Check:
    """A check that the statement's formula is the general one's with symbols replaced."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        return equal(
            _substituted(general, replace, statement),
            sides_difference(statement),
            f"{general.id} with {justification} against {statement.id}",
        )

    return Check("algebra", f"special case of {general.id}", build)


def agreeing_prescriptions(general: Statement, replace: Swaps, justification: str, expected: str = "holds") -> Check:
    """A check that the statement prescribes what the general one does once symbols of the latter are replaced."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        mine, theirs = prescription_of(general), prescription_of(statement)
        own = symbols_of(general)
        swaps = {own[name]: value for name, value in replace(symbols_of(statement)).items() if name in own}
        shared = sorted(mine.keys() & theirs.keys())
        if not shared:
            return Outcome(False, f"{general.id} and {statement.id} prescribe no hyper-parameter in common")
        found = all_equal(
            *(
                (
                    mine[name].subs(swaps, simultaneous=True),
                    theirs[name],
                    f"{name} of {general.id} with {justification} against {statement.id}",
                )
                for name in shared
            )
        )
        said = f"{general.id} with {justification} and {statement.id} prescribe the same {', '.join(shared)}"
        return Outcome(True, said) if found.true else found

    part = f"It compares the prescription with that of {general.id}; other checks compare the two sides."
    return Check("algebra", f"prescription agrees with {general.id}", build, expected=expected, part=part)


def limit(finite: Statement) -> Check:
    """A check that the asymptotic statement is the finite one divided by its coefficient, as alpha grows without
    bound."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        alpha = symbols_of(finite).alpha
        left, right = (sp.limit(total(finite, side), alpha, sp.oo) for side in ("lhs", "rhs"))
        printed = [total(statement, side) for side in ("lhs", "rhs")]
        return equal(
            left * printed[1], right * printed[0], f"the limit alpha -> oo of {finite.id} against {statement.id}"
        )

    return Check("algebra", f"limit of {finite.id} as alpha grows", build)
