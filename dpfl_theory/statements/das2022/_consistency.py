"""Algebra checks that the statements of das2022 share: special cases, limits and prescriptions that must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import letters_of, prescription_of, total
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.symbolic import equal

__all__ = ["agreeing_prescriptions", "limit", "same_sides", "sides_difference", "specialises"]


def same_sides(first: Statement, swaps: Mapping[Any, Any], second: Statement, how: str) -> Outcome:
    """Whether both sides of the first statement, with its symbols replaced, are those of the second."""
    outcomes = [
        equal(total(first, side).subs(swaps), total(second, side), f"{side} of {first.id} {how} against {second.id}")
        for side in ("lhs", "rhs")
    ]
    return next((o for o in outcomes if not o.true), outcomes[-1])


def sides_difference(statement: Statement) -> Any:
    """lhs - rhs."""
    return total(statement, "lhs") - total(statement, "rhs")


def _substituted(
    statement: Statement, replace: Callable[[Mapping[str, Any]], Mapping[str, Any]], target: Statement
) -> Any:
    """lhs - rhs of ``statement`` with letters replaced by expressions of the target's letters."""
    own, new = letters_of(statement), dict(letters_of(target))
    expression = sides_difference(statement)
    swaps = {own[name]: value for name, value in replace(new).items() if name in own}
    swaps.update({own[name]: new[name] for name in own if name in new and own[name] not in swaps})
    return expression.subs(swaps, simultaneous=True)


def specialises(
    general: Statement,
    special: Callable[[], Statement],
    replace: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    how: str,
) -> Check:
    """A check that the special statement's formula is the general one's with letters replaced."""

    def build(_: Mapping[str, Any]) -> Outcome:
        target = special()
        return equal(
            _substituted(general, replace, target),
            sides_difference(target),
            f"{general.id} with {how} against {target.id}",
        )

    return Check("algebra", f"special case of {general.id}", build)


def agreeing_prescriptions(
    first: Statement,
    other: Callable[[], Statement],
    replace: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    how: str,
    expected: str = "holds",
) -> Check:
    """A check that two statements prescribe the same hyper-parameters once letters of the first are replaced."""

    def build(_: Mapping[str, Any]) -> Outcome:
        second = other()
        assert first.prescription is not None
        assert second.prescription is not None
        new = dict(letters_of(second))
        mine, theirs = prescription_of(first), prescription_of(second)
        own = letters_of(first)
        swaps = {own[name]: value for name, value in replace(new).items() if name in own}
        agreed = []
        for name in sorted(mine.keys() & theirs.keys()):
            outcome = equal(
                mine[name].subs(swaps, simultaneous=True),
                theirs[name],
                f"{name} of {first.id} with {how} against {second.id}",
            )
            if not outcome.true:
                return outcome
            agreed.append(name)
        if not agreed:
            return Outcome(False, f"{first.id} and {second.id} prescribe no hyper-parameter in common")
        return Outcome(True, f"{first.id} with {how} and {second.id} prescribe the same {', '.join(agreed)}")

    return Check("algebra", f"prescription agrees with {first.id}", build, expected=expected)


def limit(finite: Statement, target: Callable[[], Statement]) -> Check:
    """A check that the asymptotic statement is the finite one divided by its coefficient, as alpha grows without
    bound."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        s, asymptotic = letters_of(finite), target()
        left, right = total(finite, "lhs"), total(finite, "rhs")
        limits = [sp.limit(side, s["alpha"], sp.oo) for side in (left, right)]
        printed = [total(asymptotic, side) for side in ("lhs", "rhs")]
        return equal(
            limits[0] * printed[1],
            limits[1] * printed[0],
            f"the limit alpha -> oo of {finite.id} against {asymptotic.id}",
        )

    return Check("algebra", f"limit of {finite.id} as alpha grows", build)
