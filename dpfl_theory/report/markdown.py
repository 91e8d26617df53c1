"""The renderer of Markdown: for pages as HTML with MathML, for other programs as Markdown, for terminals as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from copy import copy
from functools import cache, lru_cache
from html import escape
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from dpfl_theory.core.prose import FORMULA, MARKUP, inline_text, parser, plain, replace_formulas
from dpfl_theory.report.formulas import mathml

UNBROKEN = 16
"""A formula whose plain text has at most this many characters is on one line."""
WIDE = 24
"""A part with more elements may be wider than a phone."""
_SIGNS = re.compile(r"(?<=\s)&([lg])t;=(?=\s)")
"""Signs next to words, in texts without formulas."""
_BREAKS = frozenset("=<>≤≥≠~∼→+−±∓")
"""Signs before which a line may break."""
_DEPTH = {**dict.fromkeys("([{⟨⌊⌈", 1), **dict.fromkeys(")]}⟩⌋⌉", -1)}
_BARS = "‖|"
_KEPT = "\N{NO-BREAK SPACE}"
WIDTH = 110
"""The columns of a terminal's text."""
TAGS = re.compile(r"<(?=[A-Za-z/!?])")
LEADING = re.compile(r"^(?:([-+=>#]|\*(?=\s|$))|(\d+)([.)])(?=\s|$))")
"""Characters that at the start of a line would make a list, a quotation or a heading."""
SPELLED = {r"\|": "Vert", "|": "vert", r"\{": "lbrace", r"\}": "rbrace", r"\,": "thinspace"}
"""Signs in formulas that Markdown would change, or that would end a cell of a table, and their names."""
_SIGN = re.compile(r"\\[|{},]|\|")


def html(text: str) -> str:
    r"""The Markdown of one paragraph as HTML; what looks like HTML in it is escaped.

    >>> html(r"if $\eta \le 1/L$ <b>")
    'if <math><mi>η</mi><mo>≤</mo><mn>1</mn><mo>/</mo><mi>L</mi></math> &lt;b&gt;'
    >>> html("*all* `x_0`")
    '<em>all</em> <code>x_0</code>'
    """
    if MARKUP.search(FORMULA.sub("", text)) is None:
        return replace_formulas(text, _formula, _words)
    return str(_writer().renderInline(text))


@cache
def _writer() -> Any:
    """The parser, whose renderer writes formulas as MathML."""
    made = copy(parser())
    made.renderer = copy(made.renderer)
    made.renderer.rules = made.renderer.rules | {
        "text": lambda tokens, i, *_: _words(tokens[i].content),
        "formula": lambda tokens, i, *_: _formula(tokens[i].content),
    }
    return made


def _words(text: str) -> str:
    return _SIGNS.sub(lambda m: "≤" if m[1] == "l" else "≥", escape(text, quote=False))


@lru_cache(maxsize=20_000)
def _formula(latex: str) -> str:
    """A formula; a long one in parts, between which a line may break."""
    made = mathml(latex, "inline").replace(' stretchy="false"', "")
    (row,) = ElementTree.fromstring(made)
    if row.tag != "mrow" or row.attrib:
        return made
    if len(plain(f"${latex}$")) <= UNBROKEN:  # without the row, which a formula is by itself
        return made.replace("<math><mrow>", "<math>", 1).removesuffix("</mrow></math>") + "</math>"
    places = _breaks(row)
    for i in places:  # a part that starts with a sign keeps the space around it
        row[i].set("form", "infix")
    return "<wbr>".join(_part(row[begin:end]) for begin, end in pairwise([0, *places, len(row)]))


def _part(elements: list[Any]) -> str:
    """Some elements of a formula, which scroll where they are many."""
    inside = "".join(ElementTree.tostring(element, encoding="unicode") for element in elements)
    part = f"<math>{inside}</math>"
    return f'<span class="long">{part}</span>' if inside.count("<m") > WIDE else part


def _breaks(row: Any) -> list[int]:
    """The places of signs outside of parentheses and bars, the first of the row aside."""
    found, depth, opened = [], 0, set[str]()
    for i, element in enumerate(row):
        sign = next(element.iter("mo"), element).text or "" if element.tag in ("mo", "msup", "msub", "msubsup") else ""
        depth += _DEPTH.get(sign, 0)
        if sign and sign in _BARS and not depth:
            opened ^= {sign}
        elif i and sign in _BREAKS and not depth and not opened and row[i - 1].text not in _BREAKS:
            found.append(i)
    return found


def escaped(text: str) -> str:
    r"""A text with formulas as Markdown that shows its words as they are.

    >>> escaped(r"$\|x_0 - x^*\| \le 2$ * [1](x)*"), escaped("1. first")
    ('$\\Vert{}x_0 - x^*\\Vert{} \\le 2$ * [1\\](x)\\*', '1\\. first')
    """
    return _one_line(text, MARKUP)


def one_line(text: str) -> str:
    """Markdown in one line of a document for other programs: they read no HTML in it, and change no formula.

    >>> one_line("*all* <b> $|x|$")
    '*all* \\\\<b> $\\\\vert{}x\\\\vert{}$'
    """
    return _one_line(text, TAGS)


def _one_line(text: str, shown: re.Pattern[str]) -> str:
    """The text with a backslash before signs that are shown as they are."""
    line = replace_formulas(" ".join(text.split()), _spelled, lambda words: shown.sub(lambda m: "\\" + m[0], words))
    return LEADING.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", line)


def _spelled(latex: str) -> str:
    """A formula without signs that Markdown would change."""
    return f"${_SIGN.sub(lambda m: chr(92) + SPELLED[m[0]] + '{}', latex)}$"


def terminal(document: str) -> str:
    """A Markdown document as text: what is below a heading is indented, and code stays on one line.

    >>> print(terminal("# Title\\n\\nWords.\\n\\n## Part\\n\\n- *one* of $a \\\\le b$\\n"))
    Title
    Words.
    <BLANKLINE>
    Part
      - one of a <= b
    """
    lines: list[str] = []
    depth, heading, mark = 1, False, ""
    for token in parser().parse(document):
        if token.type in ("heading_open", "heading_close"):
            depth, heading = int(token.tag[1]), token.type == "heading_open"
        elif token.type == "list_item_open":
            mark = f"{token.info}{token.markup} "
        elif token.type == "hr":
            depth = 1
            lines.append("")
        elif token.type == "fence":
            lines += textwrap.indent(token.content, "  " * depth).splitlines()
        elif token.type == "inline":
            indent = "  " * (depth - 1 - heading)
            lines += [""] if heading and lines else []
            lines += _wrapped(f"{mark}{_unbroken(token.children)}", indent, heading)
            mark = ""
    return "\n".join(lines)


def _unbroken(tokens: Sequence[Any]) -> str:
    """A paragraph's tokens as plain text, with spaces in code that do not break."""
    kept = [t.copy(content=t.content.replace(" ", _KEPT)) if t.type == "code_inline" else t for t in tokens]
    return inline_text(kept)


def _wrapped(text: str, indent: str, heading: bool) -> list[str]:
    further = indent if heading else f"{indent}  "
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=further,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_KEPT, " ") for line in lines]
