"""algebra: exact facts about printed formulas (units, special cases, limits, consistency between two printings)."""

from __future__ import annotations

import time

from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Outcome, Statement
from dpfl_theory.core.evidence import Evidence, of_outcome
from dpfl_theory.core.formula import prescription_of, record_requested, sides_of
from dpfl_theory.statements.units import DIMENSIONLESS, Unit, UnitError, format_unit, unit_of


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one algebra check; its ``build(statement, instance)`` returns an `Outcome`.

    Raises ValueError for a check that holds although it neither read the statement's sides nor names its part.
    """
    started = time.perf_counter()
    with record_requested() as found:
        outcome: Outcome = check.make(statement)
    if outcome.true and statement.sides is not None and not check.part and statement not in found:
        raise ValueError(f"the check {check.name!r} never reads the statement's sides: read them, or set part")
    return of_outcome(statement, check, outcome, "cpu (symbolic)", time.perf_counter() - started)


def homogeneous(statement: Statement) -> Outcome:
    """Whether every term of both sides, and every prescribed hyper-parameter, has the unit it must have."""
    assert statement.sides is not None
    sides = sides_of(statement)
    seen: dict[str, Unit] = {}
    try:
        for side, terms in (("left", sides.lhs), ("right", sides.rhs)):
            for name, expression in terms.items():
                if expression == 0:
                    continue  # a literal zero has every unit
                seen[f"{side} {name}"] = unit_of(expression, statement.units)
        if statement.prescription is not None:
            for name, expression in prescription_of(statement).items():
                unit, declared = unit_of(expression, statement.units), statement.units.get(name, DIMENSIONLESS)
                if unit != tuple(declared):
                    given = f"{name} is declared in {format_unit(declared)}"
                    return Outcome(False, f"{given} but prescribed in {format_unit(unit)}")
    except UnitError as error:
        return Outcome(False, f"a formula is not homogeneous: {error}")
    units = set(seen.values())
    described = {name: format_unit(unit) for name, unit in seen.items()}
    if len(units) > 1:
        shown = ", ".join(f"{k}: {v}" for k, v in described.items())
        return Outcome(False, f"the terms differ in unit: {shown}", described)
    unit_text = format_unit(next(iter(units)))
    return Outcome(True, f"all terms have unit {unit_text}, and every prescription has its declared unit", described)
