"""Words of statements in Markdown: what a file may have, and what is refused."""

from __future__ import annotations

import re

import pytest

from dpfl_theory.core import Source, Statement
from dpfl_theory.errors import InputError
from dpfl_theory.statements.words import documented, documented_beside, read

LEMMA = Statement("mine.lemma", "lemma", source=Source("mine", "Lemma 1"))
WORDS = (
    "# mine.lemma: A lemma\n\nIt is so,\nand so.\n\n## Note\nread twice\n\n## Typo: Section 2\nOne.\n\n## Typo\nTwo.\n"
)


def worded(text: str, statement: Statement = LEMMA) -> Statement:
    (found,) = documented_beside([statement], text)
    return found


def test_a_statement_gets_its_words() -> None:
    found = worded(WORDS)
    assert (found.title, found.text, found.source.note) == ("A lemma", "It is so, and so.", "read twice")
    assert [(str(t), getattr(t, "where", "")) for t in found.typos] == [("One.", "Section 2"), ("Two.", "")]


def test_a_statement_without_an_entry_stays() -> None:
    assert worded("# mine.other: Another\n\nIt is so.\n") is LEMMA


def test_words_of_another_entry_are_included() -> None:
    text = WORDS.replace("read twice", "{{> shared / how}}")
    assert worded(f"{text}\n# shared: for all\n\n## how\nwith care\n").source.note == "with care"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("## Notes\nlost", "mine.lemma has a section 'Notes': choose among Note, "),
        ("## Erratum\n- grade: constant", "the section 'Erratum' has no line '- cause: ...'"),
        ("## Erratum\n- cause: mine.c\n- grade: constant", "the cause 'mine.c', which no entry describes"),
        ("## Remark\nIf it were so.", "the section 'Remark' has no line '- shown by: ...'"),
        ("## Reading\n{{> mine.nothing}}", "{{> mine.nothing}} includes words that are not there"),
        ("## Reading\nIt is {{1 / 3:2}}.", "mine.lemma has the placeholder '1 / 3': type the number"),
    ],
)
def test_what_would_be_lost_is_refused(more: str, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        worded(f"{WORDS}\n{more}\n")


def test_a_text_starts_with_an_entry() -> None:
    with pytest.raises(InputError, match="start it with an entry, '# ID: TITLE'"):
        read("## Note\nread twice\n")


@pytest.mark.parametrize("shown_by", ["mine.a, mine.b", ","])
def test_a_remark_names_one_statement(shown_by: str) -> None:
    words = f"{WORDS}\n## Remark\n- shown by: {shown_by}\n\nIf it were so.\n"
    with pytest.raises(ValueError, match="name one statement, the sibling that fails"):
        worded(words)


def test_a_restored_formula_says_from_what() -> None:
    lost = Statement("mine.lemma", "lemma", source=Source("mine", "Lemma 1", provenance="restored"))
    with pytest.raises(ValueError, match="has a section '## Restoration'"):
        worded(WORDS, lost)


def test_a_statement_of_the_catalogue_needs_an_entry() -> None:
    with pytest.raises(ValueError, match=r"add '# das2022\.lemma0: TITLE'"):
        documented(Statement("das2022.lemma0", "lemma", source=Source("das2022", "Lemma 0")))
