"""Glob patterns of names, as in a shell."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

__all__ = ["is_pattern", "match_names"]


def is_pattern(word: str) -> bool:
    """Whether a word is a glob pattern, with ``*``, ``?`` or ``[...]`` as in a shell.

    >>> is_pattern("noble2022.lemma*"), is_pattern("noble2022.lemmaC.1")
    (True, False)
    """
    return any(character in word for character in "*?[")


def match_names(word: str, names: Iterable[str]) -> list[str]:
    """The names that match a pattern.

    >>> match_names("das2022_figure?", ["das2022_figure2", "das2022_table2"])
    ['das2022_figure2']
    """
    return [name for name in names if fnmatch.fnmatchcase(name, word)]
