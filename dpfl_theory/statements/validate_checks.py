"""Validation of a statement's checks: their methods, names, verdicts and instances."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.methods import UNITS
from dpfl_theory.errors import unknown_name
from dpfl_theory.statements.source_location import Lines
from dpfl_theory.statements.validate_words import VERDICTS, accepts_arguments, is_printable_line, one_of

__all__ = ["not_compared", "of_checks"]

OF_CHECKS = (*VERDICTS, "inconclusive", "not-applicable")
LARGEST_INSTANCE = 100_000
"""The most characters of an instance as JSON."""


def of_checks(statement: Statement, lines: Lines) -> Iterator[str]:
    """Faults of its checks, and of its recorded verdict compared with theirs."""
    for (method, name), count in Counter((c.method, c.name) for c in statement.checks).items():
        if count > 1:
            yield f"{count} checks by {method} are called {name!r}: give each its own name{lines.line_of(name)}"
    verdicts = {c.expected for c in statement.checks} | ({"violated"} if not statement.homogeneous else set())
    if statement.expected == "violated" and "violated" not in verdicts:
        told_ = "and none of its checks expects that: record it with the check that refutes it, as expected='violated'"
        yield f"its expected verdict is 'violated', {told_}{lines.line_of('violated', statement.id, statement.title)}"
    for check in statement.checks:
        for fault in _of_check(statement, check):
            yield f"check {check.name!r}: {fault}{lines.line_of(check.name) or lines.of_function(check.build)}"


def _of_check(statement: Statement, check: Check) -> Iterator[str]:
    if check.method not in methods.known():
        yield str(unknown_name("method", check.method, methods.known()))
        return
    if methods.get(check.method).simulates and statement.sides is None and not check.part:
        yield "a run is compared with the statement's sides, and it has no sides: give sides"
    if fault := not_compared(statement, check):
        yield fault
    if told_ := one_of("its expected verdict", check.expected, OF_CHECKS):
        yield told_
    if not callable(check.build) or not accepts_arguments(check.build, 2):
        yield "its build must take (statement, instance)"
    if not is_printable_line(check.name):
        yield "its name is shown in evidence: write a line of text"
    if statement.sides is not None and (check.method, check.name) == ("algebra", UNITS):
        yield "this is the name of the check of units, which every formula gets: give it another name"
    part: Any = check.part
    if not isinstance(part, str):
        yield f"its part is {part!r}: say in a sentence which step it decides, or leave it out"
    instance: Any = check.instance
    if not isinstance(instance, Mapping):
        yield f"its instance is {instance!r}: give a mapping of names to plain data"
        return
    try:
        size = len(json.dumps(check.instance))
    except (TypeError, ValueError, RecursionError) as error:
        yield f"its instance is not plain data, and evidence stores it as JSON: {error}"
        return
    if size > LARGEST_INSTANCE:
        yield (
            f"its instance has {size} characters as JSON, which all evidence would repeat: give at most "
            f"{LARGEST_INSTANCE}, and make large data in build"
        )


def not_compared(statement: Statement, check: Check) -> str | None:
    """Why the check's method cannot compare the statement's sides; None where it can."""
    method = methods.get(check.method)
    if statement.sides is None or check.part or method.compares_by(statement.relation):
        return None
    other = "; exchange the two sides and state <=" if statement.relation == ">=" else ""
    by = " and ".join(method.relations or ())
    return f"{check.method} compares by {by}, and not by {statement.relation}{other}"
