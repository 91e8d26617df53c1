"""What the texts add to Sphinx: the directives ``run``, ``run-python`` and ``insert``, and docstrings as they are written.

``run`` holds commands and ``run-python`` Python. Both are run when a page is made, and what they print follows them. The
build fails where a command ends with another exit code than ``:exit:`` (0), or where the output lacks ``:shows:``.
``:lines:`` shows only the first lines of an output, and ``:figure:`` the file that the command writes with ``--output``.
Commands run in the repository's folder; with ``:scratch:`` they run in an empty folder that all blocks of a page share.
``insert NAME`` is replaced by the text that the module of that name in ``docs/inserts`` makes from the code. Formulas become MathML.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs import inserts, snippets
from docs.docstrings import as_rst
from dpfl_theory.errors import DpflError
from dpfl_theory.report.formulas import mathml

__all__ = ["Insert", "Run", "RunPython", "setup"]


class Run(SphinxDirective):
    """Commands, a line each, with what they print."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "shows": directives.unchanged,
        "exit": directives.nonnegative_int,
        "lines": directives.positive_int,
        "figure": directives.unchanged_required,
        "scratch": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """The block of code, and the figure where there is one."""
        figure = self.options.get("figure", "")
        folder = Path(tempfile.mkdtemp()) if figure else None
        try:
            ran = snippets.commands(
                "\n".join(self.content),
                self.options.get("exit", 0),
                self.options.get("shows", ""),
                folder,
                _scratch(self.env.docname) if "scratch" in self.options else None,
            )
        except DpflError as error:
            raise self.error(str(error)) from error
        shown = "\n".join(f"{r.shown}\n{_first(r.printed, self.options.get('lines'))}".rstrip() for r in ran)
        made: list[nodes.Node] = [_code(shown, "console")]
        if folder:
            svg = (folder / figure).read_text(encoding="utf-8")
            made.append(nodes.raw("", f'<figure class="plot">{svg[svg.index("<svg") :]}</figure>', format="html"))
        return made


class RunPython(SphinxDirective):
    """Python, with what it prints."""

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


class Insert(SphinxDirective):
    """The text that a module of ``docs/inserts`` makes from the code, read as if it were part of the page."""

    required_arguments = 1
    optional_arguments = 5

    def run(self) -> list[nodes.Node]:
        """The nodes of that text."""
        try:
            text = inserts.named(self.arguments[0])(*self.arguments[1:])
        except DpflError as error:
            raise self.error(str(error)) from error
        return self.parse_text_to_nodes(text, allow_section_headings=True)


@cache
def _scratch(_page: str) -> Path:
    """The scratch folder of a page."""
    return Path(tempfile.mkdtemp(prefix="dpfl-theory-"))


def _first(text: str, lines: int | None) -> str:
    rows = text.splitlines()
    return text if lines is None or len(rows) <= lines else "\n".join([*rows[:lines], "..."])


def _code(text: str, language: str) -> nodes.literal_block:
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return nodes.literal_block(text, text, language=language)


def _docstring(_app: Sphinx, _kind: str, _name: str, _item: object, _options: object, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def _math(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """A formula as MathML, which needs no script."""
    writer.body.append(mathml(node.astext(), "inline" if isinstance(node, nodes.math) else "block"))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of this with Sphinx."""
    app.add_directive("run", Run)
    app.add_directive("run-python", RunPython)
    app.add_directive("insert", Insert)
    app.add_html_math_renderer("mathml", (_math, None), (_math, None))
    app.connect("autodoc-process-docstring", _docstring)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
