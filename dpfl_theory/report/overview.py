"""The front page's summary of each paper: which theorems hold, why the others fail, and how tight the bounds are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from dpfl_theory import validation
from dpfl_theory.core import Cause, Statement, methods
from dpfl_theory.core.evidence import OF_STATEMENTS
from dpfl_theory.report.author_report import provenances
from dpfl_theory.report.entries import Entry, groups_of, reference, showing
from dpfl_theory.report.errata import PaperErrata

THEOREMS = ("theorem", "corollary")
WITHIN = 2.0
"""A bound within this factor of the measured value is called near."""
DECADES = 3
"""The scale of tightness starts at 10 to minus this power; looser bounds are at its end."""
PROVENANCES = {
    "read": "read in the papers",
    "restored": "restored",
    "derived": "derived",
    "readings": "second readings",
}


@dataclass(frozen=True)
class Row:
    """Ratios of statements, left side over right side (right over left for ``>=``), each with its id."""

    closenesses: tuple[tuple[str, float], ...]

    @property
    def median(self) -> float:
        """The median ratio."""
        return median(value for _, value in self.closenesses)

    @property
    def near(self) -> int:
        """The number of bounds within the factor `WITHIN`."""
        return sum(value >= 1.0 / WITHIN for _, value in self.closenesses)

    @property
    def dots(self) -> list[tuple[float, str, float]]:
        """The position of each statement's dot in percent, its id and its ratio."""
        return [(self.position(value), id_, value) for id_, value in sorted(self.closenesses, key=lambda pair: pair[1])]

    @staticmethod
    def position(value: float) -> float:
        """A ratio's position on a logarithmic scale that ends at 1, in percent.

        >>> Row.position(1.0), Row.position(1e-9)
        (100.0, 0.0)
        """
        return 100.0 * (1.0 + max(-1.0, math.log10(value) / DECADES))


@dataclass(frozen=True)
class Tightness:
    """The tightness of the inequalities that hold.

    It is given by the check nearest to the bound, worst cases included, and for runs of the algorithm by the median of
    the simulations. A row is None where it has no dots."""

    nearest: Row
    runs: Row | None


def tightness(entries: Iterable[Entry]) -> Tightness | None:
    """The tightness of the inequalities of a paper or of a user's files, repaired and sharpened forms left out; None
    where none has a ratio.

    Bounds above a trivial one do not count, nor checks that decide a part, nor equalities.
    """
    nearest, runs = [], []
    for entry in entries:
        if entry.derived or entry.relation not in ("<=", ">=") or entry.verdict != "holds":
            continue
        ratios = [
            (min(1.0, e["ratio"] if entry.relation == "<=" else 1.0 / e["ratio"]), methods.get(e["method"]).simulates)
            for e in entry.evidence
            if e["verdict"] == "holds" and not e["vacuous"] and not e["part"] and (e["ratio"] or 0.0) > 0.0
        ]
        simulated = [ratio for ratio, drawn in ratios if drawn]
        nearest += [(entry.id, max(ratio for ratio, _ in ratios))] if ratios else []
        runs += [(entry.id, median(simulated))] if simulated else []
    return Tightness(Row(tuple(nearest)), Row(tuple(runs)) if runs else None) if nearest else None


@dataclass(frozen=True)
class PaperSummary:
    """The findings for one paper, or for the statements outside the catalogue (``paper`` is empty).

    * theorems: the paper's theorems and corollaries, by verdict; others: its other statements;
    * ours: repaired and sharpened forms;
    * causes: why statements fail that the evidence refutes, those that explain most first;
    * errata: the number of those statements; repaired: the number of them with a repair that holds;
    * recorded: errata on record that the evidence does not show;
    * figures: validations of the paper.
    """

    paper: str
    reference: str
    theorems: Mapping[str, int]
    others: Mapping[str, int]
    ours: Mapping[str, int]
    restored: bool
    causes: Sequence[tuple[Cause, list[Statement]]]
    errata: int
    repaired: int
    recorded: int
    remarks: int
    tightness: Tightness | None
    figures: int

    @property
    def authors(self) -> str:
        """The authors."""
        return self.reference.split(": ", 1)[0] if ": " in self.reference else ""

    @property
    def title(self) -> str:
        """The title."""
        return self.reference.split(": ", 1)[-1].removesuffix(".")

    @property
    def counts(self) -> Mapping[str, int]:
        """The statements of the bar: theorems where there are any, otherwise all statements."""
        return self.theorems or self.others

    @property
    def total(self) -> int:
        """The number of those statements."""
        return sum(self.counts.values())


