"""Runs checks: which ones, in which order, with which share of the false-alarm budget."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.evidence import Evidence, document, statement_verdict
from dpfl_theory.checks.settings import Settings
from dpfl_theory.errors import DpflError, InputError, unknown_name
from dpfl_theory.kernels import DEVICES
from dpfl_theory.statements.model import METHODS, Check, Statement

__all__ = ["Report", "check", "plan"]

Progress = Callable[[int, int, str, float], None]
"""Called with (checks done, checks in all, what is running, share of it that is done)."""


@dataclass(frozen=True)
class Report:
    """Evidence with what was expected of each statement."""

    evidence: tuple[Evidence, ...]
    expected: dict[str, str]
    alpha: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The document of `check --format json`."""
        return document(self.evidence, self.expected, self.alpha, self.seconds)


def plan(statements: Iterable[Statement], methods: Sequence[str] = ()) -> list[tuple[Statement, Check]]:
    """Every check of the statements by the methods (all methods when none is named), cheap methods first."""
    for method in methods:
        if method not in METHODS:
            raise unknown_name("method", method, METHODS)
    pairs = [
        (statement, c)
        for statement in statements
        for c in (*_standing_checks(statement), *statement.checks)
        if not methods or c.method in methods
    ]
    order = {m: i for i, m in enumerate(("algebra", "exact", "privacy", "worst-case", "monte-carlo"))}
    return sorted(pairs, key=lambda pair: order[pair[1].method])


def _standing_checks(statement: Statement) -> tuple[Check, ...]:
    """Checks that every displayed formula gets without being asked."""
    if statement.sides is None:
        return ()

    def units(_: Any) -> Any:
        from dpfl_theory.checks.algebra import homogeneous

        return homogeneous(statement)

    return (Check("algebra", "units", units, expected="holds" if statement.homogeneous else "violated"),)


def run_plan(
    pairs: Sequence[tuple[Statement, Check]],
    *,
    alpha: float = 1e-6,
    seed: int = 0,
    device: str = "auto",
    budget: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run the planned checks. alpha is split evenly over the Monte-Carlo checks; budget caps the seconds."""
    if not 0.0 < alpha < 1.0:
        raise InputError(f"alpha is {alpha}: the false-alarm budget must lie in (0, 1)")
    if device not in DEVICES:
        raise InputError(f"device {device!r} is unknown: choose one of {', '.join(DEVICES)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise InputError(f"the seed is {seed!r}: a whole number of at least 0 and below 2^64 is needed")
    if budget is not None and not budget > 0.0:
        raise InputError(f"the budget is {budget} seconds: give a positive number")
    begun = time.perf_counter()
    share = alpha / max(1, sum(c.method == "monte-carlo" for _, c in pairs))
    settings = Settings(seed, share, device, None if budget is None else time.monotonic() + budget)
    evidence: list[Evidence] = []
    for done, (statement, c) in enumerate(pairs):
        label = f"{statement.id} {c.method} {c.name}"

        def tell(part: float, at: int = done, what: str = label) -> None:
            if progress is not None:
                progress(at, len(pairs), what, part)

        tell(0.0)
        evidence.append(_run_one(statement, c, replace(settings, progress=tell)))
    if progress is not None:
        progress(len(pairs), len(pairs), "", 0.0)
    return Report(tuple(evidence), _expected(pairs), alpha, time.perf_counter() - begun)


def _run_one(statement: Statement, c: Check, settings: Settings) -> Evidence:
    if settings.out_of_time:
        reason = "the time budget was spent before this check began; raise --budget"
        return Evidence(statement.id, c.method, c.name, "inconclusive", c.expected, reason, instance=c.instance)
    module = importlib.import_module(f"dpfl_theory.checks.{c.method.replace('-', '_')}")
    try:
        outcome: Evidence = module.run(statement, c, settings)
    except DpflError:
        raise
    except Exception as error:
        if statement.paper in catalogue.papers():
            raise  # our own mistake
        told = f"check {c.name!r} of {statement.id} cannot be run: {type(error).__name__}: {error}; correct its build"
        raise InputError(told) from error
    return outcome


def _expected(pairs: Sequence[tuple[Statement, Check]]) -> dict[str, str]:
    """What the catalogue records: of the statement when all of its checks are run, else what these checks are known
    to give."""
    expected: dict[str, str] = {}
    for statement in dict.fromkeys(s for s, _ in pairs):
        own = [c for s, c in pairs if s is statement]
        complete = len(own) == len(statement.checks) + len(_standing_checks(statement))
        expected[statement.id] = (
            statement.expected if complete else statement_verdict((c.method, c.expected) for c in own)
        )
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
) -> list[Evidence]:
    """Check statements (ids or `Statement` objects; all of a paper, or of the catalogue, when none is named).

    Returns one `Evidence` for each check. Monte-Carlo verdicts share the false-alarm probability ``alpha``.

    >>> [e.verdict for e in check("das2022.theorem4a", methods=("algebra",))][0]
    'holds'
    """
    if statements:
        chosen = tuple(catalogue.get(s) if isinstance(s, str) else s for s in statements)
    else:
        chosen = catalogue.select((), paper)
    report = run_plan(plan(chosen, methods), alpha=alpha, seed=seed, device=device, budget=budget, progress=progress)
    return list(report.evidence)
