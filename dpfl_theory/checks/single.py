"""One check: those that a statement has, and the evidence of each."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpfl_theory import methods
from dpfl_theory import statements as catalogue
from dpfl_theory.checks.evidence import ENDED, Evidence
from dpfl_theory.checks.settings import Settings
from dpfl_theory.errors import DpflError, InputError, place, told
from dpfl_theory.limited import OutOfTime, Vanished, limited
from dpfl_theory.processes import one_thread
from dpfl_theory.statements.model import UNITS, Check, Statement
from dpfl_theory.statements.valid import line_of, not_compared

__all__ = ["checks_of", "run_one"]


@functools.cache
def checks_of(statement: Statement) -> tuple[Check, ...]:
    """Every check of a statement: those that every displayed formula gets without being asked, then its own.

    >>> [c.name for c in checks_of(catalogue.get("das2022.theorem4a"))][0]
    'units'
    """
    if statement.sides is None:
        return statement.checks

    def units(of: Statement, _: Any) -> Any:
        from dpfl_theory.checks.algebra import homogeneous

        return homogeneous(of)

    recorded = "holds" if statement.homogeneous else "violated"
    standing = Check("algebra", UNITS, units, expected=recorded, smoke=statement.units_in_smoke)
    return (standing, *statement.checks)


def run_one(statement: Statement, c: Check, settings: Settings) -> Evidence:
    """The evidence of one check, on one thread: its numbers depend on nobody's number of cores."""
    if settings.out_of_time:
        reason = "the time budget was spent before this check began; give more"
        return Evidence(statement.id, c.method, c.name, "inconclusive", c.expected, reason, instance=c.instance)
    method = methods.get(c.method)
    if fault := not_compared(statement, c):
        raise InputError(f"check {c.name!r} of {statement.id}: {fault}")

    def run(own: Settings) -> Evidence:
        with one_thread() if method.threads else contextlib.nullcontext():
            return replace(method.run(statement, c, own), part=c.part)

    seconds = settings.most_seconds
    try:
        outcome = run(settings) if seconds is None else limited(lambda: run(replace(settings, progress=None)), seconds)
    except (OutOfTime, Vanished) as error:
        return _ended(statement, c, f"{error}: give it more, or smaller instances")
    except DpflError:
        raise
    except Exception as error:
        if statement.paper in catalogue.papers():
            error.add_note(place(error))  # the traceback does not leave this process
            raise  # our own mistake
        sentence = f"check {c.name!r} of {statement.id} cannot be run: {told(error)}; correct its build{_at(error, c)}"
        raise InputError(sentence) from error
    return outcome


def _ended(statement: Statement, c: Check, why: str) -> Evidence:
    """The evidence of a check that was ended, or whose process was."""
    about = {"instance": c.instance, "notes": {ENDED: True}}
    return Evidence(statement.id, c.method, c.name, "inconclusive", c.expected, why, **about)  # type: ignore[arg-type]


def _at(error: Exception, c: Check) -> str:
    """The line of the user's file that raised, or in which the check's ``build`` begins."""
    code = getattr(c.build, "__code__", None)
    if code is None:
        return ""
    file = Path(code.co_filename)
    return line_of(error, file) or f" ({file.name}, line {code.co_firstlineno})"
