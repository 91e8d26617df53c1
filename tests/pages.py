"""Parsed pages of a report: elements and text of each, and whether the targets of their links exist."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

VOID = {"meta", "img", "br", "link", "input", "hr", "wbr"}


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text. They are parsed on demand, since a report has many
    pages, and a test reads few. The parser fails on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.open: list[str] = []
        self._elements: list[tuple[str, dict[str, str | None]]] = []
        self._text: list[str] = []
        self._read = False

    def _now(self) -> None:
        if not self._read:
            self._read = True
            self.feed(self.source)
            self.close()
            assert self.open == []

    @property
    def elements(self) -> list[tuple[str, dict[str, str | None]]]:
        self._now()
        return self._elements

    @property
    def text(self) -> list[str]:
        self._now()
        return self._text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self._text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str | None]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    @property
    def told(self) -> str:
        return " ".join(" ".join(self.text).split())


def pages_of(output: Path) -> dict[str, Page]:
    """All pages of a report by their address from its root."""
    return {p.relative_to(output).as_posix(): Page(p.read_text("utf-8")) for p in sorted(output.rglob("*.html"))}


def broken_links(output: Path, pages: dict[str, Page]) -> list[tuple[str, str]]:
    """The links and images of these pages whose file, or place in the file, does not exist."""
    broken = []
    for name, page in pages.items():
        targets = [(a["href"], True) for a in page.all("a")] + [(a["src"], False) for a in page.all("img")]
        for target, _ in targets:
            path, _, place = str(target).partition("#")
            path = unquote(path.partition("?")[0])
            file = (output / name).parent / path if path else output / name
            known = file.resolve().relative_to(output.resolve()).as_posix() if file.exists() else None
            if known is None or (place and place not in pages[known].ids):
                broken.append((name, str(target)))
    return broken


def section(text: str, id_: str) -> str:
    """One section of a page."""
    found = re.search(rf'<(section|aside|article) id="{id_}".*?</\1>', text, re.DOTALL)
    assert found, id_
    return found[0]
