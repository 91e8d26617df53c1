"""What must be true of a statement before anything is checked: its words, its letters, its formula, its checks.

Whoever writes a statement makes slips: a relation that no method compares by, a letter that is used and not declared, a
verdict that there is not. `faults` finds them all at once, each in one sentence that names the letter or word, what
to do about it, and the line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.source_location import Lines
from dpfl_theory.statements.validate_checks import of_checks
from dpfl_theory.statements.validate_formula import of_formula, of_letters
from dpfl_theory.statements.validate_words import of_kinds, of_words

__all__ = ["faults", "faults_of_file"]


def faults(statement: Statement, lines: Lines, known: Collection[str] = ()) -> list[str]:
    """What is wrong with a statement, a sentence each. known: ids that its proof may name beside its own."""
    found = [*of_kinds(statement, lines)]
    if not found:
        found = [*of_words(statement, lines, known), *of_letters(statement, lines)]
    if not found:  # a formula is built from letters that are right
        found = [*of_formula(statement, lines), *of_checks(statement, lines)]
    return found


def faults_of_file(statements: Sequence[Statement], file: Path, catalogue: Mapping[str, Statement]) -> list[str]:
    """What is wrong with the statements of a user's file, a sentence each: also with their ids beside each other's and
    beside the catalogue's."""
    lines = Lines(file.read_text(encoding="utf-8", errors="replace"), file)
    papers = {s.paper for s in catalogue.values()}
    own = Counter(s.id for s in statements)
    found = []
    for id_, count in own.items():
        if count > 1:
            found.append(f"the id {id_!r} is given to {count} statements: give each an id of its own{lines.of(id_)}")
        paper = next((p for p in papers if f"{id_}.".startswith(f"{p}.")), None) if isinstance(id_, str) else None
        if paper is not None and id_ not in catalogue:
            told_ = f"begins with {paper!r}, a paper of the catalogue, among whose statements it would be looked for"
            found.append(f"the id {id_!r} {told_}: choose another{lines.of(id_)}")
        if id_ in catalogue:
            found.append(f"the id {id_!r} is a statement's of the catalogue: choose another{lines.of(id_)}")
    for statement in statements:
        of = f"{statement.id}: " if len(own) > 1 else ""
        if statement.paper in papers:
            told_ = f"source.paper is {statement.paper!r}, a paper of the catalogue, among whose statements this would"
            found.append(f"{of}{told_} be shown: choose another{lines.of(statement.paper)}")
        found += [f"{of}{fault}" for fault in faults(statement, lines, {*own, *catalogue})]
    return found
