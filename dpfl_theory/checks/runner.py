"""Runs checks: the choice, the order, the shares of the false-alarm budget, and the number of processes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.cache import load_stored, places, store_evidence
from dpfl_theory.checks.execute import checks_of, run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.workers import Task, name_of, work_of
from dpfl_theory.core import Check, Statement
from dpfl_theory.core import methods as known_methods
from dpfl_theory.core.evidence import Evidence, EvidenceList, document, kind_of, statement_verdict
from dpfl_theory.core.prose import plain
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import DEVICES
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.evidence_table import check_seconds
from dpfl_theory.runtime.executor import run_pieces, several
from dpfl_theory.runtime.slots import StoredResult
from dpfl_theory.runtime.threads import usable_cores
from dpfl_theory.statements.power import Power

__all__ = [
    "Report",
    "check",
    "checks_of",
    "expected_seconds",
    "plan",
    "report_of",
    "run_one",
    "run_plan",
    "settings_of",
    "suitable_jobs",
    "tasks_of",
]

Pair = tuple[Statement, Check]

Progress = Callable[[int, int, str, float], None]
"""Called with (checks done, number of checks, the running check, share of it that is done)."""

_WORTH_A_PROCESS = 10.0
"""Seconds of work that justify the start of a process."""


@dataclass(frozen=True)
class Report:
    """Evidence with the recorded verdict of each statement, and the reading of statements that have several.

    It has the errors that their checks could detect, where that was measured (`dpfl_theory.checks.power`)."""

    evidence: tuple[Evidence, ...]
    expected: dict[str, str]
    alpha: float
    seconds: float
    readings: dict[str, str]
    power: dict[str, Power] = field(default_factory=dict)
    reused: int = 0
    """The number of checks whose evidence came from a store."""
    profile: str = ""
    """The profile that chose the checks (`dpfl_theory.checks.profiles`); empty where they were chosen individually."""

    def to_json(self) -> dict[str, Any]:
        """The document of `check --format json`."""
        made = document(self.evidence, self.expected, self.alpha, self.seconds)
        for id_, reading in self.readings.items():
            made["summary"]["statements"][id_]["reading"] = reading
        if self.profile:
            made["profile"] = self.profile
        if self.power:
            made["power"] = {id_: power.to_json() for id_, power in self.power.items()}
        return made


def plan(statements: Iterable[Statement], methods: Sequence[str] = ()) -> list[Pair]:
    """Every check of the statements by the methods (all methods when none is named), cheap methods first."""
    for method in methods:
        known_methods.get(method)
    pairs = [(s, c) for s in statements for c in checks_of(s) if not methods or c.method in methods]
    order = {m: i for i, m in enumerate(known_methods.known())}
    return sorted(pairs, key=lambda pair: order[pair[1].method])


def suitable_jobs(pairs: Sequence[Pair]) -> int:
    """The number of processes worth starting for these checks: one for every few seconds of work, at most one per core.

    >>> suitable_jobs([])
    1
    """
    return max(1, min(usable_cores(), len(pairs), math.ceil(sum(expected_seconds(pairs)) / _WORTH_A_PROCESS)))


def expected_seconds(pairs: Sequence[Pair]) -> list[float]:
    """The expected time of each of these checks on one core: a guess for their order and the number of processes."""
    return [check_seconds(statement.id, c.method, c.name) for statement, c in pairs]


def run_plan(
    pairs: Sequence[Pair],
    *,
    alpha: float = 1e-6,
    seed: int = 0,
    device: str = "auto",
    budget: float | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    file: Path | None = None,
    store: Store | None = None,
    fresh: bool = False,
    limit: float | None = None,
    ended: Callable[[int, Evidence], None] | None = None,
) -> Report:
    """Run the planned checks. alpha is split evenly over the Monte-Carlo checks; budget caps the seconds.

    limit: seconds after which a check is stopped; each runs in a process of its own. The remaining budget is a limit
    then, too. Where it is None, a check that has started is finished.

    jobs: the number of processes, 1 for this one. The evidence is the same for every number, apart from seconds and
    from what a budget cuts.

    file: the file that statements outside the catalogue were loaded from.

    store: stored evidence is reused, unless ``fresh``, and that of the other checks is stored as soon as they end.

    ended: called with a check's number and its evidence as soon as it is available.
    """
    if budget is not None and not budget > 0.0:
        raise InputError(f"`budget` is {budget} seconds: give a positive number")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"`jobs` is {jobs!r}: a whole number of at least 1 is needed")
    started = time.perf_counter()
    settings = settings_of(pairs, alpha, seed, device)
    if limit is not None:
        if not limit > 0.0:
            raise InputError(f"`limit` is {limit} seconds: give a positive number")
        settings = replace(settings, limit=limit)
    if budget is not None:
        settings = replace(settings, deadline=time.monotonic() + budget)
    where = places(pairs, settings, store, file)
    found = {} if fresh else load_stored(where)
    left = [i for i in range(len(pairs)) if i not in found]
    heard = ended or (lambda i, one: None)
    for i, one in found.items():
        heard(i, one)
    own, slots, spread_ = [pairs[i] for i in left], [where[i] for i in left], several(jobs, len(left))

    def tell(remaining: Sequence[int], part: float = 0.0) -> None:
        if progress is not None:
            statement, c = own[remaining[0]]
            progress(len(own) - len(remaining), len(own), f"{statement.id} {c.method} {c.name}", part)

    def here(i: int) -> StoredResult[Evidence]:
        told = replace(settings, progress=lambda part: tell(range(i, len(own)), part))
        return store_evidence(slots[i], run_one(*own[i], told), told)

    def done(i: int, end: StoredResult[Evidence]) -> None:
        heard(left[i], end.result)
        if store is not None:
            store.report_problem(end.trouble)

    order = list(range(len(own)))
    if spread_ and budget is None:  # long ones first for balance; cheap ones first where a budget may cut some
        usual = expected_seconds(own)
        order.sort(key=lambda i: -usual[i])
    pieces = work_of(tasks_of(own, file), settings, slots) if spread_ else [partial(here, i) for i in order]
    ends = run_pieces(pieces, jobs, order, done=done, waiting=tell)
    evidence = found | {i: end.result for i, end in zip(left, ends)}
    if progress is not None:
        progress(len(pairs), len(pairs), "", 0.0)
    made = report_of(pairs, [evidence[i] for i in range(len(pairs))], alpha, time.perf_counter() - started)
    return replace(made, reused=len(found))


def settings_of(pairs: Sequence[Pair], alpha: float, seed: int, device: str) -> Settings:
    """The settings of these checks: alpha is split evenly over the checks that simulate. Raises InputError for invalid
    values."""
    if not 0.0 < alpha < 1.0:
        raise InputError(f"`alpha` is {alpha}: the false-alarm probability must lie in (0, 1)")
    if device not in DEVICES:
        raise InputError(f"`device` is {device!r}: choose one of {', '.join(DEVICES)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise InputError(f"`seed` is {seed!r}: a whole number of at least 0 and below 2^64 is needed")
    return Settings(seed, alpha / max(1, sum(known_methods.get(c.method).simulates for _, c in pairs)), device, None)


def report_of(
    pairs: Sequence[Pair], evidence: Sequence[Evidence], alpha: float, seconds: float, profile: str = ""
) -> Report:
    """The report of these checks, one piece of evidence for each. profile: the one that chose them, if any."""
    readings = {statement.id: plain(statement.reading) for statement, _ in pairs if statement.reading}
    return Report(tuple(evidence), _expected(pairs), alpha, seconds, readings, profile=profile)


def tasks_of(pairs: Sequence[Pair], file: Path | None = None) -> list[Task]:
    """The names by which other processes find these checks."""
    return [name_of(statement, checks_of(statement).index(c), file) for statement, c in pairs]


def _expected(pairs: Sequence[Pair]) -> dict[str, str]:
    """The recorded verdict: that of the statement when all of its checks run, else the known verdict of these
    checks."""
    expected: dict[str, str] = {}
    for statement in dict.fromkeys(s for s, _ in pairs):
        own = [c for s, c in pairs if s is statement]
        if len(own) == len(checks_of(statement)):
            expected[statement.id] = statement.expected
        else:
            expected[statement.id] = statement_verdict((kind_of(c.method, c.name), c.expected) for c in own)
    return expected


def check(
    *statements: Statement | str,
    paper: str | None = None,
    methods: Sequence[str] = (),
    alpha: float = 1e-6,
    seed: int = 0,
    device: str = "auto",
    budget: float | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
) -> EvidenceList:
    """Check statements (ids or `Statement` objects; all of a paper, or of the catalogue, when none is named).

    Returns one `Evidence` for each check. Monte-Carlo verdicts share the false-alarm probability ``alpha``. With more
    than one of ``jobs``, statements of the catalogue are checked in that many processes; a script that asks for them
    does so below ``if __name__ == "__main__":``.

    >>> [e.verdict for e in check("das2022.theorem4a", methods=("algebra",))][0]
    'holds'
    """
    if statements:
        chosen = tuple(catalogue.get(s) if isinstance(s, str) else s for s in statements)
    else:
        chosen = catalogue.select((), paper)
    report = run_plan(
        plan(chosen, methods), alpha=alpha, seed=seed, device=device, budget=budget, progress=progress, jobs=jobs
    )
    return EvidenceList(report.evidence)