def findings(
    entries: Sequence[Entry], errata: Mapping[str, PaperErrata], validations: Sequence[Mapping[str, Any]]
) -> list[PaperSummary]:
    """The findings for each paper, and last for the statements outside the catalogue."""
    figures = [v["source"].get("paper") for v in validations]
    found = []
    for paper, group in sorted(groups_of(entries).items(), key=lambda pair: (not pair[0], pair[0])):
        author_report = errata.get(paper)
        stand = [e for e in group if not e.derived]
        shown = showing(e.statement for e in group)
        first = [e for e in stand if e.id not in shown and (e.statement is None or not e.statement.reading_of)]
        theorems = [e for e in first if e.statement is not None and e.statement.kind in THEOREMS]
        refuted = () if author_report is None else author_report.refuted
        found.append(
            PaperSummary(
                paper,
                reference(paper),
                _verdicts(theorems),
                _verdicts(e for e in first if e not in theorems),
                _verdicts(e for e in group if e not in stand),
                bool(theorems)
                and all(e.statement is not None and e.statement.provenance == "restored" for e in theorems),
                () if author_report is None else author_report.shown_causes,
                len(refuted),
                sum(f.repaired is not None and f.repaired.verdict == "holds" for f in refuted),
                0 if author_report is None else len(author_report.recorded),
                0 if author_report is None else len(author_report.remarks),
                tightness(group),
                figures.count(paper) if paper else 0,
            )
        )
    return found


def _verdicts(entries: Iterable[Entry]) -> dict[str, int]:
    seen = ["not checked" if e.open_refutation and e.verdict != "violated" else e.verdict for e in entries]
    return {v: seen.count(v) for v in (*OF_STATEMENTS, "not checked") if v in seen}


def counts(entries: Sequence[Entry], validations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The numbers of statements, verdicts, checks, figures and claims of figures."""
    checked = [e for e in entries if e.evidence]
    found = validation.counted([c for v in validations for c in v["data"].get("claims", [])])
    shows = showing(e.statement for e in entries)
    remarked = [e for e in checked if e.id in shows and e.verdict == "violated"]
    verdicts = [e.verdict for e in checked if e not in remarked]
    known = provenances(e.statement for e in entries if e.statement is not None)
    return {
        "checked": len(checked),
        "entries": len(entries),
        "provenances": {PROVENANCES[name]: n for name, n in known.items() if n},
        "verdicts": {v: verdicts.count(v) for v in OF_STATEMENTS if v in verdicts},
        "remarked": len(remarked),
        "surprising": sum(e.surprising for e in checked),
        "evidence": sum(len(e.evidence) for e in checked),
        "missing": sum(e.missing for e in checked),
        "validations": len(validations),
        "claims": {v: n for v, n in found.items() if v in validation.CLAIM_VERDICTS},
        "questions": {v: n for v, n in found.items() if v in validation.ANSWERS},
    }


def in_all(found: Sequence[PaperSummary]) -> dict[str, int]:
    """The findings for all papers together: theorems, how many of them hold and are refuted, errata, their causes, and
    how many have a repair that holds."""
    papers = [f for f in found if f.paper]
    return {
        "papers": len(papers),
        "theorems": sum(sum(f.theorems.values()) for f in papers),
        "hold": sum(f.theorems.get("holds", 0) for f in papers),
        "refuted": sum(f.theorems.get("violated", 0) for f in papers),
        "errata": sum(f.errata for f in papers),
        "causes": sum(len(f.causes) for f in papers),
        "repaired": sum(f.repaired for f in papers),
    }
