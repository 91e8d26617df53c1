"""Markdown as HTML, with three kinds of fenced blocks of our own: ``run``, ``python run`` and ``insert``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs import inserts, snippets
from dpfl_theory.errors import InputError
from dpfl_theory.report.templates import anchor

__all__ = ["Text", "read"]

Resolve = Callable[[str], str]
"""An address as the text has it -> as the page has it; empty where it leads nowhere, so that the words have no link."""


@dataclass(frozen=True)
class Text:
    """A text: its title, and its HTML."""

    title: str
    html: str


def read(text: str, resolve: Resolve = lambda address: address) -> Text:
    """The HTML of a text. Raises InputError where a block does not come out as it says.

    >>> read("# Title\\n\\nSome *words* <b>.")
    Text(title='Title', html='<h1 id="title">Title</h1>\\n<p>Some <em>words</em> &lt;b&gt;.</p>\\n')
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    environment = {"resolve": resolve}
    tokens = parser.parse(text, environment)
    title = ""
    known: set[str] = set()
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            plain = "".join(part.content for part in content.children or ())
            title = title or plain
            token.attrSet("id", _free(anchor(plain).strip("-").lower(), known))
    for token in tokens:
        _link(token.children or (), resolve)
    return Text(title, str(parser.renderer.render(tokens, parser.options, environment)))


def _free(name: str, known: set[str]) -> str:
    number = next(i for i in range(1, len(known) + 2) if (f"{name}-{i}" if i > 1 else name) not in known)
    known.add(f"{name}-{number}" if number > 1 else name)
    return f"{name}-{number}" if number > 1 else name


def _link(tokens: Sequence[Token], resolve: Resolve) -> None:
    """Give links and images their addresses on the page; what leads nowhere becomes words."""
    opened: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            to = resolve(str(token.attrs["href"]))
            opened.append(bool(to))
            token.attrs["href"] = to
        if token.type == "image":
            token.attrs["src"] = resolve(str(token.attrs["src"]))
        if (token.type == "link_open" and not opened[-1]) or (token.type == "link_close" and not opened.pop()):
            token.type, token.content = "text", ""


def _fence(renderer: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    token = tokens[index]
    words = shlex.split(token.info)
    if words[:1] == ["insert"]:
        if not words[1:]:
            raise InputError("insert what? Give its name behind the word insert")
        html = inserts.named(words[1])(*words[2:])
        return html if html.startswith("<") else read(html, environment["resolve"]).html
    if words[:1] == ["run"]:
        told = dict(word.split("=", 1) for word in words[1:])
        ran = snippets.commands(token.content, int(told.get("exit", 0)), told.get("shows", ""))
        return _block("\n".join(f"{r.shown}\n{r.printed}".rstrip() for r in ran), "console")
    if words[:2] == ["python", "run"]:
        told = dict(word.split("=", 1) for word in words[2:])
        one = snippets.python(token.content, told.get("shows", ""))
        return _block(one.shown, "python") + _block(one.printed.rstrip(), "printed")
    return _block(token.content.rstrip("\n"), words[0] if words else "text")


def _block(text: str, kind: str) -> str:
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return f'<pre class="{escape(kind)}" tabindex="0"><code>{escape(text)}</code></pre>\n'
