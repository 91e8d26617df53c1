"""The tokens of a formula as it is typed in a sentence, and its possible words and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CLOSING", "CODE", "FUNCTIONS", "GREEK", "WORDS", "Token", "Tokens"]

GREEK = dict(
    zip(
        [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "zeta",
            "eta",
            "theta",
            "kappa",
            "lambda",
            "mu",
            "nu",
            "xi",
            "pi",
            "rho",
            "sigma",
            "varsigma",
            "tau",
            "phi",
            "chi",
            "psi",
            "omega",
            "Gamma",
            "Delta",
            "Theta",
            "Lambda",
            "Pi",
            "Sigma",
            "Phi",
            "Psi",
            "Omega",
            "eps",
            "varepsilon",
        ],
        "αβγδεζηθκλμνξπρσςτφχψωΓΔΘΛΠΣΦΨΩεε",
        strict=True,
    )
)
FUNCTIONS = ("log", "ln", "exp", "min", "max", "inf", "sup", "sum", "prod", "grad", "sqrt", "Var")
SYMBOLS = {"sum": "∑", "prod": "∏", "grad": "∇"}
RELATIONS = {"<=": "≤", ">=": "≥", "=": "=", "<": "<", ">": ">", "!=": "≠", "~": "~"}
SIGNS = {"+": "+", "-": "−"}
CLOSING = {"(": ")]", "[": "])", "{": "}"}
ACRONYMS = ("DP", "RDP", "PLD", "SNR", "FL", "GD", "SGD", "If", "In", "At", "As", "Is", "It", "On", "To", "We")
WORDS = ("A", "I", "a")
"""Symbols that are words as well."""
CODE = re.compile(
    r"`[^`]*`|(?:https?://|--)\S+|[A-Za-z]\w*\d\w*\.[a-z]\S*|\w{2,}\.[A-Za-z_]{2,}\S*|\w+(?:/\w+){2,}|\w*__\w*"
)
"""Names of statements, options, paths and addresses, in which nothing is typeset."""
TOKEN = re.compile(
    r"(?P<number>(?:\d{1,3}(?: \d{3})+(?!\d)|\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w]*\d*\.\d)(?![A-Za-z]*-[a-z]{2}))"
    r"|(?P<name>[A-Za-z]+)"
    r"|(?P<relation><=|>=|!=|[=<>])"
    r"|(?P<bars>\|\||\|)"
    r"|(?P<sign>[-+/*^_(){}\[\],'~])"
)
QUOTED = re.compile(r"(?:^|[\s(])'[^']*$")
"""A quotation that is still open: a character that looks like a prime may end it."""
LONGEST = 400
"""A longer piece is not a formula in a sentence."""


@dataclass(frozen=True)
class Token:
    """A token: its kind, its text, whether there is space before it, and where it ends."""

    kind: str
    text: str
    spaced: bool
    end: int


class Tokens:
    """The tokens of a text from a place on, as far as a formula may extend; ``at`` is behind those that were read."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.next = text, start
        self.last = start + LONGEST
        self.quoted = QUOTED.search(text, 0, start) is not None
        self.tokens: list[Token] = []
        self.at = 0

    def peek(self, ahead: int = 0) -> Token | None:
        """A token that was not read yet; None where no formula can continue."""
        while len(self.tokens) <= self.at + ahead:
            if self.next > self.last:
                return None
            begin = self.next + (self.text[self.next : self.next + 1] == " ")
            token = TOKEN.match(self.text, begin)
            if token is None or CODE.match(self.text, begin):
                self.last = -1
                return None
            self.tokens.append(Token(str(token.lastgroup), token[0], begin > self.next, token.end()))
            self.next = token.end()
        return self.tokens[self.at + ahead]

    def close_to_next(self) -> bool:
        """Whether no space follows the next token."""
        after = self.peek(1)
        return after is not None and not after.spaced
