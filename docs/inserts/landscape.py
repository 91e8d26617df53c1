"""What recommended hyper-parameters reach, as it was measured and written down."""

from __future__ import annotations

from pathlib import Path

__all__ = ["insert"]

MEASURED = Path(__file__).parents[2] / "benchmarks" / "LANDSCAPE.md"


def insert() -> str:
    """The file's Markdown without its title."""
    return MEASURED.read_text(encoding="utf-8").partition("\n")[2].strip() + "\n"
