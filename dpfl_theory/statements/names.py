"""Names of statements in user input: ids, patterns of ids, papers; and suggestions for unknown names."""

from __future__ import annotations

import fnmatch
import glob
import shlex
from collections.abc import Collection, Sequence

from dpfl_theory.errors import InputError, nearest, unknown_name


def matching_ids(word: str, ids: Collection[str], papers: Collection[str]) -> list[str]:
    """The ids that one word names: its own, those that a pattern describes, or all of a paper. Raises InputError if it
    names no id.

    >>> matching_ids("a.lemma*", ["a.lemma1", "a.lemma2", "a.eq1"], ["a"])
    ['a.lemma1', 'a.lemma2']
    >>> matching_ids("a", ["a.eq1", "b.eq1"], ["a", "b"])
    ['a.eq1']
    """
    if word in ids:
        return [word]
    if word in papers:
        return [id_ for id_ in ids if id_.startswith(f"{word}.")]
    if glob.has_magic(word):
        if named := fnmatch.filter(ids, word):
            return named
        raise InputError(f"no statement's id matches {word!r}: `*` matches any characters, as in das2022.lemma*")
    raise unknown_statement(word, ids, papers)


def unknown_statement(word: str, ids: Collection[str], papers: Collection[str]) -> InputError:
    """The error for a word that names no statement, with the nearest names.

    >>> ids = ["das2022.theorem4a", "das2022.theorem4b", "das2022.eq4"]
    >>> print(unknown_statement("das2022.theorem4", ids, ["das2022"]))
    unknown statement 'das2022.theorem4': did you mean 'das2022.theorem4a' or 'das2022.theorem4b'?
    >>> print(unknown_statement("das2022_eq4", ["das2022.eq4"], ["das2022"]))
    unknown statement 'das2022_eq4': did you mean 'das2022.eq4'?
    """
    known = ids if "." in word or "_" in word else [*ids, *papers]
    if nearest(word, known):
        return unknown_name("statement", word, known)
    return InputError(
        f"unknown statement {word!r}: dpfl-theory list {shlex.quote(word)} looks for it in titles and texts"
    )


def several(words: Sequence[str], ids: Collection[str], papers: Collection[str]) -> list[str]:
    """The ids that any of these words names, each once."""
    return list(dict.fromkeys(id_ for word in words for id_ in matching_ids(word, ids, papers)))
