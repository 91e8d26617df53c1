"""The content of a page for each statement: its record in the catalogue, its evidence, and its verdict."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from dpfl_theory import statements
from dpfl_theory.checks.document import exponent_of
from dpfl_theory.checks.execute import checks_of
from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.evidence import kind_of, statement_verdict, verdict_of
from dpfl_theory.core.statement import DERIVED
from dpfl_theory.report import formulas
from dpfl_theory.report.user_statements import shown_lines
from dpfl_theory.statements.paper import known as known_papers
from dpfl_theory.statements.power import Power, recorded

LETTER_CHECKS = 2
"""The number of refuting checks of a statement that a report to the authors shows in full."""


@dataclass(frozen=True)
class Entry:
    """One statement of the page: its record in the catalogue (None for a user's own), its evidence, its verdict."""

    id: str
    statement: Statement | None
    evidence: list[dict[str, Any]] = field(default_factory=list)
    own: Mapping[str, Any] = field(default_factory=dict)
    """The document's data on a statement of the user's own (`dpfl_theory.report.user_statements`)."""

    @property
    def title(self) -> str:
        """The statement's title."""
        if self.statement is not None:
            return self.statement.title
        return str(self.own.get("title", "a statement outside the catalogue"))

    @property
    def paper(self) -> str:
        """The paper's id; empty for a statement outside the catalogue."""
        return self.statement.paper if self.statement is not None else ""

    @property
    def kind(self) -> str:
        """Theorem, lemma, step of a proof, ...; ``statement`` for one outside the catalogue."""
        return self.statement.kind if self.statement is not None else str(self.own.get("kind", "statement"))

    @property
    def verdict(self) -> str:
        """The statement's verdict, or ``not checked``."""
        return verdict_of(self.evidence) if self.evidence else "not checked"

    @property
    def expected(self) -> str:
        """The expected joint verdict of the checks that were run."""
        if not self.evidence:
            return self.statement.expected if self.statement is not None else "-"
        return statement_verdict((kind_of(e["method"], e["check"]), e["expected"]) for e in self.evidence)

    @property
    def derived(self) -> bool:
        """Whether it is a repaired or sharpened form, or another statement of ours."""
        return self.statement is not None and self.statement.provenance == "derived"

    @cached_property
    def checks(self) -> Sequence[Check]:
        """The catalogue's checks of the statement; empty for a user's own."""
        return () if self.statement is None else checks_of(self.statement)

    @property
    def missing(self) -> int:
        """The number of these that were not run here."""
        run = {(e["method"], e["check"]) for e in self.evidence}
        return sum((c.method, c.name) not in run for c in self.checks)

    @property
    def surprising(self) -> bool:
        """Whether the verdict is not the recorded one."""
        return bool(self.evidence) and self.verdict != self.expected

    @property
    def refuting(self) -> list[dict[str, Any]]:
        """The checks that were found violated, and those that are known to refute the statement."""
        return [e for e in self.evidence if "violated" in (e["verdict"], e["expected"])]

    @property
    def most_refuting(self) -> list[dict[str, Any]]:
        """The most informative checks that refute it, for a report to the authors: those whose limits exceed the bound
        by the largest factor, and those whose result differs from the record."""
        known = self.refuting
        first = sorted(known, key=lambda e: (e["verdict"] == e["expected"], -(e["ratio"] or 0.0)))[:LETTER_CHECKS]
        kept = {id(e) for e in first}
        return [e for e in known if id(e) in kept]

    @property
    def open_erratum(self) -> bool:
        """Whether an erratum is recorded and no check that could show it was run."""
        return self.statement is not None and self.statement.erratum is not None and not self.refuting

    @property
    def open_refutation(self) -> bool:
        """Whether the statement is known to fail, by an erratum or to show a remark, and no check of that was run."""
        known = self.statement is not None and self.statement.expected == "violated" and not self.refuting
        return known or self.open_erratum

    @property
    def marks(self) -> tuple[str, ...]:
        """How it differs from a statement that was read in the paper: restored, derived, another reading, a remark."""
        s = self.statement
        if s is None:
            return ()
        found = [s.provenance] if s.provenance != "read" else []
        found += ["another reading"] if s.reading_of and s.provenance != "derived" else []
        return (*found, *(["remark"] if s.remark is not None else []))

    @property
    def formula_of(self) -> str:
        """The status of its displayed formula: printed only if it was read, and by the literal reading."""
        if self.statement is None:
            return "formula"
        if self.statement.printed:
            return "printed formula"
        return "formula so read" if self.statement.provenance == "read" else f"{self.statement.provenance} formula"

    @property
    def methods(self) -> list[str]:
        """The methods that gave evidence."""
        return list(dict.fromkeys(e["method"] for e in self.evidence))

    @property
    def exponents(self) -> list[dict[str, Any]]:
        """The exponents that checks of a rate fitted and recorded in full, each with the check's name and verdict."""
        found = [(e, exponent_of(e.get("notes", {}))) for e in self.evidence]
        return [{"check": e["check"], "verdict": e["verdict"], **fitted} for e, fitted in found if fitted is not None]

    @cached_property
    def telling(self) -> list[dict[str, Any]]:
        """The checks that the page shows in full: those that refute or differ from the record, and the tightest one by
        each method. A check that an idle algorithm would pass is shown only if there is no other. The evidence's file
        has all."""
        shown = [id(e) for e in self.evidence if e["verdict"] != e["expected"]] + [id(e) for e in self.refuting]
        for method in self.methods:
            own = [e for e in self.evidence if e["method"] == method]
            shown.append(id(min(own, key=lambda e: (bool(e.get("vacuous")), -(e["ratio"] or 0.0)))))
        return [e for e in self.evidence if id(e) in set(shown)]

    @property
    def other_checks(self) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """The other checks by method and verdict, the tightest first."""
        shown = {id(e) for e in self.telling}
        rest: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for e in self.evidence:
            if id(e) not in shown:
                rest.setdefault((e["method"], e["verdict"]), []).append(e)
        return [(*key, sorted(found, key=lambda e: -(e["ratio"] or 0.0))) for key, found in rest.items()]

    @property
    def worst_ratio(self) -> float | None:
        """The largest lhs/rhs over the evidence."""
        return max((e["ratio"] for e in self.evidence if e["ratio"] is not None), default=None)

    @property
    def power(self) -> Power | None:
        """The errors that its checks could detect, as recorded; None for a user's own statement."""
        return None if self.statement is None else recorded(self.id)

    @property
    def smallest_detected(self) -> float | None:
        """The smallest share of the right side that some check detects: as recorded, or computed from the evidence for
        a user's own statement; None where none does or nothing is known."""
        if self.power is not None:
            return self.power.smallest_detected
        described = self.own.get("noticed") or {}
        return None if described.get("share") is None else float(described["share"])

    @property
    def relation(self) -> str:
        """The relation of its sides; empty for a user's own statement without one."""
        return self.statement.relation if self.statement is not None else str(self.own.get("relation", ""))

    @property
    def command(self) -> str:
        """The command that repeats the evidence."""
        drawn = [e for e in self.evidence if e["seed"] is not None and e["alpha"] is not None]
        file = str(self.own.get("file", ""))
        if not drawn:
            return check_command(self.id, file)
        # Each check keeps its share of the false-alarm budget, so that it stops after the same number of replicates.
        many = sum(methods.get(c.method).simulates for c in self.checks) if self.statement is not None else 0
        many = many or len(drawn)  # evidence from a file may contain a seed although the check draws nothing
        return f"{check_command(self.id, file)} --seed {drawn[0]['seed']} --alpha {shared(drawn[0]['alpha'], many)}"

    @cached_property
    def lines(self) -> list[formulas.FormulaLine]:
        """The displayed formula."""
        return shown_lines(self.own) if self.statement is None else formulas.lines(self.statement)


def entries_of(evidence: Iterable[dict[str, Any]], own: Mapping[str, Mapping[str, Any]] | None = None) -> list[Entry]:
    """The catalogue's statements of every paper that has evidence, and the user's own statements, described in ``own``
    by id."""
    described = own or {}
    found: dict[str, list[dict[str, Any]]] = {}
    for e in evidence:
        found.setdefault(e["statement"], []).append(e)
    catalogue = {s.id: s for s in statements.all_statements()}
    papers = {catalogue[id_].paper for id_ in found if id_ in catalogue}
    ids = {*found, *(s.id for s in catalogue.values() if s.paper in papers)}
    return [
        Entry(id_, catalogue.get(id_), found.get(id_, []), {} if id_ in catalogue else described.get(id_, {}))
        for id_ in sorted(ids, key=natural)
    ]


def groups_of(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries by paper; the empty paper holds those outside the catalogue."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.paper, []).append(entry)
    return dict(sorted(groups.items()))


def check_command(id_: str, file: str = "") -> str:
    """The command that checks one statement, of the catalogue or of a file.

    >>> check_command("das2022.theorem6"), check_command("mine.rate", "my theorems.py")
    ('dpfl-theory check das2022.theorem6', "dpfl-theory check mine.rate --file 'my theorems.py'")
    """
    return f"dpfl-theory check {shlex.quote(id_)}" + (f" --file {shlex.quote(file)}" if file else "")


def shared(share: float, checks: int) -> str:
    """The shortest decimal of a budget whose even split over this many checks gives each exactly this share.

    >>> shared(1e-6 / 3, 3), shared(2.5e-9, 4)
    ('1e-06', '1e-08')
    """
    total = share * checks
    shorter = (f"{total:.{digits}g}" for digits in range(1, 17))
    return next((text for text in shorter if float(text) / checks == share), repr(total))


def reference(paper: str) -> str:
    """The paper's reference."""
    return f"{known_papers()[paper].heading}." if paper else "Statements outside the catalogue"


def copy_read(paper: str) -> str:
    """The version of the paper that was read.

    >>> copy_read("zhang2021")
    'the version dated June 28, 2021, with its appendix'
    """
    return known_papers()[paper].copy


def printed_id(id_: str, readings: Mapping[str, str] = MappingProxyType({})) -> str:
    """The id of the statement to which a repaired or sharpened form, or a second reading, belongs; otherwise its own.

    readings: the id of each second reading, and the id of the statement that it is a reading of.

    >>> printed_id("das2022.theorem7.alpha.repaired"), printed_id("das2022.theorem6")
    ('das2022.theorem7.alpha', 'das2022.theorem6')
    >>> printed_id("a.lemma1.central.repaired", {"a.lemma1.central": "a.lemma1"})
    'a.lemma1'
    """
    if id_ in readings:
        return printed_id(readings[id_], readings)
    for suffix in DERIVED:
        if id_.endswith(suffix):
            return printed_id(id_.removesuffix(suffix), readings)
    return id_


def siblings(ids: Collection[str], readings: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Each repaired or sharpened form and each second reading -> the id it belongs to, where both are among the ids.

    >>> ids = ["a.lemma1", "a.lemma1.repaired", "a.lemma2.sharpened", "a.lemma1.local"]
    >>> siblings(ids, {"a.lemma1.local": "a.lemma1"})
    {'a.lemma1.repaired': 'a.lemma1', 'a.lemma1.local': 'a.lemma1'}
    """
    known = set(ids)
    beside = ((id_, printed_id(id_, readings)) for id_ in ids)
    return {id_: printed for id_, printed in beside if printed != id_ and printed in known}


def readings_of(chosen: Iterable[Statement | None]) -> dict[str, str]:
    """The id of each second reading, and the id of the statement that it is a reading of."""
    return {s.id: s.reading_of for s in chosen if s is not None and s.reading_of}


def showing(chosen: Iterable[Statement | None]) -> dict[str, str]:
    """The id of each sibling that shows a remark, and the statement with the remark."""
    return {s.remark.shown_by: s.id for s in chosen if s is not None and s.remark is not None}


def natural(text: str) -> list[Any]:
    """A sort key that puts theorem10 after theorem4."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def versions_of(documents: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Each package's version, or versions where the evidence was made with several."""
    seen: dict[str, set[str]] = {}
    for document in documents:
        for package, version in document.get("versions", {}).items():
            seen.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(found)) for package, found in seen.items()}
