"""One page for each paper, the report to its authors (`author_report`) with the evidence.

Everything comes from the evidence files and the catalogue. An erratum that the available evidence does not show is
called recorded, and the page claims nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.core import Cause, Statement, methods
from dpfl_theory.core.evidence import OF_STATEMENTS
from dpfl_theory.core.statement import DERIVED
from dpfl_theory.report.author_report import (
    affected,
    by_typo,
    causes_of,
    refuting_checks,
    report_on,
    same_text_entries,
    showing_command,
)
from dpfl_theory.report.entries import Entry, readings_of, showing, siblings, versions_of
from dpfl_theory.report.proof_map import ProofMap
from dpfl_theory.report.site import Site
from dpfl_theory.report.templates import anchor


@dataclass(frozen=True)
class Finding:
    """An erratum or a remark on record with its evidence, or a statement that the evidence refutes without a record.

    status: ``shown``, a check of the evidence refutes it; ``not checked``, no check that could show it was run;
    ``not confirmed``, the checks that were run do not show it.

    * ``told``: what the report's data say; None where nothing is on record;
    * ``shown_by``: the entry whose checks show it: its own or a remark's sibling, None for one outside the catalogue;
    * ``missing``: the checks (method, name) that are known to refute that one and were not run;
    * ``affected``: the paper's statements (id, state) that depend on an erratum;
    * ``readings``: the other readings of its words;
    * ``command``: repeats the evidence, or, if it does not exist, computes evidence that shows it.
    """

    entry: Entry
    told: Mapping[str, Any] | None
    shown_by: Entry | None
    status: str
    missing: tuple[tuple[str, str], ...]
    repaired: Entry | None
    command: str
    affected: tuple[tuple[str, str], ...] = ()
    readings: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class PaperErrata:
    """The content of one paper's page: the report's data (`author_report.report_on`) with the evidence. ``printed`` are
    the statements that were read in it."""

    paper: str
    report: Mapping[str, Any]
    entries: tuple[Entry, ...]
    printed: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    remarks: tuple[Finding, ...]
    sharpened: tuple[tuple[Entry, Entry], ...]

    @property
    def refuted(self) -> tuple[Finding, ...]:
        """The findings that the evidence shows."""
        return tuple(f for f in self.findings if f.status == "shown")

    @property
    def recorded(self) -> tuple[Finding, ...]:
        """The errata on record that this evidence does not show."""
        return tuple(f for f in self.findings if f.status != "shown")

    @property
    def causes(self) -> dict[str, Mapping[str, Any]]:
        """The causes of the errata, by id."""
        return {cause["id"]: cause for cause in self.report["causes"]}

    @property
    def shown_causes(self) -> list[tuple[Cause, list[Statement]]]:
        """The causes of the errata that the evidence shows, each with these."""
        return causes_of(s for f in self.refuted if (s := f.entry.statement) is not None)

    @property
    def status(self) -> dict[str, str]:
        """The status of each finding, by id."""
        return {f.entry.id: f.status for f in self.findings}

    @property
    def typos(self) -> dict[str, list[Mapping[str, Any]]]:
        """Each typo once, with the places of all the statements that it is recorded for."""
        return by_typo(self.report["typos"])

    @property
    def checked(self) -> tuple[Entry, ...]:
        """The statements read in the paper that have evidence."""
        return tuple(e for e in self.printed if e.evidence)

    @property
    def without_findings(self) -> tuple[Entry, ...]:
        """The statements without a finding or a remark; repaired and sharpened forms are listed elsewhere."""
        shown = {f.entry.id for f in self.findings}
        shown |= {e.id for r in self.remarks for e in (r.entry, r.shown_by) if e is not None}
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
    report = report_on(paper, recorded, graph)
    told = {e["id"]: e for e in report["errata"]}
    beside, shown = siblings(own, readings_of(recorded)), showing(recorded)
    findings = [
        _finding(e, told.get(i), own, graph)
        for i, e in own.items()
        if i not in shown and (i in told or (e.verdict == "violated" and not e.derived))
    ]
    return PaperErrata(
        paper,
        report,
        tuple(own.values()),
        tuple(e for e in own.values() if e.statement is not None and e.statement.printed and not e.derived),
        tuple(sorted(findings, key=lambda f: f.status != "shown")),
        tuple(_remark(own[r["id"]], r, own) for r in report["remarks"]),
        tuple((own[beside[i]], e) for i, e in own.items() if i in beside and i.endswith(".sharpened")),
    )


def _finding(entry: Entry, told: Mapping[str, Any] | None, own: Mapping[str, Entry], graph: Any) -> Finding:
    assert entry.statement is not None
    states = {i: graph.nodes[i]["state"] if i in graph else "not entered" for i in affected(entry.statement, graph)}
    return Finding(
        entry,
        told,
        entry,
        "not checked" if entry.open_erratum else "shown" if entry.verdict == "violated" else "not confirmed",
        _not_run(entry),
        own.get(told["repaired"]) if told else None,
        entry.command if entry.refuting else showing_command(entry.statement),
        tuple(states.items()),
        same_text_entries(entry, own),
    )


def _remark(entry: Entry, told: Mapping[str, Any], own: Mapping[str, Entry]) -> Finding:
    sibling, repaired = own.get(told["shown_by"]), own.get(told["repaired"])
    if sibling is None:
        return Finding(entry, told, None, "not checked", (), repaired, "")
    status = "shown" if sibling.verdict == "violated" else "not confirmed" if sibling.refuting else "not checked"
    command = sibling.command if sibling.refuting else told["command"]
    return Finding(entry, told, sibling, status, _not_run(sibling), repaired, command)


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
