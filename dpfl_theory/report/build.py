"""Builds the pages only from JSON evidence and the catalogue: an overview of the findings, and a page for each
statement, validation, proof map and report to authors.

Figures are in files next to the pages: SVG where that is small, otherwise PNG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpfl_theory import validation
from dpfl_theory.checks.certificate_file import SCRIPT, is_proof, of_evidence
from dpfl_theory.checks.certificate_file import text as text_of
from dpfl_theory.core.errata import GRADES
from dpfl_theory.errors import InputError, format_error
from dpfl_theory.report import author_report, documents, errata, overview
from dpfl_theory.report.entries import Entry, entries_of, natural, readings_of, showing, siblings, versions_of
from dpfl_theory.report.proof_map import neighbours, proof_graph, proof_map
from dpfl_theory.report.site import CERTIFICATES, FIGURES, INDEX, Site, file_names
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.cache import Store
from dpfl_theory.validation.run import figures_slot, take_figures


def build(
    output: Path,
    tell: Callable[[str], None] = lambda text: None,
    *,
    redraw: bool = True,
    scripts: Path | None = None,
    unfinished: str = "",
    store: Store | None = None,
    fresh: bool = False,
) -> Path:
    """Redraw the figures and write the pages from the files in ``output/evidence``; returns the path of the first one,
    ``index.html``. Unchanged pages are not written again.

    * redraw: False uses the figures that are there.
    * scripts: the folder of scripts that draw them, the package's own when it is None.
    * unfinished: the remaining work of a run in progress, in words, which the page shows.
    * store: figures are taken from it, unless ``fresh``, and stored in it.

    Where two files have evidence of the same check, the one written last counts. Raises InputError when there is no
    evidence, or a file is not evidence that this version can read.
    """
    known = documents.read(output / documents.FOLDER)
    figures = Figures(output, tell, redraw, scripts, store, fresh)
    validations = [{**document, "figures": figures.figures_of(document)} for document in known.validations]
    entries = entries_of(known.evidence, known.own)
    by_id = {e.id: e for e in entries}
    graph = proof_graph(entries)
    papers = frozenset(e.paper for e in entries if e.paper)
    site = Site(output, file_names(by_id), file_names(v["name"] for v in validations), papers)
    author_reports = {paper: errata.collect(paper, entries, graph) for paper in sorted(papers)}
    for paper, reported in author_reports.items():
        drawn = proof_map(paper, graph, site.href("../"))
        site.page(site.map(paper), "map.html.j2", paper=paper, map=drawn, author_report=reported)
        errata.write_author_report(site, reported, drawn, known.alphas)
    shows = showing(e.statement for e in entries)
    beside = siblings(by_id, readings_of(e.statement for e in entries))
    for previous, entry, following in zip([None, *entries], entries, [*entries[1:], None]):
        site.page(
            site.statement(entry.id),
            "statement.html.j2",
            f"{INDEX}#statements",
            entry=entry,
            around=(previous, following),
            files=known.files.get(entry.id, ()),
            near=neighbours(entry.id, graph, beside),
            alike=author_report.same_text_entries(entry, by_id),
            repaired=_repaired(entry, by_id),
            script=_script(entry),
            proof=_proof(site, entry),
            affected=() if entry.statement is None else author_report.affected(entry.statement, graph),
            grades=GRADES,
            shows=shows,
            alphas=known.alphas,
            versions=versions_of(entry.evidence),
        )
    for v in validations:
        site.page(site.validation(v["name"]), "validation.html.j2", f"{FIGURES}.html", v=v, versions=versions_of([v]))
    site.page(
        f"{FIGURES}.html",
        "figures.html.j2",
        f"{FIGURES}.html",
        validations=validations,
        versions=versions_of(validations),
    )
    found = overview.findings(entries, author_reports, validations)
    page = site.page(
        INDEX,
        "index.html.j2",
        INDEX,
        entries=entries,
        findings=found,
        in_all=overview.in_all(found),
        validations=validations,
        counts=overview.counts(entries, validations),
        shows=shows,
        grades=GRADES,
        unfinished=unfinished,
        profile=known.profile,
        alphas=known.alphas,
        versions=versions_of([*known.evidence, *validations]),
    )
    site.clear()
    return page


def _repaired(entry: Entry, known: dict[str, Entry]) -> Entry | None:
    """The repaired form of a statement with an erratum or a remark, if it is known."""
    said = None if entry.statement is None else (entry.statement.erratum or entry.statement.remark)
    return None if said is None else known.get(said.repaired)


def _proof(site: Site, entry: Entry) -> dict[str, Any] | None:
    """The certificates of a statement's worst cases, written next to the script that verifies them. Certificates in an
    up-to-date file were verified when it was written."""
    found = of_evidence(entry.evidence)
    path = site.output / site.certificate(entry.id)
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text_of(found):
        found = [c for c in found if is_proof(c)]
    if not found:
        return None
    file = site.file(site.certificate(entry.id), text_of(found))
    script = site.file(f"{CERTIFICATES}/{SCRIPT.name}", SCRIPT.read_text(encoding="utf-8"))
    return {"file": file, "script": script, "count": len(found)}


def _script(entry: Entry) -> dict[str, Any] | None:
    """The script that reproduces the counterexample of a statement with an erratum, and its path."""
    if entry.statement is None or entry.statement.erratum is None:
        return None
    cause = entry.statement.erratum.cause
    text = author_report.script_text(cause)
    return {"path": author_report.script_path(cause), "text": text} if text else None


SVG_BYTES = 600_000
"""A larger figure is shown as PNG: browsers are slow with such paths."""


@dataclass
class Figures:
    """Draws the figures of validations again, or uses those that are there.

    redraw: False uses the figures that are there. folder: the folder of scripts that draw them, the package's own
    when it is None. store: figures are taken from it, unless ``fresh``, and stored in it.
    """

    output: Path
    tell: Callable[[str], None]
    redraw: bool = True
    folder: Path | None = None
    store: Store | None = None
    fresh: bool = False

    @cached_property
    def scripts(self) -> dict[str, Path]:
        """The scripts that draw figures again, by name."""
        try:
            return validation.available(self.folder) if self.redraw else {}
        except InputError:
            return {}

    def figures_of(self, document: Mapping[str, Any]) -> list[dict[str, str]]:
        """The document's figures: ``shown`` (the file for an image), ``alt``, ``stem`` (of the files) and ``part``."""
        name, place = document["name"], self.output / FIGURES
        if name in self.scripts:
            place.mkdir(parents=True, exist_ok=True)
            for file, content in self._drawn(self.scripts[name], document).items():
                write(place / file, content)
        elif self.redraw:
            self.tell(f"there is no script {name!r} here to redraw its figures: those in {str(place)!r} are used")
        stems = [p.stem for p in place.glob("*.png") if p.stem == name or p.stem.startswith(f"{name}-")]
        return [self._shown(stem, document) for stem in sorted(stems, key=natural)]

    def _drawn(self, path: Path, document: Mapping[str, Any]) -> dict[str, bytes]:
        """The figures by file name; a script is loaded only where they are not in the store."""
        if self.store is not None and not self.fresh:
            files = take_figures(figures_slot(path, self.folder, document["data"], self.store))
            if files is not None:
                return files
        script = validation.load(path, self.folder)
        try:
            return validation.redraw(script, document, self.store, self.fresh)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise InputError(
                f"the figures of {document['name']!r} cannot be drawn from its evidence ({format_error(error)}): make "
                "it again or remove it"
            ) from error

    def _shown(self, stem: str, document: Mapping[str, Any]) -> dict[str, str]:
        part = stem.removeprefix(document["name"]).lstrip("-")
        alt = f"{document['title']}{f' ({part})' if part else ''}: described in the caption"
        svg = self.output / FIGURES / f"{stem}.svg"
        small = svg.is_file() and svg.stat().st_size <= SVG_BYTES
        return {"shown": f"{stem}.{'svg' if small else 'png'}", "alt": alt, "stem": stem, "part": part}
