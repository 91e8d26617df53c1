r"""Formulas in sentences as MathML: the catalogue has ``E <= alpha/(2 rho)`` as typed text, and pages typeset it.

A sentence is read from the left. Some parts can only be the start of a formula: a letter with an index, a Greek letter
by name, a norm, ... There the longest piece that parses as a formula is typeset, and everything else stays text. A
doubtful piece is left unchanged, so nothing is lost or altered: at worst, a formula looks as it was typed."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from dpfl_theory.report.ascii_math import BREAK, NoFormulaError, Reader
from dpfl_theory.report.ascii_tokens import CLOSING, CODE, FUNCTIONS, GREEK, WORDS, Token

__all__ = ["pieces", "prose"]

UNBROKEN = 16
"""A formula of at most this many characters is on one line."""
WIDE = 24
"""A part with more elements may be wider than a phone."""
LOOSE = re.compile(r"(?<=\s)&[lg]t;=(?=\s)")
"""Signs next to words."""
PLACES = re.compile(
    r"(?:Appendi(?:x|ces)|Theorems?|Lemmas?|Corollar(?:y|ies)|Assumptions?|Tables?|Figures?|Sections?|Algorithms?|Steps?"
    r"|parts?|Claims?|Definitions?|options?|Options?|Propositions?|case|and|or|to)[ ]$"
)
"""After these a single capital is the name of a place, or may be one."""
BEGIN = re.compile(r"[A-Za-z0-9(|\[{]")
WORD = re.compile(r"\w+(?:[’'-]\w+)*")
BROKEN = re.compile(r"\w|[(\[{]?\\|\.\w|['’][a-rt-z]")
"""If this follows a piece, a formula would end inside a word."""
CITED = re.compile(r"\d{4}[a-z]$|[\d.]+[- ]?\([a-z]{1,3}\)$|[^()]*[^()\w] ?\([\d.]+\)$")
"""Years with a letter, parts of a numbered item, and numbers next to a formula are not formulas, nor parts of one."""


def prose(text: str) -> str:
    """A sentence as HTML, with its formulas as MathML; everything else is escaped.

    >>> prose("if eta <= 1/L <b>")
    'if <math><mi>η</mi><mo>≤</mo><mn>1</mn><mo>/</mo><mi>L</mi></math> &lt;<math><mi>b</mi></math>&gt;'
    """
    return "".join(
        _set(source, mathml) if mathml else LOOSE.sub(_sign, escape(source, quote=False))
        for source, mathml in pieces(text)
    )


def _set(source: str, mathml: str) -> str:
    """A formula; a long one in parts, between which a line may break, and which scroll where one part is too long."""
    if len(source) <= UNBROKEN:
        return f"<math>{mathml.replace(BREAK, '')}</math>"
    first, *others = mathml.split(BREAK)
    # a part that starts with a sign keeps the space around it
    parts = [first, *(part.replace("<mo>", '<mo form="infix">', 1) for part in others)]
    return "<wbr>".join(
        f'<span class="long"><math>{part}</math></span>' if part.count("<m") > WIDE else f"<math>{part}</math>"
        for part in parts
    )


def _sign(match: re.Match[str]) -> str:
    return {"&lt;=": "≤", "&gt;=": "≥"}[match[0]]


@lru_cache(maxsize=20_000)
def pieces(text: str) -> tuple[tuple[str, str], ...]:
    """A sentence in pieces, which together are the sentence, each with its MathML, or an empty string for text.

    >>> pieces("w* minimises f.")
    (('w*', '<msup><mi>w</mi><mo>*</mo></msup>'), (' minimises ', ''), ('f', '<mi>f</mi>'), ('.', ''))
    """
    found: list[tuple[str, str]] = []
    at = done = 0
    while at < len(text):
        code = CODE.match(text, at)
        if code:
            at = code.end()
            continue
        begins = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_-'’.^\\$%#&@")
        end, mathml = _formula(text, at) if begins else (at, "")
        if end > at:
            if done < at:
                found.append((text[done:at], ""))
            found.append((text[at:end], mathml))
            at = done = end
        else:
            word = WORD.match(text, at)
            at = word.end() if word else at + 1
    if done < len(text):
        found.append((text[done:], ""))
    return tuple(found)


def _formula(text: str, at: int) -> tuple[int, str]:
    """The end of the longest formula that starts here, and its MathML; ``at`` and an empty string if there is no
    formula."""
    if not BEGIN.match(text, at):
        return at, ""
    reader = Reader(text, at)
    try:
        mathml = reader.relations()
    except NoFormulaError:
        return at, ""
    tokens = reader.tokens[: reader.at]
    end = tokens[-1].end if tokens else at
    return (end, mathml) if end > at and _sure(tokens, text, at, end) else (at, "")


def _sure(tokens: list[Token], text: str, at: int, end: int) -> bool:
    """Whether a piece that can be read as a formula is intended as one."""
    after = text[end : end + 2]
    if BROKEN.match(after) or CITED.match(text[at:end]):
        return False
    names = [t for t in tokens if t.kind == "name" and t.text not in FUNCTIONS]
    operators = [t for t in tokens if t.kind in ("relation", "bars") or t.text in "+-/*^_"]
    if len(tokens) == 1 and names:
        name = names[0].text
        if text[at - 1 : at] == "(" and after[:1] == ")":  # the name of a part
            return False
        if name in WORDS or (len(name) == 1 and name.isupper() and (PLACES.search(text[:at]) or after == ". ")):
            return False
        return name in GREEK or len(name) == 1
    if not names:  # fractions and comparisons of numbers are formulas, lists and references are not
        return bool(operators) and any(t.kind == "relation" or t.text in "/^*" for t in operators)
    if not operators and tokens[0].text in CLOSING:  # (epsilon, delta), but neither (i) nor (a, b)
        return any(t.text in GREEK for t in names)
    return True
