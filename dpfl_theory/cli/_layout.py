"""Text for terminals: tables, wrapped rows, coloured lines, and the width of the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 110
"""The columns of wrapped text."""

Line = Sequence[tuple[str, str]]
"""Pieces of text, each with a style of the package rich, or an empty one."""

VERDICT_STYLES = {"holds": "green", "violated": "red", "inconclusive": "yellow", "not-applicable": "dim"}


def on_terminal() -> bool:
    """Whether stdout is a terminal that can show colours."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """The columns of the terminal; None where stdout is not a terminal, and the length of lines is unlimited."""
    return shutil.get_terminal_size().columns if on_terminal() else None


def cut(text: str, maximum: int) -> str:
    """Truncate a text that has more than ``maximum`` characters, with an ellipsis at its end.

    >>> cut("SCAFFOLD", 8), cut("SCAFFOLD", 6)
    ('SCAFFOLD', 'SCAFF…')
    """
    return text if len(text) <= maximum else text[: max(0, maximum - 1)] + "…"


def colored(lines: Sequence[Line]) -> str:
    """The lines as text: in colours on a terminal, unless the variable NO_COLOR is set; plain anywhere else."""
    if not on_terminal() or os.environ.get("NO_COLOR"):
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    with console.capture() as captured:
        for line in lines:
            console.print(Text.assemble(*((text, style) for text, style in line if text)), soft_wrap=True)
    return captured.get()


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows as aligned columns, with the first row as the heading; columns listed in ``right`` are flush right.

    >>> print(table([("id", "ratio"), ("a.b", "0.5"), ("c", "0.25")], right=[1]))
    id   ratio
    a.b    0.5
    c     0.25
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths)))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def number(value: float | None) -> str:
    """A number to four significant digits; ``-`` for None.

    >>> number(0.123456), number(12), number(None)
    ('0.1235', '12', '-')
    """
    return "-" if value is None else f"{value:.4g}"


def wrapped(text: str, start: str = "") -> str:
    """A text after a start, in lines of which the later ones are indented by the length of the start.

    >>> wrapped("", "  symbols  ")
    '  symbols'
    """
    return (
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_long_words=False,
            break_on_hyphens=False,
        )
        or start.rstrip()
    )


def laid_out(rows: Iterable[Sequence[str]], indent: str = "") -> str:
    """Rows of cells in columns, the last of which is wrapped.

    >>> print(laid_out([("q", "1.7381"), ("delta", "1e-06")]))
    q      1.7381
    delta  1e-06
    """
    found = list(rows)
    heads = [max(map(len, column)) for column in list(zip(*found))[:-1]]
    starts = ("".join(f"{cell.ljust(width)}  " for cell, width in zip(row, heads)) for row in found)
    return "\n".join(wrapped(row[-1], indent + start) for row, start in zip(found, starts))
