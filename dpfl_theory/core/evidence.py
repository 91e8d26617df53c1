"""Evidence: the outcome of one check of one statement by one method, and the verdicts computed from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import methods
from dpfl_theory.core.methods import UNITS
from dpfl_theory.notebook import Tabular, intervals
from dpfl_theory.runtime.recorded_warnings import Warned, in_words, total
from dpfl_theory.runtime.versions import versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpfl_theory.core.check import Check
    from dpfl_theory.core.check_inputs import Outcome
    from dpfl_theory.core.statement import Statement

__all__ = [
    "ENDED",
    "HALF",
    "OF_STATEMENTS",
    "SCHEMA",
    "UNCHECKED",
    "UNMET",
    "UNSOLVED",
    "VERDICTS",
    "Evidence",
    "EvidenceList",
    "Interval",
    "agreement",
    "document",
    "exit_code",
    "kind_of",
    "of_outcome",
    "outside",
    "statement_verdict",
    "summarise",
    "summary_line",
    "verdict_of",
    "versions",
]

SCHEMA = "dpfl-theory/1"
VERDICTS = ("holds", "violated", "inconclusive", "not-applicable")
ENDED = "ended"
"""The note of a check that was stopped, so that its result is unknown."""
HALF = "half of the equality"
"""The note of a check that decides one half of an equality: which half."""
UNMET = "hypothesis"
"""The note of a check whose instance does not meet a hypothesis: which one."""
UNSOLVED = "unsolved"
"""The note of a check that is undecided because a solver failed, which says nothing about the two sides."""
UNCHECKED = "unchecked"
"""The verdict of a statement of which only the units were checked. A single check has no such verdict."""
OF_STATEMENTS = ("holds", "violated", "inconclusive", UNCHECKED)
"""The verdicts that a statement can have."""


@dataclass(frozen=True)
class Interval:
    """An estimate with confidence limits (all equal where the method is exact)."""

    estimate: float
    low: float
    high: float

    @staticmethod
    def exact(value: float) -> Interval:
        """The degenerate interval of an exact method."""
        return Interval(value, value, value)


@dataclass(frozen=True)
class Evidence(Tabular):
    """One check's outcome (`dpfl_theory.checks.document` is the schema of its JSON form).

    * lhs: the bounded quantity; rhs: its bound; ratio: lhs/rhs; terms: the bound's named terms;
    * vacuous: whether the bound is above a trivial one (None without a trivial one);
    * reason: one sentence;
    * asymptotic: whether the verdict depends on a limit theorem instead of a finite-sample bound;
    * detectable: the smallest violation factor that this check could have detected;
    * part: where the check does not compare the statement's two sides, the step that it decides and what remains;
    * warnings: those issued while it ran, and, in the first check of a user's file, at the file's import
      (`dpfl_theory.runtime.recorded_warnings`).
    """

    statement: str
    method: str
    check: str
    verdict: str
    expected: str
    reason: str
    lhs: Interval | None = None
    rhs: float | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    vacuous: bool | None = None
    asymptotic: bool = False
    detectable: float | None = None
    instance: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    replicates: int | None = None
    alpha: float | None = None
    device: str = "cpu"
    seconds: float = 0.0
    part: str = ""
    warnings: Sequence[Warned] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {VERDICTS}")

    @classmethod
    def of_check(cls, statement: Statement, check: Check, verdict: str, reason: str, **fields: Any) -> Evidence:
        """The evidence of a statement's check, with its method, name, recorded verdict and instance."""
        about = {"instance": check.instance, **fields}
        return cls(statement.id, check.method, check.name, verdict, check.expected, reason, **about)

    @property
    def agreement(self) -> str:
        """How the verdict compares with the recorded one."""
        return agreement(self.verdict, self.expected)

    @property
    def ratio(self) -> float | None:
        """lhs/rhs, the tightness of a positive bound where it holds; None where the right side is not positive, or no
        side was computed."""
        if self.lhs is None or self.rhs is None or self.rhs <= 0.0:
            return None
        return self.lhs.estimate / self.rhs

    @property
    def shown_ratio(self) -> str:
        """The ratio to four digits; ``-`` without one."""
        return "-" if self.ratio is None else f"{self.ratio:.4g}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data; numbers that are not finite become None."""
        shown = (
            "statement", "method", "check", "verdict", "expected", "agreement", "lhs", "rhs", "ratio", "terms",
            "vacuous", "asymptotic", "detectable", "reason", "part", "instance", "notes", "warnings", "seed",
            "replicates", "alpha", "device",
        )  # fmt: skip
        made = {name: getattr(self, name) for name in shown}
        made |= {"lhs": None if self.lhs is None else vars(self.lhs), "part": self.part or None}
        return dict(_plain({**made, "versions": versions(), "seconds": round(self.seconds, 4)}))

    def records(self) -> list[dict[str, Any]]:
        """One row: which check, its verdict, the ratio with its limits, and the reason."""
        names = ("statement", "method", "check", "verdict", "expected")
        low = high = None
        if self.ratio is not None and self.lhs is not None and self.rhs is not None:
            low, high = self.lhs.low / self.rhs, self.lhs.high / self.rhs
        numbers = {"ratio": self.ratio, "low": low, "high": high, "seconds": self.seconds}
        return [{**{name: getattr(self, name) for name in names}, **numbers, "reason": self.reason}]

    def plot(self) -> Figure:
        """Left side over right side with its limits, and a line at 1. ValueError where there is no ratio."""
        return EvidenceList([self]).plot()


