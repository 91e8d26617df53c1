"""Hypotheses on an instance: the first one that it does not meet, whatever the method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.model import Statement

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["numbers", "unmet"]


def numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The letters among these values that are numbers, and no quantities of a performance estimation problem."""
    return {name: v for name, v in values.items() if type(v).__module__.split(".")[0] != "PEPit"}


def unmet(statement: Statement, values: Mapping[str, Any], problem: Problem | None = None) -> tuple[str, str] | None:
    """The first hypothesis that these values of the letters, and the problem where there is one, do not meet, and how
    it fails; None where all are met.

    ValueError where a hypothesis reads a letter that has no value. One that reads a quantity of a performance
    estimation problem is not tested here: whoever made the problem wrote it down as a constraint.
    """
    known = numbers(values)
    for assumption in statement.assumptions:
        try:
            failure = assumption.test(problem, known)
        except KeyError as error:
            name = error.args[0]
            if name in values or f"{name}^2" in values:
                continue
            where = ", ".join(f"{k} = {v}" for k, v in values.items())
            told = f"the point {where} does not name {name}, which the hypothesis {assumption.text!r} reads"
            raise ValueError(f"{statement.id}: {told}") from None
        if failure is not None:
            return assumption.text, failure
    return None
