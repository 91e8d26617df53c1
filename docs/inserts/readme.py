"""A section of the README, which stands there once."""

from __future__ import annotations

import re
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["insert"]

README = Path(__file__).parents[2] / "README.md"


def insert(heading: str, *, text: str | None = None) -> str:
    """The section's Markdown without its heading. Raises InputError where there is none."""
    whole = README.read_text(encoding="utf-8") if text is None else text
    parts = re.split(r"^## (.+)$", whole, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2]))
    if heading not in sections:
        raise InputError(f"the README has no section {heading!r}: it has {', '.join(sections)}")
    return sections[heading].strip() + "\n"
