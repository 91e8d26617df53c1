"""Words of statements in Markdown: what a file may have, and what is refused."""

from __future__ import annotations

import pytest

from dpfl_theory.core import Source, Statement
from dpfl_theory.statements.words import documented, documented_beside, read

LEMMA = Statement("mine.lemma", "lemma", source=Source("mine", "Lemma 1"))
WORDS = (
    "# mine.lemma: A lemma\n\nIt is so,\nand so.\n\n## Note\nread twice\n\n## Typo: Section 2\nOne.\n\n## Typo\nTwo.\n"
)


def test_a_statement_gets_its_words() -> None:
    found = documented_beside(LEMMA, read(WORDS))
    assert (found.title, found.text, found.source.note) == ("A lemma", "It is so, and so.", "read twice")
    assert [(str(t), getattr(t, "where", "")) for t in found.typos] == [("One.", "Section 2"), ("Two.", "")]


def test_a_statement_without_an_entry_stays() -> None:
    assert documented_beside(LEMMA, read("# mine.other: Another\n\nIt is so.\n")) is LEMMA


@pytest.mark.parametrize("shown_by", ["mine.a, mine.b", ","])
def test_a_remark_names_one_statement(shown_by: str) -> None:
    words = f"{WORDS}\n## Remark\n- shown by: {shown_by}\n\nIf it were so.\n"
    with pytest.raises(ValueError, match="name one statement, the sibling that fails"):
        documented_beside(LEMMA, read(words))


def test_a_restored_formula_says_from_what() -> None:
    lost = Statement("mine.lemma", "lemma", source=Source("mine", "Lemma 1", provenance="restored"))
    with pytest.raises(ValueError, match="has a section '## Restoration'"):
        documented_beside(lost, read(WORDS))


def test_a_statement_of_the_catalogue_needs_an_entry() -> None:
    with pytest.raises(ValueError, match=r"add '# das2022\.lemma0: TITLE'"):
        documented(Statement("das2022.lemma0", "lemma", source=Source("das2022", "Lemma 0")))
