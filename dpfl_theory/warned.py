"""Warnings of what runs: for its record, in place of lines on a terminal that nobody keeps."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Warned", "counted", "in_words", "recorded", "total"]

Warned = Mapping[str, Any]
"""A warning as plain data: ``kind`` (its class), ``text``, and ``count``, how often it was given."""


@contextlib.contextmanager
def recorded(copy: bool = False) -> Iterator[list[warnings.WarningMessage]]:
    """Warnings that are given inside, in their order. Filters stay as they are: what is an error, or ignored, stays so.

    What ends with an exception leaves no record: its warnings are then shown as usual. copy: whether that is in a copy
    of a process. What records outside is then the original's, and would not see them: they go to stderr.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("always")
    ...     with recorded() as found:
    ...         warnings.warn("take smaller steps", RuntimeWarning)
    >>> counted(found)
    ({'kind': 'RuntimeWarning', 'text': 'take smaller steps', 'count': 1},)
    """
    found: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as log:
            assert log is not None
            try:
                yield found
            finally:
                found += log
    except Exception:
        for one in found:
            if copy:
                sys.stderr.write(warnings.formatwarning(one.message, one.category, one.filename, one.lineno, one.line))
            else:
                warnings.showwarning(one.message, one.category, one.filename, one.lineno, one.file, one.line)
        raise


def counted(found: list[warnings.WarningMessage]) -> tuple[Warned, ...]:
    """Warnings as plain data, each once with how often it was given, in the order in which they came first."""
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        key = (one.category.__name__, str(one.message))
        counts[key] = counts.get(key, 0) + 1
    return tuple({"kind": kind, "text": text, "count": count} for (kind, text), count in counts.items())


def total(warned: Iterable[Warned]) -> int:
    """How many there were, with repetitions."""
    return sum(int(one["count"]) for one in warned)


def in_words(count: int) -> str:
    """A count for a line of text; empty where there are none.

    >>> in_words(0), in_words(1), in_words(3)
    ('', '1 warning recorded', '3 warnings recorded')
    """
    return f"{count} warning{'s' if count != 1 else ''} recorded" if count else ""
