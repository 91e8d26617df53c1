"""Tolerant output encoding: characters that a terminal or a file cannot hold are written as JSON escapes."""

from __future__ import annotations

import codecs
import contextlib
import sys
from collections.abc import Iterator
from typing import Any

ESCAPED = "dpfl_theory.escaped"
"""The error handler for encoders. Its escapes are valid inside the strings of JSON, while those of Python's own
``backslashreplace`` are not."""


def escaped(error: UnicodeError) -> tuple[str, int]:
    r"""A JSON escape in place of each character that the encoding lacks.

    >>> codecs.register_error(ESCAPED, escaped)
    >>> "é😀\udcff".encode("ascii", ESCAPED).decode()
    '\\u00e9\\ud83d\\ude00\\udcff'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2)), error.end


def as_utf8(text: str) -> str:
    r"""Decode a command-line word as UTF-8 where the locale's encoding failed; return any other unchanged.

    >>> as_utf8("sch\udcc3\udcb6n"), as_utf8("schön")
    ('schön', 'schön')
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


codecs.register_error(ESCAPED, escaped)


def tolerate() -> list[tuple[Any, str]]:
    """Make stdout and stderr accept any text, whatever their encoding is; return the streams with their previous
    handlers."""
    changed: list[tuple[Any, str]] = []
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # no stream with an encoding, or a closed one
            before = stream.errors
            stream.reconfigure(errors=ESCAPED)  # type: ignore[union-attr]
            changed.append((stream, before or "strict"))
    return changed


@contextlib.contextmanager
def tolerant() -> Iterator[None]:
    """Inside, stdout and stderr accept any text, whatever their encoding is.

    >>> with tolerant():
    ...     print("done")
    done
    """
    changed = tolerate()
    try:
        yield
    finally:
        for stream, before in changed:
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors=before)
