"""A file of the repository as it is."""

from __future__ import annotations

from html import escape
from pathlib import Path

__all__ = ["insert"]

ROOT = Path(__file__).parents[2]


def insert(name: str) -> str:
    """The file's text as a block of code."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return f'<pre class="python" tabindex="0"><code>{escape(text.rstrip())}</code></pre>\n'
