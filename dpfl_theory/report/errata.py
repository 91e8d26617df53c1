"""One page for each paper, a report to its authors: causes first, then the printed and the true text, the evidence and
the repair; remarks are separate.

Everything comes from the evidence files and the catalogue. An erratum that the available evidence does not show is
called recorded, and the page claims nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.core import Statement, methods
from dpfl_theory.core.errata import GRADES
from dpfl_theory.core.evidence import OF_STATEMENTS
from dpfl_theory.core.statement import DERIVED
from dpfl_theory.report.author_report import (
    SharedCause,
    affected,
    causes_of,
    grades_of,
    introduction,
    provenances,
    refuting_checks,
    same_text_entries,
    showing_command,
)
from dpfl_theory.report.entries import Entry, readings_of, reference, showing, siblings, versions_of
from dpfl_theory.report.proof_map import ProofMap
from dpfl_theory.report.site import Site
from dpfl_theory.report.templates import anchor

__all__ = ["ErratumFinding", "PaperErrata", "ShownRemark", "collect", "write_author_report"]


@dataclass(frozen=True)
class ErratumFinding:
    """One statement that is refuted or has a recorded erratum.

    status: ``refuted``, a check of the evidence is violated; ``not checked``, no check that could show it was run;
    ``not confirmed``, the checks that were run do not show it.

    * ``missing``: the checks (method, name) that are known to refute it and were not run;
    * ``affected``: the paper's statements (id, state) that depend on it;
    * ``readings``: the other readings of its words;
    * ``command``: repeats the evidence, or, if it does not exist, computes evidence that shows the erratum.
    """

    entry: Entry
    status: str
    missing: tuple[tuple[str, str], ...]
    affected: tuple[tuple[str, str], ...]
    repaired: Entry | None
    command: str
    readings: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class ShownRemark:
    """A remark on a statement, and the sibling that shows it (None where the catalogue does not have it).

    status: ``shown``, a check refutes the sibling; ``not checked``; ``not confirmed``, those that were run do not.
    """

    entry: Entry
    sibling: Entry | None
    status: str
    missing: tuple[tuple[str, str], ...]
    repaired: Entry | None
    command: str


@dataclass(frozen=True)
class PaperErrata:
    """The content of one paper's page; ``printed`` are the statements that were read in it."""

    paper: str
    reference: str
    opening: tuple[str, ...]
    entries: tuple[Entry, ...]
    printed: tuple[Entry, ...]
    findings: tuple[ErratumFinding, ...]
    remarks: tuple[ShownRemark, ...]
    sharpened: tuple[tuple[Entry, Entry], ...]
    typos: tuple[tuple[Entry, str], ...]

    @property
    def refuted(self) -> tuple[ErratumFinding, ...]:
        """The findings that the evidence shows."""
        return tuple(f for f in self.findings if f.status == "refuted")

    @property
    def recorded(self) -> tuple[ErratumFinding, ...]:
        """The errata on record that this evidence does not show."""
        return tuple(f for f in self.findings if f.status != "refuted")

    @property
    def causes(self) -> tuple[SharedCause, ...]:
        """The causes of the errata, each once."""
        return causes_of(self._accused)

    @property
    def shown_causes(self) -> tuple[SharedCause, ...]:
        """The causes of the errata that the evidence shows."""
        return causes_of(s for f in self.refuted if (s := f.entry.statement) is not None)

    @property
    def grades(self) -> list[tuple[str, str, int]]:
        """Each grade, its meaning, and the number of errata that have it."""
        counts = grades_of(self._accused)
        return [(grade, text, counts[grade]) for grade, text in GRADES.items()]

    @property
    def provenances(self) -> dict[str, int]:
        """The numbers of statements that were read, restored, derived, or second readings."""
        return provenances(e.statement for e in self.entries if e.statement is not None)

    @property
    def _accused(self) -> list[Statement]:
        return [s for f in self.findings if (s := f.entry.statement) is not None and s.erratum is not None]

    @property
    def status(self) -> dict[str, str]:
        """The status of each finding, by id."""
        return {f.entry.id: f.status for f in self.findings}

    @property
    def distinct_typos(self) -> dict[str, tuple[Entry, ...]]:
        """Each typo once, with all the statements that it is recorded for."""
        found: dict[str, tuple[Entry, ...]] = {}
        for entry, typo in self.typos:
            found[typo] = (*found.get(typo, ()), entry)
        return found

    @property
    def checked(self) -> tuple[Entry, ...]:
        """The statements read in the paper that have evidence."""
        return tuple(e for e in self.printed if e.evidence)

    @property
    def without_findings(self) -> tuple[Entry, ...]:
        """The statements without a finding or a remark; repaired and sharpened forms are listed elsewhere."""
        shown = {f.entry.id for f in self.findings}
        shown |= {e.id for r in self.remarks for e in (r.entry, r.sibling) if e is not None}
        return tuple(e for e in self.entries if e.id not in shown and not e.id.endswith(DERIVED))

    @property
    def verdicts(self) -> dict[str, int]:
        """The number of checked statements with each verdict; one whose erratum was left unchecked has none."""
        seen = [e.verdict for e in self.checked if not e.open_erratum]
        return {v: seen.count(v) for v in OF_STATEMENTS if v in seen}

    @property
    def methods(self) -> dict[str, int]:
        """The number of checked statements with evidence by each method."""
        return {m: n for m in methods.known() if (n := sum(m in e.methods for e in self.checked))}


