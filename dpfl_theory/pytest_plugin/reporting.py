"""Reporting of theorems to a test: why it fails or is undecided, and the properties of its JUnit entry."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.evidence import UNCHECKED, Evidence, versions
from dpfl_theory.core.prose import plain

if TYPE_CHECKING:
    from dpfl_theory.checks.runner import Report
    from dpfl_theory.core import Statement
    from dpfl_theory.pytest_plugin.session import Checked, Request

OPEN = ("inconclusive", UNCHECKED)
"""The undecided verdicts of a statement."""
_SHOWN = 5
"""How many checks of one statement are reported in full."""


def outcome(ask: Request, checked: Checked) -> tuple[str, str]:
    """The reasons for failure and the undecided statements, each in words; a text is empty where there are none.

    A check fails a test where it is decided and differs from its record. A statement fails it where it is decided and
    its verdict is not the recorded one. Where the test names a verdict, the record must have it too, because some of
    the methods may find that a refuted statement holds.
    """
    failures, undecided = [], []
    for id_, found in checked.report.to_json()["summary"]["statements"].items():
        own = [e for e in checked.report.evidence if e.statement == id_]
        statement = checked.statements[id_]
        recorded = found["verdict"] == found["expected"] != UNCHECKED  # units are never enough
        agreements = {e.agreement for e in own}
        differs = "differs" in agreements or not (recorded or found["verdict"] in OPEN)
        if differs or ask.verdict not in (None, statement.expected):
            failures.append(_failure(ask, statement, found, own))
        elif not recorded or "undecided" in agreements or ask.verdict not in (None, found["verdict"]):
            undecided.append(_undecided(id_, found["verdict"], own))
    return "\n\n".join(failures), "; ".join(undecided)


def properties(ask: Request, report: Report) -> Iterator[tuple[str, str]]:
    """The properties of a test: for each statement its id, verdicts, ratio, alpha and seed; then the versions.

    The names are ``statement``, ``verdict``, ``recorded``, ``ratio`` (the largest of the checks, if any), ``alpha``,
    ``seed`` and ``versions``.
    """
    for id_, found in report.to_json()["summary"]["statements"].items():
        ratios = [e.ratio for e in report.evidence if e.statement == id_ and e.ratio is not None]
        yield "statement", id_
        yield "verdict", found["verdict"]
        yield "recorded", found["expected"]
        if ratios:
            yield "ratio", f"{max(ratios):.6g}"
        yield "alpha", f"{report.alpha:g}"
        yield "seed", str(ask.seed)
    yield "versions", ", ".join(f"{name} {version}" for name, version in versions().items())


def _failure(ask: Request, statement: Statement, found: Mapping[str, Any], own: Sequence[Evidence]) -> str:
    """Describe a failed statement: its title, the checks that show the failure, and the command that reproduces it."""
    needed = f"; this test needs {ask.verdict}" if ask.verdict else ""
    by = f" by only {', '.join(ask.methods)}" if ask.methods else ""
    lines = [f"{statement.id}: verdict {found['verdict']}{by}, recorded {statement.expected}{needed}"]
    lines += [f"  {line}" for line in _about(statement)]
    shown = [e for e in own if e.agreement == "differs"]
    for e in shown[:_SHOWN]:
        lines.append(f"  check {e.check!r} by {e.method}: {e.verdict}, recorded {e.expected}")
        lines += [f"    {line}" for line in (*_sides(e), *_wrapped(f"reason: {e.reason}"))]
    if len(shown) > _SHOWN:
        lines.append(f"  and {len(shown) - _SHOWN} more")
    lines.append(f"  reproduce: {_command(ask, statement.id)}")
    return "\n".join(lines)


def _undecided(id_: str, verdict: str, own: Sequence[Evidence]) -> str:
    reasons = [f"{e.check}: {e.reason}" for e in own if e.agreement == "undecided"]
    if reasons:
        why = reasons[0] + (f" (and {len(reasons) - 1} more checks)" if len(reasons) > 1 else "")
    elif verdict == UNCHECKED:
        why = "only units were checked: add a check, or name more methods"
    else:
        why = "these checks do not suffice for a verdict: name more methods"
    return f"{id_} is undecided: {why}"


def _about(statement: Statement) -> list[str]:
    """The title and, of a refuted statement of the catalogue, the erratum."""
    from dpfl_theory import statements

    lines = _wrapped(plain(statement.title))
    if statement.erratum is not None:
        repaired = f"{statement.id}.repaired"
        there = f"; {repaired} is its repair" if statements.file_of(repaired) is not None else ""
        lines += _wrapped(f"erratum: {plain(statement.erratum.cause.title)}{there}")
    return lines


def _sides(e: Evidence) -> list[str]:
    if e.lhs is None or e.rhs is None:
        return []
    left = f"left side {e.lhs.estimate:.6g}"
    if e.lhs.low != e.lhs.high:
        level = f" at alpha = {e.alpha:.3g}" if e.alpha is not None else ""
        left += f", limits [{e.lhs.low:.6g}, {e.lhs.high:.6g}]{level}{', asymptotic' if e.asymptotic else ''}"
    ratio = "" if e.ratio is None or not math.isfinite(e.ratio) else f"; ratio {e.ratio:.4g}"
    return _wrapped(f"{left}; right side {e.rhs:.6g}{ratio}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _command(ask: Request, id_: str) -> str:
    file = f" --file {ask.file}" if ask.file is not None else ""
    methods = "".join(f" --method {m}" for m in ask.methods)
    return f"dpfl-theory check {id_}{file}{methods} --seed {ask.seed} --alpha {ask.alpha:g}"
