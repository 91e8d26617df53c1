"""Recording of warnings during a run: they go into its record instead of to the terminal."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Warned = Mapping[str, Any]
"""A warning as plain data: ``kind`` (its class), ``text``, and ``count``, how often it was given."""


@contextlib.contextmanager
def recorded(copy: bool = False) -> Iterator[list[warnings.WarningMessage]]:
    """Record the warnings that are given inside, in their order. Filters stay unchanged: errors stay errors.

    A block that ends with an exception leaves no record, and its warnings are shown as usual. copy: whether this runs
    in a fork of a process. An outer recording then belongs to the original, which would not see them: they go to
    stderr.

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
    """Warnings as plain data, each once with its count, in the order of their first appearance."""
    counts = Counter((one.category.__name__, str(one.message)) for one in found)
    return tuple({"kind": kind, "text": text, "count": count} for (kind, text), count in counts.items())


def total(warned: Iterable[Warned]) -> int:
    """The number of warnings, with repetitions."""
    return sum(int(one["count"]) for one in warned)


def in_words(count: int) -> str:
    """A count of warnings for a line of text; empty for 0.

    >>> in_words(0), in_words(1), in_words(3)
    ('', '1 warning recorded', '3 warnings recorded')
    """
    return f"{count} warning{'s' if count != 1 else ''} recorded" if count else ""