class EvidenceList(list[Evidence], Tabular):
    """The evidence of several checks, as `dpfl_theory.check` returns it: a list that a notebook shows as a table.

    >>> some = EvidenceList([Evidence("a.b", "exact", "c", "holds", "holds", "", Interval.exact(1.0), 2.0)])
    >>> some.records()[0]["ratio"]
    0.5
    >>> len(some.plot().axes)
    1
    """

    def records(self) -> list[dict[str, Any]]:
        """A row for each check (`Evidence.records`)."""
        return [row for e in self for row in e.records()]

    def plot(self) -> Figure:
        """Plots left side over right side of each check with its limits, and a line at 1, where both sides are equal.
        Raises ValueError where no check has a ratio."""
        rows = [row for row in self.records() if row["ratio"] is not None]
        if not rows:
            raise ValueError("no check here compares two numbers: choose others, or another method")
        colours = {"holds": "C0", "violated": "C3"}
        naming = [key for key in ("statement", "method") if len({row[key] for row in rows}) > 1]
        return intervals(
            [
                (
                    ": ".join(r[key] for key in (*naming, "check")),
                    *(r["low"], r["ratio"], r["high"]),
                    colours.get(r["verdict"], "0.5"),
                )
                for r in rows
            ],
            1.0,
            "left side over right side",
        )


def agreement(verdict: str, expected: str) -> str:
    """How the verdict of a check or of a statement compares with the recorded one: ``as expected``, ``differs``,
    ``undecided`` or ``unchecked``.

    An unchecked statement is never as expected, whatever the recorded verdicts of its chosen checks are.

    >>> agreement("violated", "violated"), agreement("not-applicable", "holds"), agreement("inconclusive", "holds")
    ('as expected', 'differs', 'undecided')
    >>> agreement("unchecked", "unchecked")
    'unchecked'
    """
    if verdict == UNCHECKED:
        return UNCHECKED
    if verdict == expected:
        return "as expected"
    return "undecided" if verdict == "inconclusive" else "differs"


def outside(statement: Statement, check: Check, missing: tuple[str, str], seconds: float) -> Evidence:
    """The evidence of a check whose instance does not meet a hypothesis; ``missing`` names it and says how it fails."""
    hypothesis, failure = missing
    return Evidence.of_check(
        statement,
        check,
        "not-applicable",
        f"the hypothesis '{hypothesis}' is not met: {failure}",
        notes={UNMET: hypothesis},
        seconds=seconds,
    )


