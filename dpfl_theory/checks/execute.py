"""Execution of one check: the checks of a statement, and the evidence of each."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.hypotheses import BuildError
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.validate_build import guarded
from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.evidence import ENDED, Evidence
from dpfl_theory.core.formula import SidesError
from dpfl_theory.core.methods import UNITS
from dpfl_theory.errors import CheckError, DpflError, InputError, InstanceError, WorkLimitError, format_error, place
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.runtime.recorded_warnings import counted, recorded
from dpfl_theory.runtime.time_limits import TimeoutExceeded, WorkerDied, limited
from dpfl_theory.statements.source_location import Lines, line_of
from dpfl_theory.statements.validate import not_compared


@functools.cache
def checks_of(statement: Statement) -> tuple[Check, ...]:
    """Every check of a statement: the checks that every displayed formula gets by default, then its own.

    >>> [c.name for c in checks_of(catalogue.get("das2022.theorem4a"))][0]
    'units'
    """
    if statement.sides is None:
        return statement.checks

    def units(statement: Statement, _: Any) -> Any:
        from dpfl_theory.checks.algebra import homogeneous

        return homogeneous(statement)

    recorded = "holds" if statement.homogeneous else "violated"
    standing = Check("algebra", UNITS, units, expected=recorded, smoke=statement.units_in_smoke)
    return (standing, *statement.checks)


def run_one(statement: Statement, c: Check, settings: Settings) -> Evidence:
    """The evidence of one check, on one thread, so that its numbers do not depend on the number of cores."""
    if settings.out_of_time:
        reason = "the time budget was spent before this check started; give a larger budget"
        return Evidence.of_check(statement, c, "inconclusive", reason)
    method = methods.get(c.method)
    if fault := not_compared(statement, c):
        raise CheckError(f"check {c.name!r} of {statement.id}: {fault}")
    ours, seconds = statement.paper in catalogue.papers(), settings.most_seconds
    started = time.perf_counter()

    def run(own: Settings) -> Evidence:
        with one_thread() if method.threads else contextlib.nullcontext():
            try:
                with recorded() as warned:
                    found = run_method(statement, c if ours else guarded(statement, c), own)
                found = replace(found, part=c.part, warnings=counted(warned))
                return found if ours else _plain(found)
            except WorkLimitError as error:
                seconds_spent = time.perf_counter() - started
                return Evidence.of_check(statement, c, "inconclusive", f"not started: {error}", seconds=seconds_spent)
            except BuildError as error:
                raise CheckError(cannot(statement, c, error)) from error
            except InputError as error:
                if ours or isinstance(error, CheckError):
                    raise
                raise CheckError(cannot(statement, c, error)) from error
            except DpflError:
                raise
            except Exception as error:
                if ours:
                    error.add_note(place(error))  # the traceback does not leave this process
                    raise  # an error of this package
                raise CheckError(cannot(statement, c, error)) from error
            except BaseException as error:  # an exit does not end this program
                if isinstance(error, KeyboardInterrupt) and seconds is None:
                    raise  # a copy of this process needs no progress
                raise CheckError(cannot(statement, c, error)) from error

    try:
        if seconds is None:
            return run(settings)
        tell = settings.progress or (lambda _: None)
        return limited(lambda: run(replace(settings, progress=None)), seconds, lambda: tell(0.0))
    except (TimeoutExceeded, WorkerDied) as error:
        message = f"{error}: give a larger limit, or smaller instances"
        spent = time.perf_counter() - started
        return Evidence.of_check(statement, c, "inconclusive", message, notes={ENDED: True}, seconds=spent)


def _plain(evidence: Evidence) -> Evidence:
    """The evidence of a user's check. Raises ValueError where it is no plain data."""
    try:
        json.dumps(evidence.to_json(), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = "its build returns something other than plain data, and evidence stores it as JSON"
        raise BuildError(f"{message} ({format_error(error)}): return only numbers and text") from error
    return evidence


def cannot(statement: Statement, c: Check, error: BaseException) -> str:
    """The sentence for a user's check that raised."""
    if isinstance(error, SidesError):
        return f"check {c.name!r} of {statement.id} cannot be run: {error}{_at(error, statement.sides or c.build)}"
    function = getattr(error, "function", None)
    given = _where_given(statement, c) if isinstance(error, InstanceError) else ""
    what = "that test" if function is not None else "that instance" if given else "its build"
    why = str(error).strip().rstrip(".") if isinstance(error, (BuildError, InputError)) else format_error(error)
    at = given or _at(error if function is not None else error.__cause__ or error, function or c.build)
    return f"check {c.name!r} of {statement.id} cannot be run: {why}; correct {what}{at}"


def _where_given(statement: Statement, c: Check) -> str:
    """The place of the check's instance, which is that of its name; empty where no file has it."""
    code = getattr(inspect.unwrap(statement.sides or c.build), "__code__", None)
    try:
        file = Path(code.co_filename)  # type: ignore[union-attr]
        return Lines(file.read_text(encoding="utf-8"), file).line_of(c.name)
    except (AttributeError, OSError, SyntaxError, ValueError):
        return ""


def _at(error: BaseException, function: Callable[..., Any]) -> str:
    """The line of the user's file that raised, or where the function to correct starts."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    file = Path(code.co_filename)
    return line_of(error, file) or f" ({file.name}, line {code.co_firstlineno})"


def run_method(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of a check, from ``run`` of its method's module.

    The module is imported by its name, so that evidence of one method does not depend on the code of the others
    (`dpfl_theory.checks.change_detection`).
    """
    runner = importlib.import_module(methods.get(check.method).runner)
    evidence: Evidence = runner.run(statement, check, settings)
    return evidence
