"""The words of statements: Markdown files next to the modules that state them.

An entry begins with ``# ID: TITLE``; its first paragraphs are what the statement says. Sections follow::

    ## Note             how the formula was read
    ## Restoration      from what a lost formula was restored
    ## Reading          which of two readings this form is
    ## Typo: PLACE      a misprint next to it; the place only if it is elsewhere in the paper
    ## Remark           under which condition it would fail; fields "shown by" and "repaired"
    ## Erratum          why it fails; fields "cause", "grade", "effect", "repaired" and "affects",
                        and below it ### Printed, Corrected, Why, Counterexample, Effect and Survives: ID, ID

The fields of a section are lines ``- name: value`` right after its heading. A cause is an entry whose sections are
Example, Objection, Response and Proof. Sections with other names are words that several texts share.

``{{> ID}}`` includes what another entry of the paper says, ``{{> ID / SECTION}}`` one of its sections.
``{{EXPRESSION:DIGITS}}`` is a number that a computation gives, with that many significant digits
(`dpfl_theory.statements.numbers`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dpfl_theory.core import Cause, Effect, Erratum, Remark, Statement, Typo
from dpfl_theory.core.methods import UNITS
from dpfl_theory.statements.numbers import filled

__all__ = ["Entry", "Section", "causes", "documented", "documented_beside", "entries", "read"]

_HEADING = re.compile(r"(#{1,3}) (.+)")
_FIELD = re.compile(r"- (cause|grade|effect|repaired|affects|shown by): (.+)")
_INCLUDED = re.compile(r"\{\{> ([^{}]+)\}\}")


@dataclass
class Section:
    """A section: its heading, its fields, and its paragraphs."""

    heading: str
    fields: dict[str, str] = field(default_factory=dict)
    paragraphs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The paragraphs, with an empty line between two of them."""
        return "\n\n".join(self.paragraphs)

    @property
    def kind(self) -> str:
        """The heading up to its colon."""
        return self.heading.partition(": ")[0]

    @property
    def about(self) -> str:
        """The heading after its colon."""
        return self.heading.partition(": ")[2]


@dataclass
class Entry(Section):
    """An entry: its heading is ``ID: TITLE``; its paragraphs are what the statement says."""

    sections: list[Section] = field(default_factory=list)

    def texts(self, kind: str) -> list[Section]:
        """The sections of a kind."""
        return [section for section in self.sections if section.kind == kind]

    def section(self, kind: str) -> Section:
        """The section of a kind; an empty one where the entry has none."""
        return next(iter(self.texts(kind)), Section(kind))


def read(text: str) -> dict[str, Entry]:
    r"""The entries of a Markdown text, by id.

    >>> found = read("# a.b: A title\n\nIt is\nso.\n\n## Typo: Section 2\n\nOne.\n")["a.b"]
    >>> found.about, found.text, found.section("Typo").about, found.section("Note").text
    ('A title', 'It is so.', 'Section 2', '')
    """
    found: dict[str, Entry] = {}
    current: Section = Section("")
    for block in re.split(r"\n\s*\n", re.sub(r"(?m)^(#{1,3} .+)$", r"\n\1\n", text)):
        lines = block.strip().splitlines()
        if not lines:
            continue
        if heading := _HEADING.fullmatch(lines[0]):
            if len(heading[1]) == 1:
                current = entry = Entry(heading[2])
                found[entry.kind] = entry
            else:
                current = Section(heading[2])
                entry.sections.append(current)
        elif not current.paragraphs and (fields := [_FIELD.fullmatch(line) for line in lines]) and all(fields):
            current.fields.update((match[1], match[2]) for match in fields if match)
        else:
            current.paragraphs.append(" ".join(line.strip() for line in lines))
    return found


@cache
def _files() -> dict[str, tuple[Path, ...]]:
    """The Markdown files of each paper."""
    folder = Path(__file__).parent
    return {path.name: tuple(sorted(path.rglob("*.md"))) for path in sorted(folder.iterdir()) if path.is_dir()}


@cache
def entries(paper: str) -> Mapping[str, Entry]:
    """The entries of a paper, with words in place of what includes them, by id."""
    found: dict[str, Entry] = {}
    for path in _files().get(paper, ()):
        for id_, entry in read(path.read_text(encoding="utf-8")).items():
            if id_ in found:
                raise ValueError(
                    f"{path.name} describes {id_}, which another file of {paper} describes: keep one entry"
                )
            found[id_] = entry
    for entry in found.values():
        for section in (entry, *entry.sections):
            section.paragraphs = [_included(text, found) for text in section.paragraphs]
    return found


