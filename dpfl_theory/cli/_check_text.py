"""The text output of `check`: a line for each check, the reasons of unexpected verdicts, and each statement's verdict.

Of user statements it also says which errors the checks could detect, and what they did not try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.cli._options import number, table

if TYPE_CHECKING:
    from dpfl_theory.checks.runner import Report
    from dpfl_theory.core.evidence import Evidence

__all__ = ["DIFFERS", "UNDECIDED", "UNITS_ALONE", "UNITS_CHOSEN", "as_text", "evidence_lines", "why_unchecked"]

DIFFERS = "<- not as expected"
UNDECIDED = "<- undecided"
MARKS = {"differs": DIFFERS, "undecided": UNDECIDED}
VACUOUS = "vacuous"
ABOUT_VACUOUS = "vacuous: the bound is above the value at the start, so that a run that never moves would satisfy it"
RELATION_LABELS = {"<=": "one half: left <= right", ">=": "one half: right <= left"}
"""The mark of a check that decides only one half of an equality."""
UNITS_ALONE = "only units were checked: add a check"
UNITS_CHOSEN = "only units were checked: its other checks use other methods"


def why_unchecked(statement: dict[str, Any]) -> str:
    """Why a statement of the summary is unchecked, and the remedy."""
    from dpfl_theory.core.evidence import UNCHECKED

    return UNITS_CHOSEN if statement["expected"] == UNCHECKED else UNITS_ALONE


def evidence_lines(evidence: Sequence[Evidence]) -> str:
    """One line for each piece of evidence, and the reasons of unexpected verdicts."""
    from dpfl_theory.core.evidence import HALF

    lines = [("verdict", "ratio", "statement", "method", "check", "seconds", "")]
    for e in evidence:
        mark = MARKS.get(e.agreement, VACUOUS if e.vacuous else RELATION_LABELS.get(e.notes.get(HALF, ""), ""))
        lines.append((e.verdict, number(e.ratio), e.statement, e.method, e.check, f"{e.seconds:.2f}", mark))
    surprises = [f"{e.statement} {e.method} {e.check}: {e.reason}" for e in evidence if e.verdict != e.expected]
    rows = table(lines, right=(1, 5))
    if any(line[-1] == VACUOUS for line in lines):
        rows = f"{rows}\n{ABOUT_VACUOUS}"
    return "\n\n".join([rows, *surprises])


def as_text(report: Report, document: dict[str, Any]) -> str:
    """One line for each evidence, then each statement's verdict."""
    from dpfl_theory.core.evidence import UNCHECKED, summary_line

    verdicts = [("statement", "verdict", "expected", "methods", "")]
    for id_, s in document["summary"]["statements"].items():
        mark = f"<- {why_unchecked(s)}" if s["agreement"] == UNCHECKED else MARKS.get(s["agreement"], "")
        verdicts.append((id_, s["verdict"], s["expected"], ",".join(s["methods"]), mark))
    readings = [s.get("reading", "") for s in document["summary"]["statements"].values()]
    lines = zip(table(verdicts).splitlines(), ["", *readings])
    named = "\n".join(f"{line}\n    read: {reading}" if reading else line for line, reading in lines)
    parts = [evidence_lines(report.evidence), named, *_noticed(document), *_sensitivity(report)]
    parts.append(summary_line(document["summary"]))
    return "\n\n".join(parts)


def _noticed(document: dict[str, Any]) -> list[str]:
    """The errors that the checks of the user's own statements could detect, and what none of them tried, in
    sentences."""
    own = {id_: about["noticed"] for id_, about in document.get("own", {}).items() if about["noticed"]}
    lines = [f"{id_}: {power['sentence']}" for id_, power in own.items()]
    for id_, power in own.items():
        if power["left_out"]:
            lines.append(
                f"{id_}: no check here would detect if {' or '.join(map(repr, power['left_out']))} were left out"
            )
    lines += [f"{id_}: {about['untried']}" for id_, about in document.get("own", {}).items() if about["untried"]]
    return ["\n".join(lines)] if lines else []


def _sensitivity(report: Report) -> list[str]:
    """A table of the smallest detected changes; empty where none were searched."""
    rows = [("statement", "method", "checks", "read", "detected from", "by")]
    for id_, power in report.power.items():
        for method, (share, name) in power.least.items():
            read, total = power.reading[method]
            rows.append((id_, method, str(total), str(read), "-" if share is None else f"{100 * share:.3g} %", name))
    if not report.power:
        return []
    from dpfl_theory.checks.power import SHRINKAGES

    tried = ", ".join(f"{100 * share:.3g}" for share in sorted(SHRINKAGES))
    about = (
        f"detected from: the first of right sides smaller by {tried} % that changes a verdict,\n"
        "also to undecided; for runs and privacy claims, the change that limits imply. The lines above come from\n"
        "ratios and limits, and may show values between these. read: checks whose evidence the right side changes."
    )
    return [f"{table(rows, right=(2, 3, 4))}\n{about}"]
