"""Builds one self-contained HTML page from JSON evidence, the catalogue of statements, and nothing else."""

from __future__ import annotations

import base64
import importlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dpfl_theory import statements, validation
from dpfl_theory.checks.evidence import SCHEMA, VERDICTS, statement_verdict, verdict_of
from dpfl_theory.console import write
from dpfl_theory.errors import InputError
from dpfl_theory.report import formulas
from dpfl_theory.statements.model import Statement

__all__ = ["build", "significant"]

SVG_BYTES = 600_000
PAGE_BYTES = 8_000_000


@dataclass(frozen=True)
class Entry:
    """One statement of the page: its record in the catalogue (None for a user's own), its evidence, its verdict."""

    id: str
    statement: Statement | None
    evidence: list[dict[str, Any]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What the statement is about."""
        return self.statement.title if self.statement is not None else "a statement outside the catalogue"

    @property
    def verdict(self) -> str:
        """The statement's verdict, or ``not checked``."""
        return verdict_of(self.evidence) if self.evidence else "not checked"

    @property
    def expected(self) -> str:
        """The verdict that the checks that were run are known to give together."""
        if not self.evidence:
            return self.statement.expected if self.statement is not None else "-"
        return statement_verdict((e["method"], e["expected"]) for e in self.evidence)

    @property
    def surprising(self) -> bool:
        """Whether the verdict is not the recorded one."""
        return bool(self.evidence) and self.verdict != self.expected

    @property
    def methods(self) -> list[str]:
        """The methods that gave evidence."""
        return list(dict.fromkeys(e["method"] for e in self.evidence))

    @property
    def worst_ratio(self) -> float | None:
        """The largest lhs/rhs over the evidence."""
        return max((e["ratio"] for e in self.evidence if e["ratio"] is not None), default=None)

    @property
    def command(self) -> str:
        """The command that repeats the evidence."""
        drawn = [e for e in self.evidence if e["seed"] is not None and e["alpha"] is not None]
        if not drawn:
            return f"dpfl-theory check {self.id}"
        # Each check keeps its share of the false-alarm budget, so that it stops after the same number of lanes.
        return f"dpfl-theory check {self.id} --seed {drawn[0]['seed']} --alpha {drawn[0]['alpha'] * len(drawn):.17g}"

    @cached_property
    def lines(self) -> list[formulas.Line]:
        """The displayed formula."""
        return [] if self.statement is None else formulas.lines(self.statement)


def build(output: Path, tell: Callable[[str], None] = lambda text: None) -> Path:
    """Redraw the figures and write ``index.html`` from the files in ``output/evidence``; returns the page's path.

    Raises InputError when there is no evidence, or a file is not evidence that this version can read.
    """
    checks, validations = _read(output / "evidence")
    evidence: dict[tuple[str, str, str], dict[str, Any]] = {}
    for document in checks:
        for e in document["evidence"]:
            evidence[e["statement"], e["method"], e["check"]] = e
    entries = _entries(evidence.values())
    figures = _Figures(output, tell)
    shown = [{**document, "figures": figures.of(document)} for document in validations]
    template = _environment().get_template("page.html.j2")
    page = template.render(
        entries=entries,
        groups=_groups(entries),
        validations=shown,
        counts=_counts(entries, shown),
        alphas=sorted({d["summary"]["alpha"] for d in checks}),
        versions=_versions([*evidence.values(), *shown]),
        style=(Path(__file__).parent / "page.css").read_text(encoding="utf-8"),
        known={e.id for e in entries},
    )
    return write(output / "index.html", page)


def _read(place: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    checks, validations = [], []
    for path in sorted(place.glob("*.json"), key=lambda p: _natural(p.stem)):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            told = f"evidence file {str(path)!r} cannot be read: {error}; remove it or make it anew"
            raise InputError(told) from error
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema == SCHEMA:
            if not _complete(document):
                raise InputError(
                    f"evidence file {str(path)!r} is not a whole check document: make it anew or remove it"
                )
            checks.append(document)
        elif schema == validation.SCHEMA:
            validations.append(document)
        else:
            known = f"{SCHEMA!r} or {validation.SCHEMA!r}"
            raise InputError(f"evidence file {str(path)!r} has the schema {schema!r}, and not {known}: remove it")
    if not checks and not validations:
        raise InputError(
            f"there is no evidence in {str(place)!r}: run 'dpfl-theory validate', or 'dpfl-theory check --format json "
            f"--output {place}/check.json', first"
        )
    return checks, validations


def _complete(document: dict[str, Any]) -> bool:
    """Whether a check document has the fields that the page shows."""
    needed = {"statement", "method", "check", "verdict", "expected", "reason", "lhs", "rhs", "ratio", "seed", "alpha"}
    evidence, summary = document.get("evidence"), document.get("summary")
    if not isinstance(evidence, list) or not isinstance(summary, dict) or "alpha" not in summary:
        return False
    return all(isinstance(e, dict) and needed <= set(e) for e in evidence)


def _natural(text: str) -> list[Any]:
    """A sort key with which theorem10 comes after theorem4."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _entries(evidence: Iterable[dict[str, Any]]) -> list[Entry]:
    """The catalogue's statements of every paper that has evidence, and statements of the user's own."""
    found: dict[str, list[dict[str, Any]]] = {}
    for e in evidence:
        found.setdefault(e["statement"], []).append(e)
    catalogue = {s.id: s for s in statements.all_statements()}
    papers = {catalogue[id_].paper for id_ in found if id_ in catalogue}
    ids = {*found, *(s.id for s in catalogue.values() if s.paper in papers)}
    return [Entry(id_, catalogue.get(id_), found.get(id_, [])) for id_ in sorted(ids, key=_natural)]


def _groups(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Entries by paper: the paper's reference and its entries."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault("" if entry.statement is None else entry.statement.paper, []).append(entry)
    return [(_reference(paper), group) for paper, group in sorted(groups.items())]


def _reference(paper: str) -> str:
    if not paper:
        return "Statements outside the catalogue"
    documentation = importlib.import_module(f"dpfl_theory.statements.{paper}").__doc__ or paper
    return documentation.strip().splitlines()[0]


def _counts(entries: Sequence[Entry], validations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    checked = [e for e in entries if e.evidence]
    claims = [c for v in validations for c in v["data"].get("claims", [])]
    verdicts = [e.verdict for e in checked]
    return {
        "checked": len(checked),
        "entries": len(entries),
        "verdicts": {v: verdicts.count(v) for v in VERDICTS if v in verdicts},
        "surprising": sum(e.surprising for e in checked),
        "evidence": sum(len(e.evidence) for e in checked),
        "validations": len(validations),
        "claims": {v: n for v in validation.CLAIM_VERDICTS if (n := sum(c["verdict"] == v for c in claims))},
    }


def _versions(documents: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Each package's version, or versions where the evidence was made with several."""
    seen: dict[str, set[str]] = {}
    for document in documents:
        for package, version in document["versions"].items():
            seen.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(found)) for package, found in seen.items()}