def _included(text: str, among: Mapping[str, Entry], depth: int = 0) -> str:
    """A text with the words that it includes."""

    def words(match: re.Match[str]) -> str:
        id_, _, kind = match[1].partition(" / ")
        own = among.get(id_)
        section = own and (next((s for s in own.sections if s.heading == kind), None) if kind else own)
        if not section or depth > 8:
            raise ValueError(f"{match[0]} includes words that are not there: name an entry, or one of its sections")
        return _included(section.text, among, depth + 1)

    return _INCLUDED.sub(words, text)


def _causes(among: Mapping[str, Entry]) -> dict[str, Cause]:
    """The causes of errata among entries, by id."""
    found = {}
    for id_, entry in among.items():
        if entry.texts("Objection"):
            example, objection, response = (
                filled(id_, entry.section(kind).text) for kind in ("Example", "Objection", "Response")
            )
            proof = tuple(filled(id_, text) for text in entry.section("Proof").paragraphs)
            found[id_] = Cause(id_, entry.about, filled(id_, entry.text), example, objection, response, proof)
    return found


@cache
def causes(paper: str) -> Mapping[str, Cause]:
    """The causes of a paper's errata, by id.

    >>> causes("das2022")["das2022.rounds"].script
    'rounds.py'
    """
    return _causes(entries(paper))


def documented(statement: Statement) -> Statement:
    """A statement of the catalogue with the words of its entry. Raises ValueError if it has no entry."""
    entry = entries(statement.paper).get(statement.id)
    if entry is None or not (entry.about and entry.text):
        where = f"add '# {statement.id}: TITLE' and what it says to the file next to its module"
        raise ValueError(f"no Markdown file of {statement.paper} says what {statement.id} states: {where}")
    return _with_words(statement, entry, causes(statement.paper))


def documented_beside(statement: Statement, among: Mapping[str, Entry]) -> Statement:
    """A user's statement with the words of its entry; as it is where no entry has its id."""
    entry = among.get(statement.id)
    return statement if entry is None else _with_words(statement, entry, _causes(among))


def _with_words(statement: Statement, entry: Entry, found: Mapping[str, Cause]) -> Statement:
    id_ = statement.id

    def text(section: Section) -> str:
        return filled(id_, section.text)

    note, restoration = text(entry.section("Note")), text(entry.section("Restoration"))
    if (statement.source.provenance == "restored") != bool(restoration):
        raise ValueError(f"{id_}: a restored formula, and no other, has a section '## Restoration' that says from what")
    remark = None
    for section in entry.texts("Remark"):
        shown_by = section.fields.get("shown by", "")
        if len(_ids(shown_by)) != 1:
            raise ValueError(f"{id_}: a remark is shown by {shown_by!r}: name one statement, the sibling that fails")
        remark = Remark(text(section), shown_by, section.fields.get("repaired", ""))
    erratum = None
    for section in entry.texts("Erratum"):
        fields = section.fields
        value = float(filled(id_, fields["effect"])) if "effect" in fields else None
        erratum = Erratum(
            cause=found[fields["cause"]],
            grade=fields["grade"],
            effect=Effect(value, text(entry.section("Effect"))),
            repaired=fields.get("repaired", ""),
            affects=_ids(fields.get("affects", "")),
            survives={other: text(s) for s in entry.texts("Survives") for other in _ids(s.about)},
            **{kind.lower(): text(entry.section(kind)) for kind in ("Printed", "Corrected", "Why", "Counterexample")},
        )
    return replace(
        statement,
        title=filled(id_, entry.about),
        text=text(entry),
        source=replace(statement.source, note=note, restoration=restoration),
        reading=text(entry.section("Reading")),
        typos=tuple(Typo(text(s), s.about) if s.about else text(s) for s in entry.texts("Typo")),
        erratum=erratum,
        remark=remark,
        smoke=(UNITS,) if statement.units_in_smoke else (),
    )


def _ids(listed: str) -> tuple[str, ...]:
    return tuple(id_.strip() for id_ in listed.split(",") if id_.strip())
