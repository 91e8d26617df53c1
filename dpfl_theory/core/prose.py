r"""Prose of the catalogue: Markdown with LaTeX between dollars, ``if $\eta \le 1/L$``, and the same as plain text.

Pages typeset it (`dpfl_theory.report.markdown`), a report to authors keeps the Markdown, and the terminal and JSON show
the plain text. markdown-it parses it once for all. HTML and images in it are text.

A formula as plain text keeps the spaces of its source: ``\eta \le 1/L`` is ``eta <= 1/L``, and ``\frac{a}{2b}`` is
``a/(2b)``. Every text has a plain form: a command without an entry below is shown by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

FORMULA = re.compile(r"(?<!\\)\$(?=\S)((?:[^$\\]|\\.)+?)(?<=\S)\$(?!\d)")
"""A formula within Markdown. A dollar next to a space, or before a digit, opens or closes none, nor does ``\\$``."""
MARKUP = re.compile(
    r"[\\`$~]|\*(?<! \*)|\*(?! )"  # a star with a space on both sides is shown as it is
    r"|(?<![^\W_])_|_(?![^\W_])"  # so is an underscore between letters and digits
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[:])|\[(?=\^)"
)
"""Characters that Markdown would not show as they are: marks of code, mathematics, emphasis, HTML and links."""

PROSE = (
    "title", "text", "reading", "shown_reading", "meaning", "note", "restoration", "printed", "corrected", "true",
    "why", "counterexample", "survives", "repair", "typo", "example", "objection", "response", "proof",
)  # fmt: skip
"""The keys of plain data whose texts are Markdown, also within what they hold."""
CODE = ("script", "checks")
"""Keys of plain data that hold no Markdown."""

_SIGNS = {
    **{"le": "<=", "leq": "<=", "ge": ">=", "geq": ">=", "ne": "!=", "sim": "~", "pm": "+-", "mp": "-+", "to": "->"},
    **{"infty": "infinity", "nabla": "grad", "varepsilon": "epsilon", "varphi": "phi", "cdot": "*", "dots": "..."},
    **{"lfloor": "floor(", "rfloor": ")", "lceil": "ceil(", "rceil": ")"},
    **{"langle": "<", "rangle": ">", "left": "", "right": "", "|": "||", ",": " "},
    **{"Vert": "||", "vert": "|", "lbrace": "{", "rbrace": "}", "thinspace": " "},
}
"""Commands that are not shown by their names."""
_ACCENTS = {"hat": "_hat", "bar": "_bar", "breve": "_breve", "tilde": "~"}
_WORDS = ("text", "mathrm", "operatorname", "mathbb", "mathcal", "mathbf")
"""Commands whose argument is shown as it is."""
_TOKEN = re.compile(r"\\(?:langle|lfloor|lceil|left|right)\s*|\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
"""A token of LaTeX; a space after a sign that opens belongs to it."""
_POWER_OF_TEN = re.compile(r"(?<![\w.])(?:(\d+(?:\.\d+)?) \\cdot 10\^\{(-?\d+)\}|10\^\{(-\d+)\})")
_SHORT = re.compile(r"-?(?:[A-Za-z]+|\d+(?:\.\d+)?)|[-+]|\(\w+\)")
"""An exponent or an index that needs no braces."""
_FACTOR = re.compile(r"(?:\d+(?:\.\d+)?|[A-Za-z]|[A-Z]?[a-z]{2,})(?:_\w+)?")
"""A numerator or a denominator that needs no parentheses."""


def plain(text: str) -> str:
    r"""Markdown as plain text, its formulas with the names of their symbols.

    >>> plain(r"$\|\nabla f(x^*)\|^2 \le \frac{1}{2L}$, where $\hat C_i = 2 \cdot 10^{-3}$.")
    '||grad f(x*)||^2 <= 1/(2L), where C_hat_i = 2e-3.'
    """
    if MARKUP.search(FORMULA.sub("", text)) is None:
        return replace_formulas(text, _formula) if "$" in text else text
    return inline_text(parser().parseInline(text)[0].children or ())


@cache
def parser() -> Any:
    """The parser of Markdown, which also reads formulas: tokens of the type ``formula`` have their LaTeX."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.inline.ruler.before("escape", "formula", _read_formula)
    return made


