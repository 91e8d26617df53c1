"""Builds the pages from JSON evidence, the catalogue, and nothing else: one of everything, one for each paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory import validation
from dpfl_theory.checks.document import read as read_checks
from dpfl_theory.checks.evidence import OF_STATEMENTS, SCHEMA
from dpfl_theory.errors import InputError, told
from dpfl_theory.output import write
from dpfl_theory.report import errata, letter
from dpfl_theory.report.entries import Entry, entries_of, groups_of, natural, reference, showing, versions_of
from dpfl_theory.report.proof_map import proof_graph, proof_map
from dpfl_theory.report.templates import anchor, render
from dpfl_theory.schemas.faults import another
from dpfl_theory.statements.errata import GRADES
from dpfl_theory.store import Store
from dpfl_theory.validation.document import read as read_validation
from dpfl_theory.validation.stored import figures_slot, take_figures

__all__ = ["build"]

PROVENANCES = {
    "read": "read in the papers",
    "restored": "restored",
    "derived": "derived",
    "readings": "second readings",
}
SVG_BYTES = 600_000
"""A larger figure is shown as PNG: browsers are slow with such paths."""


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
    """Redraw the figures and write ``index.html`` and ``errata/<paper>.html`` from the files in ``output/evidence``;
    returns the path of the former.

    redraw: False takes the figures as they lie there. scripts: the folder of scripts that draw them, the package's own
    when it is None. unfinished: what a run that goes on has still to do, in words,
    which the page shows. store: where figures are taken from that are there, unless ``fresh``, and are kept.

    Where two files have evidence of the same check, the one that was written last counts. Raises InputError when there
    is no evidence, or a file is not evidence that this version can read.
    """
    checks, validations = _read(output / "evidence")
    evidence: dict[tuple[str, str, str], dict[str, Any]] = {}
    for document in checks:
        for e in document["evidence"]:
            evidence[e["statement"], e["method"], e["check"]] = e
    entries = entries_of(evidence.values())
    figures = _Figures(output, tell, redraw, scripts, store, fresh)
    shown = [{**document, "figures": figures.of(document)} for document in validations]
    by_id = {e.id: e for e in entries}
    graph = proof_graph(entries)
    alphas = sorted({d["summary"]["alpha"] for d in checks})

    def href(id_: str) -> str:
        return f"#{anchor(id_)}" if id_ in by_id else ""

    groups = groups_of(entries)
    pages = errata.write_pages(output, entries, graph, alphas)
    page = render(
        "page.html.j2",
        entries=entries,
        groups=[(paper, reference(paper), group) for paper, group in groups.items()],
        maps=[(paper, reference(paper), proof_map(paper, graph, href)) for paper in pages],
        pages={paper: file.relative_to(output).as_posix() for paper, file in pages.items()},
        validations=shown,
        counts=_counts(entries, shown),
        alphas=alphas,
        versions=versions_of([*evidence.values(), *shown]),
        href=href,
        shows=showing(e.statement for e in entries),
        alike=lambda entry: letter.alike(entry, by_id),
        grades=GRADES,
        affected=lambda statement: letter.affected(statement, graph),
        unfinished=unfinished,
    )
    return write(output / "index.html", page)


def _read(place: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    checks: list[dict[str, Any]] = []
    validations: list[dict[str, Any]] = []
    written: dict[int, float] = {}
    for path in sorted(place.glob("*.json"), key=lambda p: natural(p.stem)):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            told = f"evidence file {str(path)!r} cannot be read: {error}; remove it or make it anew"
            raise InputError(told) from error
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema == SCHEMA:
            checks.append(_whole(read_checks, document, path))
            written[id(checks[-1])] = path.stat().st_mtime
        elif schema == validation.SCHEMA:
            validations.append(_whole(read_validation, document, path))
        else:
            told_ = another(schema, SCHEMA, validation.SCHEMA)
            raise InputError(f"evidence file {str(path)!r} {told_}; make it anew or remove it")
    if not checks and not validations:
        raise InputError(
            f"there is no evidence in {str(place)!r}: run 'dpfl-theory validate', or 'dpfl-theory check --format json "
            f"--output {place}/check.json', first"
        )
    return sorted(checks, key=lambda document: written[id(document)]), validations


def _whole(read: Callable[[Any, str], dict[str, Any]], document: Any, path: Path) -> dict[str, Any]:
    """The document, if it has all that its schema says. InputError, with the remedy, otherwise."""
    try:
        return read(document, f"evidence file {str(path)!r}")
    except InputError as error:
        raise InputError(f"{error}; make it anew or remove it") from None


def _counts(entries: Sequence[Entry], validations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    checked = [e for e in entries if e.evidence]
    claims = [c for v in validations for c in v["data"].get("claims", [])]
    shows = showing(e.statement for e in entries)
    remarked = [e for e in checked if e.id in shows and e.verdict == "violated"]
    verdicts = [e.verdict for e in checked if e not in remarked]
    provenances = letter.provenances(e.statement for e in entries if e.statement is not None)
    return {
        "checked": len(checked),
        "entries": len(entries),
        "provenances": {PROVENANCES[name]: n for name, n in provenances.items() if n},
        "verdicts": {v: verdicts.count(v) for v in OF_STATEMENTS if v in verdicts},
        "remarked": len(remarked),
        "surprising": sum(e.surprising for e in checked),
        "evidence": sum(len(e.evidence) for e in checked),
        "validations": len(validations),
        "claims": {v: n for v in validation.CLAIM_VERDICTS if (n := sum(c["verdict"] == v for c in claims))},
    }


class _Figures:
    """The figures that the page shows, which lie beside it: SVG where that is small, else PNG."""

    def __init__(
        self,
        output: Path,
        tell: Callable[[str], None],
        redraw: bool,
        scripts: Path | None,
        store: Store | None,
        fresh: bool,
    ) -> None:
        self.store, self.fresh = store, fresh
        self.place = output / "figures"
        self.tell = tell
        self.folder = scripts
        self.scripts = _scripts(scripts) if redraw else {}
        self.redraw = redraw

    def of(self, document: Mapping[str, Any]) -> list[dict[str, str]]:
        """The document's figures: ``source`` (for an image), ``alt``, and links to the files."""
        name = document["name"]
        if name in self.scripts:
            self.place.mkdir(parents=True, exist_ok=True)
            for file, content in self._drawn(self.scripts[name], document).items():
                write(self.place / file, content)
        elif self.redraw:
            self.tell(f"there is no script {name!r} here to redraw its figures: those in {str(self.place)!r} are taken")
        stems = {p.stem for p in (*self.place.glob(f"{name}.png"), *self.place.glob(f"{name}-*.png"))}
        return [self._shown(stem, document) for stem in sorted(stems, key=natural)]

    def _drawn(self, path: Path, document: Mapping[str, Any]) -> dict[str, bytes]:
        """The figures by file name; a script is loaded where they are not in the store."""
        if self.store is not None and not self.fresh:
            files = take_figures(figures_slot(path, self.folder, document["data"], self.store))
            if files is not None:
                return files
        script = validation.load(path, self.folder)
        try:
            return validation.redraw(script, document, self.store, self.fresh)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise InputError(
                f"the figures of {document['name']!r} cannot be drawn from its evidence ({told(error)}): make it anew "
                "or remove it"
            ) from error

    def _shown(self, stem: str, document: Mapping[str, Any]) -> dict[str, str]:
        part = stem.removeprefix(document["name"]).lstrip("-")
        alt = f"{document['title']}{f' ({part})' if part else ''}: described in the caption"
        svg = self.place / f"{stem}.svg"
        small = svg.is_file() and svg.stat().st_size <= SVG_BYTES
        return {"source": f"figures/{stem}.{'svg' if small else 'png'}", "alt": alt, "stem": stem, "part": part}


def _scripts(place: Path | None) -> dict[str, Path]:
    try:
        return validation.available(place)
    except InputError:
        return {}
