"""The additions to Sphinx: executed examples, texts generated from the code, and docstrings in plain text.

The directive ``run`` has commands and ``run-python`` Python. Both run when a page is built, and their output follows.
The build fails where a command has another exit code than ``:exit:`` (0), or where the output lacks ``:shows:``.
``:lines:`` shows only the first lines of an output, and ``:figure:`` the file that a command writes with ``--output``.
Commands run in the repository's folder; with ``:scratch:`` they run in an empty folder that all blocks of a page share.
A block ``insert NAME`` is replaced by the text that the module ``docs/inserts/NAME`` generates from the code.
Formulas become MathML, which needs no script.
A notebook of the gallery runs when its page is made (MyST-NB), and the page has a link to it with its outputs.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger

from docs import inserts, snippets
from docs.docstrings import as_rst
from docs.notebooks import FOLDER, notebooks
from dpfl_theory.errors import DpflError
from dpfl_theory.report.formulas import mathml

__all__ = ["Run", "RunPython", "setup"]

LOGGER = getLogger(__name__)
_INSERT = re.compile(r"^```\{insert\} (.+)\n```$", re.MULTILINE)


class Run(SphinxDirective):
    """Commands, one per line, with their output."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "shows": directives.unchanged,
        "exit": directives.nonnegative_int,
        "lines": directives.positive_int,
        "figure": directives.unchanged_required,
        "scratch": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """The block of code, and the figure if there is one."""
        place = _scratch(self.env.docname) if "scratch" in self.options else None
        figure = self.options.get("figure")
        with tempfile.TemporaryDirectory() as folder:
            try:
                ran = snippets.commands(
                    "\n".join(self.content),
                    self.options.get("exit", 0),
                    self.options.get("shows", ""),
                    folder=Path(folder) if figure else None,
                    place=place,
                )
                svg = (Path(folder) / figure).read_text(encoding="utf-8") if figure else ""
            except (DpflError, OSError) as error:
                raise self.error(str(error)) from error
        shown = "\n".join(f"{r.shown}\n{_first(r.printed, self.options.get('lines'))}".rstrip() for r in ran)
        made: list[nodes.Node] = [_code(shown, "console")]
        if svg:
            made.append(nodes.raw("", f'<figure class="plot">{svg[svg.index("<svg") :]}</figure>', format="html"))
        return made


class RunPython(SphinxDirective):
    """Python code with its output."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"shows": directives.unchanged, "lines": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        """The code, and its output below."""
        try:
            ran = snippets.python("\n".join(self.content), self.options.get("shows", ""))
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}") from error
        printed = _code(_first(ran.printed, self.options.get("lines")).rstrip(), "text")
        printed["classes"].append("printed")
        return [_code(ran.shown, "python"), printed]


_SCRATCH: dict[str, tempfile.TemporaryDirectory[str]] = {}


def _scratch(page: str) -> Path:
    """The scratch folder of a page, which is removed when the build ends."""
    if page not in _SCRATCH:
        _SCRATCH[page] = tempfile.TemporaryDirectory(prefix="dpfl-theory-")
    return Path(_SCRATCH[page].name)


def _first(text: str, lines: int | None) -> str:
    rows = text.splitlines()
    return text if lines is None or len(rows) <= lines else "\n".join([*rows[:lines], "..."])


def _code(text: str, language: str) -> nodes.literal_block:
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return nodes.literal_block(text, text, language=language)


def _insert(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put the texts of ``docs/inserts`` into a page before it is read."""

    def text(found: re.Match[str]) -> str:
        name, *arguments = found[1].split()
        try:
            return inserts.named(name)(*arguments)
        except DpflError as error:
            LOGGER.error(f"insert {found[1]}: {error}", location=page)
            return ""

    source[0] = _INSERT.sub(text, source[0])


def _docstring(_app: Sphinx, _kind: str, _name: str, _item: object, _options: object, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def _signature(
    _app: Sphinx, _kind: str, _name: str, _item: object, _options: object, arguments: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """A signature that Python can parse: the default of a field with a factory is written as three dots."""
    return arguments and arguments.replace("<factory>", "..."), result


def _math(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """A formula as MathML, which needs no script."""
    writer.body.append(mathml(node.astext(), "inline" if isinstance(node, nodes.math) else "block"))
    raise nodes.SkipNode


def _download(app: Sphinx, page: nodes.document) -> None:
    """Put a link to the executed notebook below the title of its page."""
    folder, _, name = app.env.docname.rpartition("/")
    if folder != FOLDER.name or name not in notebooks():
        return
    file = Path(app.env.mystnb_config.output_folder) / folder / f"{name}.ipynb"
    link = download_reference("", "", reftarget=f"/{os.path.relpath(file, app.srcdir)}")
    link += nodes.literal("", file.name, classes=["xref", "download"])
    (title, *_) = page.findall(nodes.title)
    title.parent.insert(
        1, nodes.paragraph("", "", nodes.Text("This page as a Jupyter notebook, with its outputs: "), link)
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register these additions with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("run", Run)
    app.add_directive("run-python", RunPython)
    app.add_html_math_renderer("mathml", (_math, None), (_math, None))
    app.add_object_type("statement", "statement", objname="statement")
    app.connect("source-read", _insert)
    app.connect("doctree-read", _download, priority=100)  # before Sphinx collects what is downloaded
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
