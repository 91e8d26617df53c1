"""The documentation and the help of the commands use the words of the glossary, in short sentences."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from dpfl_theory.cli import application

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "concepts" / "glossary.md").read_text(encoding="utf-8")
WORDS = 25
"""The most words of a sentence; lists and tables may have more."""


@cache
def avoided() -> re.Pattern[str]:
    table = GLOSSARY.partition("## Words that the texts avoid")[2]
    rows = re.findall(r"^\| ([a-z ,]+) \| .* \|$", table, re.MULTILINE)[1:]  # without the head
    words = [word.strip() for row in rows for word in row.split(",")]
    assert len(words) >= 18
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def prose(text: str) -> str:
    """Markdown without code, and without the list of words itself."""
    text = text.partition("## Words that the texts avoid")[0]
    return re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """Of paragraphs and items of lists; tables and headings are none."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#", ">", "![")))
    parts = re.split(r"(?<=[.?!:;])\s+|\n\s*\n|\n\s*(?:[*-]|\d+\.)\s", kept)
    return [part.strip() for part in parts if part.strip()]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_avoid_the_words(page: Path) -> None:
    assert sorted(set(avoided().findall(prose(page.read_text(encoding="utf-8"))))) == []


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sentences_are_short(page: Path) -> None:
    long = [s for s in sentences(prose(page.read_text(encoding="utf-8"))) if len(re.findall(r"[\w'-]+", s)) > WORDS]
    assert long == []


def helps() -> dict[str, str]:
    found: dict[str, str] = {}

    def walk(name: str, command: object) -> None:
        found[name] = "\n".join(
            text
            for text in (
                getattr(command, "help", ""),
                *(getattr(p, "help", "") for p in getattr(command, "params", ())),
            )
            if text
        )
        for sub, inner in getattr(command, "commands", {}).items():
            walk(f"{name} {sub}".strip(), inner)

    walk("", application())
    return found


def test_help_avoids_the_words() -> None:
    assert {name: found for name, text in helps().items() if (found := sorted(set(avoided().findall(text))))} == {}
