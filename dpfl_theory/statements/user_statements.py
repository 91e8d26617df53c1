"""A user's own statement file: executed under guard, since it may do anything, and validated before use."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.errors import EnvironmentFault, InputError, format_error
from dpfl_theory.runtime.atomic_files import printed_aside
from dpfl_theory.runtime.recorded_warnings import recorded
from dpfl_theory.runtime.time_limits import TimeoutExceeded, WorkerDied, at_most, limited
from dpfl_theory.statements.source_location import line_of
from dpfl_theory.statements.validate import faults_of_file
from dpfl_theory.statements.words import documented_beside


class _FileError(InputError):
    """A fault of the file whose sentence names the file."""


def loaded(file: Path, catalogue: Mapping[str, Statement], seconds: float) -> tuple[Statement, ...]:
    """The statements of a file, whose import may take this number of seconds; ``catalogue``: those that it may refer to
    and must not shadow.

    Its output goes to stderr. Raises InputError where it cannot be imported, ends this process, or defines no
    statements. It also raises it with every fault of its statements and the line (`dpfl_theory.statements.validate`).
    """
    _try_in_subprocess(file, seconds)
    with _import_errors(file), at_most(seconds), printed_aside():
        found = _executed(file)
        found_faults = faults_of_file(found, file, catalogue)
    if found_faults:
        raise InputError(f"statement file {str(file)!r}: {'; '.join(found_faults)}")
    return found


def _try_in_subprocess(file: Path, seconds: float) -> None:
    """Run the file, and its formulas, in a copy of this process first. Compiled code that never ends, and code that
    ends the process, end only the copy. Raises as `loaded`."""
    importlib.import_module("sympy")  # here, so that neither process has to import it

    def run() -> None:
        with _import_errors(file, alone=True), recorded(copy=True):  # warnings are given again below
            for statement in _executed(file):
                for of in filter(callable, (statement.sides, statement.prescription)):
                    with contextlib.suppress(Exception):  # which `faults_of_file` reports
                        of(symbols_of(statement))

    try:
        limited(run, seconds)
    except (TimeoutExceeded, WorkerDied) as error:
        raise InputError(f"statement file {str(file)!r} cannot be imported: {error}") from error
    except EnvironmentFault:  # this system has no copies of processes
        return


@contextlib.contextmanager
def _import_errors(file: Path, alone: bool = False) -> Iterator[None]:
    """Exceptions raised inside are reported as faults of the file. alone: whether only the file can interrupt here."""
    try:
        yield
    except _FileError:
        raise
    except BaseException as error:  # an exit, too, is a fault of the file
        if isinstance(error, KeyboardInterrupt) and not alone:
            raise
        if isinstance(error, InputError):
            why = f"{error}{line_of(error, file)}"
        else:
            why = str(error) if isinstance(error, TimeoutExceeded) else f"{format_error(error)}{line_of(error, file)}"
        raise _FileError(f"statement file {str(file)!r} cannot be imported: {why}") from error


def _executed(file: Path) -> tuple[Statement, ...]:
    """The statements that the file defines."""
    spec = importlib.util.spec_from_file_location(f"dpfl_theory_user_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, "STATEMENTS", ())
    if not isinstance(found, (tuple, list)) or not found or not all(isinstance(s, Statement) for s in found):
        raise _FileError(f"statement file {str(file)!r} defines no STATEMENTS: set it to a tuple of Statement objects")
    words = file.with_suffix(".md")
    if not words.is_file():
        return tuple(found)
    return tuple(documented_beside(found, words.read_text(encoding="utf-8")))
