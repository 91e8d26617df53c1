"""Markdown of the catalogue as HTML: its formulas as MathML, in parts between which a line may break."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from dpfl_theory.core.prose import plain, replace_formulas
from dpfl_theory.report.formulas import mathml

__all__ = ["html"]

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


def html(text: str) -> str:
    r"""Markdown as HTML; everything except formulas and code is escaped.

    >>> html(r"if $\eta \le 1/L$ <b>")
    'if <math><mrow><mi>η</mi><mo>≤</mo><mn>1</mn><mo>/</mo><mi>L</mi></mrow></math> &lt;b&gt;'
    """
    return replace_formulas(text, _formula, _words)


def _words(text: str) -> str:
    escaped = escape(text.replace(r"\$", "$"), quote=False)
    return _SIGNS.sub(lambda m: "≤" if m[1] == "l" else "≥", escaped)


@lru_cache(maxsize=20_000)
def _formula(latex: str) -> str:
    """A formula; a long one in parts, between which a line may break."""
    made = mathml(latex, "inline").replace(' stretchy="false"', "")
    if len(plain(f"${latex}$")) <= UNBROKEN:
        return made
    (row,) = ElementTree.fromstring(made)
    if row.tag != "mrow":
        return made
    places = _breaks(row)
    for i in places:  # a part that starts with a sign keeps the space around it
        row[i].set("form", "infix")
    return "<wbr>".join(_part(row[begin:end]) for begin, end in pairwise([0, *places, len(row)]))


def _part(elements: list[Any]) -> str:
    """Some elements of a formula, which scroll where they are many."""
    inside = "".join(ElementTree.tostring(element, encoding="unicode") for element in elements)
    part = f"<math><mrow>{inside}</mrow></math>"
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
