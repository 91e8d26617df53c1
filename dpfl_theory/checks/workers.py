"""Checks for other processes. A process receives only the name of a check (its statement and its number there) and the
settings, and sends back the evidence: the same as in one process.

Every check has one thread in every process: how a matrix product is split over threads changes its last digits.
"""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.cache import Place, store_evidence
from dpfl_theory.checks.execute import checks_of, run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Statement
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.recorded_warnings import recorded
from dpfl_theory.runtime.slots import StoredResult


@dataclass(frozen=True)
class Task:
    """The name of a check: its statement, the statement's file if it is not the catalogue's, and the check's number."""

    statement: str
    number: int
    file: str | None = None

    def find(self) -> Statement:
        """The statement of this task."""
        if self.file is None:
            return catalogue.get(self.statement)
        return next(s for s in _loaded(self.file) if s.id == self.statement)


@functools.cache
def _loaded(file: str) -> tuple[Statement, ...]:
    with recorded():  # the requesting process has them already
        return catalogue.load_file(file)


def name_of(statement: Statement, number: int, file: Path | None = None) -> Task:
    """The name by which another process finds a check. Raises InputError for a statement that no file defines.

    >>> name_of(catalogue.get("das2022.theorem4a"), 0)
    Task(statement='das2022.theorem4a', number=0, file=None)
    """
    if any(statement is s for s in catalogue.all_statements()):
        return Task(statement.id, number)
    if file is None:
        message = f"{statement.id} is not a statement of the catalogue, and other processes cannot find it: use one job"
        raise InputError(message)
    return Task(statement.id, number, str(file.resolve()))


def work_of(
    tasks: Sequence[Task], settings: Settings, places: Sequence[Place | None]
) -> list[Callable[[], StoredResult[Evidence]]]:
    """The function that another process calls for the evidence of each task, which it stores at once."""
    # Clocks that cannot be set start at a different time in each process on some systems.
    ends = None if settings.deadline is None else time.time() + settings.deadline - time.monotonic()
    sent = replace(settings, deadline=None, progress=None)
    return [functools.partial(_evidence, task, sent, ends, place) for task, place in zip(tasks, places, strict=True)]


def _evidence(task: Task, settings: Settings, ends: float | None, place: Place | None) -> StoredResult[Evidence]:
    """A worker's part: the evidence of one task. ``ends``: the time of day after which no further work is started."""
    deadline = None if ends is None else time.monotonic() + ends - time.time()
    statement = task.find()
    check = checks_of(statement)[task.number]
    own = replace(settings, deadline=deadline)
    found = run_one(statement, check, own)
    try:
        pickle.dumps(found)
    except Exception as error:
        message = f"the evidence of {task.statement}, check {check.name!r}, cannot be read by another process ({error})"
        raise InputError(f"{message}: return only numbers and text, or use `jobs=1`") from error
    return store_evidence(place, found, own)
