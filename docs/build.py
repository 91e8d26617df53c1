"""The pages: each text on the report's base, the pictures they show, and the reference of the Python interface."""

from __future__ import annotations

import posixpath
import shutil
from collections.abc import Callable
from pathlib import Path

from docs import reference as interface
from docs import search
from docs.inserts import TEMPLATES
from docs.markdown import read
from dpfl_theory.atomic_io import write
from dpfl_theory.errors import InputError
from dpfl_theory.report.templates import render

__all__ = ["LARGEST", "NAVIGATION", "ROOT", "build"]

ROOT = Path(__file__).parents[1]
TEXTS = ROOT / "docs" / "text"
LARGEST = 300_000
"""Bytes of a page."""
REFERENCE = "reference/index.html"
NAVIGATION = (
    ("index.html", "Start"),
    ("tutorial/index.html", "Tutorial"),
    ("verdicts.html", "Verdicts"),
    ("algorithms.html", "Which algorithm"),
    ("pitfalls.html", "Pitfalls"),
    ("gallery.html", "Gallery"),
    (REFERENCE, "Reference"),
    (search.PAGE, "Search"),
)
PAGES = {"benchmarks/LANDSCAPE.md": "landscape.html", "README.md": "index.html", "examples": "gallery.html"}
"""The files and folders of the repository that have a page here."""


def build(output: Path, reference: bool = True) -> list[Path]:
    """Write all pages into a folder, and say which.

    Raises InputError where a snippet does not come out as the text says, where a text links to what is not there, and
    where a page is larger than ``LARGEST``.
    """
    texts = sorted(TEXTS.rglob("*.md"))
    written: list[Path] = []
    found: list[search.Place] = []
    navigation = [(to, label) for to, label in NAVIGATION if reference or to != REFERENCE]
    style = (TEMPLATES / "text.css").read_text(encoding="utf-8")
    for text in texts:
        name = text.relative_to(TEXTS).with_suffix(".html").as_posix()
        try:
            made = read(text.read_text(encoding="utf-8"), _resolve(name, output, reference))
        except InputError as error:
            raise InputError(f"{text.relative_to(ROOT)}: {error}") from error
        root = "../" * name.count("/")
        here = name if any(name == to for to, _ in navigation) else f"{name.partition('/')[0]}/index.html"
        values = {"root": root, "navigation": navigation, "here": here, "style": style, "search": search.PAGE}
        page = render("page.html.j2", TEMPLATES, title=made.title, html=made.html, **values)
        written.append(_written(output / name, page, str(text.relative_to(ROOT))))
        found += search.places(name, made.html)
    modules = interface.build(output / REFERENCE.partition("/")[0]) if reference else []
    for path in modules:
        if path.parent != (output / REFERENCE).parent:
            found += search.interface(path.relative_to(output).as_posix(), path.read_text(encoding="utf-8"))
    found += search.stated()
    values = {"root": "", "navigation": navigation, "here": search.PAGE, "style": style, "search": search.PAGE}
    page = search.page(found, title="Search", html="", **values)
    return [*written, *modules, _written(output / search.PAGE, page, "the search")]


def _written(path: Path, page: str, what: str) -> Path:
    """The page, written. Raises InputError where it is too large."""
    content = page.encode()
    if len(content) > LARGEST:
        raise InputError(f"{what}: its page has {len(content)} bytes, more than {LARGEST}: split it")
    return write(path, content)


def _resolve(name: str, output: Path, reference: bool) -> Callable[[str], str]:
    """The function that gives the address on the page ``name`` of what a text links to.

    Other texts are named as they lie (``../pitfalls.md#units``), files of the repository from its root: those with a
    page lead there, pictures are copied, and of all others the words alone stay.
    """

    def resolve(address: str) -> str:
        path, mark, place = address.partition("#")
        if "://" in path or not path:
            return address
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if (TEXTS / beside).is_file():
            return _from(name, beside.removesuffix(".md") + ".html") + mark + place
        if beside == REFERENCE:
            return _from(name, beside) if reference else ""
        if path in PAGES:
            return _from(name, PAGES[path])
        if not (ROOT / path).exists():
            raise InputError(f"it links to {address!r}, which is neither a text under docs/text nor in the repository")
        if path.endswith((".png", ".svg")):
            (output / "images").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, output / "images" / Path(path).name)
            return _from(name, f"images/{Path(path).name}")
        return ""

    return resolve


def _from(page: str, to: str) -> str:
    return posixpath.relpath(to, posixpath.dirname(page) or ".")
