"""Options that several commands share, and tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

__all__ = ["Device", "Format", "Output", "Seed", "number", "table"]

Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where the kernels run.")]
Format = Annotated[str, typer.Option("--format", metavar="text|json", help="What is written to stdout.")]
Output = Annotated[str, typer.Option(metavar="DIR", help="Folder for evidence, figures and the page.")]
Seed = Annotated[str, typer.Option(metavar="N", help="Seed of all randomness.")]


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows as aligned columns, the first row being the heading; columns listed in ``right`` are flush right.

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
    """A number to four significant digits, ``-`` when there is none.

    >>> number(0.123456), number(12), number(None)
    ('0.1235', '12', '-')
    """
    return "-" if value is None else f"{value:.4g}"
