"""Coloured lines for terminals that show colours, and the width of the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

__all__ = ["VERDICT_STYLES", "Line", "colored", "cut", "on_terminal", "width"]

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
