"""The output of `check`: as text, as JUnit, as a file of certificates, and what there is when it is interrupted.

The text has a line for each check, the reasons of unexpected verdicts, and each statement's verdict. Of user statements
it also says which errors the checks could detect, and what they did not try.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfl_theory.cli._layout import table
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import Progress, emit, print_message

if TYPE_CHECKING:
    import junitparser

    from dpfl_theory.checks.runner import Report
    from dpfl_theory.core import Check, Statement
    from dpfl_theory.core.evidence import Evidence

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
        lines.append((e.verdict, e.shown_ratio, e.statement, e.method, e.check, f"{e.seconds:.2f}", mark))
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


_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, not even escaped."""


def as_junit(report: Report, document: dict[str, Any]) -> str:
    """The document as JUnit, for CI systems: failures there give exit code 1, skipped cases exit code 3.

    It has one testcase for each check, then one for each statement's verdict, named ``verdict``. Each is a failure
    where it differs from its record, skipped where it is undecided or unchecked, and passed otherwise.
    """
    import junitparser

    cases = []
    for e in document["evidence"]:
        message = f"{e['verdict']}, expected {e['expected']}: {e['reason']}"
        cases.append(_case(e["statement"], f"{e['method']}: {e['check']}", e["seconds"], e["agreement"], message))
    for id_, s in document["summary"]["statements"].items():
        unchecked = s["agreement"] == "unchecked"
        message = why_unchecked(s) if unchecked else f"expected {s['expected']}"
        cases.append(_case(id_, "verdict", 0.0, s["agreement"], f"{s['verdict']}, {message}"))
    suite, whole, text = junitparser.TestSuite("dpfl-theory"), junitparser.JUnitXml("dpfl-theory"), io.BytesIO()
    suite.add_testcases(cases)
    whole.add_testsuite(suite)
    whole.update_statistics()
    whole.write(text, pretty=True)
    return text.getvalue().decode("utf-8")


def _case(class_: str, name: str, seconds: float, agreement: str, text: str) -> junitparser.TestCase:
    import junitparser

    case = junitparser.TestCase(_legal(name), _legal(class_), round(seconds, 3))
    if agreement == "differs":
        case.result = junitparser.Failure(_legal(text))
    elif agreement != "as expected":
        case.result = junitparser.Skipped(_legal(text))
    return case


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)


METHOD = "worst-case"


def certificate_file(
    file: str | None, output: str | None, pairs: Sequence[tuple[Statement, Check]], reads: str | None = None
) -> Path | None:
    """The file for certificates, None without one.

    Raises InputError where it is the file of the output or of the statements, and where it cannot be written. The same
    holds where none of these checks is a worst case.
    """
    if file is None:
        return None
    target = writable(file, reads=(reads,))
    if output is not None and Path(output).resolve() == target.resolve():
        raise InputError("--certificate and --output name the same file: give each its own")
    if pairs and not any(check.method == METHOD for _, check in pairs):
        raise InputError(
            f"--certificate writes proofs of worst cases, but no check here uses the method {METHOD}: leave it out"
        )
    return target


def write_certificates(target: Path, evidence: Sequence[Evidence]) -> None:
    """Write the certificates of the proofs, and report their number. Without any, no file is written."""
    from dpfl_theory.checks.certificate_file import SCRIPT, is_proof, of_evidence, text

    worst = [e for e in evidence if e.method == METHOD]
    certificates = of_evidence(e.to_json() for e in worst)
    without = {str(e.notes["no_certificate"]) for e in worst if "no_certificate" in e.notes}
    for why in sorted(without):
        print_message(f"a proof has no certificate: {why}")
    if not certificates:
        unproved = f"none of {len(worst)} worst-case checks was proved in rational arithmetic"
        print_message(f"{'there is no certificate' if without else unproved}: {target} is not written")
        return
    for c in certificates:
        if not is_proof(c):  # as a reader would; failure is an internal error
            raise ArithmeticError(f"the certificate of {c['statement']}, {c['check']}, proves nothing")
    write(target, text(certificates))
    proved = len({(c["statement"], c["check"]) for c in certificates})
    count = f"{len(certificates)} certificate{'s' if len(certificates) > 1 else ''}"
    script = shlex.quote(str(SCRIPT))
    print_message(f"{count}, of {proved} of {len(worst)} worst-case checks: {target}")
    print_message(f"verify with: python {script} {shlex.quote(str(target))}")


@dataclass
class Partial:
    """The evidence of checks so far, in the planned order, and the message about it on Ctrl-C.

    render: how evidence is shown on stdout. It is None where only a complete document would be printed, since a part of
    one could be taken for the whole. kept: whether a store has the finished results.
    """

    planned: int
    render: Callable[[Sequence[Evidence]], str] | None
    kept: bool
    progress: Progress
    found: dict[int, Evidence] = field(default_factory=dict)

    def add(self, number: int, evidence: Evidence) -> None:
        """Add the evidence of a finished check."""
        self.found[number] = evidence

    def report(self) -> None:
        """Show the available evidence, if parts may be shown, and report its number and how to continue."""
        self.progress.stop()
        found = dict(self.found)
        count = f"{len(found)} of {self.planned} checks"
        if found and self.render is not None:
            evidence = [found[i] for i in sorted(found)]
            emit(f"{self.render(evidence)}\n\nincomplete: {count}, since it was interrupted")
        if not found:
            return
        if self.kept:
            left = self.planned - len(found)
            print_message(f"{count} are finished and stored: the same command continues with the other {left}")
        else:
            print_message(f"{count} are finished; the store is off, so that the same command starts again")
