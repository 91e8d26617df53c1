"""One page for each paper, written for its authors: what is printed, what is true, the evidence, and the repair.

Everything comes from the evidence files and the catalogue. An erratum that the evidence at hand does not show is called
recorded, and nothing is claimed of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfl_theory.checks.evidence import VERDICTS
from dpfl_theory.checks.runner import plan
from dpfl_theory.console import write
from dpfl_theory.report.entries import Entry, check_command, natural, printed_id, reference, siblings, versions_of
from dpfl_theory.report.proof_map import ProofMap, proof_map, resting_on
from dpfl_theory.report.templates import anchor, render
from dpfl_theory.statements.model import METHODS, Statement

__all__ = ["FOLDER", "Finding", "PaperErrata", "affected", "collect", "showing_command", "write_pages"]

FOLDER = "errata"
MADE = '<meta name="generator" content="dpfl-theory report: errata">'
"""The mark of a page of our own making: only such pages are ever removed."""


@dataclass(frozen=True)
class Finding:
    """One statement that is refuted, or has an erratum on record.

    status: ``refuted``, a check of the evidence is violated; ``not checked``, no check that could show it was run;
    ``not confirmed``, those that were run do not show it. ``missing`` are the checks (method, name) that are known to
    refute it and were not run; ``affected`` are the printed statements (id, state) that rest on it; ``command`` repeats
    the evidence, or gets what shows the erratum where there is none.
    """

    entry: Entry
    status: str
    missing: tuple[tuple[str, str], ...]
    affected: tuple[tuple[str, str], ...]
    repaired: Entry | None
    command: str


@dataclass(frozen=True)
class PaperErrata:
    """What the page of one paper shows."""

    paper: str
    reference: str
    printed: tuple[Entry, ...]
    derived: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    sharpened: tuple[tuple[Entry, Entry], ...]
    slips: tuple[tuple[Entry, str], ...]

    @property
    def refuted(self) -> tuple[Finding, ...]:
        """The findings that the evidence shows."""
        return tuple(f for f in self.findings if f.status == "refuted")

    @property
    def recorded(self) -> tuple[Finding, ...]:
        """The errata on record that this evidence does not show."""
        return tuple(f for f in self.findings if f.status != "refuted")

    @property
    def remarks(self) -> dict[str, tuple[Entry, ...]]:
        """Each slip once, with all the statements that it is recorded beside."""
        found: dict[str, tuple[Entry, ...]] = {}
        for entry, slip in self.slips:
            found[slip] = (*found.get(slip, ()), entry)
        return found

    @property
    def checked(self) -> tuple[Entry, ...]:
        """The printed statements that have evidence."""
        return tuple(e for e in self.printed if e.evidence)

    @property
    def quiet(self) -> tuple[Entry, ...]:
        """The printed statements without a finding."""
        found = {f.entry.id for f in self.findings}
        return tuple(e for e in self.printed if e.id not in found)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many of the checked statements have each verdict; one whose erratum was left unchecked has none."""
        seen = [e.verdict for e in self.checked if not e.open_erratum]
        return {v: seen.count(v) for v in VERDICTS if v in seen}

    @property
    def methods(self) -> dict[str, int]:
        """How many of the checked statements each method speaks of."""
        return {m: n for m in METHODS if (n := sum(m in e.methods for e in self.checked))}


def collect(paper: str, entries: Sequence[Entry], graph: Any) -> PaperErrata:
    """The errata of one paper from its entries and the graph of proofs (`proof_map.proof_graph`)."""
    own = {e.id: e for e in entries if e.paper == paper}
    beside = siblings(own)
    printed = tuple(e for e in own.values() if e.id not in beside)
    findings = [f for e in printed if (f := _finding(e, own, graph)) is not None]
    return PaperErrata(
        paper,
        reference(paper),
        printed,
        tuple(e for e in own.values() if e.id in beside),
        tuple(sorted(findings, key=lambda f: f.status != "refuted")),
        tuple((own[beside[i]], e) for i, e in own.items() if i in beside and i.endswith(".sharpened")),
        tuple((e, slip) for e in printed if e.statement is not None for slip in e.statement.slips),
    )


def _finding(entry: Entry, own: Mapping[str, Entry], graph: Any) -> Finding | None:
    statement = entry.statement
    erratum = None if statement is None else statement.erratum
    if statement is None or (erratum is None and entry.verdict != "violated"):
        return None
    run = {(e["method"], e["check"]) for e in entry.evidence}
    status = "not checked" if entry.open_erratum else "refuted" if entry.verdict == "violated" else "not confirmed"
    return Finding(
        entry,
        status,
        tuple(c for c in _refuting(statement) if c not in run),
        tuple((i, graph.nodes[i]["state"] if i in graph else "not entered") for i in affected(statement, graph)),
        None if erratum is None else own.get(erratum.repaired),
        entry.command if entry.refuting else showing_command(statement),
    )


def affected(statement: Statement, graph: Any) -> tuple[str, ...]:
    """The printed statements that rest on this one: those reached in the graph of proofs, and those its erratum names.

    A derived form beside a printed one is no statement of the paper.
    """
    named = () if statement.erratum is None else statement.erratum.affects
    found = {i for i in (*named, *resting_on(graph, statement.id)) if printed_id(i) == i and i != statement.id}
    return tuple(sorted(found, key=natural))


def showing_command(statement: Statement) -> str:
    """The command that shows an erratum: by the methods alone that refute the statement.

    >>> from dpfl_theory import statements
    >>> showing_command(statements.get("hou2023.corollary1"))
    'dpfl-theory check hou2023.corollary1 --method exact'
    """
    known = {method for method, _ in _refuting(statement)}
    chosen = [f" --method {m}" for m in METHODS if m in known]
    return check_command(statement.id) + "".join(chosen if known < set(statement.methods) else ())


def _refuting(statement: Statement) -> list[tuple[str, str]]:
    """The checks (method, name) that are known to refute a statement."""
    return [(c.method, c.name) for _, c in plan([statement]) if c.expected == "violated"]


def write_pages(output: Path, entries: Sequence[Entry], graph: Any, alphas: Sequence[float]) -> dict[str, Path]:
    """Write ``errata/<paper>.html`` for every paper with evidence, and remove what is left of papers without.

    Returns the page of each paper.
    """
    papers = sorted({e.paper for e in entries if e.paper})
    place = output / FOLDER
    pages: dict[str, Path] = {}
    if papers:
        place.mkdir(parents=True, exist_ok=True)
    for paper in papers:
        errata = collect(paper, entries, graph)
        pages[paper] = write(place / f"{paper}.html", _page(errata, entries, graph, alphas))
    for old in place.glob("*.html"):
        if old not in pages.values() and MADE in old.read_text(encoding="utf-8", errors="replace")[:2000]:
            old.unlink()
    return pages


def _page(errata: PaperErrata, entries: Sequence[Entry], graph: Any, alphas: Sequence[float]) -> str:
    known = {e.id for e in entries}
    found = {f.entry.id for f in errata.findings}

    def href(id_: str) -> str:
        if id_ in found:
            return f"#{anchor(id_)}"
        return f"../index.html#{anchor(id_)}" if id_ in known else ""

    drawn: ProofMap = proof_map(errata.paper, graph, href)
    return render(
        "errata.html.j2",
        errata=errata,
        map=drawn,
        href=href,
        made=MADE,
        alphas=alphas if any(e["alpha"] is not None for entry in errata.checked for e in entry.evidence) else [],
        versions=versions_of(e for entry in (*errata.printed, *errata.derived) for e in entry.evidence),
    )
