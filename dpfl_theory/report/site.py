"""Places, links and writing of the pages: each page is written in one step, and only if it changed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpfl_theory.checks.certificate_file import FORMAT
from dpfl_theory.report.templates import anchor, render
from dpfl_theory.runtime.atomic_files import write

INDEX = "index.html"
STATEMENTS, FIGURES, MAPS, ERRATA = "statements", "figures", "maps", "errata"
"""The folders of pages: for each statement, each validation (with its figures), each proof map, each report to
authors."""
CERTIFICATES = "certificates"
"""The folder of proofs, one file for each statement, and of the script that verifies them."""
NAVIGATION = (
    (INDEX, "Overview"),
    (f"{INDEX}#statements", "Statements"),
    (f"{FIGURES}.html", "Figures"),
    (f"{INDEX}#reading", "How to read"),
)
MADE = '<meta name="generator" content="dpfl-theory report'
"""The mark of a page made by this package: only such pages are ever removed."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file's name, without its ending, for each name: the name itself if it is safe on all systems and in addresses.

    Otherwise it is the safe part of the name with a hash. Names that differ only in capitals are not safe.

    >>> file_names(["das2022.theorem4a", "../x"])
    {'das2022.theorem4a': 'das2022.theorem4a', '../x': 'x-d6b96a97'}
    >>> sorted(file_names(["mine.A", "mine.a"]).values())
    ['mine.A-69962f21', 'mine.a-f23ac62c']
    """
    known = list(dict.fromkeys(names))
    folded = Counter(name.casefold() for name in known)
    return {name: name if _PLAIN.fullmatch(name) and folded[name.casefold()] == 1 else _hashed(name) for name in known}


def _hashed(name: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    return f"{kept or 'unnamed'}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


@dataclass
class Site:
    """The pages of one folder. ``statements`` and ``validations`` are the names of the pages of each."""

    output: Path
    statements: dict[str, str]
    validations: dict[str, str]
    papers: frozenset[str]
    written: set[Path] = field(default_factory=set)

    def page(self, name: str, template: str, here: str = "", **values: Any) -> Path:
        """Write the page that a template makes; ``here`` is the address in the navigation that it belongs to."""
        root = "../" * name.count("/")
        known = {"root": root, "navigation": NAVIGATION, "here": here, "site": self, "href": self.href(root)}
        text = render(template, **{**known, "alphas": (), "versions": {}, **values})
        self.file(name, text)
        return self.output / name

    def file(self, name: str, text: str) -> str:
        """Write a file unless it is up to date; returns its name."""
        path = self.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.written.add(path)
        content = text.encode("utf-8", errors="replace")
        if not path.is_file() or path.read_bytes() != content:
            write(path, content)
        return name

    def href(self, root: str) -> Callable[[str], str]:
        """The function that gives the address of a statement's page, or an empty one, seen from ``root``."""
        return lambda id_: f"{root}{STATEMENTS}/{self.statements[id_]}.html" if id_ in self.statements else ""

    def statement(self, id_: str) -> str:
        """A statement's page, from the root."""
        return f"{STATEMENTS}/{self.statements[id_]}.html"

    def certificate(self, id_: str) -> str:
        """The file of a statement's certificates, from the root."""
        return f"{CERTIFICATES}/{self.statements[id_]}.json"

    def validation(self, name: str) -> str:
        """A validation's page, from the root."""
        return f"{FIGURES}/{self.validations[name]}.html"

    def author_report(self, paper: str) -> str:
        """The report to a paper's authors, from the root; empty if there is no report."""
        return f"{ERRATA}/{paper}.html" if paper in self.papers else ""

    def map(self, paper: str) -> str:
        """A paper's proof map, from the root; empty if there is no map."""
        return f"{MAPS}/{paper}.html" if paper in self.papers else ""

    def cause(self, cause: str) -> str:
        """The place of a cause in the report to the authors, from the root; empty if it has no place."""
        author_report = self.author_report(cause.split(".", 1)[0])
        return author_report and f"{author_report}#cause-{anchor(cause)}"

    def clear(self) -> None:
        """Remove pages and certificates of an earlier run for which there is no evidence any more."""
        for folder in (STATEMENTS, FIGURES, MAPS, ERRATA):
            for old in (self.output / folder).glob("*.html"):
                if old not in self.written and MADE in old.read_text(encoding="utf-8", errors="replace")[:2000]:
                    old.unlink()
        for old in (self.output / CERTIFICATES).glob("*.json"):
            if old not in self.written and FORMAT in old.read_text(encoding="utf-8", errors="replace")[:200]:
                old.unlink()
