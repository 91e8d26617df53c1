"""Validation of a statement before it is checked: its words, its symbols, its formula, its checks.

Authors of statements make mistakes: a relation that no method compares by, a symbol that is used and not declared, an
unknown verdict. `faults` finds them all together, each in one sentence that names the symbol or word, the fix, and the
line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dpfl_theory.core import Statement
from dpfl_theory.statements.source_location import Lines
from dpfl_theory.statements.validate_checks import of_checks
from dpfl_theory.statements.validate_formula import of_formula, of_symbols
from dpfl_theory.statements.validate_words import of_kinds, of_words

__all__ = ["faults", "faults_of_file"]


def faults(statement: Statement, lines: Lines, known: Collection[str] = ()) -> list[str]:
    """The faults of a statement, a sentence each. known: ids that its proof may name in addition to its own."""
    found = [*of_kinds(statement, lines)]
    if not found:
        found = [*of_words(statement, lines, known), *of_symbols(statement, lines)]
    if not found:  # a formula is built from valid symbols
        found = [*of_formula(statement, lines), *of_checks(statement, lines)]
    return found


def faults_of_file(statements: Sequence[Statement], file: Path, catalogue: Mapping[str, Statement]) -> list[str]:
    """The faults of the statements of a user's file, a sentence each, including conflicts of their ids with each other
    and with the catalogue's."""
    lines = Lines(file.read_text(encoding="utf-8", errors="replace"), file)
    papers = {s.paper for s in catalogue.values()}
    own = Counter(s.id for s in statements)
    found = []
    for id_, count in own.items():
        if count > 1:
            found.append(f"the id {id_!r} is given to {count} statements: give each its own id{lines.line_of(id_)}")
        paper = next((p for p in papers if f"{id_}.".startswith(f"{p}.")), None) if isinstance(id_, str) else None
        if paper is not None and id_ not in catalogue:
            told_ = f"starts with {paper!r}, a paper of the catalogue, among whose statements it would be searched"
            found.append(f"the id {id_!r} {told_}: choose another{lines.line_of(id_)}")
        if id_ in catalogue:
            found.append(f"the id {id_!r} belongs to a statement of the catalogue: choose another{lines.line_of(id_)}")
    for statement in statements:
        of = f"{statement.id}: " if len(own) > 1 else ""
        if statement.paper in papers:
            told_ = f"source.paper is {statement.paper!r}, a paper of the catalogue, among whose statements this would"
            found.append(f"{of}{told_} be shown: choose another{lines.line_of(statement.paper)}")
        found += [f"{of}{fault}" for fault in faults(statement, lines, {*own, *catalogue})]
    return found