class _Figures:
    """Redraws figures and turns them into what the page embeds: SVG where it is small, else PNG."""

    def __init__(self, output: Path, tell: Callable[[str], None]) -> None:
        self.place = output / "figures"
        self.tell = tell
        self.scripts = _scripts()
        self.bytes = 0

    def of(self, document: Mapping[str, Any]) -> list[dict[str, str]]:
        """The document's figures: ``source`` (for an image), ``alt``, and links to the files."""
        name = document["name"]
        if name in self.scripts:
            self.place.mkdir(parents=True, exist_ok=True)
            for file, content in validation.redraw(validation.load(self.scripts[name]), document).items():
                write(self.place / file, content)
        else:
            self.tell(f"there is no script {name!r} here to redraw its figures: those in {str(self.place)!r} are taken")
        stems = {p.stem for p in (*self.place.glob(f"{name}.png"), *self.place.glob(f"{name}-*.png"))}
        return [self._embed(stem, document) for stem in sorted(stems, key=_natural)]

    def _embed(self, stem: str, document: Mapping[str, Any]) -> dict[str, str]:
        part = stem.removeprefix(document["name"]).lstrip("-")
        alt = f"{document['title']}{f' ({part})' if part else ''}. {document['caption']}"
        png, svg = (self.place / f"{stem}.{kind}" for kind in ("png", "svg"))
        small = svg.is_file() and svg.stat().st_size <= SVG_BYTES
        content = (svg if small else png).read_bytes()
        source = f"figures/{stem}.png"
        if self.bytes + 4 * len(content) / 3 <= PAGE_BYTES:
            kind = "svg+xml" if small else "png"
            source = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
            self.bytes += len(source)
        return {"source": source, "alt": alt, "stem": stem, "part": part}


def _scripts() -> dict[str, Path]:
    try:
        return validation.available()
    except InputError:
        return {}


def significant(value: Any) -> str:
    """A number to four significant digits, with a power of ten where it is far from 1; a dash when there is none.

    >>> significant(0.00001234567), significant(12345.678), significant(3), significant(None)
    ('1.235×10⁻⁵', '1.235×10⁴', '3', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(formulas.RAISED)}"
    return text.replace("-", "−")


def _compact(value: Any) -> str:
    """Plain data in one line: numbers to four digits, long lists cut."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_compact(v)}" for k, v in value.items()) or "–"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(_compact(v) for v in value[:12])
        return f"[{shown}, … {len(value)} in all]" if len(value) > 12 else f"[{shown}]"
    return significant(value)


def _bar(e: Mapping[str, Any], entry: Entry) -> dict[str, Any] | None:
    """Geometry of a tightness bar, in percent of its width: the terms' shares of the bound, and where lhs lies.

    The scale ends a little beyond the larger of bound and lhs, and a limit beyond it is cut off there; None where there
    is nothing to show.
    """
    rhs, lhs = e["rhs"], e["lhs"]
    terms = {name: value for name, value in e["terms"].items() if value is not None}
    if not rhs or rhs <= 0.0 or not terms or lhs is None or lhs["estimate"] is None:
        return None
    if any(value < 0.0 for value in terms.values()) or not math.isclose(sum(terms.values()), rhs, rel_tol=1e-6):
        return None
    order = {line.name: line.index for line in entry.lines if line.side == "rhs"}
    scale = 100.0 / (1.05 * max(rhs, lhs["estimate"]))
    at = 0.0
    parts = []
    for i, (name, value) in enumerate(terms.items()):
        parts.append(
            {"x": at, "width": value * scale, "share": value / rhs, "name": name, "index": order.get(name, i) % 6}
        )
        at += value * scale
    marker = {key: min(100.0, max(0.0, lhs[key] or 0.0) * scale) for key in ("low", "estimate", "high")}
    return {"parts": parts, "marker": marker}


def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        num=significant,
        compact=_compact,
        mathml=Markup,  # only MathML of our own making goes through this
        anchor=lambda text: re.sub(r"[^A-Za-z0-9]+", "-", text),
    )
    environment.globals.update(
        bar=_bar,
        letters=lambda s: formulas.letters(s),
        prescriptions=lambda s: formulas.prescriptions(s),
        raw=Markup,
    )
    return environment