def of_outcome(statement: Statement, check: Check, outcome: Outcome, device: str, seconds: float) -> Evidence:
    """The evidence of a check whose build decides by itself."""
    return Evidence.of_check(
        statement,
        check,
        outcome.verdict,
        outcome.reason,
        notes=outcome.notes,
        device=device,
        seconds=seconds,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def verdict_of(evidence: Sequence[Mapping[str, Any]]) -> str:
    """A statement's verdict from its evidence as plain data.

    It is not *holds* while a check that is known to refute the statement is undecided, for example when the budget
    ended. It is not *holds* either if only one half of an equality was shown.
    """
    formed = statement_verdict((kind_of(e["method"], e["check"]), e["verdict"]) for e in evidence)
    open_ = any(e["expected"] == "violated" and e["verdict"] == "inconclusive" for e in evidence)
    open_ |= _one_half(evidence)
    return "inconclusive" if formed == "holds" and open_ else formed


def _one_half(evidence: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all decisive checks that hold show the same half of an equality."""
    known = methods.known()
    holding = [e for e in evidence if e["verdict"] == "holds" and e["method"] in known and known[e["method"]].decisive]
    halves = {e.get("notes", {}).get(HALF) for e in holding}
    return len(halves) == 1 and None not in halves


def kind_of(method: str, check: str) -> str:
    """The role of a check in its statement's verdict: its method, or ``units``.

    Every displayed formula has the check of units by default, and that check decides nothing.

    >>> kind_of("algebra", "units"), kind_of("algebra", "the printed optimum")
    ('units', 'algebra')
    """
    return UNITS if (method, check) == ("algebra", UNITS) else method


def statement_verdict(outcomes: Iterable[tuple[str, str]]) -> str:
    """A statement's verdict from the (kind, verdict) of its checks (`kind_of`).

    It is violated if any check is, and holds if a decisive check holds. It is unchecked if only its units were
    checked, and otherwise inconclusive. A method that is not decisive (`Method.decisive`: algebra) decides only where
    no other method was applied. That a bound follows from another does not make it true, and correct units never do.

    >>> statement_verdict([("algebra", "holds"), ("monte-carlo", "violated")])
    'violated'
    >>> statement_verdict([("algebra", "holds"), ("monte-carlo", "inconclusive")])
    'inconclusive'
    >>> statement_verdict([("algebra", "holds")]), statement_verdict([])
    ('holds', 'inconclusive')
    >>> statement_verdict([("units", "holds")]), statement_verdict([("units", "holds"), ("exact", "inconclusive")])
    ('unchecked', 'inconclusive')
    """
    seen = list(outcomes)
    if any(verdict == "violated" for _, verdict in seen):
        return "violated"
    weak = {name for name, method in methods.known().items() if not method.decisive}
    beyond = [(kind, verdict) for kind, verdict in seen if kind != UNITS]
    if seen and not beyond:
        return UNCHECKED
    decisive = [verdict for kind, verdict in beyond if kind not in weak] or [verdict for _, verdict in beyond]
    return "holds" if "holds" in decisive else "inconclusive"


def summarise(
    evidence: Sequence[Evidence], expected: Mapping[str, str], alpha: float, seconds: float
) -> dict[str, Any]:
    """The ``summary`` of a check document: each statement's verdict with the recorded one, and counts.

    The counts are those of verdicts, of statements as recorded, and of checks that agree with their record, differ
    from it or are undecided."""
    statements: dict[str, Any] = {}
    for id_ in dict.fromkeys(e.statement for e in evidence):
        own = [e for e in evidence if e.statement == id_]
        verdict = verdict_of([vars(e) for e in own])
        statements[id_] = {
            "verdict": verdict,
            "expected": expected[id_],
            "agreement": agreement(verdict, expected[id_]),
            "methods": list(dict.fromkeys(e.method for e in own)),
        }
    counts = Counter(e.verdict for e in evidence)
    agreements = Counter(e.agreement for e in evidence)
    return {
        "statements": statements,
        "counts": {
            "evidence": {v: counts.get(v, 0) for v in VERDICTS},
            "statements": dict(Counter(s["verdict"] for s in statements.values())),
            "as_expected": sum(s["agreement"] == "as expected" for s in statements.values()),
            "checks": {a.replace(" ", "_"): agreements.get(a, 0) for a in ("as expected", "differs", "undecided")},
            "warnings": sum(total(e.warnings) for e in evidence),
        },
        "alpha": alpha,
        "seconds": round(seconds, 3),
    }


def document(evidence: Sequence[Evidence], expected: Mapping[str, str], alpha: float, seconds: float) -> dict[str, Any]:
    """The one object that `check --format json` prints."""
    return {
        "schema": SCHEMA,
        "summary": summarise(evidence, expected, alpha, seconds),
        "evidence": [e.to_json() for e in evidence],
    }


def exit_code(summary: Mapping[str, Any]) -> int:
    """The exit code of a ``summary``, from the agreement of each check and statement with its record (`agreement`).

    It is 1 if any differs, even if the statement's own verdict does not; otherwise 3 if any is undecided or unchecked,
    and 0 otherwise.
    """
    checks = summary["counts"]["checks"]
    found = {s["agreement"] for s in summary["statements"].values()} | {a for a, count in checks.items() if count}
    if "differs" in found:
        return 1
    return 3 if found & {"undecided", UNCHECKED} else 0


def summary_line(summary: Mapping[str, Any]) -> str:
    """The ``summary`` of a check document in one line."""
    counts = summary["counts"]
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts["statements"].items())
    total = len(summary["statements"])
    found = f"{total} statement{'s' if total != 1 else ''}{f' ({verdicts})' if verdicts else ''}"
    checks = counts["checks"]
    words = {"differs": "not as expected", "undecided": "undecided"}
    others = "".join(f", checks {words[a]}: {checks[a]}" for a in words if checks[a])
    warned = "".join(f", {words}" for words in [in_words(counts.get("warnings", 0))] if words)
    return f"{found}, {counts['as_expected']} as expected{others}{warned}, {summary['seconds']:.1f} s"
