"""The notebooks of the gallery: Markdown whose cells run when the documentation is built."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["FOLDER", "cells", "notebooks"]

FOLDER = Path(__file__).parent / "gallery"
_CELL = re.compile(r"^```\{code-cell\} python\n((?::[^\n]*\n)*)(.*?)^```$", re.DOTALL | re.MULTILINE)


def notebooks() -> dict[str, Path]:
    """The notebooks by name."""
    return {page.stem: page for page in sorted(FOLDER.glob("*.md")) if page.read_text("utf-8").startswith("---\n")}


def cells(text: str) -> list[str]:
    """The Python of each cell.

    >>> cells("# Title\\n\\n```{code-cell} python\\n:tags: [remove-cell]\\n\\nassert True\\n```\\n")
    ['assert True\\n']
    """
    return [code.lstrip("\n") for _, code in _CELL.findall(text)]
