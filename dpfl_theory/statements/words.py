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
Example, Objection, Response and Proof. Other entries, such as ``shared``, have words that several texts share.

``{{> ID}}`` includes what another entry of the paper says, ``{{> ID / SECTION}}`` one of its sections.
``{{EXPRESSION:DIGITS}}`` is a number that a computation gives, with that many significant digits
(`dpfl_theory.statements.numbers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dpfl_theory.core import Cause, Effect, Erratum, Remark, Statement, Typo
from dpfl_theory.core.methods import UNITS
from dpfl_theory.errors import InputError
from dpfl_theory.statements.numbers import filled, numbers_in

_OF_ERRATUM = ("Printed", "Corrected", "Why", "Counterexample")
KINDS = ("Note", "Restoration", "Reading", "Typo", "Remark", "Erratum", *_OF_ERRATUM, "Effect", "Survives")
"""The sections that a statement may have."""

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
    r"""The entries of a Markdown text, by id, as they are written. Raises InputError where it starts with no entry.

    >>> found = read("# a.b: A title\n\nIt is\nso.\n\n## Typo: Section 2\n\nOne.\n")["a.b"]
    >>> found.about, found.text, found.section("Typo").about, found.section("Note").text
    ('A title', 'It is so.', 'Section 2', '')
    """
    found: list[Entry] = []
    current: Section | None = None
    for block in re.split(r"\n\s*\n", re.sub(r"(?m)^(#{1,3} .+)$", r"\n\1\n", text)):
        lines = [line.strip() for line in block.strip().splitlines()]
        if not lines:
            continue
        if (heading := _HEADING.fullmatch(lines[0])) and heading[1] == "#":
            found.append(current := Entry(heading[2]))
        elif current is None:
            raise InputError(f"the text starts with {lines[0]!r}: start it with an entry, '# ID: TITLE'")
        elif heading:
            found[-1].sections.append(current := Section(heading[2]))
        elif not current.paragraphs and all(fields := [_FIELD.fullmatch(line) for line in lines]):
            current.fields.update((match[1], match[2]) for match in fields if match)
        else:
            current.paragraphs.append(" ".join(lines))
    return {entry.kind: entry for entry in found}


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
                raise InputError(f"{path.name} has an entry {id_}, as another file of {paper} has: keep one of them")
            found[id_] = entry
    return _resolved(found)


def _resolved(found: dict[str, Entry]) -> dict[str, Entry]:
    """Entries with words in place of what includes them."""
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
            raise InputError(f"{match[0]} includes words that are not there: name an entry, or one of its sections")
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
    """A statement of the catalogue with the words of its entry. Raises InputError if it has no entry."""
    entry = entries(statement.paper).get(statement.id)
    if entry is None or not (entry.about and entry.text):
        where = f"add '# {statement.id}: TITLE' and what it says to the file next to its module"
        raise InputError(f"no Markdown file of {statement.paper} says what {statement.id} states: {where}")
    return _with_words(statement, entry, causes(statement.paper))


def documented_beside(statements: Iterable[Statement], text: str) -> Iterator[Statement]:
    """A user's statements with the words of a Markdown text; one without an entry stays as it is.

    Raises InputError where the text cannot be used, and for placeholders of numbers, which only the catalogue records.
    """
    among = _resolved(read(text))
    for entry in among.values():
        for section in (entry, *entry.sections):
            for number in numbers_in("\n".join((*section.fields.values(), section.text))):
                raise InputError(f"{entry.kind} has the placeholder {number.expression!r}: type the number")
    found = _causes(among)
    for one in statements:
        yield _with_words(one, among[one.id], found) if one.id in among else one


def _with_words(statement: Statement, entry: Entry, found: Mapping[str, Cause]) -> Statement:
    id_ = statement.id
    for section in entry.sections:
        if section.kind not in KINDS:
            raise InputError(f"{id_} has a section {section.kind!r}: choose among {', '.join(KINDS)}")

    def text(section: Section) -> str:
        return filled(id_, section.text)

    note, restoration = text(entry.section("Note")), text(entry.section("Restoration"))
    if (statement.source.provenance == "restored") != bool(restoration):
        raise InputError(f"{id_}: a restored formula, and no other, has a section '## Restoration' that says from what")
    remark = None
    for section in entry.texts("Remark"):
        shown_by = _field(id_, section, "shown by")
        if len(_ids(shown_by)) != 1:
            raise InputError(f"{id_}: a remark is shown by {shown_by!r}: name one statement, the sibling that fails")
        remark = Remark(text(section), shown_by, section.fields.get("repaired", ""))
    erratum = None
    for section in entry.texts("Erratum"):
        cause = _field(id_, section, "cause")
        if cause not in found:
            raise InputError(f"{id_} has the cause {cause!r}, which no entry describes: add '# {cause}: TITLE'")
        fields = section.fields
        erratum = Erratum(
            cause=found[cause],
            grade=_field(id_, section, "grade"),
            effect=Effect(
                float(filled(id_, fields["effect"])) if "effect" in fields else None, text(entry.section("Effect"))
            ),
            repaired=fields.get("repaired", ""),
            affects=_ids(fields.get("affects", "")),
            survives={other: text(s) for s in entry.texts("Survives") for other in _ids(s.about)},
            **{kind.lower(): text(entry.section(kind)) for kind in _OF_ERRATUM},
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


def _field(id_: str, section: Section, name: str) -> str:
    """A field that a section needs."""
    if name not in section.fields:
        raise InputError(f"{id_}: the section {section.heading!r} has no line '- {name}: ...' after its heading")
    return section.fields[name]


def _ids(listed: str) -> tuple[str, ...]:
    return tuple(id_.strip() for id_ in listed.split(",") if id_.strip())