def _read_formula(state: Any, silent: bool) -> bool:
    found = FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = found[1]
    state.pos = found.end()
    return True


def inline_text(tokens: Iterable[Any]) -> str:
    """The tokens of one paragraph as plain text."""
    signs = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(_formula(t.content) if t.type == "formula" else signs.get(t.type, t.content) for t in tokens)


def plain_data(value: Any, key: str = "") -> Any:
    """Plain data in which the texts under `PROSE` keys are plain text; all other texts and the keys stay.

    >>> plain_data({"meaning": ["at most $L$", 1], "check": "a $L$", "survives": {"a.b": "*All* does."}})
    {'meaning': ['at most L', 1], 'check': 'a $L$', 'survives': {'a.b': 'All does.'}}
    """
    if isinstance(value, str):
        return plain(value) if key in PROSE else value
    if isinstance(value, Mapping):
        inside = {name: key if key in PROSE else name for name in value}
        return {name: part if name in CODE else plain_data(part, inside[name]) for name, part in value.items()}
    return [plain_data(part, key) for part in value] if isinstance(value, (list, tuple)) else value


def replace_formulas(text: str, of: Callable[[str], str], between: Callable[[str], str] = str) -> str:
    """Markdown with each formula replaced by a function of its LaTeX, and the text between them by another one.

    >>> replace_formulas("is $a$ or 5$", str.upper)
    'is A or 5$'
    """
    parts = FORMULA.split(text)  # text and formulas in turn
    return "".join(of(part) if i % 2 else between(part) for i, part in enumerate(parts))


def _formula(latex: str) -> str:
    """A formula as plain text."""
    latex = _POWER_OF_TEN.sub(lambda m: f"{m[1] or 1}e{m[2] or m[3]}", latex)
    tokens = iter(_TOKEN.findall(latex))
    return "".join(_piece(token, tokens) for token in tokens)


def _piece(token: str, tokens: Iterator[str]) -> str:
    """One token with its arguments as plain text."""
    if token == "{":
        return _group(tokens)
    if token in "^_":
        return _raised(token, _argument(tokens))
    if token[0] != "\\":
        return token
    name = token[1:].rstrip()
    if name in _ACCENTS:
        return f"{_argument(tokens)}{_ACCENTS[name]}"
    if name in _WORDS:
        return _argument(tokens)
    if name == "sqrt":
        return f"sqrt({_argument(tokens)})"
    if name == "frac":
        return "/".join(_factor(_argument(tokens)) for _ in range(2))
    return _SIGNS.get(name, name)


def _group(tokens: Iterator[str]) -> str:
    """The rest of a group, up to the brace that closes it."""
    parts = []
    for token in tokens:
        if token == "}":
            break
        parts.append(_piece(token, tokens))
    return "".join(parts)


def _argument(tokens: Iterator[str]) -> str:
    """The next group, or the next token where it is not one."""
    token = next((t for t in tokens if not t.isspace()), "")
    return _piece(token, tokens) if token else ""


def _raised(sign: str, text: str) -> str:
    """An exponent (^) or an index (_)."""
    if text == "*" or text.strip("'") == "":
        return text
    if _SHORT.fullmatch(text):
        return sign + text
    return f"{sign}({text})" if sign == "^" and re.search("[ /]", text) else f"{sign}{{{text}}}"


def _factor(text: str) -> str:
    """A numerator or a denominator, in parentheses where it needs them."""
    return text if _FACTOR.fullmatch(text) else f"({text})"