def collect(paper: str, entries: Sequence[Entry], graph: Any) -> PaperErrata:
    """The errata of one paper from its entries and the graph of proofs (`proof_map.proof_graph`)."""
    own = {e.id: e for e in entries if e.paper == paper}
    recorded = [e.statement for e in own.values() if e.statement is not None]
    beside = siblings(own, readings_of(recorded))
    shown = showing(recorded)
    findings = [f for e in own.values() if e.id not in shown and (f := _finding(e, own, graph)) is not None]
    ours = {i for i in own if i.endswith(DERIVED)}
    stand = [e for e in own.values() if e.statement is not None and e.statement.provenance != "derived"]
    return PaperErrata(
        paper,
        reference(paper),
        tuple(introduction(paper, recorded)),
        tuple(own.values()),
        tuple(e for e in stand if e.statement is not None and e.statement.printed),
        tuple(sorted(findings, key=lambda f: f.status != "refuted")),
        tuple(_remark(e, own) for e in stand if e.statement is not None and e.statement.remark is not None),
        tuple((own[beside[i]], e) for i, e in own.items() if i in beside and i.endswith(".sharpened")),
        tuple((e, typo) for e in own.values() if e.statement and e.id not in ours for typo in e.statement.typos),
    )


def _finding(entry: Entry, own: Mapping[str, Entry], graph: Any) -> ErratumFinding | None:
    statement = entry.statement
    erratum = None if statement is None else statement.erratum
    if statement is None or (erratum is None and (entry.verdict != "violated" or statement.provenance == "derived")):
        return None
    status = "not checked" if entry.open_erratum else "refuted" if entry.verdict == "violated" else "not confirmed"
    return ErratumFinding(
        entry,
        status,
        _not_run(entry),
        tuple((i, graph.nodes[i]["state"] if i in graph else "not entered") for i in affected(statement, graph)),
        None if erratum is None else own.get(erratum.repaired),
        entry.command if entry.refuting else showing_command(statement),
        same_text_entries(entry, own),
    )


def _remark(entry: Entry, own: Mapping[str, Entry]) -> ShownRemark:
    assert entry.statement is not None
    assert entry.statement.remark is not None
    remark = entry.statement.remark
    sibling = own.get(remark.shown_by)
    if sibling is None or sibling.statement is None:
        return ShownRemark(entry, None, "not checked", (), own.get(remark.repaired), "")
    status = "shown" if sibling.verdict == "violated" else "not confirmed" if sibling.refuting else "not checked"
    command = sibling.command if sibling.refuting else showing_command(sibling.statement)
    return ShownRemark(entry, sibling, status, _not_run(sibling), own.get(remark.repaired), command)


def _not_run(entry: Entry) -> tuple[tuple[str, str], ...]:
    """The checks that are known to refute a statement and were not run."""
    run = {(e["method"], e["check"]) for e in entry.evidence}
    return () if entry.statement is None else tuple(c for c in refuting_checks(entry.statement) if c not in run)


def write_author_report(site: Site, errata: PaperErrata, rests: ProofMap, alphas: Sequence[float]) -> None:
    """Write the report to a paper's authors; ``rests`` is the paper's proof map."""
    inside = {r.entry.id: f"#remark-{anchor(r.entry.id)}" for r in errata.remarks}
    inside |= {f.entry.id: f"#{anchor(f.entry.id)}" for f in errata.findings}
    name = site.author_report(errata.paper)
    pages = site.href("../" * name.count("/"))
    site.page(
        name,
        "errata.html.j2",
        errata=errata,
        map=rests,
        inside=lambda id_: inside.get(id_) or pages(id_),
        alphas=alphas if any(e["alpha"] is not None for entry in errata.entries for e in entry.evidence) else [],
        versions=versions_of(e for entry in errata.entries for e in entry.evidence),
    )
