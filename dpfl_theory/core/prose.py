r"""Prose of the catalogue: Markdown with LaTeX between dollars, ``if $\eta \le 1/L$``, and the same as plain text.

Pages typeset the formulas, a report to authors keeps the Markdown, and the terminal and JSON show the plain text. A
formula as plain text keeps the spaces of its source: ``\eta \le 1/L`` is ``eta <= 1/L``, and ``\frac{a}{2b}`` is
``a/(2b)``. Every text has a plain form: a command without an entry below is shown by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["FORMULA", "plain", "plain_data", "replace_formulas"]

FORMULA = re.compile(r"(?<!\\)\$(?=\S)((?:[^$\\]|\\.)+?)(?<=\S)\$(?!\d)")
"""A formula within Markdown. A dollar next to a space, or before a digit, opens or closes none, nor does ``\\$``."""

_SIGNS = {
    **{"le": "<=", "leq": "<=", "ge": ">=", "geq": ">=", "ne": "!=", "sim": "~", "pm": "+-", "mp": "-+", "to": "->"},
    **{"infty": "infinity", "nabla": "grad", "varepsilon": "epsilon", "varphi": "phi", "cdot": "*", "dots": "..."},
    **{"lfloor": "floor(", "rfloor": ")", "lceil": "ceil(", "rceil": ")"},
    **{"langle": "<", "rangle": ">", "left": "", "right": "", "|": "||", ",": " "},
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
    return replace_formulas(text, _formula).replace(r"\$", "$") if "$" in text else text


def plain_data(value: Any) -> Any:
    """Plain data with every text of it as plain text; keys stay.

    >>> plain_data({"meaning": ["at most $L$", 1]})
    {'meaning': ['at most L', 1]}
    """
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {key: plain_data(part) for key, part in value.items()}
    return [plain_data(part) for part in value] if isinstance(value, (list, tuple)) else value


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
