"""The search: every heading with the words below it, every name of the interface and every statement, in one page that
needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from docs.inserts import TEMPLATES
from dpfl_theory import statements
from dpfl_theory.report.templates import render

__all__ = ["PAGE", "Place", "interface", "page", "places", "stated"]

PAGE = "search.html"
_WORD = re.compile(r"[^\W_](?:[\w.:+-]*\w)?")
_SHORTEST = 3
_MEMBER = re.compile(r'<(?:section|div) id="([A-Za-z]\w*(?:\.[A-Za-z]\w*)?)"')
_HEADINGS = ("h1", "h2", "h3", "summary")
_HOLDERS = ("section", "details")


@dataclass(frozen=True)
class Place:
    """What can be found: its name, the page or kind that it belongs to, its address (empty where it has none), and the
    further words that it is found by."""

    name: str
    of: str
    address: str
    words: str = ""


class _Headings(HTMLParser):
    """The headings of a page with their addresses, and the words below each."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, set[str]]] = []
        self._holder = ""
        self._heading: list[str] | None = None
        self._skipped = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs).get("id") or ""
        if tag in _HOLDERS:
            self._holder = own
        if tag in _HEADINGS and (own or self._holder):
            self._heading = []
            self.found.append(("", own or self._holder, set()))
            self._holder = ""
        self._skipped = self._skipped or tag in ("style", "script", "nav", "footer")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HEADINGS and self._heading is not None:
            self.found[-1] = (" ".join("".join(self._heading).split()), *self.found[-1][1:])
            self._heading = None
        self._skipped = self._skipped and tag not in ("style", "script", "nav", "footer")

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._heading is not None:
            self._heading.append(data)
        elif self.found:
            self.found[-1][2].update(w for w in _WORD.findall(data.lower()) if len(w) >= _SHORTEST)


def places(address: str, html: str) -> Iterator[Place]:
    """The headings of a page.

    >>> [(p.name, p.of, p.address) for p in places("a.html", "<h1 id='t'>T</h1><h2 id='x'>A <b>b</b></h2>")]
    [('T', '', 'a.html'), ('A b', 'T', 'a.html#x')]
    """
    read = _Headings()
    read.feed(html)
    for i, (name, at, words) in enumerate(read.found):
        of = read.found[0][0] if i else ""
        yield Place(name, of, f"{address}#{at}" if i else address, " ".join(sorted(words)))


def interface(address: str, html: str) -> Iterator[Place]:
    """A module of the interface's reference, and its public names, which are found by those of their members too.

    >>> list(interface("r/a/b.html", '<section id="C"></section><div id="C.run"></div>'))[1]
    Place(name='C', of='a.b', address='r/a/b.html#C', words='run')
    """
    module = Path(address).with_suffix("").as_posix().partition("/")[2].replace("/", ".")
    yield Place(module, "module", address)
    known = dict.fromkeys(_MEMBER.findall(html))
    for name in known:
        if "." not in name:
            members = [n.partition(".")[2] for n in known if n.startswith(f"{name}.")]
            yield Place(name, module, f"{address}#{name}", " ".join(members))


def stated() -> Iterator[Place]:
    """The statements of the catalogue, which a report has pages of."""
    for s in statements.all_statements():
        yield Place(s.id, f"{s.title}: dpfl-theory show {s.id}", "", s.kind)


def page(found: Iterable[Place], **values: object) -> str:
    """The page of the search."""
    script = (TEMPLATES / "search.js").read_text(encoding="utf-8")
    return render("search.html.j2", TEMPLATES, places=list(found), script=script, **values)
