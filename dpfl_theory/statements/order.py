"""The place of statements: the chapter of the paper, and the order of its pages.

Both are parsed from ``source.where`` ("Theorem 4 (a), Section 4"; "Appendix C.1, proof of Theorem 6, case 1") and the
equation's number, so that no separate list has to be maintained.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfl_theory.core import Statement

__all__ = ["chapter", "place"]

_CHAPTER = re.compile(r"\b(Section|Appendix) (\d+(?:\.\d+)*|[A-Z](?:\.\d+)*)\b")
_RESULT = re.compile(
    r"(?:(?P<stands>before|after|below|proof of|in place of|derived from)(?: the)? )?"
    r"\b(?P<kind>Assumption|Definition|Fact|Example|Observation|Claim|Lemma|Theorem|Corollary|Table)"
    r" (?:[A-Z]\.)?(?P<number>\d+(?:\.\d+)*)(?: ?\((?P<part>\w)\))?"
)
_EQUATION = re.compile(r"\((\d+)\)")
_RANKS = (("Assumption", "Definition", "Fact"), ("Example", "Lemma", "Observation"), ("Claim", "Theorem"))
_RANK = {kind: i for i, kinds in enumerate((*_RANKS, ("Corollary",), ("Table",))) for kind in kinds}
"""Which kinds of results come first in a chapter: those that others depend on, then these, then their consequences."""
_STANDS = {"before": -1, "after": 2, "below": 2, "proof of": 1, "in place of": 1, "derived from": 2}


def chapter(where: str) -> str:
    """The section or the appendix of a place, the first one that is named.

    >>> chapter("Figure 3's caption; Section 3.1; contribution (a) in Section 1")
    'Section 3.1'
    """
    found = _CHAPTER.search(where)
    return "" if found is None else found[0]


def place(statement: Statement) -> tuple[object, ...]:
    """The key that sorts statements of one paper in the order of its pages; other readings, repaired and sharper forms
    come after the printed one.

    >>> from dpfl_theory.statements import get
    >>> ids = ["das2022.theorem7", "das2022.lemma10", "das2022.eq51", "das2022.lemma8", "das2022.theorem4a"]
    >>> [s.id.removeprefix("das2022.") for s in sorted(map(get, ids), key=place)]
    ['theorem4a', 'theorem7', 'lemma8', 'eq51', 'lemma10']
    """
    where = statement.source.where
    return (*_chapter_key(chapter(where)), *_within(where, statement.source.equation), statement.id)


def _chapter_key(found: str) -> tuple[object, ...]:
    kind, _, number = found.partition(" ")
    first, *rest = number.split(".") if number else [""]
    return (not found, kind == "Appendix", _number(first), tuple(map(int, rest)))


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdigit() else (0, text)


def _within(where: str, equation: str) -> tuple[object, ...]:
    """The place within a chapter: the result that it is, or belongs to; whether before, of or after it; the equation.

    A place without a result is at the start of its chapter, or at its end if it is an equation.
    """
    result = _RESULT.search(where)
    numbers = re.findall(r"\d+", equation) or _EQUATION.findall(where)
    at = int(numbers[0]) if numbers else 0
    if result is None:
        return (9 if at else -1, (), 0, at, "")
    number = tuple(map(int, result["number"].split(".")))
    return (_RANK[result["kind"]], number, _STANDS.get(result["stands"], 0), at, result["part"] or "")
