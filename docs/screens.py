"""``python -m docs.screens``: pictures of the commands' output, generated from it."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from docs import snippets
from docs.snippets import ROOT

WIDTH = 118
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 36, 36),
    [
        (36, 36, 36),
        (180, 30, 40),
        (20, 120, 60),
        (150, 100, 0),
        (30, 80, 170),
        (120, 50, 140),
        (0, 110, 130),
        (90, 90, 90),
    ],
)
SCREENS = {
    "conform.svg": (
        ("$ dpfl-theory conform examples/rounds/dp_fedavg.py:one_round --as dp-fedavg", 0),
        ("$ dpfl-theory conform examples/rounds/dp_fedavg_mistaken.py:one_round --as dp-fedavg", 1),
    ),
}
"""The pictures: commands with their exit codes."""


def picture(commands: tuple[tuple[str, int], ...]) -> str:
    """The commands and their output as a self-contained SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for command, code in commands:
        (ran,) = snippets.commands(command, code)
        console.print(Text(ran.shown, style="bold"))
        console.print(Text(ran.printed))
    drawn = console.export_svg(title="dpfl-theory", theme=LIGHT, unique_id="screen")
    drawn = re.sub(r"<!--.*?-->\s*", "", drawn)
    return re.sub(r"@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL).replace("Fira Code", "ui-monospace")


if __name__ == "__main__":
    for name, commands in SCREENS.items():
        (ROOT / "docs" / name).write_text(picture(commands), encoding="utf-8")
        print(f"docs/{name}")
